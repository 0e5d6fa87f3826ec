"""What looks wrong in the files of a bank: where it stands and what to do about it.

No finding quotes a memory or a secret; paths are relative to the bank.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import QuerySet

from banks import links, seams
from banks.models import Bank, Entry, SourceFile
from banks.store import parse, redact, tree, types
from banks.store.errors import StoreError
from banks.store.files import BankFolder
from banks.store.types import Category, Severity

IGNORED = {
    "link": "A link: it is not followed.",
    "dropping": "Left by an editor or a sync program.",
    "name": "A name that no bank or file of one may have.",
    "not_a_file": "Neither a file nor a folder.",
    "too_deep": "Too many folders inside each other.",
}
_LINKS = {
    links.DANGLING: "Its successor is not in this bank: put the entry back or remove the pointer.",
    links.SELF: "It is its own successor: remove the pointer.",
    links.LOOP: "Its successors lead back to it: remove one of the pointers.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that looks wrong. `line` counts from 1; 0 = the file (path "" = the bank) as a
    whole. `bank` is "" where there is only one it can be of."""

    path: str
    line: int
    code: str
    message: str
    severity: Severity = Severity.PROBLEM
    bank: str = ""


def problems(bank: Bank) -> list[Finding]:
    """What is wrong in the files of a bank, by path and line, as its rows know it.

    Lines are those of the files as they are now; only files with something wrong are read.
    """
    found = _of_files(bank)
    for path, position, problem in _of_entries(bank):
        found.setdefault(path, []).append((position, problem))
    return _told(bank, found)


def disk_trouble() -> str:
    """Why nothing can be saved in the data folder, as a sentence; `""` when nothing stands against
    it. Cheap enough for every page."""
    return seams.data_folder().trouble()


def changed_at(bank: Bank, paths: Iterable[str]) -> dict[str, int]:
    """When each of these files was last changed, in milliseconds; those that were read at all."""
    rows = SourceFile.objects.filter(bank=bank, path__in=list(paths)).exclude(inode=0)
    return {path: time // 1_000_000 for path, time in rows.values_list("path", "mtime_ns")}


def unreadable(bank: Bank) -> list[Finding]:
    """What no entry or rule could be read from, by path and line; cheap at every size."""
    return _told(bank, _of_files(bank))


_Found = dict[str, list[tuple[int | None, types.Problem]]]


def _of_files(bank: Bank) -> _Found:
    files = SourceFile.objects.filter(bank=bank).exclude(problems=[])
    return {
        path: [_stored(each) for each in told]
        for path, told in files.values_list("path", "problems")
    }


def _told(bank: Bank, found: _Found) -> list[Finding]:
    folder = seams.data_folder().bank(bank.name)
    findings = [
        Finding(path, line, problem.code, problem.message, problem.severity, bank.name)
        for path, each in found.items()
        for line, problem in _placed(folder, path, each)
    ]
    return sorted(findings, key=lambda each: (each.path, each.line, each.code))


def _stored(value: dict[str, object]) -> tuple[int | None, types.Problem]:
    position, line = value["position"], value["line"]
    return (
        position if isinstance(position, int) else None,
        types.Problem(
            str(value["code"]),
            line if isinstance(line, int) else 1,
            str(value["message"]),
            Severity(str(value["severity"])),
        ),
    )


def _of_entries(bank: Bank) -> Iterator[tuple[str, int | None, types.Problem]]:
    """Warnings of readable blocks, and what only shows beside other entries or the place."""
    entries = Entry.objects.filter(bank=bank, missing_since=None)
    told = entries.exclude(problems=[]).values_list("file__path", "position", "problems")
    for path, position, stored in told.iterator():
        for each in stored:
            yield path, position, _stored(each)[1]
    linked = entries.exclude(link_problem="").values_list("file__path", "position", "link_problem")
    for path, position, code in linked.iterator():
        yield path, position, types.Problem(code, 1, _LINKS[code])
    yield from _half_links(entries)
    for path, category in entries.values_list("file__path", "category").distinct():
        if tree.category_of(path) in (None, Category(category)):
            continue
        message = f"The category {category} does not belong in this file. The entry stays here."
        problem = types.Problem("wrong_file", 1, message, Severity.WARNING)
        placed = entries.filter(file__path=path, category=category)
        for position in placed.values_list("position", flat=True):
            yield path, position, problem


def _half_links(entries: QuerySet[Entry]) -> Iterator[tuple[str, int | None, types.Problem]]:
    """`supersedes` alone retires nothing: the other entry has to name its successor."""
    pointing = entries.exclude(supersedes="").values_list("file__path", "position", "supersedes")
    wanted = list(pointing)
    retired: dict[str, str] = {}
    for part in links.chunks({old for _, _, old in wanted}):
        retired |= dict(entries.filter(entry_id__in=part).values_list("entry_id", "superseded_by"))
    for path, position, old in wanted:
        if old not in retired:
            message = "The entry that it supersedes is not in this bank."
            yield path, position, types.Problem("lost_loser", 1, message, Severity.WARNING)
        elif not retired[old]:
            message = f"It supersedes {old}, which does not name it: add superseded_by there."
            yield path, position, types.Problem("half_link", 1, message)


def _placed(
    folder: BankFolder, path: str, told: list[tuple[int | None, types.Problem]]
) -> Iterator[tuple[int, types.Problem]]:
    """Problems with their lines in the file as it is now."""
    try:
        spans = parse.spans(folder.read(path)[0]) if tree.is_entry_file(path) else ()
    except StoreError:
        spans = ()
    for position, problem in told:
        place = position is not None and position < len(spans)
        first = spans[position].line if place and position is not None else 1
        yield first + problem.line - 1, problem


def secrets(bank: Bank) -> list[Finding]:
    """Where the files of a bank hold what looks like a secret: its kind and line, not its text."""
    folder = seams.data_folder().bank(bank.name)
    findings = []
    try:
        for path in folder.look():
            data = folder.read(path)[0].decode(errors="replace")
            for label, line in _secret_lines(data):
                message = f"This looks like a secret ({label})."
                findings.append(
                    Finding(path, line, f"secret_{label}", message, Severity.WARNING, bank.name)
                )
    except StoreError as error:
        findings.append(Finding("", 0, error.code, error.message, bank=bank.name))
    return findings


def _secret_lines(text: str) -> Iterator[tuple[str, int]]:
    """Kinds and lines of secrets in a file. A kind is told once a block of lines."""
    if not redact.mask(text).labels:
        return
    at = 1
    for paragraph in text.split("\n---\n"):
        lines = paragraph.split("\n")
        masked = redact.mask(paragraph)
        told = masked.text.split("\n")
        differing = [n for n, (old, new) in enumerate(zip(lines, told, strict=False)) if old != new]
        for label in masked.labels:
            own = [n for n in differing if f"[redacted:{label}]" in told[n]]
            yield label, at + (own or differing or [0])[0]
        at += len(lines) + 1
