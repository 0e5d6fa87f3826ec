"""Export: a bank leaves as a folder or a zip of its own files, or as lines, one memory each.

What is written stands beside its place until it is whole and synced, then takes it in one rename:
an export that fails leaves nothing, and nothing that is there is ever overwritten.
"""

import os
import shutil
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from banks import errors, locking, operations, queries, routers, seams, sync
from banks.access import Principal, Role, Scope, require
from banks.models import Bank, Entry
from banks.operations import store_errors
from banks.queries import Memory
from banks.services import open_bank
from banks.store.disk import faults
from banks.store.errors import FileMissing
from banks.store.files import LockedBank

ZIP_ENDING = ".zip"

# Of every member, so that equal banks make equal archives; the format knows no earlier time.
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_ZIP_MODE = 0o100644 << 16
_ZIP_UNIX = 3
_ROWS = 400


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    bank: str
    files: int
    size_bytes: int


def opened(principal: Principal, name: str) -> Bank:
    """The bank for an export, its files looked at just now. Raises as `open_bank`."""
    bank = open_bank(principal, name, Role.MAINTAINER, Scope.MEMORY_READ)
    require(principal, Scope.RULES_READ)
    sync.look(bank, force=True)
    return bank


def files(principal: Principal, name: str, target: Path) -> Exported:
    """Write the bank's files to a new folder, or below a folder of its name into a new `.zip`.

    They are of one instant: writers wait meanwhile. What `import` takes is what goes, earlier
    revisions too; the same bank gives the same bytes. Raises Invalid (the target is there or
    cannot be), BankOnHold, BankNotFound, Forbidden, StoreBusy, StoreFault.
    """
    bank = opened(principal, name)
    if bank.hold:
        raise errors.BankOnHold
    routers.be_read(bank)
    put = _zip if target.suffix.lower() == ZIP_ENDING else _folder
    with _beside(target) as part, _snapshot(bank) as locked:
        sizes = put(part, bank.name, _members(locked))
    return Exported(bank.name, len(sizes), sum(sizes))


@contextmanager
def _snapshot(bank: Bank) -> Iterator[LockedBank]:
    """The bank under its lock, with nothing left half done."""
    with store_errors(), locking.locked(bank, sync.LOCK_TIMEOUT_S) as locked:
        operations.heal(bank, locked, now=seams.now())
        yield locked


def _members(locked: LockedBank) -> Iterator[tuple[str, bytes]]:
    """The files by path with their bytes, one at a time, in a fixed order."""
    for path in [*locked.look(), *locked.logs()]:
        # Somebody who asks for no lock may delete one meanwhile: then the bank has it no more.
        with suppress(FileMissing):
            yield path, locked.read(path)[0]


def _folder(part: Path, name: str, members: Iterable[tuple[str, bytes]]) -> list[int]:
    """Write members into a new folder; how many bytes each has. Raises OSError."""
    sizes = []
    part.mkdir()
    for path, data in members:
        file = part / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        sizes.append(len(data))
    return sizes


def _zip(part: Path, name: str, members: Iterable[tuple[str, bytes]]) -> list[int]:
    """Write members into a new archive, below a folder; how many bytes each has. OSError."""
    sizes = []
    with zipfile.ZipFile(part, "x") as archive:
        for path, data in members:
            member = zipfile.ZipInfo(f"{name}/{path}", _ZIP_TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = _ZIP_MODE
            member.create_system = _ZIP_UNIX
            archive.writestr(member, data)
            sizes.append(len(data))
    return sizes


def lines(bank: Bank, shape: Callable[[Memory], str], target: Path) -> int:
    """Write every memory of an opened bank as one line of a new file; how many.

    Raises Invalid (the target is there or cannot be), StoreFault.
    """
    count = 0
    with _beside(target) as part, part.open("xb") as out:
        for memory in memories(bank):
            out.write(shape(memory).encode() + b"\n")
            count += 1
    return count


def memories(bank: Bank) -> Iterator[Memory]:
    """Every memory of an opened bank, dead ones too, oldest first.

    One statement reads the rows, so that they are of one instant whatever is saved meanwhile.
    """
    rows = Entry.objects.filter(bank=bank).select_related("file")
    ordered = rows.defer("block", "folded", "problems").order_by("created_at", "entry_id")
    part: list[Entry] = []
    for row in ordered.iterator():
        part.append(row)
        if len(part) == _ROWS:
            yield from queries.memories(bank, part)
            part = []
    yield from queries.memories(bank, part)


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """A name beside the target that takes its place once the body is through, synced."""
    target = target.absolute()
    _refuse_existing(target)
    part = target.with_name(f".{target.name}.part-{os.getpid()}")
    with store_errors(), faults(certain=True):
        try:
            yield part
            _sync(part)
            _refuse_existing(target)
            part.rename(target)
        finally:
            _discard(part)
        _sync_one(target.parent)


def _refuse_existing(target: Path) -> None:
    if os.path.lexists(target):
        raise errors.Invalid("Something is there already: choose a new name.", loc="path")
    if (target.parent.resolve() / target.name).is_relative_to(seams.data_folder().root.resolve()):
        raise errors.Invalid("Choose a place outside the data folder.", loc="path")
    if not target.parent.is_dir():
        raise errors.Invalid("There is no such folder to write into: make it first.", loc="path")


def _sync(part: Path) -> None:
    if part.is_dir():
        for folder, _, names in os.walk(part):
            for name in names:
                _sync_one(Path(folder) / name)
            _sync_one(Path(folder))
    else:
        _sync_one(part)


def _sync_one(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        seams.disk().fsync(fd)
    finally:
        os.close(fd)


def _discard(part: Path) -> None:
    """Remove what is left of an export that failed; nothing when it was renamed."""
    if part.is_dir():
        shutil.rmtree(part)
    else:
        part.unlink(missing_ok=True)
