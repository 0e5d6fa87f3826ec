"""The states a memory went through: its history on disk, and the row as the last of them."""

from dataclasses import dataclass

from banks import errors, rows, seams
from banks.models import Bank, Change, Entry, SourceFile
from banks.operations import store_errors
from banks.queries import Memory, find, memory_of, milliseconds
from banks.store import history, names, parse, tree, types
from banks.surveys import Found


@dataclass(frozen=True, slots=True)
class Revision:
    """One state of a memory and how it came about. `at` is in milliseconds."""

    revision: int
    at: int
    actor: str
    act: str
    reason: str | None
    memory: Memory


def of_entry(bank: Bank, key: str) -> list[Revision]:
    """Every known state of a memory, newest first, the current one included.

    A memory whose block is gone from the files still has its history. Raises MemoryNotFound.
    """
    row = _row_or_none(bank, key)
    entry_id = row.entry_id if row else key
    if row is None and not names.is_entry_id(entry_id):
        raise errors.MemoryNotFound
    with store_errors():
        log = seams.data_folder().bank(bank.name).history(tree.history_path(entry_id))
    records, _ = history.decode(log)
    if row is not None and records and records[-1].data == bytes(row.block):
        records = records[:-1]
    if row is None and not records:
        raise errors.MemoryNotFound
    states = [(record.data, record.revision) for record in records]
    if row is not None:
        states.append((bytes(row.block), row.revision))
    shown = []
    for number, (data, revision) in enumerate(states):
        value = row if row and number == len(records) else _past(bank, row, data)
        if value is None:
            continue
        told = memory_of(bank, value, [])
        if number == 0:
            maker = _maker(bank, entry_id)
            shown.append(Revision(revision, told.created_at, maker, "created", None, told))
        else:
            by = records[number - 1]
            at = milliseconds(by.at)
            shown.append(Revision(revision, at, by.actor, by.act, by.reason, told))
    return shown[::-1]


def _maker(bank: Bank, entry_id: str) -> str:
    """Who created the entry, as far as the journal knows; "" when it came before it."""
    created = Change.objects.filter(bank=bank, key=entry_id, action=Change.Action.CREATED)
    return created.order_by("seq").values_list("actor", flat=True).first() or ""


def _row_or_none(bank: Bank, key: str) -> Entry | None:
    try:
        return find(bank, key)
    except errors.MemoryNotFound:
        return None


def _past(bank: Bank, row: Entry | None, data: bytes) -> Entry | None:
    """An unsaved row of an earlier block; None when it was not readable even then."""
    entry = parse.block(data).entry
    if entry is None:
        return None
    path = row.file.path if row else tree.home(entry.category, entry.created)
    return planned_row(bank, path, entry, data)


def planned_row(
    bank: Bank, path: str, entry: types.Entry, data: bytes, *, position: int = 0
) -> Entry:
    """The unsaved row that a block will have in a file."""
    file = SourceFile(bank=bank, path=path)
    found = Found(path, position, parse.version(data), data, entry, ())
    return rows.row_of(bank, file, found)
