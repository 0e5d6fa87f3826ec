"""The configuration, changed: each field checked first, the row in one step, all of it or nothing.

Another data folder is opened before anything is said of it, and taken only when it holds what the
old one does. Meanwhile nobody writes: the locks of the old one are held until the row is there.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction

from banks import config, errors, locking, seams, sync
from banks.access import Principal, require_admin
from banks.config import Config
from banks.models import Bank, Configuration, Entry, Rule, SourceFile
from banks.operations import store_errors
from banks.services.banks import folder_trouble
from banks.store import parse, tree
from banks.store.errors import DiskFault, FolderMoved, StoreError
from banks.store.files import TRASH, BankFolder, DataFolder

logger = logging.getLogger(__name__)

FIXED = "The environment says where the banks are (MEMORYCONSOLE_DATA_DIR): change it there."


def change(
    principal: Principal,
    values: Mapping[str, object],
    *,
    seen: Mapping[str, object] | None = None,
) -> Config:
    """Set these fields, all or none; the configuration that is in force then.

    `seen` are the values that the caller's page showed for them. Raises Forbidden, Invalid (each
    bad field by its name), DataFolderRefused, StaleRevision (one of them is another by now), and
    StoreBusy while a bank is being written.
    """
    require_admin(principal)
    config.checked(values)
    with ExitStack() as held:
        if "data_dir" in values:
            held.enter_context(_opened(str(values["data_dir"])))
        _write(principal, values, seen)
    config.forget()
    return config.current()


def reread(principal: Principal) -> bool:
    """Read the row and look at the data folder anew; whether it can be used.

    Every call does that by itself: this is for who wants to know that it was done.
    """
    require_admin(principal)
    config.forget()
    return not folder_trouble(seams.data_folder())


def _write(
    principal: Principal, values: Mapping[str, object], seen: Mapping[str, object] | None
) -> None:
    now = seams.now()
    first = {"changed_at": now, "changed_by": principal.handle}
    with transaction.atomic():
        Configuration.objects.get_or_create(pk=Configuration.ONE, defaults=first)
        row = Configuration.objects.select_for_update().get(pk=Configuration.ONE)
        if seen is not None:
            _refuse_stale(asdict(config.in_force(row.values)), values, seen)
        wanted = _set(row.values, values)
        if wanted == row.values:
            return
        row.values, row.changed_at, row.changed_by = wanted, now, principal.handle
        row.save()
    logger.info("configuration changed fields=%s", ",".join(sorted(values)))


def _refuse_stale(
    now: Mapping[str, object], values: Mapping[str, object], seen: Mapping[str, object]
) -> None:
    others = [f"{name} is {now[name]}" for name in values if now[name] != seen.get(name)]
    if others:
        raise errors.StaleRevision(
            f"Somebody else changed this meanwhile: {', '.join(others)} now. "
            "Save again to have it your way."
        )


def _set(before: Mapping[str, Any], values: Mapping[str, object]) -> dict[str, Any]:
    """What is set then. The data folder of the environment is not a value, but none."""
    wanted = {**before, **values}
    if wanted.get("data_dir") == config.SETTING:
        del wanted["data_dir"]
    return wanted


@contextmanager
def _opened(place: str) -> Iterator[None]:
    """Within the block nobody writes to the banks, and all that is in them is in that folder too.

    Nothing is held when it is the folder in use. Raises DataFolderRefused.
    """
    config.forget()
    old, root = seams.data_folder(), config.folder_of(Config(data_dir=place))
    if settings.DATA_DIR_GIVEN and place != config.SETTING:
        raise errors.DataFolderRefused(FIXED)
    if root == old.root:
        yield
        return
    _refuse_state(root)
    new = seams.data_folder_at(root)
    with ExitStack() as held, store_errors():
        was = None if old.trouble() else old
        if was is not None:
            sync.discover()
            held.enter_context(was.lock(sync.LOCK_TIMEOUT_S))
        banks = list(Bank.objects.filter(state=Bank.State.ACTIVE).order_by("pk"))
        if was is not None:
            _lock_all(held, banks)
        refusal = _opening(new, was, banks)
        if refusal:
            raise errors.DataFolderRefused(refusal)
        yield


def _refuse_state(root: Path) -> None:
    state, place = Path(settings.STATE_DIR).resolve(), root.resolve()
    if place.is_relative_to(state) or state.is_relative_to(place):
        raise errors.DataFolderRefused("The state folder and that folder lie in each other.")


def _lock_all(held: ExitStack, banks: list[Bank]) -> None:
    for bank in banks:
        try:
            held.enter_context(locking.locked(bank, sync.LOCK_TIMEOUT_S))
        except FolderMoved:
            continue  # on hold: there is nothing that could be written to


def _opening(new: DataFolder, old: DataFolder | None, banks: list[Bank]) -> str:
    """Why the banks cannot be taken from this folder, in words; "" when they can.

    `old` None = the folder in use is not there any more: then the rows say what has to be.
    """
    trouble = new.trouble()
    if trouble:
        return f"That folder cannot be used. {trouble}"
    try:
        ours, there = {bank.name for bank in banks}, set(new.bank_names())
        if ours - there:
            return f"That folder does not hold the bank {min(ours - there)}."
        if there - ours:
            return f"That folder holds a bank {min(there - ours)}, which is none of these."
        if old is not None and not _has_trash(new, old):
            return "That folder does not hold all that is in .trash: copy hidden folders too."
        lacking = (_lacking(bank, new.bank(bank.name), old) for bank in banks)
        return next((each for each in lacking if each), "")
    except StoreError as error:
        return f"That folder cannot be read. {error.message}"


def _lacking(bank: Bank, there: BankFolder, old: DataFolder | None) -> str:
    """What of a bank is not in that folder, in words. What somebody edited there is not missed.

    Contents are compared, never sizes: an interrupted copy may have both names and sizes.
    """
    paths = there.look().keys()
    lost = _lost(bank, there, paths)
    if lost:
        return f"Of the bank {bank.name} {lost} memories are not in that folder."
    rows = SourceFile.objects.filter(bank=bank).exclude(inode=0)
    gone = {*rows.values_list("path", flat=True)} - paths or _spoiled(bank, there, paths)
    if gone:
        return f"Of the bank {bank.name} the file {min(gone)} is not in that folder."
    if old is not None and not _has_logs(there, old.bank(bank.name)):
        return f"Of the bank {bank.name} .history is not all there: copy hidden folders too."
    return ""


def _lost(bank: Bank, there: BankFolder, paths: Iterable[str]) -> int:
    """How many memories are in none of the files, neither as last seen nor edited."""
    rows = Entry.objects.filter(bank=bank, missing_since=None)
    known: dict[str, str] = dict(rows.values_list("version", "entry_id"))
    lost = set(known.values())
    for path in filter(tree.is_entry_file, paths):
        data, _ = there.read(path)
        for span in parse.spans(data):
            block = data[span.start : span.end]
            lost.discard(known.get(parse.version(block)) or _id(block))
    return len(lost)


def _id(block: bytes) -> str:
    entry = parse.block(block).entry
    return entry.id if entry else ""


def _spoiled(bank: Bank, there: BankFolder, paths: Set[str]) -> set[str]:
    """Rules, and `bank.yaml`, of which no more than the name is there: no edit leaves that."""
    versions = dict(Rule.objects.filter(bank=bank).values_list("file__path", "version"))
    spoiled = set()
    for path in paths & {*versions, tree.BANK_FILE}:
        data, _ = there.read(path)
        is_blank = path in versions and not data.strip()
        if parse.version(data) != versions.get(path) and (is_blank or b"\0" in data):
            spoiled.add(path)
    return spoiled


def _has_logs(there: BankFolder, old: BankFolder) -> bool:
    """Whether every history there begins with the one in use: they only grow."""
    return all(there.history(path).startswith(data) for path, data in _logs(old))


def _logs(folder: BankFolder) -> Iterator[tuple[str, bytes]]:
    """The histories of a folder as far as it can be read: it may be what one moves away from."""
    try:
        for path in folder.logs():
            yield path, folder.history(path)
    except (FolderMoved, DiskFault):
        return


def _has_trash(new: DataFolder, old: DataFolder) -> bool:
    """Whether the deleted banks are there byte for byte."""
    for place in (f"{TRASH}/{name}" for name in old.trashed()):
        if old.has(place) and not (new.has(place) and _is_copy(place, new, old)):
            return False
    return True


def _is_copy(place: str, new: DataFolder, old: DataFolder) -> bool:
    above, name = place.split("/")
    theirs, ours = (BankFolder(each.root / above, name, seams.disk()) for each in (new, old))
    paths, there = ours.look().keys(), theirs.look().keys()
    return (
        paths <= there
        and all(theirs.read(path)[0] == ours.read(path)[0] for path in paths)
        and _has_logs(theirs, ours)
    )
