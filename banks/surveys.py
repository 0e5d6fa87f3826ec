"""What a set of files says, beside the rows of those files. Nothing is written here.

The set matters: an entry that a person moved from one file to another is neither a duplicate nor a
deletion when both files are looked at together. Only blocks whose digest changed are parsed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from banks import links
from banks.models import Bank, Entry, SourceFile
from banks.store import parse, tree, types
from banks.store.errors import FileMissing, NotAFile
from banks.store.files import Fingerprint


class Reader(Protocol):
    """What a survey needs of a bank's folder."""

    def read(self, path: str) -> tuple[bytes, Fingerprint]:
        """The bytes of a file and the fingerprint they were read under."""
        ...


@dataclass(slots=True)
class Found:
    """A readable block as it stands on disk. `entry` is None when its row is up to date."""

    path: str
    position: int
    version: str
    block: bytes
    entry: types.Entry | None
    warnings: tuple[types.Problem, ...]


@dataclass(slots=True)
class SeenFile:
    """A file as read: None as `fingerprint` means that it is not there."""

    data: bytes
    fingerprint: Fingerprint | None
    spans: tuple[types.Span, ...] = ()
    problems: list[dict[str, object]] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Survey:
    """What a set of files says, beside the rows of those files."""

    files: dict[str, SeenFile]
    found: dict[str, Found]
    rows: dict[str, Entry]

    @property
    def gone(self) -> list[Entry]:
        """Rows whose block is in none of the files any more."""
        return [row for key, row in self.rows.items() if key not in self.found]


def take(bank: Bank, folder: Reader, paths: Iterable[str]) -> Survey:
    """Read the files (and those that share ids with them) and compare with their rows.

    Of an id that stands in several blocks the first by (path, position) has it; the others are
    problems of kind `duplicate_id`. Nothing is written.
    """
    files: dict[str, SeenFile] = {}
    wanted = set(paths)
    while True:
        for path in sorted(wanted - files.keys()):
            files[path] = _read(folder, path)
        result = _match(bank, files)
        more = _entangled(bank, result) - files.keys()
        if not more:
            return result
        wanted |= more


def agrees(bank: Bank, folder: Reader, row: SourceFile) -> bool:
    """Whether the blocks of an entry file are those of its rows, one by one: nothing to survey.

    For a large bank it is many times faster than `take`, and no more than one file is in memory.
    """
    file = _read(folder, row.path)
    rows = Entry.objects.filter(bank=bank, file=row).order_by("position")
    found = (parse.version(file.data[span.start : span.end]) for span in file.spans)
    return list(rows.values_list("position", "version")) == list(enumerate(found))


def _read(folder: Reader, path: str) -> SeenFile:
    try:
        data, fingerprint = folder.read(path)
    except (FileMissing, NotAFile):
        return SeenFile(b"", None)
    spans = parse.spans(data) if tree.is_entry_file(path) else ()
    return SeenFile(data, fingerprint, spans)


def _match(bank: Bank, files: dict[str, SeenFile]) -> Survey:
    rows = {
        row.entry_id: row
        for row in Entry.objects.filter(bank=bank, file__path__in=list(files))
        .select_related("file")
        .defer("text", "folded", "block")
    }
    by_version = {row.version: row for row in rows.values()}
    found: dict[str, Found] = {}
    for path in sorted(files):
        file = files[path]
        file.problems, file.duplicates = [], []
        for position, span in enumerate(file.spans):
            data = file.data[span.start : span.end]
            version = parse.version(data)
            known = by_version.get(version)
            if known is not None:
                key, item = known.entry_id, Found(path, position, version, data, None, ())
            else:
                block = parse.block(data)
                if block.entry is None:
                    file.problems += [problem_at(position, each) for each in block.problems]
                    continue
                key = block.entry.id
                item = Found(path, position, version, data, block.entry, block.problems)
            if key in found:
                file.duplicates.append(key)
                file.problems.append(_duplicate(position))
            else:
                found[key] = item
    return Survey(files, found, rows)


def _entangled(bank: Bank, result: Survey) -> set[str]:
    """Files outside the set that have, or once lost, an id of it."""
    paths: set[str] = set()
    fresh = [key for key in result.found if key not in result.rows]
    for part in links.chunks(fresh):
        others = Entry.objects.filter(bank=bank, entry_id__in=part).select_related("file")
        paths |= {row.file.path for row in others.only("file__path")}
    lost = {row.entry_id for row in result.gone}
    if lost:
        doubles = SourceFile.objects.filter(bank=bank).exclude(duplicates=[])
        paths |= {file.path for file in doubles if lost & set(file.duplicates)}
    return paths


def problem_at(position: int, problem: types.Problem) -> dict[str, object]:
    """A problem as a file's row keeps it: its line counts within the block at `position`."""
    return {
        "position": position,
        "line": problem.line,
        "code": problem.code,
        "message": problem.message,
        "severity": problem.severity.value,
    }


def _duplicate(position: int) -> dict[str, object]:
    message = "An earlier block has this id: give this one an id of its own."
    return problem_at(position, types.Problem("duplicate_id", 1, message))
