"""The table of jobs: put in, claimed under a lease, ended. Safe for any number of workers.

Whoever claims a job gets a lease token. Every later word about the job counts only while that token
still stands in its row; so a worker that was frozen and lost its lease changes nothing any more.
"""

import logging
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q, QuerySet

from banks import seams
from banks.jobs import handlers
from banks.jobs.handlers import Handler, Verdict
from banks.outbox import Job

logger = logging.getLogger(__name__)

KEPT = timedelta(hours=24)
"""How long a job that is done stays in the table."""

LATE = timedelta(minutes=5)
"""A job that nobody began so long after its time: no worker runs, or all are busy."""

DIED = "its worker died at the last try"
_PRUNED_AT_ONCE = 1_000
_OUTCOME_LENGTH = 200
_LIVE = (Job.State.READY, Job.State.RUNNING)


class LeaseLostError(Exception):
    """The job took longer than its lease, and somebody else has it now."""


def enqueue(
    kind: str, payload: dict[str, Any], *, dedup: str, run_at: datetime | None = None
) -> bool:
    """Put a job in; false when a live one of this kind has the key already, which then counts.

    Within a caller's transaction the job is there exactly when the caller's rows are.
    """
    now = seams.now()
    if Job.objects.filter(kind=kind, dedup=dedup, state__in=_LIVE).exists():
        return False
    job = Job(kind=kind, payload=payload, dedup=dedup, created_at=now, run_at=run_at or now)
    try:
        with transaction.atomic():
            job.save(force_insert=True)
    except IntegrityError:
        return False  # somebody else was quicker by an instant
    return True


def hurry(kind: str, *, dedup: str) -> None:
    """Let a job that waits for its time run now; nothing when there is none."""
    waiting = Job.objects.filter(kind=kind, dedup=dedup, state=Job.State.READY)
    waiting.update(run_at=seams.now())


@dataclass(slots=True)
class Claimed:
    """A job in our hands until `leased_until`."""

    pk: int
    kind: str
    payload: dict[str, Any]
    lease: str
    leased_until: datetime
    faults: int
    fault_since: datetime | None
    attempts: int
    handler: Handler = field(repr=False)

    def extend(self, limit_s: float | None = None) -> None:
        """Take the whole limit, or so many seconds, from now on. Raises LeaseLostError."""
        seconds = self.handler.limit_s if limit_s is None else limit_s
        self.leased_until = seams.now() + timedelta(seconds=seconds)
        self._update(leased_until=self.leased_until)

    def finish(self, outcome: str = "") -> None:
        """It is done, and came to this. Raises LeaseLostError."""
        self._update(
            state=Job.State.DONE, lease="", leased_until=None, finished_at=seams.now(), error="",
            faults=0, outcome=outcome[:_OUTCOME_LENGTH],
        )  # fmt: skip

    def again(self, run_at: datetime) -> None:
        """It did what there was to do and goes on at that time. Raises LeaseLostError."""
        self._update(
            state=Job.State.READY, lease="", leased_until=None, run_at=run_at, attempts=0,
            faults=0, fault_since=None, error="",
        )  # fmt: skip

    def release(self) -> None:
        """Give it back as if it had not been begun. Raises LeaseLostError."""
        self._update(
            state=Job.State.READY, lease="", leased_until=None, run_at=seams.now(),
            attempts=F("attempts") - 1,
        )  # fmt: skip

    def fail(self, verdict: Verdict) -> None:
        """It failed: later again, or dead. Raises LeaseLostError."""
        now = seams.now()
        since = (self.fault_since or now) if verdict.passing else self.fault_since
        free = verdict.passing and since is not None and now - since < handlers.PATIENCE
        spent = self.attempts - (1 if free else 0)
        if verdict.permanent or spent >= self.handler.tries:
            self._update(
                state=Job.State.DEAD, lease="", leased_until=None, finished_at=now,
                error=verdict.error, faults=self.faults + 1,
            )  # fmt: skip
            logger.error("job dead kind=%s job=%d error=%s", self.kind, self.pk, verdict.error)
            return
        pause_s = max(handlers.pause_s(self.faults + 1), verdict.retry_after_s or 0.0)
        self._update(
            state=Job.State.READY, lease="", leased_until=None, attempts=spent,
            run_at=now + timedelta(seconds=pause_s), error=verdict.error,
            faults=self.faults + 1, fault_since=since,
        )  # fmt: skip
        logger.warning(
            "job failed kind=%s job=%d pause_s=%.0f error=%s",
            self.kind, self.pk, pause_s, verdict.error,
        )  # fmt: skip

    def _update(self, **values: Any) -> None:
        mine = Job.objects.filter(pk=self.pk, state=Job.State.RUNNING, lease=self.lease)
        if not mine.update(**values):
            raise LeaseLostError(f"{self.kind} {self.pk}")


def begin(kind: str, payload: dict[str, Any], *, dedup: str) -> Claimed | None:
    """Put a job in that is ours from the first moment; None when a live one has the key already.

    Should we die, a worker goes on with it when the lease is over.
    """
    with transaction.atomic():
        if not enqueue(kind, payload, dedup=dedup):
            return None
        return _take(Job.objects.get(kind=kind, dedup=dedup, state=Job.State.READY))


def due(*, outside: bool = True) -> QuerySet[Job]:
    """Jobs that this process could run now: ready ones, and those whose worker let the lease end.

    In no order. Without those that wait for programs of others if so asked.
    """
    now = seams.now()
    ready = Q(state=Job.State.READY, run_at__lte=now)
    left = Q(state=Job.State.RUNNING, leased_until__lte=now)
    return Job.objects.filter(ready | left, kind__in=handlers.kinds(outside=outside)).order_by()


def claim(*, outside: bool = True) -> Claimed | None:
    """The job that has waited longest, now ours; None when none is due. `outside` as for `due`.

    One whose worker died at its last try is dead then, and the next one is looked at.
    """
    # Looked at first without a transaction: on SQLite each one takes the only write lock there is.
    while due(outside=outside).exists():
        with transaction.atomic():
            rows = due(outside=outside).order_by("run_at", "pk")
            if connection.features.has_select_for_update_skip_locked:
                rows = rows.select_for_update(skip_locked=True)
            job = rows.first()
            if job is None:
                return None  # others hold what was due
            claimed = _take(job)
        if claimed is not None:
            return claimed
    return None


def _take(job: Job) -> Claimed | None:
    """The row as ours; None when it is dead now. Within the transaction that chose it."""
    now, handler = seams.now(), handlers.of(job.kind)
    if job.attempts >= handler.tries:
        Job.objects.filter(pk=job.pk).update(
            state=Job.State.DEAD, lease="", leased_until=None, finished_at=now,
            error=job.error or DIED,
        )  # fmt: skip
        logger.error("job dead kind=%s job=%d error=%s", job.kind, job.pk, DIED)
        return None
    lease, until = uuid.uuid4().hex, now + timedelta(seconds=handler.limit_s)
    Job.objects.filter(pk=job.pk).update(
        state=Job.State.RUNNING, lease=lease, leased_until=until, attempts=job.attempts + 1
    )
    return Claimed(
        pk=job.pk,
        kind=job.kind,
        payload=job.payload,
        lease=lease,
        leased_until=until,
        faults=job.faults,
        fault_since=job.fault_since,
        attempts=job.attempts + 1,
        handler=handler,
    )


def prune() -> int:
    """Remove jobs that were done long enough ago; how many, at most 1,000."""
    old = Job.objects.filter(state=Job.State.DONE, finished_at__lt=seams.now() - KEPT)
    keys = list(old.order_by().values_list("pk", flat=True)[:_PRUNED_AT_ONCE])
    if keys:
        Job.objects.filter(pk__in=keys).delete()
    return len(keys)


def revive(pk: int) -> bool:
    """Let a dead job run again with all its tries; false when it is not dead, or a live one has
    its key."""
    try:
        with transaction.atomic():
            dead = Job.objects.filter(pk=pk, state=Job.State.DEAD)
            count = dead.update(
                state=Job.State.READY, run_at=seams.now(), attempts=0, faults=0,
                fault_since=None, finished_at=None,
            )  # fmt: skip
    except IntegrityError:
        return False
    return bool(count)


def live_keys(kind: str) -> set[str]:
    """The keys of the jobs of a kind that wait or run."""
    live = Job.objects.filter(kind=kind, state__in=_LIVE)
    return set(live.values_list("dedup", flat=True))


def late() -> QuerySet[Job]:
    """Jobs that should have begun some minutes ago, of every kind, the longest waiting first."""
    waiting = Job.objects.filter(state=Job.State.READY, run_at__lt=seams.now() - LATE)
    return waiting.order_by("run_at", "pk")


def dead() -> QuerySet[Job]:
    """Jobs that were given up, the newest first."""
    return Job.objects.filter(state=Job.State.DEAD).order_by("-finished_at", "-pk")
