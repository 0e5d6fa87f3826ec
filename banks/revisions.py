"""The states of a memory or rule: its history on disk, and the row as the last of them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from banks import errors, rows, seams
from banks.models import Bank, Change, Entry, Rule, SourceFile
from banks.operations import store_errors
from banks.queries import Memory, find, memory_of, milliseconds, plain
from banks.store import history, names, parse, tree, types
from banks.store.errors import InvalidName, StoreError
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


@dataclass(frozen=True, slots=True)
class Then:
    """What a memory was in one state: its title, else its summary or first sentence."""

    name: str
    pinned: bool


def of_versions(bank: Bank, versions: Mapping[str, Collection[str]]) -> dict[tuple[str, str], Then]:
    """What memories were in earlier states, by id and version; `versions` are those asked for, by
    id. What the histories do not hold is left out, and all of it while the disk cannot be read.

    Reads files only, one for each id.
    """
    folder = seams.data_folder().bank(bank.name)
    found: dict[tuple[str, str], Then] = {}
    for key, wanted in versions.items():
        try:
            log = folder.history(tree.history_path(key))
        except StoreError:
            return found
        for record in history.decode(log)[0]:
            version = parse.version(record.data)
            entry = parse.block(record.data).entry if version in wanted else None
            if entry is not None:
                name = entry.title or entry.summary or names.first_sentence(entry.text)
                found[key, version] = Then(name, entry.pinned)
    return found


@dataclass(frozen=True, slots=True)
class RuleRevision:
    """One state of a rule and how it came about, numbered from 1, the oldest.

    `at` is in milliseconds, None when nobody knows. A removal is a state too: with version `""`.
    """

    number: int
    at: int | None
    actor: str
    act: str
    reason: str | None
    content: str
    version: str


@dataclass(frozen=True, slots=True)
class _How:
    """What led to a state of a rule."""

    at: datetime | None
    actor: str
    act: str
    reason: str | None


def of_rule(bank: Bank, name: str) -> list[RuleRevision]:
    """Every known state of a rule, newest first, the current one (or its removal) included.

    Raises RuleNotFound for a name without a rule and without a history.
    """
    row = Rule.objects.filter(bank=bank, name=name).first()
    records = _rule_records(bank, name)
    changes = list(Change.objects.filter(bank=bank, key=name, target=Change.Target.RULE).order_by())
    changes.sort(key=lambda change: change.seq)
    current = row.content.encode() if row else b""
    if row and records and records[-1].data == current and not _removal(records[-1], changes):
        # Left over by a change that never reached the file.
        records = records[:-1]
    if row is None and not records:
        raise errors.RuleNotFound
    states: list[tuple[bytes, _How]] = []
    by: _How | None = None
    since: datetime | None = None
    following = [*(record.data for record in records[1:]), current][: len(records)]
    for record, after in zip(records, following, strict=True):
        states.append((record.data, by or _making(record.data, changes, since)))
        by = _How(record.at, record.actor, record.act, record.reason)
        is_removal = record.act == "removed" or _removal(record, changes)
        if after and is_removal:
            # Put there again by hand: only the journal knows when.
            states.append((b"", by))
            by, since = None, record.at
    states.append((current, by or _making(current, changes, since)))
    return [_rule_revision(n, *state) for n, state in enumerate(states, start=1)][::-1]


def rules_with_past(bank: Bank) -> set[str]:
    """Names of rules of which earlier texts are kept, removed ones too."""
    with store_errors():
        logs = seams.data_folder().bank(bank.name).logs([tree.RULE_HISTORIES])
    return {tree.rule_of_log(path) for path in logs}


def _rule_records(bank: Bank, name: str) -> tuple[history.Record, ...]:
    try:
        path = tree.rule_history_path(name)
    except InvalidName as error:
        raise errors.RuleNotFound from error
    with store_errors():
        log = seams.data_folder().bank(bank.name).history(path)
    return history.decode(log)[0]


def _removal(record: history.Record, changes: Sequence[Change]) -> bool:
    """Whether the journal knows that the act of this record left no rule."""
    version, at = parse.version(record.data), milliseconds(record.at)
    return any(
        (each.version_before, each.version_after, milliseconds(each.at)) == (version, "", at)
        for each in changes
    )


def _making(data: bytes, changes: Sequence[Change], since: datetime | None) -> _How:
    """How a rule came to be with this content, as far as the journal knows."""
    version = parse.version(data)
    made = [
        change
        for change in changes
        if change.version_after == version and (since is None or change.at >= since)
    ]
    for change in sorted(made, key=lambda each: bool(each.version_before)):
        act = "replaced" if change.version_before else "created"
        return _How(change.at, change.actor, act, change.reason or None)
    return _How(None, "", "created", None)


def _rule_revision(number: int, data: bytes, how: _How) -> RuleRevision:
    return RuleRevision(
        number,
        milliseconds(how.at) if how.at else None,
        how.actor,
        how.act,
        how.reason,
        plain(data.decode(errors="replace")),
        parse.version(data) if data else "",
    )
