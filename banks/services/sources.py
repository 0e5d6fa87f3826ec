"""A folder that is to be imported, read member by member: what is in it and what is passed over.

Nothing here writes. Links are not followed, names are checked, sizes are capped.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from banks import errors
from banks.findings import IGNORED, Finding
from banks.operations import store_errors
from banks.services import memorylog
from banks.store import history, parse, tree
from banks.store.errors import FileMissing, FolderMoved, InvalidName, NotAFile
from banks.store.files import BankFolder, Disk
from banks.store.types import Entry as Block
from banks.store.types import Severity

LARGEST_BYTES = 256 * 1024 * 1024

_HIDDEN = frozenset({".git", tree.HISTORY_FOLDER})


@dataclass(frozen=True, slots=True)
class Incoming:
    """An entry that may be imported: its bytes, its earlier revisions (frames), where it stood."""

    entry: Block
    block: bytes
    path: str
    line: int
    records: bytes = b""
    reason: str = ""


@dataclass(slots=True)
class Source:
    """A folder as read. `log` is None for a tree of markdown files."""

    files: dict[str, bytes] = field(default_factory=dict)
    histories: dict[str, bytes] = field(default_factory=dict)
    log: memorylog.Log | None = None
    incoming: list[Incoming] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    @property
    def rules(self) -> list[str]:
        """Sorted names of the injected rules."""
        return sorted(tree.rule_of(path) for path in self.files if tree.is_rule_file(path))


Progress = Callable[[str, int, int], None]
"""Called with what is going on, how far it is, and how far it goes."""


def read(path: Path, progress: Progress) -> Source:
    """Everything that an import can use. Raises Invalid (nothing there), TooLarge, StoreFault."""
    path = path.absolute()
    folder = BankFolder(path.parent, path.name, Disk())
    source = Source()
    with store_errors():
        try:
            found = folder.look()
            ignored = folder.ignored()
        except (FolderMoved, FileMissing) as error:
            raise errors.Invalid("There is no such folder to import.", loc="path") from error
        has_log = _is_plain_file(path / memorylog.FILE)
        if not has_log and not any(map(_is_a_bank_file, found)):
            raise _nothing_there()
        size = sum(each.size for each in found.values())
        _check_size(size + ((path / memorylog.FILE).stat().st_size if has_log else 0))
        for number, each in enumerate(found, start=1):
            progress("read", number, len(found))
            _take(source, folder, each, is_log=has_log)
        if has_log:
            source.log = memorylog.read(folder.read(memorylog.FILE)[0])
            source.findings += source.log.findings
        else:
            _histories(source, folder, path / tree.HISTORY_FOLDER)
    source.findings += [
        Finding(name, 0, reason, IGNORED[reason], Severity.WARNING) for name, reason in ignored
    ]
    source.findings += _others(path, {*found, *(name for name, _ in ignored), memorylog.FILE})
    _check_bank_file(source)
    if source.log is None:
        _parse(source, progress)
        if not _says_something(source):
            raise _nothing_there()
    return source


def _nothing_there() -> errors.Invalid:
    return errors.Invalid(
        "That folder holds neither memory files nor a memories.jsonl.", loc="path"
    )


def _says_something(source: Source) -> bool:
    """Whether anything of a bank is there: any folder of notes has files that end in `.md`."""
    damaged = any(finding.severity is Severity.PROBLEM for finding in source.findings)
    marked = tree.BANK_FILE in source.files or tree.ROUTER in source.files
    return bool(source.incoming or source.rules or damaged or marked)


def _is_a_bank_file(path: str) -> bool:
    return tree.is_entry_file(path) or path in (tree.BANK_FILE, tree.ROUTER)


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _check_size(size_bytes: int) -> None:
    if size_bytes > LARGEST_BYTES:
        raise errors.TooLarge(
            f"The folder holds {size_bytes} bytes; {LARGEST_BYTES} can be imported at once."
        )


def _take(source: Source, folder: BankFolder, path: str, *, is_log: bool) -> None:
    if is_log and tree.is_entry_file(path):
        message = "Beside a memories.jsonl no memory files are read: import them by themselves."
        source.findings.append(Finding(path, 0, "not_read", message, Severity.WARNING))
        return
    if is_log and tree.is_router(path):
        return
    try:
        source.files[path], _ = folder.read(path)
    except (FileMissing, NotAFile):
        message = "It was gone before it could be read."
        source.findings.append(Finding(path, 0, "not_a_file", message))


def _histories(source: Source, folder: BankFolder, top: Path) -> None:
    """Earlier revisions, of a folder that was a bank of ours. Other files in there are not."""
    size = sum(map(len, source.files.values()))
    for shown, is_rule in ((top, False), (top / tree.RULES_FOLDER, True)):
        if shown.is_symlink() or not shown.is_dir():
            continue
        for log in sorted(shown.glob("*.log")):
            try:
                path = (tree.rule_history_path if is_rule else tree.history_path)(log.stem)
            except InvalidName:
                continue
            data = folder.history(path) if not log.is_symlink() else b""
            _, whole = history.decode(data)
            if whole:
                source.histories[path] = data[:whole]
                size += whole
                _check_size(size)


def _others(top: Path, known: set[str]) -> list[Finding]:
    """Files that are no part of a bank."""
    found = []
    for folder, below, files in os.walk(top):
        below[:] = sorted(name for name in below if name not in _HIDDEN)
        prefix = Path(folder).relative_to(top)
        for name in sorted(files):
            path = (prefix / name).as_posix()
            if ascii(path)[1:-1] not in known and path not in known:
                message = "No part of a bank."
                found.append(
                    Finding(ascii(path)[1:-1] if not path.isprintable() else path, 0, "not_ours",
                            message, Severity.WARNING)
                )  # fmt: skip
    return found


def _parse(source: Source, progress: Progress) -> None:
    """The entries of a tree: of an id that stands twice, the first by path and place."""
    seen: set[str] = set()
    paths = sorted(path for path in source.files if tree.is_entry_file(path))
    for number, path in enumerate(paths, start=1):
        data = source.files[path]
        document = parse.document(data, path=path)
        for span, block in zip(document.spans, document.blocks, strict=True):
            entry = block.entry
            if entry is None:
                continue
            if entry.id in seen:
                message = "An earlier file has this id: give this entry one of its own."
                source.findings.append(Finding(path, span.line, "duplicate_id", message))
                continue
            seen.add(entry.id)
            log = source.histories.get(tree.history_path(entry.id), b"")
            raw = data[span.start : span.end]
            source.incoming.append(Incoming(entry, raw, path, span.line, log))
        source.findings += [
            Finding(path, each.line, each.code, each.message, each.severity)
            for each in document.problems
        ]
        progress("parse", number, len(paths))


def _check_bank_file(source: Source) -> None:
    _, problems = parse.bank_yaml(source.files.get(tree.BANK_FILE, b""))
    source.findings += [
        Finding(tree.BANK_FILE, each.line, each.code, each.message, each.severity)
        for each in problems
    ]
    for path in source.files:
        if tree.is_rule_file(path) and not _is_utf8(source.files[path]):
            message = "This file is not UTF-8: save it as UTF-8."
            source.findings.append(Finding(path, 1, "not_utf8", message))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def live(entries: list[Block]) -> int:
    """How many of these are live, as the rows will have it: loops and dead ends keep it alive."""
    pointers = {entry.id: entry.superseded_by or "" for entry in entries}
    loops = _loops(pointers)
    return sum(
        entry.invalidated is None and (entry.superseded_by not in pointers or entry.id in loops)
        for entry in entries
    )


def _loops(pointers: dict[str, str]) -> set[str]:
    """Ids whose pointers lead back to them. Each walk ends at a seen id, so all of it is linear."""
    done: set[str] = set()
    looped: set[str] = set()
    for start in pointers:
        walked: dict[str, int] = {}
        key = start
        while key in pointers and key not in done and key not in walked:
            walked[key] = len(walked)
            key = pointers[key]
        if key in walked:
            looped |= {each for each, place in walked.items() if place >= walked[key]}
        done.update(walked)  # `|=` with a view of keys would copy the whole set each time
    return looped
