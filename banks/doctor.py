"""Is everything well? Checks with findings, never repairs."""

import logging
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import Count, Max, Min

from banks import links, locking, operations, seams, sync
from banks.findings import IGNORED, Finding, disk_trouble, problems, secrets, unreadable
from banks.models import Bank, Change, Entry, EntryTag, Operation, Rule, SourceFile
from banks.rows import row_of
from banks.store import parse, tree
from banks.store.errors import DiskFault, FileMissing, NotAFile, StoreError
from banks.store.files import BankFolder
from banks.store.types import Severity
from banks.surveys import Found

__all__ = ["Check", "Finding", "checks", "glance", "made", "problems", "stale_rows"]

logger = logging.getLogger(__name__)

LOCK_TIMEOUT_S = 5.0
STUCK = timedelta(minutes=1)
LITTLE_ROOM = 256 * 1024 * 1024

_ELSEWHERE = frozenset(
    {"id", "bank", "file", "missing_since", "problems", "live", "invalid_at", "link_problem"}
)
_DERIVED = tuple(
    field.attname for field in Entry._meta.concrete_fields if field.name not in _ELSEWHERE
)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. All is well when every required check is `ok`.

    `checked` is False when it could not be looked at: neither good nor bad, and not `ok`.
    """

    name: str
    ok: bool
    required: bool
    detail: str
    findings: list[Finding] = field(default_factory=list)
    checked: bool = True


def made(name: str, look: Callable[[], Check]) -> Check:
    """A check; one that breaks says so and leaves the others alone."""
    try:
        return look()
    except Exception:
        logger.exception("check broke name=%s", name)
        detail = "It could not be checked: the log says why."
        return Check(name, ok=False, required=True, detail=detail, checked=False)


def checks() -> list[Check]:
    """Every check of the banks, each made whatever becomes of the others."""
    writable = made("data folder", _data_folder)
    always = [
        made("disk space", _room),
        made("operations", _operations),
        made("journal", _journal),
    ]
    if not writable.ok:
        return [writable, *always]
    unseen = _look(force=True)
    banks = _banks()
    return [
        writable,
        *unseen,
        made("holds", lambda: _holds(banks)),
        made("files", lambda: _files_parse(banks, problems)),
        made("ignored files", lambda: _ignored(banks)),
        made("rows", lambda: _rows_equal_files([bank for bank in banks if not bank.hold])),
        *always,
        made("secrets", lambda: _secrets(banks)),
    ]


def glance() -> list[Check]:
    """The checks that cost little at every size, after a look at the files as on any page."""
    usable = made("data folder", _usable)
    unseen = _look(force=False) if usable.ok else []
    banks = _banks()
    return [
        usable,
        *unseen,
        made("holds", lambda: _holds(banks)),
        made("files", lambda: _files_parse(banks, unreadable)),
        made("disk space", _room),
        made("operations", _operations),
    ]


def _look(*, force: bool) -> list[Check]:
    """Look at the files of every bank; a check only when that could not be done."""

    def look() -> Check:
        sync.look_at_all(force=force)
        return Check("look", ok=True, required=True, detail="")

    done = made("look", look)
    return [] if done.ok else [done]


def _banks() -> list[Bank]:
    return list(Bank.objects.filter(state=Bank.State.ACTIVE).order_by("name"))


def _check(
    name: str, findings: list[Finding], *, good: str, bad: str, required: bool = True
) -> Check:
    """A check that fails when one of its findings is a problem."""
    ok = not any(each.severity is Severity.PROBLEM for each in findings)
    return Check(name, ok, required, good if ok else bad, findings)


def _usable() -> Check:
    """Without writing anything."""
    trouble = disk_trouble()
    detail = trouble or "It is there and can be written to."
    return Check("data folder", ok=not trouble, required=True, detail=detail)


def _room() -> Check:
    try:
        free = seams.data_folder().free_bytes()
    except DiskFault as fault:
        detail = fault.message
        return Check("disk space", ok=False, required=False, detail=detail, checked=False)
    detail = f"{free / 1e9:,.1f} GB are free."
    return Check("disk space", ok=free >= LITTLE_ROOM, required=False, detail=detail)


def _data_folder() -> Check:
    """A scratch file is written, read and removed outside the banks' name space."""
    name, content = "data folder", b"written by the doctor\n"
    data = seams.data_folder()
    scratch = f"doctor-{uuid.uuid4().hex}"
    try:
        try:
            folder = data.stage(scratch)
            with folder.lock(LOCK_TIMEOUT_S) as locked:
                locked.replace("scratch.md", content, expect=None)
                read, _ = locked.read("scratch.md")
        finally:
            data.discard_stage(scratch)
    except DiskFault as fault:
        return Check(name, ok=False, required=True, detail=f"It refused: {fault.data['errno']}.")
    detail = (
        "Written, read and removed a scratch file." if read == content else "It read otherwise."
    )
    return Check(name, ok=read == content, required=True, detail=detail)


def _holds(banks: Iterable[Bank]) -> Check:
    findings = [
        Finding("", 0, "hold", f"On hold: {bank.hold}.", bank=bank.name)
        for bank in banks
        if bank.hold
    ]
    return _check("holds", findings, good="No bank is on hold.", bad=f"{len(findings)} on hold.")


def _files_parse(banks: Iterable[Bank], look: Callable[[Bank], list[Finding]]) -> Check:
    findings = [finding for bank in banks for finding in look(bank)]
    wrong = sum(each.severity is Severity.PROBLEM for each in findings)
    return _check(
        "files",
        findings,
        good=f"Every entry can be read{f', with warnings: {len(findings)}' if findings else ''}.",
        bad=f"Entries or files that cannot be read as they stand: {wrong}.",
    )


def _ignored(banks: Iterable[Bank]) -> Check:
    found: list[Finding] = []
    data = seams.data_folder()
    for path, reason in data.ignored():
        found.append(Finding(path, 0, reason, IGNORED[reason], Severity.WARNING))
    for bank in banks:
        try:
            passed_over = data.bank(bank.name).ignored()
        except StoreError as error:
            found.append(Finding("", 0, error.code, error.message, bank=bank.name))
            continue
        found += [
            Finding(path, 0, reason, IGNORED[reason], Severity.WARNING, bank.name)
            for path, reason in passed_over
        ]
    detail = f"Links or left-overs: {len(found)}." if found else "Nothing is passed over."
    return _check("ignored files", found, good=detail, bad=detail, required=False)


def _rows_equal_files(banks: Iterable[Bank]) -> Check:
    findings = [finding for bank in banks for finding in stale_rows(bank)]
    return _check(
        "rows",
        findings,
        good="The rows say what the files say.",
        bad=f"{len(findings)} differences: run manage.py reload.",
    )


def stale_rows(bank: Bank) -> list[Finding]:
    """Where the rows of a bank are not what a fresh reading of its files gives.

    What somebody changes meanwhile is looked at once more, under the bank's lock.
    """
    folder = seams.data_folder().bank(bank.name)
    try:
        paths = {path for path in folder.look() if not tree.is_router(path)}
        paths |= set(SourceFile.objects.filter(bank=bank).values_list("path", flat=True))
        suspects = [path for path in sorted(paths) if _differs(bank, folder, path)]
        if suspects:
            with locking.locked(bank, LOCK_TIMEOUT_S) as locked:
                suspects = [path for path in suspects if _differs(bank, locked, path)]
    except StoreError as error:
        return [Finding("", 0, error.code, error.message, bank=bank.name)]
    message = "The rows of this file are not what it says."
    findings = [Finding(path, 0, "stale_rows", message, bank=bank.name) for path in suspects]
    findings += _missing_for_long(bank)
    if links.unsettled(bank):
        message = "Which memories are live is not what their pointers say."
        findings.append(Finding("", 0, "stale_links", message, bank=bank.name))
    return findings


def _missing_for_long(bank: Bank) -> list[Finding]:
    """Files whose memories are listed and cannot be read: something else stands in their place."""
    rows = Entry.objects.filter(bank=bank, missing_since__lt=seams.now() - STUCK)
    message = "Its memories are listed, but the file cannot be read: put it back."
    paths = rows.values_list("file__path", flat=True).distinct().order_by("file__path")
    return [Finding(path, 0, "unreachable", message, bank=bank.name) for path in paths]


def _differs(bank: Bank, folder: BankFolder, path: str) -> bool:
    try:
        data, _ = folder.read(path)
    except (FileMissing, NotAFile):
        return SourceFile.objects.filter(bank=bank, path=path).exclude(inode=0).exists()
    file = SourceFile.objects.filter(bank=bank, path=path).first()
    if file is None:
        return True
    if tree.is_rule_file(path):
        return not _rule_agrees(file, data)
    if path == tree.BANK_FILE:
        values, _ = parse.bank_yaml(data)
        return bank.description != str(values.get("description") or "")
    return not _entries_agree(bank, file, data)


def _rule_agrees(file: SourceFile, data: bytes) -> bool:
    version = Rule.objects.filter(file=file).values_list("version", flat=True).first()
    return version == parse.version(data) or (version is None and file.problems != [])


def _entries_agree(bank: Bank, file: SourceFile, data: bytes) -> bool:
    """Whether the file's rows are what its blocks give, ids of earlier blocks left out."""
    tags = _tags(file)
    duplicates = set(file.duplicates)
    rows = file.entries.filter(missing_since=None).order_by("position").iterator(chunk_size=500)
    row = next(rows, None)
    spans = parse.spans(data)
    for position, span in enumerate(spans):
        raw = data[span.start : span.end]
        block = parse.block(raw)
        if row is None or row.position != position:
            if block.entry is not None and block.entry.id not in duplicates:
                return False
            continue
        if block.entry is None:
            return False
        version = parse.version(raw)
        found = Found(file.path, position, version, raw, block.entry, block.problems)
        if not _same(row, row_of(bank, file, found)):
            return False
        if tags.get(row.pk, set()) != set(block.entry.tags):
            return False
        row = next(rows, None)
    return row is None and file.blocks == len(spans)


def _tags(file: SourceFile) -> dict[int, set[str]]:
    tags: dict[int, set[str]] = {}
    for row in EntryTag.objects.filter(entry__file=file):
        tags.setdefault(row.entry_id, set()).add(row.tag)
    return tags


def _same(row: Entry, fresh: Entry) -> bool:
    return all(_plain(getattr(row, name)) == _plain(getattr(fresh, name)) for name in _DERIVED)


def _plain(value: object) -> object:
    """PostgreSQL and SQLite give bytes in different wrappings."""
    return bytes(value) if isinstance(value, memoryview) else value


def _operations() -> Check:
    """Writes that neither ended nor were ended by the next holder of the lock."""
    old = Operation.objects.filter(
        state__in=operations.UNENDED, created_at__lt=seams.now() - STUCK
    ).select_related("bank")
    findings = [
        Finding("", 0, "pending", f"The operation {each.act} has not ended.", bank=each.bank.name)
        for each in old
    ]
    return _check(
        "operations",
        findings,
        good="No operation is left behind.",
        bad=f"{len(findings)} operations are left behind: the next write of the bank ends them.",
    )


def _journal() -> Check:
    """Numbers from 1 to the bank's head, none missing."""
    counted = {
        row["bank"]: (row["count"], row["first"], row["last"])
        for row in Change.objects.values("bank").annotate(
            count=Count("pk"), first=Min("seq"), last=Max("seq")
        )
    }
    findings = []
    for bank in Bank.objects.exclude(head=0, changes=None).distinct().order_by("name"):
        count, first, last = counted.get(bank.pk, (0, 1, 0))
        if (count, last) != (last - first + 1, bank.head):
            message = "Numbers of the journal are missing, or go on behind its end."
            findings.append(Finding("", 0, "journal_gap", message, bank=bank.name))
    return _check(
        "journal",
        findings,
        good="Its numbers have no gap.",
        bad=f"The journal of {len(findings)} banks has a gap.",
    )


def _secrets(banks: Iterable[Bank]) -> Check:
    findings = [finding for bank in banks for finding in secrets(bank)]
    return Check(
        "secrets",
        ok=not findings,
        required=False,
        detail=f"{len(findings)} in hand-written files: change the secret, then the file."
        if findings
        else "None found in the files.",
        findings=findings,
    )
