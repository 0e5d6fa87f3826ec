"""The tables of `index.md`: a follower that brings the rows of written files up to date.

A row is a function of its file's entries, so writing it twice or late ends in the same bytes. The
text around the table cannot be rebuilt: a router is only ever replaced under the bank's lock, and
only while it is what was read.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC
from functools import partial

from django.db.models import Case, F, Max, TextField, Value, When

from banks import followers, locking, seams
from banks.models import Bank, Entry, SourceFile
from banks.store import router, tree
from banks.store.errors import (
    DiskFault,
    FileChanged,
    FileMissing,
    FolderMoved,
    LockTimeout,
    NotAFile,
)
from banks.store.files import LockedBank
from banks.store.router import Row
from banks.store.types import Category
from banks.store.types import Entry as Block

logger = logging.getLogger(__name__)

EVERY_S = 1.0
SETTLE_S = 1.0
LOCK_TIMEOUT_S = 0.5
REBUILD_TIMEOUT_S = 20.0

_next: dict[int, float] = {}


def register() -> None:
    """Let the worker run this follower."""
    followers.register("routers", follow, at_stop=partial(follow, force=True))


def follow(*, force: bool = False) -> int:
    """Bring the routers of every bank up to date whose files were written; how many banks."""
    waiting = SourceFile.objects.filter(routed=False, bank__state=Bank.State.ACTIVE, bank__hold="")
    banks = Bank.objects.filter(pk__in=waiting.values("bank"))
    return sum(catch_up(bank, force=force) for bank in banks)


def catch_up(bank: Bank, *, force: bool = False) -> bool:
    """Write the rows of the bank's files that were written since; whether all of it is done.

    At most once a second a bank and process, and not while somebody is editing a router. `force`
    passes both over: for those who are about to read the routers, and at stop.
    """
    if not force:
        started = time.monotonic()
        if started < _next.get(bank.pk, 0.0):
            return False
        _next[bank.pk] = started + EVERY_S
    try:
        with locking.locked(bank, LOCK_TIMEOUT_S) as locked:
            files = SourceFile.objects.filter(bank=bank, routed=False)
            return _write(bank, locked, files, settle=not force)
    except (LockTimeout, FileChanged, FolderMoved):
        return False  # the next round finds the files still unrouted
    except DiskFault as fault:
        logger.warning("routers not written bank=%s errno=%s", bank.name, fault.data["errno"])
        return False


def be_read(bank: Bank) -> None:
    """Write what waits to be written, for who reads the routers next; nothing while on hold."""
    waiting = SourceFile.objects.filter(bank=bank, routed=False)
    if not bank.hold and waiting.exists():
        catch_up(bank, force=True)


def rebuild(bank: Bank) -> int:
    """Write the rows of all the bank's files anew, and drop those of files of ours that are gone.

    How many files have rows. Raises LockTimeout, FolderMoved, FileChanged, DiskFault.
    """
    with locking.locked(bank, REBUILD_TIMEOUT_S) as locked:
        _drop_gone(bank, locked)
        files = SourceFile.objects.filter(bank=bank)
        _write(bank, locked, files, settle=False)
        return sum(tree.is_entry_file(path) for path in files.values_list("path", flat=True))


def row_of(file: SourceFile) -> Row:
    """What the router says of an entry file, by the rows of its entries."""
    entries = (
        Entry.objects.filter(file=file, missing_since=None)
        .order_by("position")
        .annotate(
            shown=Case(
                When(summary="", then=F("text")), default=Value(""), output_field=TextField()
            )
        )
        .values_list(
            "entry_id", "created_at", "category", "tags", "summary", "updated_at", "stated_at",
            "shown",
        )
    )  # fmt: skip
    blocks = (
        Block(
            id=key, created=created, category=Category(category), tags=tuple(tags),
            summary=summary, updated=updated, stated=stated, text=text,
        )
        for key, created, category, tags, summary, updated, stated, text in entries.iterator()
    )  # fmt: skip
    return router.describe(tree.router_of(file.path)[1], blocks)


def _write(bank: Bank, locked: LockedBank, files: Iterable[SourceFile], *, settle: bool) -> bool:
    """Write the rows of these files; False when a router was left for later."""
    todo: dict[str, list[Row]] = defaultdict(list)
    done: dict[str, list[int]] = defaultdict(list)
    folders: set[str] = set()
    for file in files:
        if not tree.is_entry_file(file.path):
            done[""].append(file.pk)
            continue
        path, _ = tree.router_of(file.path)
        todo[path].append(row_of(file))
        done[path].append(file.pk)
        folders |= {folder for folder in [tree.root_row_of(file.path)] if folder}
    # The folders' rows come last: a crash in between leaves files unrouted, not a stale root.
    written = [_set(locked, path, todo[path], settle=settle) for path in sorted(todo)]
    if not all(written):
        return False
    if folders and not _set_folders(bank, locked, folders, settle=settle):
        return False
    for pks in done.values():
        SourceFile.objects.filter(pk__in=pks).update(routed=True)
    return True


def _set(locked: LockedBank, path: str, wanted: list[Row], *, settle: bool) -> bool:
    """Put rows into one router. A link or a folder in its place is left alone, and said."""
    try:
        data, fingerprint = locked.read(path)
    except FileMissing:
        data, fingerprint = tree.SEED_FILES[path].encode(), None
    except NotAFile:
        logger.warning("router is no file bank=%s path=%s", locked.name, path)
        return True
    age_s = seams.now().timestamp() - fingerprint.mtime_ns / 1e9 if fingerprint else SETTLE_S
    if settle and 0 <= age_s < SETTLE_S:
        return False
    changed = with_rows(data, wanted)
    if changed != data or fingerprint is None:
        locked.replace(path, changed, expect=fingerprint)
    return True


def with_rows(data: bytes, rows: Iterable[Row]) -> bytes:
    """A router with these rows set; everything else as it is."""
    for row in rows:
        data = router.set_row(data, row)
    return data


def _set_folders(bank: Bank, locked: LockedBank, folders: set[str], *, settle: bool) -> bool:
    try:
        data, _ = locked.read(tree.ROUTER)
    except (FileMissing, NotAFile):
        data = b""
    days = {folder: _day(bank, folder) for folder in folders}
    return _set(locked, tree.ROUTER, folder_rows(data, days), settle=settle)


def folder_rows(data: bytes, days: dict[str, str]) -> list[Row]:
    """The root's rows of folders: as they are there, else as in a new bank, with these days."""
    seed = router.rows(tree.SEED_FILES[tree.ROUTER].encode())
    known = {row.file: row for row in (*seed, *router.rows(data))}
    return [
        Row(folder, known[folder].description, known[folder].tags, days[folder])
        for folder in sorted(days)
    ]


def _day(bank: Bank, folder: str) -> str:
    """UTC day of the latest change below a folder, which is named by its router."""
    prefix = folder.removesuffix(tree.ROUTER)
    rows = Entry.objects.filter(bank=bank, file__path__startswith=prefix, missing_since=None)
    latest = rows.aggregate(latest=Max("updated_at"))["latest"]
    return latest.astimezone(UTC).date().isoformat() if latest else ""


def _drop_gone(bank: Bank, locked: LockedBank) -> None:
    """Take rows away whose file was an entry file of ours and is not there."""
    there = locked.look().keys()
    for path in [path for path in there if tree.is_router(path)]:
        data, fingerprint = locked.read(path)
        folder = path.removesuffix(tree.ROUTER)
        changed = data
        for row in router.rows(data):
            file = folder + row.file
            if tree.is_entry_file(file) and file not in there:
                changed = router.drop_row(changed, row.file)
        if changed != data:
            locked.replace(path, changed, expect=fingerprint)
