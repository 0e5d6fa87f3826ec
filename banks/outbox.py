"""Rows of what is still to be done or sent: jobs, their schedule, webhooks, deliveries. Primary.

No workflow lives here: `banks.jobs` runs jobs, `banks.webhooks` sends, `banks.feed` fills.
"""

import uuid

from django.conf import settings
from django.db import models


def new_uid() -> str:
    """What callers know a row by: a primary key would tell them how much goes on elsewhere."""
    return uuid.uuid4().hex


def is_uid(text: str) -> bool:
    """Whether a row may be looked for by it: PostgreSQL refuses a text with a NUL character."""
    return text.isascii() and text.isalnum()


class Job(models.Model):
    """One piece of background work. What it does knows the handler of its kind alone."""

    class State(models.TextChoices):
        """Ready: to be run from `run_at` on. Dead: given up, until somebody runs it again."""

        READY = "ready"
        RUNNING = "running"
        DONE = "done"
        DEAD = "dead"

    kind = models.CharField(max_length=64)
    payload = models.JSONField(default=dict)
    dedup = models.CharField(max_length=200, help_text="one live job of a kind has this key")
    state = models.CharField(max_length=8, choices=State, default=State.READY)
    run_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0, help_text="how many tries are spent")
    faults = models.PositiveIntegerField(default=0, help_text="in a row, spent or not")
    fault_since = models.DateTimeField(null=True, help_text="the first of them that may pass")
    leased_until = models.DateTimeField(null=True)
    lease = models.CharField(max_length=32, blank=True, help_text="who runs it")
    error = models.CharField(max_length=500, blank=True)
    outcome = models.CharField(max_length=200, blank=True, help_text="what it came to, once done")
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "dedup"],
                condition=models.Q(state__in=["ready", "running"]),
                name="one_live_job_a_key",
            )
        ]
        indexes = [models.Index(fields=["state", "run_at"], name="jobs_that_are_due")]


class Schedule(models.Model):
    """Work that begins by itself: a job of this kind at `next_at`, then at each time of `rule`."""

    kind = models.CharField(max_length=64, unique=True)
    rule = models.CharField(max_length=100, help_text="five fields of cron, or every 6h")
    zone = models.CharField(max_length=64, default="UTC")
    next_at = models.DateTimeField()
    changed_by = models.CharField(max_length=160)
    changed_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.kind


class Webhook(models.Model):
    """An address that is told of changes, on behalf of whoever changed it last (`owner`)."""

    uid = models.CharField(max_length=32, unique=True, default=new_uid)
    url = models.CharField(max_length=2000)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, help_text="none: instance"
    )
    every_bank = models.BooleanField(default=False)
    banks = models.ManyToManyField("banks.Bank", related_name="webhooks")
    types = models.JSONField(default=list, help_text="events that are sent; none: all")
    secret = models.CharField(max_length=100)
    old_secret = models.CharField(max_length=100, blank=True, help_text="signs beside it")
    old_secret_until = models.DateTimeField(null=True)
    active = models.BooleanField(default=True)
    failures = models.PositiveIntegerField(default=0, help_text="attempts in a row")
    disabled_reason = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"webhook {self.pk}"


class WebhookPosition(models.Model):
    """How far a webhook has read the journal of a bank."""

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, db_index=False)
    bank = models.ForeignKey("banks.Bank", on_delete=models.CASCADE)
    seq = models.PositiveBigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["webhook", "bank"], name="one_position_a_bank")
        ]


class Delivery(models.Model):
    """One event on its way to one webhook, and every attempt that was made.

    `attempts`: objects with at (milliseconds), duration_ms, status, error, request_headers,
    response_headers, response_body; nothing secret is in them.
    """

    class State(models.TextChoices):
        """Waiting: not tried yet. Failed: given up. Disabled: kept until the webhook is on."""

        WAITING = "waiting"
        RETRYING = "retrying"
        OK = "ok"
        FAILED = "failed"
        DISABLED = "disabled"

    uid = models.CharField(max_length=32, unique=True, default=new_uid)
    webhook = models.ForeignKey(
        Webhook, on_delete=models.CASCADE, related_name="deliveries", db_index=False
    )
    bank = models.ForeignKey("banks.Bank", on_delete=models.CASCADE, null=True)
    event_id = models.CharField(max_length=64)
    event_type = models.CharField(max_length=32)
    seq = models.PositiveBigIntegerField(null=True)
    body = models.TextField()
    in_order = models.BooleanField(help_text="no later one is sent before it has ended")
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)
    attempts = models.JSONField(default=list)
    next_try_at = models.DateTimeField()
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(fields=["webhook", "state", "id"], name="deliveries_by_state"),
            models.Index(fields=["webhook", "event_id"], name="deliveries_of_an_event"),
            models.Index(fields=["finished_at"], name="deliveries_by_end"),
        ]
