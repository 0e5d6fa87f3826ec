"""Makes deliveries out of the journal: a follower with a position for each webhook and bank.

Every way of writing goes through the journal, so every one is told, hand edits and imports too. A
receiver that is slow or down is behind: its position waits once so many deliveries are pending.
"""

import logging
import time
from datetime import timedelta

from django.db import transaction
from django.db.models import Exists, F, OuterRef

from banks import access, events, followers, seams
from banks.access import Role
from banks.events import Event
from banks.models import Bank
from banks.outbox import Delivery, Webhook, WebhookPosition
from banks.schemas import events as shapes
from banks.webhooks import delivery

logger = logging.getLogger(__name__)

PENDING_MOST = 100
"""Deliveries that wait at once for a webhook; the journal keeps what comes behind them."""

KEPT = timedelta(days=14)
PRUNE_EVERY_S = 600.0
_PRUNED_AT_ONCE = 1_000

_prune_at = 0.0


def register() -> None:
    """Let the worker run this follower, and send what it makes."""
    followers.register("webhooks", follow)
    delivery.register()


def follow() -> int:
    """Bring every webhook up to the journal and have it sent; how many there was work for."""
    worked = sum(_feed(each) for each in Webhook.objects.filter(active=True).order_by("pk"))
    waiting = Delivery.objects.filter(
        webhook=OuterRef("pk"), in_order=True, state__in=delivery.PENDING
    )
    # Asked anew at each round: a job that ended just as the next delivery came is replaced.
    for webhook in Webhook.objects.filter(Exists(waiting), active=True):
        delivery.start(webhook)
    _prune()
    return worked


def _feed(webhook: Webhook) -> bool:
    """Make the deliveries that the journal has for one webhook, as far as there is room."""
    if webhook.every_bank:
        _join_new_banks(webhook)
    waiting = Delivery.objects.filter(webhook=webhook, in_order=True, state__in=delivery.PENDING)
    room = PENDING_MOST - waiting.count()
    behind = WebhookPosition.objects.filter(webhook=webhook, seq__lt=F("bank__head"))
    owner = delivery.owner_of(webhook)
    worked = False
    for position in behind.exclude(bank__state=Bank.State.HIDDEN).select_related("bank"):
        role = access.role_in(owner, position.bank) if owner else None
        if role is None or role < Role.MAINTAINER:
            # What happens while the owner may not read the bank is never told, later neither.
            _move(position, position.bank.head)
            continue
        if room <= 0:
            break
        found = events.after(position.bank, position.seq, limit=room)
        if found:
            room -= _deliver(webhook, position, found)
            worked = True
    return worked


def _join_new_banks(webhook: Webhook) -> None:
    """Positions for banks that it has not met: from the first change of one that is younger than
    the webhook, else from now on."""
    known = WebhookPosition.objects.filter(webhook=webhook).values("bank")
    for bank in Bank.objects.exclude(state=Bank.State.HIDDEN).exclude(pk__in=known):
        is_younger = bank.created_at >= webhook.created_at
        WebhookPosition.objects.bulk_create(
            [WebhookPosition(webhook=webhook, bank=bank, seq=0 if is_younger else bank.head)],
            ignore_conflicts=True,
        )


def _move(position: WebhookPosition, seq: int) -> bool:
    """Go on to this number; false when another worker was quicker."""
    here = WebhookPosition.objects.filter(pk=position.pk, seq=position.seq)
    return bool(here.update(seq=seq))


def _deliver(webhook: Webhook, position: WebhookPosition, found: list[Event]) -> int:
    """Make deliveries of the events that it wants, and move on behind all of them; how many."""
    now = seams.now()
    wanted = [each for each in found if _is_wanted(webhook, each)]
    with transaction.atomic():
        if not _move(position, found[-1].seq):
            return 0
        Delivery.objects.bulk_create(
            Delivery(
                webhook=webhook,
                bank=position.bank,
                event_id=f"evt_{event.uid}",
                event_type=event.name,
                seq=event.seq,
                body=shapes.line(event),
                in_order=True,
                next_try_at=now,
                created_at=now,
            )
            for event in wanted
        )
        if wanted:
            delivery.start(webhook)
    return len(wanted)


def _is_wanted(webhook: Webhook, event: Event) -> bool:
    chosen = webhook.types
    return not chosen or event.name in chosen or event.trigger.value in chosen


def _prune() -> None:
    """Forget deliveries that ended long ago, now and then."""
    global _prune_at  # noqa: PLW0603  a time of this process
    if time.monotonic() < _prune_at:
        return
    _prune_at = time.monotonic() + PRUNE_EVERY_S
    old = Delivery.objects.filter(finished_at__lt=seams.now() - KEPT).order_by()
    keys = list(old.values_list("pk", flat=True)[:_PRUNED_AT_ONCE])
    Delivery.objects.filter(pk__in=keys).delete()
