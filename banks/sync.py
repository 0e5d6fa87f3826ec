"""Hand edits are equal: what somebody else changed in the files becomes rows and journal.

A look compares the fingerprints of a bank's files with the rows. Whatever differs is read under the
bank's lock. A block that vanished is believed at the second look only, a bank that lost most of its
files at once is put on hold, and what was acknowledged minutes ago and vanishes alone (an editor
saved its older copy) is put back once.
"""

import functools
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import Q

from banks import broken, journal, locking, moves, operations, projection, seams, signals, surveys
from banks.models import Bank, Change, Entry, Operation, SourceFile
from banks.steps import Append, Step
from banks.store import tree
from banks.store.errors import (
    DiskFault,
    FileChanged,
    FileMissing,
    FolderMoved,
    LockTimeout,
    NotAFile,
    StoreError,
)
from banks.store.files import BankFolder, Fingerprint, LockedBank

logger = logging.getLogger(__name__)

LOOK_EVERY_S = 1.0
LOOK_SHARE = 20  # a look comes no sooner than so many times its own duration
SECOND_LOOK = timedelta(seconds=1)
SETTLED = timedelta(seconds=2)
GIT_PATIENCE = timedelta(seconds=30)
FRESH_ACK = timedelta(minutes=10)
WRITE_SETTLE_S = 1.0
WRITE_PATIENCE_S = 2.0
NAP_S = 0.05
HOLD_ENTRIES = 50
HOLD_SHARE = 0.2
LOCK_TIMEOUT_S = 20.0

Named = TypeVar("Named", str, Bank)

PUT_BACK = "put back: an older copy of the file had dropped it"
NO_FOLDER = "the folder of the bank is not there"
NO_DISK = "the data folder cannot be read"

_next_look: dict[int, float] = {}


def look(bank: Bank, *, force: bool = False) -> None:
    """See what changed on disk since the last look, at most once a second a bank and process.

    Never waits for the bank's lock: while somebody writes, the committed rows stand.
    """
    if not force and time.monotonic() < _next_look.get(bank.pk, 0.0):
        return
    folder = seams.data_folder().bank(bank.name)
    started = time.monotonic()
    try:
        differing = _differing(bank, folder)
        # Only the look counts: reading what differs may take long, once.
        pause = max(LOOK_EVERY_S, LOOK_SHARE * (time.monotonic() - started))
        _next_look[bank.pk] = time.monotonic() + pause
    except FolderMoved:
        moving = moves.heal() or moves.is_moving(bank)
        if not moving and locking.is_current(bank):
            _hold(bank, NO_FOLDER)
        return
    except DiskFault as fault:
        _hold(bank, f"{NO_DISK} ({fault.data['errno']})")
        return
    if not differing:
        _hold(bank, "")
        return
    try:
        with locking.locked(bank, 0) as locked:
            operations.heal(bank, locked, now=seams.now())
            settle(bank, locked, _differing(bank, folder))
    except (LockTimeout, FolderMoved, FileChanged):
        return  # somebody is at work: the next look sees what came of it
    except StoreError as fault:
        logger.warning("look failed bank=%s code=%s", bank.name, fault.code)
        return
    signals.changes_committed.send(Bank, bank_id=bank.pk, seq=bank.head)


def _differing(bank: Bank, folder: BankFolder) -> set[str]:
    """Paths whose file is not as its row says, or that are due for another look."""
    now = seams.now()
    seen = {path: each for path, each in folder.look().items() if not tree.is_router(path)}
    rows = {
        row.path: row
        for row in SourceFile.objects.filter(bank=bank).defer("problems", "duplicates")
    }
    due = {path for path, row in rows.items() if row.look_again_at and row.look_again_at <= now}
    changed = {path for path in seen if path not in rows or not _same(rows[path], seen[path])}
    gone = {path for path in rows.keys() - seen.keys() if rows[path].inode}
    return due | changed | gone


def _same(row: SourceFile, seen: Fingerprint) -> bool:
    return (row.inode, row.size, row.mtime_ns, row.ctime_ns) == (
        seen.inode, seen.size, seen.mtime_ns, seen.ctime_ns,
    )  # fmt: skip


def _hold(bank: Bank, reason: str) -> None:
    if bank.hold == reason:
        return
    if reason:
        logger.error("bank on hold bank=%s reason=%s", bank.name, reason)
    bank.hold = reason
    Bank.objects.filter(pk=bank.pk, name=bank.name).update(hold=reason)


@dataclass(frozen=True, slots=True)
class _Verdict:
    """What vanished blocks mean: a hold, rows that wait, or blocks to put back."""

    hold: str
    missing: Mapping[str, datetime]
    put_back: list[Entry]


def settle(bank: Bank, locked: LockedBank, paths: Iterable[str], *, accept: bool = False) -> None:
    """Make rows and journal agree with these files, under the bank's lock.

    `accept`: take the disk as it is, vanished blocks too (nothing is deleted but rows: the last
    seen blocks go to the history).
    """
    now = seams.now()
    result = surveys.take(bank, locked, paths)
    verdict = _Verdict("", {}, []) if accept else _judge(bank, locked, result, now)
    _hold(bank, verdict.hold)
    if verdict.hold:
        return
    if verdict.put_back:
        _put_back(bank, locked, verdict.put_back, now)
        result = surveys.take(bank, locked, result.files)
    operations.keep_last_seen(bank, locked, result, but=set(), missing=verdict.missing, now=now)
    again = _look_again(result, verdict.missing, now)
    with transaction.atomic():
        deltas = projection.write(bank, result, missing=verdict.missing, look_again=again)
        if deltas:
            journal.record(bank, projection.found_on_disk(deltas), actor=journal.DISK, at=now)


def _look_again(
    result: surveys.Survey, missing: Mapping[str, datetime], now: datetime
) -> dict[str, datetime]:
    again = {
        path: now + SETTLED
        for path, file in result.files.items()
        if file.fingerprint and _age(file.fingerprint, now) < SETTLED
    }
    for row in result.gone:
        if row.entry_id in missing:
            again[row.file.path] = now + SECOND_LOOK
    return again


def _age(fingerprint: Fingerprint, now: datetime) -> timedelta:
    return timedelta(seconds=now.timestamp() - fingerprint.mtime_ns / 1e9)


def _judge(bank: Bank, locked: LockedBank, result: surveys.Survey, now: datetime) -> _Verdict:
    settings_file = result.files.get(tree.BANK_FILE)
    if (
        settings_file is not None
        and settings_file.fingerprint is None
        and SourceFile.objects.filter(bank=bank, path=tree.BANK_FILE).exists()
    ):
        return _Verdict("bank.yaml is not there", {}, [])
    gone = result.gone
    if len(gone) > HOLD_ENTRIES and len(gone) > HOLD_SHARE * _count(bank):
        return _Verdict(f"{len(gone)} memories vanished at once", {}, [])
    patience = GIT_PATIENCE if gone and locked.git_busy() else SECOND_LOOK
    blocked = {path for path in {row.file.path for row in gone} if _is_blocked(locked, path)}
    missing = {
        row.entry_id: row.missing_since or now
        for row in gone
        if row.missing_since is None
        or now - row.missing_since < patience
        or row.file.path in blocked
    }
    believed = [row for row in gone if row.entry_id not in missing]
    # Who broke a block was at work on it: that is no older copy of the file.
    broke = _broken(result, {row.entry_id for row in believed})
    vanished = [row for row in believed if row.entry_id not in broke]
    put_back = _dropped_by_an_editor(bank, vanished, now)
    return _Verdict("", missing, put_back)


def _broken(result: surveys.Survey, keys: set[str]) -> set[str]:
    """Of these ids the ones that a block names which cannot be read."""
    return {
        key
        for file in result.files.values()
        if keys and file.problems
        for key in broken.lines(file.data, keys)
    }


def _is_blocked(locked: LockedBank, path: str) -> bool:
    """Whether something else stands in the place of the file: that deletes nothing of it."""
    try:
        locked.tail(path, 0)
    except NotAFile:
        return True
    except FileMissing:
        return False
    return False


def _count(bank: Bank) -> int:
    return Entry.objects.filter(bank=bank).count()


def _dropped_by_an_editor(bank: Bank, gone: list[Entry], now: datetime) -> list[Entry]:
    """The vanished entries to put back: all of them were acknowledged minutes ago, none before."""
    if not gone or len(gone) > HOLD_ENTRIES:
        return []
    changes = Change.objects.filter(
        bank=bank, target="entry", key__in=[row.entry_id for row in gone], at__gt=now - FRESH_ACK
    )
    recent = set(changes.exclude(operation=None).values_list("key", flat=True))
    if any(row.entry_id not in recent for row in gone):
        return []
    before = set(
        Change.objects.filter(
            bank=bank, key__in=[row.entry_id for row in gone], reason=PUT_BACK
        ).values_list("key", flat=True)
    )
    return [row for row in gone if row.entry_id not in before]


def _put_back(bank: Bank, locked: LockedBank, gone: list[Entry], now: datetime) -> None:
    """Append the blocks as last seen, as one operation; it is said in the journal."""
    by_file: dict[SourceFile, list[Entry]] = {}
    for row in gone:
        by_file.setdefault(row.file, []).append(row)
    todo: list[Step] = []
    for file, rows in by_file.items():
        blocks = Entry.objects.filter(pk__in=[row.pk for row in rows]).order_by("position")
        try:
            size = locked.tail(file.path, 1)[1].size
        except FileMissing:
            size = None
        items = tuple((row.entry_id, bytes(row.block)) for row in blocks)
        todo.append(Append(file.path, size, file.crlf, items))
    effects = [
        journal.Effect(
            action=Change.Action.RESTORED, target="entry", key=row.entry_id,
            after=row.version, reason=PUT_BACK,
        )
        for row in gone
    ]  # fmt: skip
    plan = operations.Plan("put back", {}, todo, effects)
    operations.execute(bank, locked, plan, actor=journal.DISK, now=now)
    logger.warning("blocks put back bank=%s count=%d", bank.name, len(gone))


def fresh(bank: Bank, locked: LockedBank, path: str) -> SourceFile | None:
    """The row of a file that is about to be written, brought up to date; None without a file.

    What somebody else changed is projected first. A change of the last second, other than whole
    blocks added, is left to settle for two seconds at most.
    """
    waited = 0.0
    while True:
        row = SourceFile.objects.filter(bank=bank, path=path).first()
        try:
            seen = locked.tail(path, 0)[1]
        except (FileMissing, NotAFile):
            if row is not None and row.inode:
                settle(bank, locked, [path])
            return None
        if row is not None and _same(row, seen) and row.look_again_at is None:
            return row
        # A time in the future tells nothing: the clock was moved, or the file's time set.
        young = 0 <= _age(seen, seams.now()).total_seconds() < WRITE_SETTLE_S
        if young and waited < WRITE_PATIENCE_S and not _only_grew(bank, locked, path):
            time.sleep(NAP_S)
            waited += NAP_S
            continue
        settle(bank, locked, [path])
        return SourceFile.objects.filter(bank=bank, path=path).first()


def _only_grew(bank: Bank, locked: LockedBank, path: str) -> bool:
    """Whether the file holds all blocks that its rows say, with nothing unreadable or half."""
    result = surveys.take(bank, locked, [path])
    file = result.files[path]
    edited = any(
        item.entry is not None and key in result.rows for key, item in result.found.items()
    )
    return not (result.gone or edited or file.problems) and file.data.endswith(b"\n")


def reload(bank: Bank, *, accept: bool = False) -> None:
    """Read every file of the bank again, whatever its fingerprint says, and end a hold.

    Raises StoreBusy, BankNotFound, StoreFault.
    """
    with operations.store_errors(), locking.locked(bank, LOCK_TIMEOUT_S) as locked:
        operations.heal(bank, locked, now=seams.now())
        known = {row.path: row for row in SourceFile.objects.filter(bank=bank)}
        seen = {path: each for path, each in locked.look().items() if not tree.is_router(path)}
        same = {path for path in known.keys() & seen.keys() if _same(known[path], seen[path])}
        stands = {path for path in same if _stands(bank, locked, known[path])}
        settle(bank, locked, (known.keys() | seen.keys()) - stands, accept=accept)
    signals.changes_committed.send(Bank, bank_id=bank.pk, seq=bank.head)


def _stands(bank: Bank, locked: LockedBank, row: SourceFile) -> bool:
    """Whether nothing of an entry file has to be written into rows, by reading it again."""
    is_plain = tree.is_entry_file(row.path) and not (row.problems or row.duplicates)
    return is_plain and row.look_again_at is None and surveys.agrees(bank, locked, row)


def is_acceptable(hold: str) -> bool:
    """Whether `reload` with `accept` can end this hold: there are files that can be taken."""
    return bool(hold) and not hold.startswith((NO_FOLDER, NO_DISK))


def discover() -> None:
    """Adopt banks that are on disk and in no row: they belong to the instance admins."""
    with operations.store_errors():
        moves.heal()
        if not _unknown():
            return
        # Another process may be adopting the same ones, or making one: one of us at a time.
        with seams.data_folder().lock(LOCK_TIMEOUT_S):
            for name in _unknown():
                _alone(_adopt, name)


def _unknown() -> list[str]:
    """Names of banks on disk that no row has, or only that of an adoption that did not end."""
    known = Bank.objects.filter(
        Q(state=Bank.State.ACTIVE) | Q(operations__state=Operation.State.PENDING)
    )
    names = known.values_list("name", flat=True)
    return sorted(set(seams.data_folder().bank_names()) - set(names))


def _adopt(name: str) -> None:
    """A row and the projection for a bank that was found on disk; visible once it is whole."""
    bank = Bank.objects.filter(name=name, state=Bank.State.HIDDEN).first() or _row_for(name)
    moves.project_all(bank, seams.data_folder().bank(name), actor=journal.DISK)
    Bank.objects.filter(pk=bank.pk).update(state=Bank.State.ACTIVE)
    signals.changes_committed.send(Bank, bank_id=bank.pk, seq=bank.head)


def _row_for(name: str) -> Bank:
    now = seams.now()
    effect = journal.Effect(
        action=Change.Action.CREATED, target="bank", key=name, reason=journal.FOUND
    )
    with transaction.atomic():
        bank = Bank.objects.create(name=name, state=Bank.State.HIDDEN, created_at=now)
        journal.record(bank, [effect], actor=journal.DISK, at=now)
    return bank


def look_at_all(*, force: bool = False) -> int:
    """Discover banks and look at each active one; how many there are. The worker calls it."""
    discover()
    banks = list(Bank.objects.filter(state=Bank.State.ACTIVE))
    for bank in banks:
        _alone(functools.partial(look, force=force), bank)
    return len(banks)


def _alone(work: Callable[[Named], object], subject: Named) -> None:
    """Do it for one bank; whatever is wrong with it must not hide the others."""
    try:
        work(subject)
    except Exception:
        logger.exception("bank left out bank=%s", subject)
