"""One change of a bank's files: row first, then the disk, then the rows. And healing.

first transaction: the operation's row, with all that is needed to end it
steps on disk, each synced, outside any transaction
second transaction: rows of the touched blocks, the journal, the operation done

A process can die between any two instructions of that. Whoever holds the bank's lock next ends the
operation: something of it on disk, then the rest is done; nothing of it, then it is dropped.
"""

import hashlib
import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from banks import broken, errors, journal, projection, steps, surveys
from banks.journal import Effect
from banks.models import Bank, Operation, SourceFile
from banks.steps import Append, Edit, Log, Mark, Put, Step
from banks.store import history, tree
from banks.store.errors import (
    DiskFault,
    FileChanged,
    FileMissing,
    FolderMoved,
    InvalidContent,
    InvalidName,
    LockTimeout,
    NotAFile,
    StoreError,
)
from banks.store.files import Fingerprint, LockedBank

logger = logging.getLogger(__name__)

MOVES = ("bank created", "bank trashed", "bank restored", "bank renamed")
"""Acts whose one step is the rename of a folder: `banks.moves` heals them."""

UNENDED = (Operation.State.PENDING, Operation.State.REFUSED)
"""States that the next holder of the lock has to end: forwards, and backwards."""

KEY_LIFETIME = timedelta(hours=24)


@contextmanager
def store_errors() -> Iterator[None]:
    """Faults of the store within the block, in the product's terms."""
    try:
        yield
    except (LockTimeout, FileChanged) as error:
        raise errors.StoreBusy from error
    except NotAFile as error:
        raise errors.PathBlocked(str(error.data.get("path", ""))) from error
    except FolderMoved as error:
        raise errors.BankNotFound from error
    except DiskFault as error:
        kept = "Nothing was changed." if error.certain else "The next call finds out what was kept."
        raise errors.StoreFault(f"{error.message} {kept}") from error
    except (InvalidName, InvalidContent) as error:
        raise errors.Invalid(error.message, loc=error.field, code=error.code) from error


@dataclass(frozen=True, slots=True)
class Idempotency:
    """A caller's key, whose it is, and the digest of the body that came with it."""

    owner: str
    key: str
    body_digest: str

    @property
    def kept(self) -> str:
        """What the row has of the key: somebody may take a secret for one."""
        return hashlib.sha256(self.key.encode()).hexdigest()


@dataclass(slots=True)
class Plan:
    """What a change will do: known wholly before the first byte goes to disk."""

    act: str
    answer: dict[str, Any]
    steps: list[Step] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    undoes: int | None = None
    """The primary key of the operation that it takes back."""


def replay(wanted: Idempotency | None, *, now: datetime) -> dict[str, Any] | None:
    """The first answer to this key, or None when the key is new.

    Raises IdempotencyMismatch for another body, IdempotencyBusy while the first call runs.
    """
    if wanted is None:
        return None
    row = Operation.objects.filter(owner=wanted.owner, idempotency_key=wanted.kept).first()
    if row is None:
        return None
    if row.created_at < now - KEY_LIFETIME and row.state != Operation.State.PENDING:
        Operation.objects.filter(pk=row.pk).update(idempotency_key=None)
        return None
    if row.body_digest != wanted.body_digest:
        raise errors.IdempotencyMismatch
    if row.state == Operation.State.PENDING:
        raise errors.IdempotencyBusy
    return dict(row.answer or {})


def execute(
    bank: Bank,
    locked: LockedBank,
    plan: Plan,
    *,
    actor: str,
    now: datetime,
    idempotency: Idempotency | None = None,
) -> dict[str, Any]:
    """Carry out a plan under the bank's lock; its answer once all of it is durable.

    Raises FileChanged when somebody changed a file since it was planned (nothing is left of the
    operation then: plan again), DiskFault when the disk refused, BlockBroken.
    """
    if not plan.steps and idempotency is None:
        return plan.answer
    if actor != journal.DISK:
        broken.refuse(bank, locked, {each.key for each in plan.effects if each.target == "entry"})
    operation = _open(bank, plan, actor=actor, now=now, idempotency=idempotency)
    if not plan.steps:
        return plan.answer
    marks = _do(bank, locked, operation, plan.steps)
    if marks is None:
        if not finish_pending(bank, locked, operation, now=now):
            raise FileChanged("Somebody replaced the file while it was written.")
        return plan.answer

    def write_rows() -> None:
        for step, mark in zip(plan.steps, marks, strict=True):
            _rows(bank, locked, step, mark)

    close(bank, operation, plan.effects, write_rows, now=now)
    return plan.answer


def _open(
    bank: Bank, plan: Plan, *, actor: str, now: datetime, idempotency: Idempotency | None
) -> Operation:
    """The first transaction. An operation without steps is done at once.

    Raises IdempotencyBusy when its key was taken by a call about another bank meanwhile.
    """
    key = idempotency.kept if idempotency else None
    try:
        with transaction.atomic():
            return Operation.objects.create(
                uid=uuid.uuid4().hex,
                bank=bank,
                act=plan.act,
                actor=actor,
                request_id=journal.request_id.get(),
                owner=idempotency.owner if idempotency else "",
                idempotency_key=key,
                body_digest=idempotency.body_digest if idempotency else "",
                answer=plan.answer if idempotency else None,
                steps=steps.dump(plan.steps),
                effects=[asdict(effect) for effect in plan.effects],
                state=Operation.State.PENDING if plan.steps else Operation.State.DONE,
                undoes_id=plan.undoes,
                created_at=now,
                finished_at=None if plan.steps else now,
            )
    except IntegrityError as error:
        if key is None:
            raise
        raise errors.IdempotencyBusy from error


def _do(
    bank: Bank, locked: LockedBank, operation: Operation, todo: Sequence[Step]
) -> list[Fingerprint | None] | None:
    """Put the steps on disk; their fingerprints, or None when healing has to look what is there.

    A refusal takes back what is there and drops the operation; what cannot be taken back now is
    taken back by the next holder of the lock.
    """
    marks: list[Fingerprint | None] = []
    for number, step in enumerate(todo):
        try:
            marks.append(step.do(locked))
        except FileChanged as change:
            if change.data.get("stage") == "after":
                return None
            _take_back(locked, operation, todo[:number])
            raise
        except NotAFile:
            _take_back(locked, operation, todo[:number])
            raise
        except DiskFault as fault:
            logger.warning(
                "disk refused bank=%s step=%s errno=%s", bank.name, step.name, fault.data["errno"]
            )
            if fault.certain:
                _take_back(locked, operation, todo[:number])
            raise
    return marks


def _take_back(locked: LockedBank, operation: Operation, done: Sequence[Step]) -> None:
    """Undo these steps and drop the operation. What the disk does not let us undo now is undone
    by the next holder of the lock: the caller was told that nothing was changed."""
    try:
        _undo(locked, done)
    except StoreError:
        logger.warning("operation is taken back later uid=%s", operation.uid, exc_info=True)
        Operation.objects.filter(pk=operation.pk, state=Operation.State.PENDING).update(
            state=Operation.State.REFUSED, idempotency_key=None
        )
        return
    drop(operation)


def _undo(locked: LockedBank, done: Sequence[Step]) -> None:
    """Take back what is on disk of these steps, the last one first."""
    for step in reversed(done):
        with suppress(FileMissing, NotAFile):
            step.undo(locked)


def drop(operation: Operation) -> None:
    """End an operation of which nothing is on disk; its idempotency key is free again."""
    Operation.objects.filter(pk=operation.pk, state__in=UNENDED).update(
        state=Operation.State.DROPPED, steps=[], effects=[], answer=None, idempotency_key=None
    )


def close(
    bank: Bank,
    operation: Operation,
    effects: Sequence[Effect],
    write_rows: Callable[[], None],
    *,
    now: datetime,
) -> None:
    """The second transaction of any operation. Raises StoreBusy when somebody else ended it."""
    with transaction.atomic():
        write_rows()
        journal.record(bank, effects, actor=operation.actor, at=now, operation=operation)
        ended = Operation.objects.filter(pk=operation.pk, state=Operation.State.PENDING).update(
            state=Operation.State.DONE, steps=[], effects=[], finished_at=now
        )
        if not ended:
            raise errors.StoreBusy


def _rows(bank: Bank, locked: LockedBank, step: Step, mark: Fingerprint | None) -> None:
    """The rows of one step that was just put on disk."""
    match step:
        case Append() if mark is not None:
            written = [projection.Written(key, None, block) for key, block in step.blocks]
            projection.apply(bank, step.path, mark, written, crlf=step.crlf)
        case Edit() if mark is not None:
            written = [projection.Written(s.key, s.position, s.block) for s in step.swaps]
            projection.apply(bank, step.path, mark, written)
        case Put() if not tree.is_router(step.path):
            result = surveys.take(bank, locked, [step.path])
            projection.write(bank, result, missing={}, look_again={})
        case _:
            """Logs and routers have no rows."""


def heal(bank: Bank, locked: LockedBank, *, now: datetime) -> None:
    """End every operation of the bank that somebody left behind. Whoever takes the lock calls it.

    Raises DiskFault when the disk still refuses; the operation then stays for the next one.
    """
    left = Operation.objects.filter(bank=bank, state__in=UNENDED).exclude(act__in=MOVES)
    if not left.exists():
        return
    for operation in left.order_by("pk"):
        if operation.state == Operation.State.REFUSED:
            _undo(locked, steps.load(operation.steps))
            drop(operation)
        else:
            finish_pending(bank, locked, operation, now=now)
    locked.sweep()


def finish_pending(bank: Bank, locked: LockedBank, operation: Operation, *, now: datetime) -> bool:
    """End one pending operation from what is on disk; False when nothing was there (dropped)."""
    inspected = [step.inspect(locked) for step in steps.load(operation.steps)]
    paths = {
        step.path
        for _, step in inspected
        if not isinstance(step, Log) and not tree.is_router(step.path)
    }
    if not any(mark is Mark.DONE for mark, _ in inspected):
        # What a failed sync left in the cache is not there: make the disk say the same.
        for mark, step in inspected:
            if mark is not Mark.FOREIGN:
                locked.sync(step.path)
        drop(operation)
        logger.info("operation dropped bank=%s uid=%s", bank.name, operation.uid)
        return False
    for mark, step in inspected:
        if mark is Mark.FOREIGN:
            logger.warning("step left out bank=%s uid=%s", bank.name, operation.uid)
        elif mark is Mark.ABSENT or (isinstance(step, Append) and step.blocks):
            step.do(locked)
        elif not (isinstance(step, Put) and step.data is None):
            locked.sync(step.path)
    planned = [Effect(**effect) for effect in operation.effects]
    result = surveys.take(bank, locked, paths)
    missing = {row.entry_id: now for row in result.gone}
    ours = {(effect.target, effect.key) for effect in planned}
    keep_last_seen(bank, locked, result, but=ours, missing=missing, now=now)

    def write_rows() -> None:
        again = dict.fromkeys(result.files, now) if missing else {}
        deltas = projection.write(bank, result, missing=missing, look_again=again)
        SourceFile.objects.filter(bank=bank, path__in=paths).update(routed=False)
        others = [each for each in deltas if (each.target, each.key) not in ours]
        journal.record(bank, projection.found_on_disk(others), actor=journal.DISK, at=now)

    close(bank, operation, planned, write_rows, now=now)
    logger.info("operation ended bank=%s uid=%s", bank.name, operation.uid)
    return True


def keep_last_seen(
    bank: Bank,
    locked: LockedBank,
    result: surveys.Survey,
    *,
    but: set[tuple[str, str]],
    missing: Mapping[str, datetime],
    now: datetime,
) -> None:
    """Log what somebody else's hand changed, as it was, before the rows forget it.

    Left out: `but` (our own changes, logged by their operation) and entries that are only missing.
    """
    for seen in projection.last_seen(bank, result):
        if (seen.target, seen.key) in but or (seen.target == "entry" and seen.key in missing):
            continue
        record = history.Record(
            seen.revision, now, journal.DISK, "changed on disk", journal.FOUND, seen.data
        )
        step = log_step(locked, seen.target, seen.key, record, current=None)
        if step is not None:
            step.do(locked)


def log_step(
    locked: LockedBank, target: str, key: str, record: history.Record, *, current: bytes | None
) -> Log | None:
    """The step that logs `record`; None when the log's last record is the same block.

    A torn tail is cut off first, and so is a left-over: a last record that holds the block as it
    stands (`current`), whose change never reached the file.
    """
    path = tree.rule_history_path(key) if target == "rule" else tree.history_path(key)
    log = locked.history(path)
    records, whole = history.decode(log)
    if records and current is not None and records[-1].data == current:
        whole -= len(history.encode(records[-1]))
    elif records and (records[-1].data, records[-1].revision) == (record.data, record.revision):
        return None
    if whole < len(log):
        locked.cut(path, whole, len(log))
    return Log(path, whole if log else None, history.encode(record))
