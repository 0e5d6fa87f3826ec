"""Runs of consolidation: begun by a person, a command or the schedule, carried out by a job.

A bank has one run at a time, whoever begins it on whichever machine: its job has one key. A run
that the model fails is tried again a few times; the bank's episodes wait where they are.
"""

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any

from django.db import transaction

from banks import audit, auth, errors, jobs, seams
from banks.access import Principal, Role, Scope
from banks.jobs import Running, handlers, queue
from banks.models import Bank
from banks.queries import milliseconds
from banks.services import open_bank, opening
from banks.services import undo as undoing
from recall.learning import consolidation, proposals, reach, records
from recall.learning.consolidation import Progress
from recall.learning.proposals import Proposed
from recall.models import Checkpoint, ConsolidationRun

logger = logging.getLogger(__name__)

KIND = "consolidation"
"""The kind of the jobs that go over one bank."""

ROUND = "consolidation round"
"""The kind of the job that the schedule begins: it begins a run of every bank."""

TRIES = 3
PAGE_MOST = 200
DIED = "It ended without a word: its process was killed at every try."
NOT_ALLOWED = "Its token or person may not any more."
NOT_THERE = "Its bank was in the trash: begin another run when it is back."

BY_SCHEDULE = Principal(handle="schedule", is_admin=True)

_STEP_S = 60.0
_ENDED = (ConsolidationRun.State.DONE, ConsolidationRun.State.FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run as people see it. Times are milliseconds; None = not yet.

    `changes`: kind, outcome and memories of each change, by their ids. `undoable`: it wrote
    something that was not taken back yet.
    """

    id: str
    bank: str
    state: str
    dry_run: bool
    started_by: str
    created_at: int
    started_at: int | None
    finished_at: int | None
    duration_ms: int | None
    read: int
    proposed: int
    applied: int
    rejected: int
    stale: int
    capped: int
    pinned_skipped: int
    model: str | None
    tokens: int
    note: str | None
    error: str | None
    changes: list[dict[str, Any]]
    undoable: bool
    undone_at: int | None


def register() -> None:
    """Let the worker run these jobs."""
    jobs.handler(KIND, limit_s=_STEP_S, tries=TRIES, is_outside=True)(_work)
    jobs.handler(ROUND, limit_s=_STEP_S, tries=TRIES)(_round)


def start(principal: Principal, bank: Bank, *, dry_run: bool = False) -> Run:
    """Have a worker go over an opened bank. Raises RunPending."""
    with transaction.atomic():
        row = _new(principal, bank, dry_run=dry_run)
        if not queue.enqueue(KIND, {"run": row.pk}, dedup=key_of(bank)):
            raise errors.RunPending
        _forsake(row)
    return _run(row)


def run_now(
    principal: Principal,
    bank: Bank,
    *,
    dry_run: bool = False,
    stop: threading.Event,
    progress: Progress,
) -> Run:
    """Go over an opened bank in this process, once. Raises RunPending, and what `commit.run` does.

    When `stop` is set it ends after the window at hand, and a worker goes on.
    """
    with transaction.atomic():
        row = _new(principal, bank, dry_run=dry_run)
        claimed = queue.begin(KIND, {"run": row.pk}, dedup=key_of(bank))
        if claimed is None:
            raise errors.RunPending
        _forsake(row)
    running = jobs.Attempt(claimed, stop)
    try:
        again = _try(row, principal, bank, running, progress, tries=1)
    except Exception as error:
        claimed.fail(handlers.judged(error))
        raise
    if again is None:
        claimed.finish(row.error or row.state)
    else:
        claimed.again(again)
    return _run(row)


def listed(
    principal: Principal,
    bank: Bank | None = None,
    *,
    limit: int = PAGE_MOST,
    after: str | None = None,
) -> tuple[list[Run], str | None]:
    """The runs of a bank, or of all that the caller maintains, newest first, at most 200; and where
    the next page begins.

    `after`: the id that the page before ended with. Raises ScopeMissing, Forbidden (a bank that the
    caller does not maintain), Invalid.
    """
    rows = ConsolidationRun.objects.filter(bank__in=reach.banks(principal, bank).order_by())
    if after is not None:
        rows = rows.filter(pk__lt=reach.place(rows, after))
    limit = max(1, min(limit, PAGE_MOST))
    page = list(rows.select_related("bank").order_by("-pk")[: limit + 1])
    following = page[limit - 1].uid if len(page) > limit else None
    return _runs(page[:limit]), following


def one(principal: Principal, key: str) -> tuple[Run, list[Proposed]]:
    """A run and what it proposes. Raises RunNotFound, ScopeMissing."""
    row, _ = reach.one(principal, ConsolidationRun, key, missing=errors.RunNotFound)
    return _run(row), proposals.of_run(row)


def apply(
    principal: Principal,
    key: str,
    *,
    accept: Sequence[str] = (),
    edit: Mapping[str, str] = MappingProxyType({}),
    reject: Sequence[str] = (),
) -> tuple[Run, dict[str, str]]:
    """Decide about proposals of a run: what is accepted is one operation, undone with the run.

    The run, and what became of each proposal. Raises RunNotFound and what `proposals.decide` does.
    """
    row, bank = reach.one(principal, ConsolidationRun, key, missing=errors.RunNotFound)
    wanted = {**dict.fromkeys(accept), **edit}
    if len(wanted) < len(accept) + len(edit):
        raise errors.ProposalNotFound("Name proposals of this run, each once.")
    outcomes = proposals.decide(principal, bank, row, wanted, reject)
    row.refresh_from_db()
    return _run(row), outcomes


def undo(principal: Principal, key: str) -> Run:
    """Take back all that a run wrote, each of its operations whole, the newest first.

    Raises RunNotFound, ScopeMissing, Conflict when there is nothing to take back, and what `undo`
    of an operation raises: what has moved on since is not touched.
    """
    row, bank = reach.one(principal, ConsolidationRun, key, missing=errors.RunNotFound)
    gone = audit.taken_back(row.operations)
    left = [each for each in row.operations if each not in gone]
    if not left or row.state not in _ENDED:
        raise errors.Conflict("There is nothing to take back.")
    while left:
        undoing.undo(principal, bank, left.pop())
        row.operations = left
        row.undone_at = seams.now()
        row.save(update_fields=["operations", "undone_at"])
    return _run(row)


def _new(principal: Principal, bank: Bank, *, dry_run: bool) -> ConsolidationRun:
    return ConsolidationRun.objects.create(
        bank=bank,
        dry_run=dry_run,
        started_by=principal.handle,
        token=principal.token_id,
        user=principal.user_id,
        created_at=seams.now(),
    )


def key_of(bank: Bank) -> str:
    """The key of the one job that goes over a bank."""
    return str(bank.pk)


def _forsake(row: ConsolidationRun) -> None:
    """Runs whose job was given up have ended: this one holds the key now."""
    left = ConsolidationRun.objects.filter(bank=row.bank).exclude(pk=row.pk)
    left.exclude(state__in=_ENDED).update(
        state=ConsolidationRun.State.FAILED, error=DIED, finished_at=seams.now()
    )


def _work(running: Running) -> datetime | str:
    """Go over one bank, on behalf of whoever began the run, if that may be still."""
    row = ConsolidationRun.objects.filter(pk=running.payload["run"]).select_related("bank").first()
    if row is None or row.state in _ENDED:
        return "nothing to do"
    if row.bank.state != Bank.State.ACTIVE:
        _end(row, ConsolidationRun.State.FAILED, NOT_THERE)
        return NOT_THERE
    try:
        principal = _principal(row)
        bank = open_bank(principal, row.bank.name, Role.MAINTAINER, Scope.RUNS_RUN)
    except (errors.Unauthenticated, errors.Forbidden, errors.BankNotFound):
        _end(row, ConsolidationRun.State.FAILED, NOT_ALLOWED)
        return NOT_ALLOWED
    again = _try(row, principal, bank, running, _silent, tries=TRIES)
    return again or row.error or row.state


def _principal(row: ConsolidationRun) -> Principal:
    """Whoever began it, as of now. Raises Unauthenticated."""
    if row.token is None and row.user is None:
        return Principal(handle=row.started_by, is_admin=True)
    return auth.principal_again(token_id=row.token, user_id=row.user)


def _silent(what: str, done: int, total: int) -> None:
    """Nobody is watching."""


def _try(
    row: ConsolidationRun,
    principal: Principal,
    bank: Bank,
    running: Running,
    progress: Progress,
    *,
    tries: int,
) -> datetime | None:
    """One try; when the next one is due, None when there is none."""
    row.state = ConsolidationRun.State.RUNNING
    row.started_at = row.started_at or seams.now()
    row.save(update_fields=["state", "started_at"])
    stopped = False

    def before(seconds: float) -> bool:
        nonlocal stopped
        running.extend(seconds + _STEP_S)
        stopped = running.stopping
        ConsolidationRun.objects.filter(pk=row.pk).update(read=row.read)
        return not stopped

    try:
        fault = consolidation.carry_out(row, principal, bank, before=before, progress=progress)
    except errors.DomainError as error:
        # The job is tried again as any other; what was counted so far counts then.
        state = ConsolidationRun.State.QUEUED
        ConsolidationRun.objects.filter(pk=row.pk).update(state=state, error=error.message)
        raise
    row.tries += 1
    # A run that only tells is not gone on with: it would count twice.
    again = seams.now() if stopped and not row.dry_run else None
    if fault is not None:
        row.faults += 1
        again = _later(row, fault, 1 if row.dry_run else tries)
    if again is None:
        failed = fault is not None
        _back_off(row, failed=failed)
        state = ConsolidationRun.State.FAILED if failed else ConsolidationRun.State.DONE
        _end(row, state, fault.message if fault else "")
    else:
        row.state, row.error = ConsolidationRun.State.QUEUED, fault.message if fault else ""
        row.save()
    return again


def _later(row: ConsolidationRun, fault: errors.DomainError, tries: int) -> datetime | None:
    """When a run that the model failed is tried again; None when it is not."""
    if row.faults >= tries or isinstance(fault, errors.ModelRefused):
        return None
    wished_s = fault.retry_after_s if isinstance(fault, errors.Unavailable) else 0
    return seams.now() + timedelta(seconds=max(handlers.pause_s(row.faults), wished_s))


def _back_off(row: ConsolidationRun, *, failed: bool) -> None:
    """Let the schedule leave a bank that fails alone for a while, longer each time."""
    point, _ = Checkpoint.objects.get_or_create(bank=row.bank)
    point.faults = point.faults + 1 if failed else 0
    pause = timedelta(seconds=handlers.pause_s(point.faults)) if failed else timedelta()
    point.not_before = seams.now() + pause if failed else None
    point.save(update_fields=["faults", "not_before"])


def _end(row: ConsolidationRun, state: ConsolidationRun.State, error: str) -> None:
    row.state, row.error, row.finished_at = state, error, seams.now()
    row.save()
    records.prune(row.bank)
    logger.info(
        "consolidation ended bank=%s state=%s read=%d applied=%d proposed=%d tokens=%d",
        row.bank.name, row.state, row.read, row.applied, row.proposed, row.tokens,
    )  # fmt: skip


def _round(running: Running) -> str:
    """Begin a run of every bank, but for those that failed just now or are gone over already."""
    count = 0
    for bank in opening.all_banks():
        point = Checkpoint.objects.filter(bank=bank, not_before__gt=seams.now())
        if point.exists():
            continue
        try:
            start(BY_SCHEDULE, bank)
        except errors.RunPending:
            continue
        count += 1
    return f"{count} begun"


def _run(row: ConsolidationRun) -> Run:
    return _runs([row])[0]


def _runs(rows: Sequence[ConsolidationRun]) -> list[Run]:
    gone = audit.taken_back(uid for row in rows for uid in row.operations)
    return [
        _value(row, undoable=row.state in _ENDED and not gone.issuperset(row.operations))
        for row in rows
    ]


def _value(row: ConsolidationRun, *, undoable: bool) -> Run:
    took = row.finished_at - row.started_at if row.finished_at and row.started_at else None
    return Run(
        id=row.uid,
        bank=row.bank.name,
        state=str(row.state),
        dry_run=row.dry_run,
        started_by=row.started_by,
        created_at=milliseconds(row.created_at),
        started_at=milliseconds(row.started_at) if row.started_at else None,
        finished_at=milliseconds(row.finished_at) if row.finished_at else None,
        duration_ms=took // timedelta(milliseconds=1) if took is not None else None,
        read=row.read,
        proposed=row.proposed,
        applied=row.applied,
        rejected=row.rejected,
        stale=row.stale,
        capped=row.capped,
        pinned_skipped=row.pinned,
        model=row.model or None,
        tokens=row.tokens,
        note=row.note or None,
        error=row.error or None,
        changes=row.changes,
        undoable=undoable,
        undone_at=milliseconds(row.undone_at) if row.undone_at else None,
    )
