"""The files of a bank as people and agents read them: rows of a router, lines of one file.

The disk is read here and nowhere above. A file is one that a bank consists of; whatever else may
lie in the folder (history, links, notes of others) is as if it were not there.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from banks import errors, locking, routers, seams
from banks.access import Principal, Scope, require
from banks.models import Bank
from banks.operations import store_errors
from banks.store import router, scan, tree
from banks.store.errors import FileMissing, FolderMoved, InvalidName, NotAFile
from banks.store.types import Kind

LINES = 500
LINES_MOST = 2_000

PAGE_BYTES = 1_000_000
"""What one page holds at most; a single line that is longer is cut."""

COUNTED_BYTES = 64 * 1024 * 1024
"""Files up to this size are read to their end, to count their lines; larger ones as needed."""

_ROUTERS = {
    None: tree.ROUTER,
    Kind.EPISODIC: f"{tree.EPISODIC_FOLDER}/{tree.ROUTER}",
    Kind.SEMANTIC: f"{tree.SEMANTIC_FOLDER}/{tree.ROUTER}",
    Kind.PROCEDURAL: f"{tree.PROCEDURAL_FOLDER}/{tree.ROUTER}",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a router. `file` is as it stands there, `path` from the bank's folder (None when
    that is no file of the bank), `updated` a day or None."""

    file: str
    path: str | None
    description: str
    tags: list[str]
    updated: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The rows of a router, in its own order."""

    bank: str
    path: str
    files: list[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Lines of a file from `offset` on (counted from 0), without their ends.

    `total_lines` is None for a file that was not read to its end, `next_offset` after its last
    line. `lossy`: some bytes of these lines are not UTF-8 and show as U+FFFD. `cut`: the one line
    was longer than a page. `updated_at` is the file's time in milliseconds.
    """

    bank: str
    path: str
    lines: list[str]
    offset: int
    total_lines: int | None
    next_offset: int | None
    lossy: bool
    cut: bool
    size_bytes: int
    updated_at: int


def empty_listing(name: str, kind: Kind | None) -> Listing:
    """What a bank that is not there would list."""
    return Listing(name, _ROUTERS[kind], [])


def listing(bank: Bank, kind: Kind | None) -> Listing:
    """The router of a kind, or of the whole bank, brought up to date; empty without such a file.

    Raises StoreFault, BankOnHold, BankNotFound.
    """
    routers.be_read(bank)
    path = _ROUTERS[kind]
    try:
        with _reading(bank):
            data, _ = seams.data_folder().bank(bank.name).read(path)
    except errors.FileNotFound:
        data = b""
    folder = path.removesuffix(tree.ROUTER)
    return Listing(bank.name, path, [_row(folder, row) for row in router.rows(data)])


def _row(folder: str, row: router.Row) -> Row:
    path = folder + row.file
    return Row(
        file=row.file,
        path=path if scan.is_ours(path) else None,
        description=row.description,
        tags=list(row.tags),
        updated=row.updated or None,
    )


def page(
    principal: Principal, bank: Bank, path: str, *, offset: int = 0, limit: int = LINES
) -> Page:
    """Lines of one file of the bank, at most `limit` (0..2,000) and about a megabyte.

    Raises ScopeMissing (an injected rule needs `rules:read` too), FileNotFound for whatever is no
    file of the bank, StoreFault, BankOnHold, BankNotFound.
    """
    if not scan.is_ours(path):
        raise errors.FileNotFound
    if tree.is_rule_file(path):
        require(principal, Scope.RULES_READ)
    folder = seams.data_folder().bank(bank.name)
    with _reading(bank):
        _, seen = folder.tail(path, 0)
        part = _part(folder.chunks(path), offset, limit, count=seen.size <= COUNTED_BYTES)
    first = [part.lines[0].removeprefix(b"\xef\xbb\xbf")] if part.lines and not offset else []
    raw = [line.removesuffix(b"\r") for line in [*first, *part.lines[len(first) :]]]
    following = offset + len(raw)
    return Page(
        bank=bank.name,
        path=path,
        lines=[line[:PAGE_BYTES].decode(errors="replace") for line in raw],
        offset=offset,
        total_lines=part.total,
        next_offset=following if part.more and limit else None,
        lossy=not all(map(_is_utf8, raw)),
        cut=any(len(line) > PAGE_BYTES for line in raw),
        size_bytes=seen.size,
        updated_at=seen.mtime_ns // 1_000_000,
    )


@contextmanager
def _reading(bank: Bank) -> Iterator[None]:
    """Faults of a read of one file, in the product's terms."""
    with store_errors():
        try:
            yield
        except (FileMissing, NotAFile, InvalidName) as error:
            raise errors.FileNotFound from error
        except FolderMoved as error:
            # Trashed or renamed just now; else a volume that is not mounted: nothing is deleted.
            raise (
                errors.BankOnHold if locking.is_current(bank) else errors.BankNotFound
            ) from error


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines as bytes, how many there are in all (None: not known), and whether more follow."""

    lines: list[bytes]
    total: int | None
    more: bool


def _part(chunks: Iterable[bytes], offset: int, limit: int, *, count: bool) -> _Part:
    taken: list[bytes] = []
    total = size = 0
    is_full = False
    for number, line in enumerate(_lines(chunks)):
        total = number + 1
        if number < offset:
            continue
        size += len(line)
        is_full = is_full or len(taken) == limit or (bool(taken) and size > PAGE_BYTES)
        if not is_full:
            taken.append(line)
        elif not count:
            return _Part(taken, None, more=True)
    return _Part(taken, total, more=total > offset + len(taken))


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Each line without its line feed; of one longer than a page the beginning."""
    rest = b""
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest = (rest + first)[: PAGE_BYTES + 1]
        for line in others:
            yield rest
            rest = line
    if rest:
        yield rest


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
