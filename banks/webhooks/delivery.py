"""Jobs that send deliveries: those of the journal in their order, one by one; others by themselves.

A delivery is recorded after it was sent. A worker that dies in between sends it again, under the
same `webhook-id`: receivers get each event at least once.
"""

import logging
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from banks import access, jobs, seams
from banks.access import Principal, Role
from banks.jobs import Running
from banks.outbox import Delivery, Webhook
from banks.webhooks import sending, signing
from banks.webhooks.sending import Answer

logger = logging.getLogger(__name__)

IN_ORDER, ALONE = "webhook", "webhook-alone"
TEST = "test"
BROKE = "The call failed on this side: the log of the server says why."
TRIES = 8
FAILURES_IN_A_ROW = 10
"""So many attempts without a success, and the webhook is turned off."""

PAUSES_S = (5.0, 60.0, 5 * 60.0, 30 * 60.0, 2 * 3_600.0, 6 * 3_600.0, 14 * 3_600.0)
"""Between the tries: eight of them in about a day."""

PENDING = (Delivery.State.WAITING, Delivery.State.RETRYING)
_STEP_S = 2 * sending.TOTAL_S
_TURN = timedelta(seconds=2)
"""After so long a webhook whose queue is not empty lets others go first."""

_JOB_TRIES = 8
_GONE = 410


def register() -> None:
    """Let the worker run these jobs."""
    for kind, work in ((IN_ORDER, _send_in_order), (ALONE, _send_alone)):
        jobs.handler(kind, limit_s=_STEP_S, tries=_JOB_TRIES, is_outside=True)(work)


def owner_of(webhook: Webhook) -> Principal | None:
    """On whose behalf it reads; None when that person may not sign in any more."""
    if webhook.owner_id is None:
        return Principal(handle=f"webhook:{webhook.pk}", is_admin=True)
    user = User.objects.filter(pk=webhook.owner_id, is_active=True).first()
    if user is None:
        return None
    return Principal(handle=f"webhook:{webhook.pk}", user_id=user.pk, is_admin=user.is_superuser)


def start(webhook: Webhook) -> None:
    """Have what waits for this webhook sent; nothing when that is under way."""
    jobs.enqueue(IN_ORDER, {"webhook": webhook.pk}, dedup=str(webhook.pk))


def start_now(webhook: Webhook) -> None:
    """As `start`, whatever time the next try was put off to."""
    start(webhook)
    jobs.hurry(IN_ORDER, dedup=str(webhook.pk))


def start_alone(delivery: Delivery) -> None:
    """Have this one sent, whatever waits beside it."""
    jobs.enqueue(ALONE, {"delivery": delivery.pk}, dedup=str(delivery.pk))


def _send_in_order(running: Running) -> datetime | None:
    """Send what waits, oldest first, until it is all sent, one has to be tried again later, or its
    turn is over: then it goes on behind all others that are due."""
    ends_at = seams.now() + _TURN
    while True:
        webhook = Webhook.objects.filter(pk=running.payload["webhook"], active=True).first()
        if webhook is None:
            return None
        waiting = Delivery.objects.filter(webhook=webhook, in_order=True, state__in=PENDING)
        delivery = waiting.select_related("bank").order_by("pk").first()
        if delivery is None:
            return None
        if delivery.next_try_at > seams.now():
            return delivery.next_try_at
        if running.stopping or seams.now() >= ends_at:
            return seams.now()
        running.extend()
        attempt(webhook, delivery)


def _send_alone(running: Running) -> datetime | None:
    """Send one delivery; a test once, another until it is taken or given up."""
    rows = Delivery.objects.select_related("webhook", "bank")
    delivery = rows.filter(pk=running.payload["delivery"], state__in=PENDING).first()
    if delivery is None:
        return None
    webhook = delivery.webhook
    if not webhook.active and delivery.event_type != TEST:
        _end(delivery, Delivery.State.FAILED)
        return None
    attempt(webhook, delivery)
    return delivery.next_try_at if delivery.state == Delivery.State.RETRYING else None


def attempt(webhook: Webhook, delivery: Delivery) -> None:
    """Send a delivery once and record what came of it."""
    if not _may_read(webhook, delivery):
        refused = Answer(error="Its owner may not read this bank any more.")
        _record(webhook, delivery, refused, {}, given_up=True)
        return
    headers: dict[str, str] = {}
    try:
        body = delivery.body.encode()
        headers = _headers(webhook, delivery, body)
        answer = sending.post(webhook.url, body, headers)
    except Exception:
        # Whatever a receiver makes us stumble over is a failed attempt like any other: one that is
        # not recorded would be made for ever, with all later deliveries behind it.
        logger.exception("webhook call broke webhook=%d delivery=%d", webhook.pk, delivery.pk)
        answer = Answer(error=BROKE)
    _record(webhook, delivery, answer, headers, given_up=False)


def _headers(webhook: Webhook, delivery: Delivery, body: bytes) -> dict[str, str]:
    now = seams.now()
    by = [webhook.secret]
    if webhook.old_secret and webhook.old_secret_until and now < webhook.old_secret_until:
        by.append(webhook.old_secret)
    headers = signing.headers(delivery.event_id, int(now.timestamp()), body, by=by)
    headers["Content-Type"] = "application/json"
    headers["X-Memory-Event"] = delivery.event_type.partition(".")[0]
    return headers


def _may_read(webhook: Webhook, delivery: Delivery) -> bool:
    if delivery.bank is None:
        return True
    owner = owner_of(webhook)
    role = access.role_in(owner, delivery.bank) if owner else None
    return role is not None and role >= Role.MAINTAINER


def _record(
    webhook: Webhook,
    delivery: Delivery,
    answer: Answer,
    headers: dict[str, str],
    *,
    given_up: bool,
) -> None:
    now = seams.now()
    delivery.attempts.append(
        {
            "at": int(now.timestamp() * 1_000),
            "duration_ms": answer.duration_ms,
            "status": answer.status,
            "error": answer.error,
            "request_headers": _shown(headers),
            "response_headers": dict(answer.headers),
            "response_body": answer.body,
        }
    )
    tries = 1 if delivery.event_type == TEST else TRIES
    if answer.ok:
        delivery.state = Delivery.State.OK
    elif given_up or len(delivery.attempts) >= tries:
        delivery.state = Delivery.State.FAILED
    else:
        delivery.state = Delivery.State.RETRYING
        delivery.next_try_at = now + timedelta(seconds=_pause_s(delivery, answer))
    delivery.finished_at = None if delivery.state == Delivery.State.RETRYING else now
    with transaction.atomic():
        delivery.save(update_fields=["attempts", "state", "next_try_at", "finished_at"])
        if delivery.event_type != TEST and not given_up:
            _count(webhook, answer)
    logger.info(
        "webhook called webhook=%d delivery=%d status=%d state=%s ms=%d",
        webhook.pk, delivery.pk, answer.status, delivery.state, answer.duration_ms,
    )  # fmt: skip


def _shown(headers: dict[str, str]) -> dict[str, str]:
    """The headers of a request without what proves who we are."""
    return {
        name: sending.MASKED if name == "webhook-signature" else value
        for name, value in headers.items()
    }


def _pause_s(delivery: Delivery, answer: Answer) -> float:
    """Seconds until the next try: what the receiver asks for if that is longer."""
    plain = PAUSES_S[min(len(delivery.attempts), len(PAUSES_S)) - 1]
    return max(plain * (0.9 + 0.2 * seams.chance()), answer.retry_after_s or 0.0)


def _end(delivery: Delivery, state: Delivery.State) -> None:
    Delivery.objects.filter(pk=delivery.pk).update(state=state, finished_at=seams.now())


def _count(webhook: Webhook, answer: Answer) -> None:
    """Keep the number of failures in a row; too many, or "gone for good", turn the webhook off."""
    rows = Webhook.objects.filter(pk=webhook.pk)
    if answer.ok:
        if webhook.failures:
            rows.update(failures=0)
        return
    rows.update(failures=F("failures") + 1)
    if answer.status == _GONE:
        reason = "The receiver answered that it is gone for good (410)."
    elif webhook.failures + 1 >= FAILURES_IN_A_ROW:
        last = f"{answer.error} ({answer.status})" if answer.status else answer.error
        reason = f"{FAILURES_IN_A_ROW} failures in a row. The last one: {last}"
    else:
        return
    if rows.filter(active=True).update(active=False, disabled_reason=reason[:500]):
        waiting = Delivery.objects.filter(webhook=webhook, in_order=True, state__in=PENDING)
        waiting.update(state=Delivery.State.DISABLED)
        logger.warning("webhook turned off webhook=%d", webhook.pk)
