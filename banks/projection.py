"""Make rows agree with a survey of files: what differs is written, in one go.

Deciding what a vanished block means is not done here but in `banks.sync`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from banks import links
from banks.journal import FOUND, Effect
from banks.models import Bank, Change, Entry, EntryTag, Rule, SourceFile
from banks.rows import row_of
from banks.store import parse, tree, types
from banks.store.files import Fingerprint
from banks.surveys import Found, SeenFile, Survey, problem_at

_ROW_BATCH = 500


@dataclass(frozen=True, slots=True)
class Delta:
    """One entry, rule or bank file that a write changed; versions are "" for "not there"."""

    target: str
    key: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class LastSeen:
    """What an entry or rule looked like before somebody else changed it."""

    target: str
    key: str
    revision: int
    data: bytes


def last_seen(bank: Bank, result: Survey) -> list[LastSeen]:
    """What `write` is about to overwrite or forget, as it was; for the history."""
    stale = [
        row
        for key, row in result.rows.items()
        if key not in result.found or result.found[key].entry is not None
    ]
    blocks = _blocks(bank, [row.pk for row in stale])
    seen = [LastSeen("entry", row.entry_id, row.revision, blocks[row.pk]) for row in stale]
    paths = [path for path in result.files if tree.is_rule_file(path)]
    for rule in Rule.objects.filter(bank=bank, file__path__in=paths).select_related("file"):
        file = result.files[rule.file.path]
        if file.fingerprint is None or parse.version(file.data) != rule.version:
            seen.append(LastSeen("rule", rule.name, 0, rule.content.encode()))
    return seen


def write(
    bank: Bank,
    result: Survey,
    *,
    missing: Mapping[str, datetime],
    look_again: Mapping[str, datetime],
) -> list[Delta]:
    """Make the rows agree with the survey; gives what changed, in the order of paths and blocks.

    `missing`: ids of gone entries whose rows stay for now, and since when they are missing.
    `look_again`: paths that have not settled, and when they are due.
    Call it inside a transaction with the bank's lock held.
    """
    file_rows = _write_files(bank, result, look_again)
    deltas = _write_entries(bank, result, file_rows, missing)
    for path, file in result.files.items():
        if tree.is_rule_file(path):
            deltas += _write_rule(bank, path, file, file_rows.get(path))
        elif path == tree.BANK_FILE:
            deltas += _write_settings(bank, file)
    kept = {row.file_id for row in result.gone if row.entry_id in missing}
    SourceFile.objects.filter(
        bank=bank, path__in=[path for path, file in result.files.items() if not file.fingerprint]
    ).exclude(pk__in=kept).delete()
    return deltas


def _write_files(
    bank: Bank, result: Survey, look_again: Mapping[str, datetime]
) -> dict[str, SourceFile]:
    rows = SourceFile.objects.filter(bank=bank, path__in=list(result.files))
    known = {row.path: row for row in rows}
    for path, file in result.files.items():
        if file.fingerprint is None and path not in known:
            continue
        row = known.setdefault(path, SourceFile(bank=bank, path=path))
        row.lasting = row.lasting and row.inode == getattr(file.fingerprint, "inode", 0)
        _stamp(row, file.fingerprint or Fingerprint(0, 0, 0, 0))
        row.blocks = len(file.spans)
        row.crlf = parse.newline(file.data) == b"\r\n"
        row.problems, row.duplicates = file.problems, file.duplicates
        row.look_again_at = look_again.get(path)
        row.save()
    return known


def _stamp(row: SourceFile, fingerprint: Fingerprint) -> None:
    row.inode, row.size = fingerprint.inode, fingerprint.size
    row.mtime_ns, row.ctime_ns = fingerprint.mtime_ns, fingerprint.ctime_ns


def _write_entries(
    bank: Bank,
    result: Survey,
    file_rows: Mapping[str, SourceFile],
    missing: Mapping[str, datetime],
) -> list[Delta]:
    gone = [row for row in result.gone if row.entry_id not in missing]
    new: list[Entry] = []
    changed: list[Entry] = []
    moved: list[Entry] = []
    deltas: list[Delta] = []
    highest: dict[int, int] = {}
    for key, item in result.found.items():
        row = result.rows.get(key)
        elsewhere = row is not None and _stands_elsewhere(row, file_rows[item.path], highest)
        if item.entry is None and row is not None and elsewhere and row.session:
            # Neighbours in a session are part of what the index holds of a memory.
            deltas.append(Delta("entry", key, row.version, item.version))
        if item.entry is not None:
            fresh = row_of(bank, file_rows[item.path], item)
            deltas.append(Delta("entry", key, row.version if row else "", item.version))
            if row is None:
                new.append(fresh)
            else:
                fresh.pk = row.pk
                changed.append(fresh)
        elif row is not None and _moved(row, item, file_rows[item.path]):
            row.file, row.position = file_rows[item.path], item.position
            row.missing_since = None
            moved.append(row)
    for row in gone:
        deltas.append(Delta("entry", row.entry_id, row.version, ""))
    waiting = [row for row in result.gone if row.entry_id in missing]
    for row in waiting:
        row.missing_since = missing[row.entry_id]
    Entry.objects.filter(pk__in=[row.pk for row in gone]).delete()
    save_rows(bank, new=new, changed=changed)
    Entry.objects.bulk_update(moved, ["file", "position", "missing_since"], batch_size=_ROW_BATCH)
    Entry.objects.bulk_update(waiting, ["missing_since"], batch_size=_ROW_BATCH)
    links.resolve(bank, [delta.key for delta in deltas])
    return deltas


def _blocks(bank: Bank, pks: list[int]) -> dict[int, bytes]:
    rows: dict[int, bytes] = {}
    for start in range(0, len(pks), _ROW_BATCH):
        part = Entry.objects.filter(bank=bank, pk__in=pks[start : start + _ROW_BATCH])
        rows |= {pk: bytes(block) for pk, block in part.values_list("pk", "block")}
    return rows


def _stands_elsewhere(row: Entry, file: SourceFile, highest: dict[int, int]) -> bool:
    """Whether a block came from another file or changed places with others of its file.

    `highest`: by file, the last old position so far. Blocks that only shifted keep their order.
    """
    before = highest.get(row.file_id, -1)
    highest[row.file_id] = max(before, row.position)
    return row.file_id != file.pk or row.position < before


def _moved(row: Entry, item: Found, file: SourceFile) -> bool:
    return (row.file_id, row.position) != (file.pk, item.position) or row.missing_since is not None


_CHANGEABLE = [each.name for each in Entry._meta.concrete_fields if each.name not in ("id", "bank")]


def save_rows(bank: Bank, *, new: list[Entry], changed: list[Entry]) -> None:
    """Insert and update entry rows with their tags."""
    Entry.objects.bulk_create(new, batch_size=_ROW_BATCH)
    Entry.objects.bulk_update(changed, _CHANGEABLE, batch_size=100)
    if changed:
        EntryTag.objects.filter(entry__in=[row.pk for row in changed]).delete()
    tags = [
        EntryTag(bank=bank, entry=row, tag=tag)
        for row in new + changed
        for tag in dict.fromkeys(row.tags)
    ]
    EntryTag.objects.bulk_create(tags, batch_size=_ROW_BATCH)


def found_on_disk(deltas: Iterable[Delta]) -> list[Effect]:
    """What changed by somebody else's hand, as effects for the journal."""
    return [
        Effect(
            action=_action(delta),
            target=delta.target,
            key=delta.key,
            before=delta.before,
            after=delta.after,
            reason=FOUND,
        )
        for delta in deltas
    ]


def _action(delta: Delta) -> str:
    if delta.target == "rule":
        return Change.Action.RULES_CHANGED
    if not delta.before and delta.target == "entry":
        return Change.Action.CREATED
    return Change.Action.UPDATED if delta.after else Change.Action.DELETED


def _write_rule(bank: Bank, path: str, file: SeenFile, file_row: SourceFile | None) -> list[Delta]:
    name = tree.rule_of(path)
    row = Rule.objects.filter(bank=bank, name=name).first()
    before = row.version if row else ""
    content = _text(file.data) if file.fingerprint else None
    if content is None or file_row is None or file.fingerprint is None:
        if file_row is not None and file.fingerprint is not None:
            file_row.problems = [_not_utf8()]
            file_row.save(update_fields=["problems"])
        if row is None:
            return []
        row.delete()
        return [Delta("rule", name, before, "")]
    after = parse.version(file.data)
    if row is None:
        row = Rule(bank=bank, name=name)
    row.file, row.content, row.version = file_row, content, after
    row.updated_at = datetime.fromtimestamp(file.fingerprint.mtime_ns / 1e9, tz=UTC)
    row.save()
    return [] if after == before else [Delta("rule", name, before, after)]


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _not_utf8() -> dict[str, object]:
    return problem_at(0, types.Problem("not_utf8", 1, "This file is not UTF-8: save it as UTF-8."))


def _write_settings(bank: Bank, file: SeenFile) -> list[Delta]:
    values, problems = parse.bank_yaml(file.data)
    description = str(values.get("description") or "")
    plain = {key: value for key, value in values.items() if _is_plain(value)}
    SourceFile.objects.filter(bank=bank, path=tree.BANK_FILE).update(
        problems=[problem_at(0, each) for each in problems]
    )
    if (bank.description, bank.settings) == (description, plain):
        return []
    bank.description, bank.settings = description, plain
    bank.save(update_fields=["description", "settings"])
    return [Delta("bank", bank.name, "", parse.version(file.data))]


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | bool | float | list | dict)


@dataclass(frozen=True, slots=True)
class Written:
    """A block that we wrote ourselves. `position` None: appended as the file's next block."""

    key: str
    position: int | None
    block: bytes


def apply(
    bank: Bank, path: str, fingerprint: Fingerprint, written: list[Written], *, crlf: bool = False
) -> None:
    """Rows of blocks that an operation put into a file; nothing is read from disk.

    Call it inside the operation's second transaction.
    """
    file = SourceFile.objects.filter(bank=bank, path=path).first()
    if file is None:
        file = SourceFile(bank=bank, path=path, crlf=crlf)
    _stamp(file, fingerprint)
    file.routed, file.lasting = False, True
    new, changed = [], []
    rows = Entry.objects.filter(bank=bank, entry_id__in=[item.key for item in written])
    known = dict(rows.values_list("entry_id", "pk"))
    # A block that vanished and is put back has a row still, of its old place.
    spare = [known[item.key] for item in written if item.position is None and item.key in known]
    if spare:
        Entry.objects.filter(pk__in=spare, missing_since__isnull=False).delete()
    first = file.blocks
    file.blocks += sum(item.position is None for item in written)
    file.save()
    for item in written:
        block = parse.block(item.block)
        position = first if item.position is None else item.position
        first += item.position is None
        found = Found(
            path, position, parse.version(item.block), item.block, block.entry, block.problems
        )
        row = row_of(bank, file, found)
        if item.position is None:
            new.append(row)
        else:
            row.pk = known[item.key]
            changed.append(row)
    save_rows(bank, new=new, changed=changed)
    links.resolve(bank, [item.key for item in written])
