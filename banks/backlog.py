"""Checks of what is to be done later: jobs that nobody runs, jobs given up, webhooks turned off."""

from banks import seams
from banks.doctor import Check, Finding, made
from banks.jobs import queue
from banks.outbox import Webhook
from banks.store.types import Severity

_NAMED_MOST = 20


def checks() -> list[Check]:
    """Every check of the backlog; they cost little at every size."""
    return [
        made("queue", _queue),
        made("dead jobs", _dead),
        made("webhooks", _webhooks),
    ]


def _queue() -> Check:
    late = queue.late()
    oldest = late.first()
    if oldest is None:
        return Check("queue", ok=True, required=True, detail="No job waits for long.")
    minutes = int((seams.now() - oldest.run_at).total_seconds() // 60)
    detail = f"Jobs that wait: {late.count()}, one for {minutes} minutes. Does a worker run?"
    return Check("queue", ok=False, required=True, detail=detail)


def _dead() -> Check:
    dead = queue.dead()
    findings = [
        Finding("", 0, "dead_job", f"Job {job.pk} ({job.kind}): {job.error}", Severity.WARNING)
        for job in dead[:_NAMED_MOST]
    ]
    detail = f"Given up: {dead.count()}. The admin can run them again." if findings else "None."
    return Check("dead jobs", ok=not findings, required=False, detail=detail, findings=findings)


def _webhooks() -> Check:
    off = Webhook.objects.filter(active=False, disabled_reason__gt="").order_by("pk")
    findings = [
        Finding("", 0, "webhook_off", f"Webhook {row.pk}: {row.disabled_reason}", Severity.WARNING)
        for row in off[:_NAMED_MOST]
    ]
    failing = Webhook.objects.filter(active=True, failures__gt=0).count()
    told = ((off.count(), "turned off after failures"), (failing, "failing at the moment"))
    words = ", ".join(f"{count} {what}" for count, what in told if count)
    detail = f"{words or 'None is turned off, and none fails'}."
    return Check("webhooks", ok=not findings, required=False, detail=detail, findings=findings)
