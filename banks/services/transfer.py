"""Import: a folder of memory becomes a bank, or its entries join one.

Everything is read and planned before anything is written. A new bank is made ready aside, bytes as
they came, and appears in one rename. Into a bank that is there only entries go, behind what it has;
what it has already is left alone, so that a second import changes nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from banks import access, errors, links, moves, seams, signals, sync
from banks.access import Principal, Role, Scope
from banks.findings import Finding
from banks.journal import Effect
from banks.models import Bank, Change, Entry, Rule
from banks.operations import Plan, store_errors
from banks.services import banks, drafts, memorylog, open_bank, sources, staging
from banks.services.commit import Desk, run
from banks.services.sources import Incoming, Progress, Source
from banks.services.staging import Homes
from banks.steps import Append, Log, Step
from banks.store import history, names, parse, tree
from banks.store.files import BankFolder
from banks.store.types import Category, Severity
from banks.store.types import Entry as Block

MOST_ENTRIES = 20_000
MOST_BYTES = 32_000_000


@dataclass(slots=True)
class Report:
    """What an import did, or with `dry_run` would do.

    `entries` were readable and `live` of them alive; `added` + `same` + `differing` are as many.
    `findings` name everything that was passed over or looks wrong.
    """

    bank: str
    kind: str
    dry_run: bool
    is_new: bool
    entries: int = 0
    live: int = 0
    added: int = 0
    same: int = 0
    differing: int = 0
    rules: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        """Whether all that was found could be imported, or was there already."""
        return not any(each.severity is Severity.PROBLEM for each in self.findings)


def _silent(what: str, done: int, total: int) -> None:
    """Nobody is watching."""


def import_folder(
    principal: Principal,
    path: Path,
    name: str,
    *,
    dry_run: bool = False,
    progress: Progress = _silent,
) -> Report:
    """Import a folder into the bank `name`, new or there.

    Raises Invalid, TooLarge (nothing to import, too much), Forbidden, NameTaken, BankNotFound,
    StoreBusy, StoreFault; nothing is written then, or up to the last 20,000 entries of a bank that
    was there: repeat the call.
    """
    with store_errors():
        names.bank_name(name)
    access.require(principal, Scope.MEMORY_CURATE)
    source = sources.read(path, progress)
    _discover(dry_run=dry_run)
    try:
        access.bank_for(principal, name, Role.MAINTAINER)
    except errors.BankNotFound:
        if not principal.may_create_banks:
            raise
        return _into_new(principal, source, name, dry_run=dry_run, progress=progress)
    bank = open_bank(principal, name, Role.MAINTAINER, Scope.MEMORY_CURATE)
    return _into_existing(principal, source, bank, dry_run=dry_run, progress=progress)


def _discover(*, dry_run: bool) -> None:
    """See the banks that are there. The very first import makes the data folder, no later one: a
    disk may just not be mounted. Raises StoreFault then."""
    data = seams.data_folder()
    with store_errors():
        if Bank.objects.exists():
            banks.refuse_trouble(data)
        elif not dry_run:
            data.make()
        if data.root.is_dir():
            sync.discover()


def _report(source: Source, name: str, *, dry_run: bool, is_new: bool) -> Report:
    return Report(
        bank=name,
        kind="tree" if source.log is None else "log",
        dry_run=dry_run,
        is_new=is_new,
        entries=len(source.incoming),
        live=sources.live([each.entry for each in source.incoming]),
        rules=source.rules if is_new else [],
        findings=source.findings,
    )


def _take_log(principal: Principal, source: Source, bank: Bank | None) -> None:
    """The memories of a log as incoming entries; those that the bank has keep their ids."""
    if source.log is None:
        return
    ids = _ids_by_log_ids(bank, source.log) if bank else {}
    before = len(source.log.findings)
    converted = memorylog.convert(
        source.log, ids=ids, mint=_mint(bank, source.log), actor=principal.handle
    )
    source.findings += source.log.findings[before:]
    source.incoming = [
        Incoming(
            each.entry, each.block, memorylog.FILE, each.line,
            b"".join(map(history.encode, each.records)),
            drafts.redaction_reason(each.labels),
        )
        for each in converted
    ]  # fmt: skip


def _ids_by_log_ids(bank: Bank, log: memorylog.Log) -> dict[str, str]:
    pointers = {states[-1].entry.superseded_by or "" for states in log.states.values()}
    found: dict[str, str] = {}
    for part in links.chunks(sorted({*log.states, *pointers} - {""})):
        rows = Entry.objects.filter(bank=bank)
        found |= dict(rows.filter(former_id__in=part).values_list("former_id", "entry_id"))
        found |= dict(rows.filter(entry_id__in=part).values_list("entry_id", "entry_id"))
    return found


def _mint(bank: Bank | None, log: memorylog.Log) -> Callable[[datetime], str]:
    """Ids that neither the bank nor the log has. The lock's holder looks at them once more."""
    taken = set(log.states)

    def mint(created: datetime) -> str:
        while True:
            key = names.mint(created, seams.suffix())
            there = bank is not None and Entry.objects.filter(bank=bank, entry_id=key).exists()
            if key not in taken and not there:
                taken.add(key)
                return key

    return mint


def _into_new(
    principal: Principal, source: Source, name: str, *, dry_run: bool, progress: Progress
) -> Report:
    drafts.refuse_secret(name)
    banks.check_free(name)
    _take_log(principal, source, None)
    report = _report(source, name, dry_run=dry_run, is_new=True)
    report.added = report.entries
    if dry_run:
        return report
    files = staging.new_files(source)

    def fill(folder: BankFolder, now: datetime) -> None:
        files.setdefault(tree.BANK_FILE, banks.bank_file("", now))
        with folder.lock(0) as locked:
            locked.make_folders(tree.SEED_FOLDERS)
            for number, (path, data) in enumerate(files.items(), start=1):
                locked.replace(path, data, expect=None)
                progress("write", number, len(files))

    data = seams.data_folder()
    try:
        with store_errors(), data.lock(sync.LOCK_TIMEOUT_S):
            banks.check_free(name)
            bank = banks.make(principal, data, name, fill)
    except errors.DomainError:
        # What is half made goes now, if the disk lets it, and with the next look if not.
        moves.heal()
        raise
    signals.changes_committed.send(Bank, bank_id=bank.pk, seq=bank.head)
    return report


def _into_existing(
    principal: Principal, source: Source, bank: Bank, *, dry_run: bool, progress: Progress
) -> Report:
    _take_log(principal, source, bank)
    report = _report(source, bank.name, dry_run=dry_run, is_new=False)
    fresh = _sorted_out(bank, source.incoming, report)
    report.findings += _rules_left_out(bank, source)
    titles = _live_titles(bank)
    wanted = []
    for each in fresh:
        if not _claims_title(each.entry, titles):
            wanted.append(each)
            continue
        report.differing += 1
        message = "The bank has a live procedure of this title: it was not imported."
        report.findings.append(Finding(each.path, each.line, "title_exists", message))
    report.added = len(wanted)
    if dry_run:
        return report
    report.added = 0
    for part in _parts(wanted):
        report.added += run(bank, principal, _planner(bank, part))["added"]
        progress("append", report.added, len(wanted))
    return report


def _sorted_out(bank: Bank, incoming: list[Incoming], report: Report) -> list[Incoming]:
    """The entries that the bank does not have; the others are counted and told."""
    known = _known(bank, incoming)
    fresh = []
    for each in incoming:
        block = known.get(each.entry.id) or known.get(each.entry.former_id or "")
        if block is None:
            fresh.append(each)
        elif _plain(block) == _plain(each.block):
            report.same += 1
        else:
            report.differing += 1
            message = "The bank has this memory in another state: its own was left as it is."
            report.findings.append(Finding(each.path, each.line, "differs", message))
    return fresh


def _known(bank: Bank, incoming: Iterable[Incoming]) -> dict[str, bytes]:
    """Blocks of the bank by id and by former id, of those that the incoming entries name."""
    wanted = {each.entry.id for each in incoming}
    wanted |= {each.entry.former_id for each in incoming if each.entry.former_id}
    found: dict[str, bytes] = {}
    for part in links.chunks(sorted(wanted)):
        rows = Entry.objects.filter(bank=bank)
        for key, block in rows.filter(former_id__in=part).values_list("former_id", "block"):
            found[key] = bytes(block)
        for key, block in rows.filter(entry_id__in=part).values_list("entry_id", "block"):
            found[key] = bytes(block)
    return found


def _plain(block: bytes) -> bytes:
    return block.replace(b"\r\n", b"\n")


def _live_titles(bank: Bank) -> set[str]:
    rows = Entry.objects.filter(bank=bank, category=Category.PROCEDURE.value, live=True)
    return {(title or told).casefold() for title, told in rows.values_list("title", "summary")}


def _claims_title(entry: Block, titles: set[str]) -> bool:
    """Whether a live procedure would be a second one of its title; else the title is taken now."""
    if entry.category is not Category.PROCEDURE or entry.invalidated or entry.superseded_by:
        return False
    title = (entry.title or entry.summary).casefold()
    if title in titles:
        return True
    titles.add(title)
    return False


def _rules_left_out(bank: Bank, source: Source) -> list[Finding]:
    """Rules go into a new bank only: what differs from the bank's is told."""
    there = dict(Rule.objects.filter(bank=bank).values_list("name", "version"))
    message = "Rules of a bank that is there are not touched: set this one by hand."
    return [
        Finding(tree.rule_path(name), 0, "rule_left_out", message, Severity.WARNING)
        for name in source.rules
        if there.get(name) != parse.version(source.files[tree.rule_path(name)])
    ]


def _parts(incoming: list[Incoming]) -> Iterator[list[Incoming]]:
    """Portions of one operation each: what one row of the database and one lock should hold."""
    part: list[Incoming] = []
    size = 0
    for each in incoming:
        if part and (len(part) == MOST_ENTRIES or size > MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(each)
        size += len(each.block) + len(each.records)
    if part:
        yield part


def _planner(bank: Bank, part: list[Incoming]) -> Callable[[Desk], Plan]:
    def planner(desk: Desk) -> Plan:
        known = _known(bank, part)
        fresh = [each for each in part if each.entry.id not in known]
        logs: list[Step] = []
        placed: dict[str, list[tuple[str, bytes]]] = defaultdict(list)
        homes = Homes(lambda path: file.size if (file := desk.fresh(path)) else None)
        for each in fresh:
            path = homes.place(each.entry, len(each.block))
            placed[path].append((each.entry.id, each.block))
            logs += _log(desk, each)
        appends = [_append(desk, path, blocks) for path, blocks in placed.items()]
        reasons = {each.entry.id: each.reason for each in fresh}
        effects = [_effect(*block, reasons) for step in appends for block in step.blocks]
        return Plan("import", {"added": len(fresh)}, [*logs, *appends], effects)

    return planner


def _log(desk: Desk, incoming: Incoming) -> list[Step]:
    """The earlier revisions. An entry of this id was there once: its own history stays alone."""
    path = tree.history_path(incoming.entry.id)
    if not incoming.records or desk.locked.history(path):
        return []
    return [Log(path, None, incoming.records)]


def _append(desk: Desk, path: str, blocks: list[tuple[str, bytes]]) -> Append:
    """Blocks get the line ends of their file; nothing else of them changes."""
    file = desk.fresh(path)
    if file is None:
        return Append(path, None, crlf=False, blocks=tuple(blocks))
    newline = b"\r\n" if file.crlf else b"\n"
    ended = ((key, _plain(block).replace(b"\n", newline)) for key, block in blocks)
    return Append(path, file.size, file.crlf, tuple(ended))


def _effect(key: str, block: bytes, reasons: Mapping[str, str]) -> Effect:
    return Effect(
        action=Change.Action.CREATED,
        target=Change.Target.ENTRY,
        key=key,
        after=parse.version(block),
        reason=reasons[key],
    )
