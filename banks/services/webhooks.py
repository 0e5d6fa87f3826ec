"""Webhooks: made, changed, tried out, and what they delivered.

A webhook belongs to the banks that it names: whoever maintains all of them sees and changes it. One
for every bank belongs to its owner. Each reads on behalf of its owner, who is whoever changed it
last, and is told no more of a bank that the owner does not maintain any more.
"""

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Count, Q, QuerySet

from banks import errors, events, seams
from banks.access import Principal, Role, Scope, require, roles_in, visible_banks
from banks.models import Bank
from banks.outbox import Delivery, Webhook, WebhookPosition
from banks.queries import milliseconds
from banks.services import open_bank
from banks.store import redact
from banks.webhooks import address, delivery, signing

ROTATION = timedelta(hours=24)
"""For so long the old secret signs beside the new one."""

MOST = 50
"""Webhooks of one owner."""

PAGE_LENGTH = 50
PAGE_MOST = 200
SHOWN_CHARACTERS = 4 * 1024
SHOWN_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which events: of these banks (none named: every bank), of these types (none: all)."""

    banks: tuple[str, ...] = ()
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A webhook as people see it, without its secret. Times are milliseconds."""

    id: str
    url: str
    filter: Filter
    active: bool
    owner: str | None
    failures: int
    pending: int
    disabled_reason: str | None
    created_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A delivery; `body` is cut at 4,096 characters. Times are milliseconds."""

    id: str
    event_id: str
    event_type: str
    bank: str | None
    seq: int | None
    state: str
    created_at: int
    next_try_at: int | None
    body: str
    attempts: list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """What is to be another; None = as it is. `new_secret`: rotate it."""

    url: str | None = None
    filter: Filter | None = None
    active: bool | None = None
    new_secret: bool = False


def listed(principal: Principal) -> list[Hook]:
    """The webhooks that the caller may change, oldest first. Raises ScopeMissing."""
    return [_hook(row) for row in _visible(principal)]


def create(
    principal: Principal, url: str, chosen: Filter, *, active: bool = True
) -> tuple[Hook, str]:
    """A new webhook, told of what changes from now on, and its secret, which is shown once.

    Raises ScopeMissing, BankNotFound, Forbidden, AddressRefused, Invalid, Conflict.
    """
    require(principal, Scope.ADMIN)
    banks = _banks(principal, chosen)
    types = _types(chosen)
    address.accept(url)
    secret = signing.new_secret()
    with transaction.atomic():
        if Webhook.objects.filter(owner=principal.user_id).count() >= MOST:
            raise errors.Conflict(f"There are {MOST} webhooks already: delete one first.")
        row = Webhook.objects.create(
            url=url,
            owner_id=principal.user_id,
            every_bank=banks is None,
            types=types,
            secret=secret,
            active=active,
            created_at=seams.now(),
        )
        _set_banks(row, banks)
    return _hook(_one(principal, row.uid)), secret


def change(principal: Principal, uid: str, patch: Patch) -> tuple[Hook, str | None]:
    """Change a webhook, which reads on the caller's behalf from then on; with its secret if that
    is a new one. Turned on again it goes on where it stood.

    Raises ScopeMissing, WebhookNotFound, BankNotFound, Forbidden, AddressRefused, Invalid.
    """
    _one(principal, uid)
    values: dict[str, Any] = {"owner_id": principal.user_id}
    banks: list[Bank] | None = None
    if patch.filter is not None:
        banks = _banks(principal, patch.filter)
        values |= {"types": _types(patch.filter), "every_bank": banks is None}
    if patch.url is not None:
        address.accept(patch.url)
        values["url"] = patch.url
    secret = signing.new_secret() if patch.new_secret else None
    if patch.active is not None:
        values |= {"active": patch.active, "failures": 0, "disabled_reason": ""}
    with transaction.atomic():
        # Under the lock once more: somebody else may have changed it, or ended it, meanwhile.
        Webhook.objects.select_for_update().filter(uid=uid).first()
        row = _one(principal, uid)
        if secret is not None:
            until = seams.now() + ROTATION
            values |= {"secret": secret, "old_secret": row.secret, "old_secret_until": until}
        Webhook.objects.filter(pk=row.pk).update(**values)
        row.refresh_from_db()
        if patch.filter is not None:
            _set_banks(row, banks)
        if patch.active:
            _go_on(row)
    return _hook(_one(principal, uid)), secret


def delete(principal: Principal, uid: str) -> None:
    """End a webhook, with all that waits for it. Raises ScopeMissing, WebhookNotFound."""
    _one(principal, uid).delete()


def deliveries(
    principal: Principal, uid: str, *, limit: int = PAGE_LENGTH, before: str | None = None
) -> tuple[list[Sent], str | None]:
    """Deliveries of the last 14 days, newest first, at most 200; and where the next page begins.

    Those of banks that the caller does not maintain are left out: a webhook that told of other
    banks before keeps what it said. `before`: the id that the page before ended with.
    Raises ScopeMissing, WebhookNotFound, Invalid.
    """
    rows = _readable(principal, _one(principal, uid)).select_related("bank")
    if before is not None:
        last = rows.filter(uid=before).first()
        if last is None:
            raise errors.Invalid("That page is gone: begin with the first one.", loc="cursor")
        rows = rows.filter(pk__lt=last.pk)
    limit = max(1, min(limit, PAGE_MOST))
    page = list(rows.order_by("-pk")[: limit + 1])
    following = page[limit - 1].uid if len(page) > limit else None
    return [_sent(each) for each in page[:limit]], following


def redeliver(principal: Principal, uid: str, delivery_uid: str) -> Sent:
    """Send an event again, as a new delivery with the same event id, beside what waits.

    Raises ScopeMissing, WebhookNotFound, NotFound, DeliveryPending, Conflict (it is turned off).
    """
    hook = _one(principal, uid)
    is_id = delivery_uid.isalnum()  # not all that an address may hold can be looked up
    old = _readable(principal, hook).filter(uid=delivery_uid).first() if is_id else None
    if old is None:
        raise errors.NotFound("There is no delivery of that id: they are kept for 14 days.")
    if old.event_type == delivery.TEST:
        raise errors.Conflict("That was a test: send a new one.")
    if not hook.active:
        raise errors.Conflict("The webhook is turned off: turn it on first.")
    return _send_alone(hook, old.event_id, old.event_type, old.body, bank=old.bank, seq=old.seq)


def test(principal: Principal, uid: str) -> Sent:
    """Send an event that means nothing, at once and once; the delivery then says how it went.

    Raises ScopeMissing, WebhookNotFound, AddressRefused, DeliveryPending (the last test runs).
    """
    hook = _one(principal, uid)
    address.accept(hook.url)
    body = json.dumps({"event_type": delivery.TEST, "webhook": hook.uid})
    tests = Delivery.objects.filter(webhook=hook, event_type=delivery.TEST)
    if tests.filter(state__in=delivery.PENDING).exists():
        raise errors.DeliveryPending("The last test is still on its way: wait for its end.")
    return _send_alone(hook, f"evt_{uuid.uuid4().hex}", delivery.TEST, body)


def _send_alone(
    hook: Webhook,
    event_id: str,
    event_type: str,
    body: str,
    *,
    bank: Bank | None = None,
    seq: int | None = None,
) -> Sent:
    now = seams.now()
    with transaction.atomic():
        # The webhook's row is the lock: of two clicks at the same moment one sees the other's.
        Webhook.objects.select_for_update().get(pk=hook.pk)
        open_states = (*delivery.PENDING, Delivery.State.DISABLED)
        same = Delivery.objects.filter(webhook=hook, event_id=event_id, state__in=open_states)
        if same.exists():
            raise errors.DeliveryPending
        row = Delivery.objects.create(
            webhook=hook,
            bank=bank,
            event_id=event_id,
            event_type=event_type,
            seq=seq,
            body=body,
            in_order=False,
            next_try_at=now,
            created_at=now,
        )
        delivery.start_alone(row)
    return _sent(row)


def _visible(principal: Principal) -> list[Webhook]:
    require(principal, Scope.ADMIN)
    pending = Count("deliveries", filter=Q(deliveries__state__in=delivery.PENDING))
    rows = list(
        Webhook.objects.select_related("owner")
        .prefetch_related("banks")
        .annotate(pending=pending)
        .order_by("pk")
    )
    named = {bank.pk: bank for row in rows for bank in row.banks.all()}
    roles = roles_in(principal, named.values())
    return [row for row in rows if _may_change(principal, row, roles)]


def _may_change(principal: Principal, row: Webhook, roles: dict[int, Role]) -> bool:
    banks = list(row.banks.all())
    if row.every_bank or not banks:
        is_theirs = principal.is_admin or row.owner_id == principal.user_id is not None
        return is_theirs and principal.bank_ids is None
    return all(roles.get(bank.pk, Role.VIEWER) >= Role.MAINTAINER for bank in banks)


def _one(principal: Principal, uid: str) -> Webhook:
    for row in _visible(principal):
        if row.uid == uid:
            return row
    raise errors.WebhookNotFound


def _readable(principal: Principal, hook: Webhook) -> QuerySet[Delivery]:
    """Its tests, and its deliveries of the banks that the caller maintains now."""
    rows = Delivery.objects.filter(webhook=hook)
    told = Bank.objects.filter(pk__in=rows.order_by().values("bank"))
    roles = roles_in(principal, told)
    banks = [key for key, role in roles.items() if role >= Role.MAINTAINER]
    return rows.filter(Q(bank=None) | Q(bank__in=banks))


def _banks(principal: Principal, chosen: Filter) -> list[Bank] | None:
    """The banks that are named; None = every bank that the caller maintains."""
    if chosen.banks:
        names = dict.fromkeys(chosen.banks)
        return [open_bank(principal, name, Role.MAINTAINER, Scope.ADMIN) for name in names]
    if principal.bank_ids is not None:
        raise errors.Invalid("This token is for some banks only: name them.", loc="filter.banks")
    roles = {} if principal.is_admin else roles_in(principal, visible_banks(principal))
    if not principal.is_admin and max(roles.values(), default=Role.VIEWER) < Role.MAINTAINER:
        raise errors.Forbidden("That needs the role maintainer in a bank.")
    return None


def _types(chosen: Filter) -> list[str]:
    for each in chosen.types:
        if each not in events.NAMES:
            names = ", ".join(events.NAMES)
            raise errors.Invalid(
                f"There is no event {redact.mask(each).text[:SHOWN_NAME]!r}: use {names}.",
                loc="filter.types",
            )
    return sorted(set(chosen.types))


def _set_banks(row: Webhook, banks: Iterable[Bank] | None) -> None:
    """Which banks it reads: of those that are new to it, what changes from now on."""
    row.banks.set(banks or [])
    read = Bank.objects.exclude(state=Bank.State.HIDDEN)
    if banks is not None:
        read = read.filter(webhooks=row)
    positions = WebhookPosition.objects.filter(webhook=row)
    positions.exclude(bank__in=read).delete()
    known = set(positions.values_list("bank", flat=True))
    WebhookPosition.objects.bulk_create(
        [
            WebhookPosition(webhook=row, bank=bank, seq=bank.head)
            for bank in read
            if bank.pk not in known
        ],
        ignore_conflicts=True,
    )


def _go_on(row: Webhook) -> None:
    """What was kept when it was turned off is sent first, and now."""
    now = seams.now()
    kept = Delivery.objects.filter(webhook=row, in_order=True)
    kept.filter(state=Delivery.State.DISABLED).update(state=Delivery.State.RETRYING)
    kept.filter(state__in=delivery.PENDING).update(next_try_at=now)
    if kept.filter(state__in=delivery.PENDING).exists():
        delivery.start_now(row)


def _hook(row: Any) -> Hook:
    """The value of a row that `_visible` gave."""
    return Hook(
        id=row.uid,
        url=row.url,
        filter=Filter(
            banks=tuple(sorted(bank.name for bank in row.banks.all())), types=tuple(row.types)
        ),
        active=row.active,
        owner=row.owner.get_username() if row.owner else None,
        failures=row.failures,
        pending=row.pending,
        disabled_reason=row.disabled_reason or None,
        created_at=milliseconds(row.created_at),
    )


def _sent(row: Delivery) -> Sent:
    is_pending = row.state in delivery.PENDING
    return Sent(
        id=row.uid,
        event_id=row.event_id,
        event_type=row.event_type,
        bank=row.bank.name if row.bank else None,
        seq=row.seq,
        state=row.state,
        created_at=milliseconds(row.created_at),
        next_try_at=milliseconds(row.next_try_at) if is_pending else None,
        body=row.body[:SHOWN_CHARACTERS],
        attempts=list(row.attempts),
    )
