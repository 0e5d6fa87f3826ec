r"""The table of an `index.md`: read it, set or drop one row, and what a file's row should say.

Bytes in, bytes out. Only the lines of known rows change: the text around the table, other rows,
extra columns and the kind of line ends stay as they are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from unicodedata import category

from banks.store.names import SUMMARY_LENGTH, first_sentence
from banks.store.tree import EMPTY_DESCRIPTION
from banks.store.types import Entry

# A cell must stay readable.
ROW_TAGS = 40

_HEADER = ("file", "description", "tags", "updated")
_HEAD_LINES = (b"| File | Description | Tags | Updated |", b"| --- | --- | --- | --- |")
_BOM = b"\xef\xbb\xbf"
_CODE_FENCES = (b"```", b"~~~")


@dataclass(frozen=True, slots=True)
class Row:
    """One file in a router. `file` is relative to the router's folder; `updated` is a day or ""."""

    file: str
    description: str
    tags: tuple[str, ...]
    updated: str


@dataclass(frozen=True, slots=True)
class _Table:
    """Line numbers of a table's rows: from `first`, below the head, up to `stop`."""

    first: int
    stop: int


def rows(data: bytes) -> tuple[Row, ...]:
    """The rows of the first router table, in the order of the file; empty without a table.

    Lines of the table without a file are left out. Bytes that are no UTF-8 show as U+FFFD.
    """
    lines = data.split(b"\n")
    table = _table(lines)
    if table is None:
        return ()
    found = (_row(_cells(line)) for line in lines[table.first : table.stop])
    return tuple(row for row in found if row.file)


def set_row(data: bytes, row: Row) -> bytes:
    """The file with this row in its table: in place when the file has one, else sorted by path.

    A row that already says the same is not touched, however it is spaced. Second rows of the same
    file (left by a merge) go. A missing table is created at the end. Raises ValueError when
    `row.file` has no visible character.
    """
    clean = _row(_cells(_line(row)))
    if not clean.file:
        raise ValueError("a row names a file")
    lines = data.split(b"\n")
    table = _table(lines)
    if table is None:
        return _with_table(data, row)
    own = _lines_of(lines, table, clean.file)
    if own:
        cells = _cells(lines[own[0]])
        if _row(cells) != clean:
            extra = [_escaped(cell) for cell in cells[len(_HEADER) :]]
            lines[own[0]] = _line(row, extra) + _end(lines[own[0]])
        return _without(lines, own[1:])
    at = next(
        (
            number
            for number in range(table.first, table.stop)
            if _row(_cells(lines[number])).file > clean.file
        ),
        table.stop,
    )
    # The heading always has a line end; the line of dashes may be the last of the file.
    end = _end(lines[table.first - 2])
    if at == len(lines):
        # The last row has no line end yet: it gets one, and so does the new row.
        lines[-1] += end
        return b"\n".join([*lines, _line(row) + end, b""])
    return b"\n".join([*lines[:at], _line(row) + end, *lines[at:]])


def drop_row(data: bytes, file: str) -> bytes:
    """The file without any row for this path; the same bytes when there is none."""
    lines = data.split(b"\n")
    table = _table(lines)
    return _without(lines, _lines_of(lines, table, file)) if table else data


def describe(file: str, entries: Iterable[Entry]) -> Row:
    """The row that a file has, from all its entries in the order of the file, dead ones too.

    Description: the summary of the latest stated one (of equals the lower); without a summary, its
    first sentence. Tags: the latest stated entry's first, at most 40. Updated: the UTC day of the
    latest change.
    """
    from_below = list(entries)[::-1]
    if not from_below:
        return Row(file, EMPTY_DESCRIPTION, (), "")
    # The sort is stable, so of equals the lower in the file comes first.
    latest_first = sorted(from_below, key=lambda entry: entry.stated_at, reverse=True)
    newest = latest_first[0]
    description = _one_line(newest.summary or first_sentence(newest.text))
    if len(description) > SUMMARY_LENGTH:
        description = description[: SUMMARY_LENGTH - 1].rstrip() + "…"
    tags = dict.fromkeys(tag for entry in latest_first for tag in entry.tags)
    updated = max(entry.updated_at for entry in from_below)
    day = updated.astimezone(UTC).date().isoformat()
    return Row(file, description, tuple(tags)[:ROW_TAGS], day)


def _table(lines: Sequence[bytes]) -> _Table | None:
    """The first router table that is no example in a code block.

    A code fence that is never closed hides nothing: a table written below it must be found again.
    """
    hidden: int | None = None
    fence = b""
    for number in range(len(lines) - 1):
        mark = lines[number].lstrip(b" ")[:3]
        if mark in _CODE_FENCES and fence in (b"", mark):
            fence = b"" if fence else mark
            hidden = None
        elif _is_head(lines, number):
            if not fence:
                return _rows_below(lines, number + 2)
            hidden = number if hidden is None else hidden
    # A fence that closes on the very last line has no line below it to look at.
    if hidden is None or lines[-1].lstrip(b" ").startswith(fence):
        return None
    return _rows_below(lines, hidden + 2)


def _is_head(lines: Sequence[bytes], number: int) -> bool:
    """Whether a router table begins here: its four headings, perhaps more, and a line of dashes."""
    line, below = lines[number].removeprefix(_BOM), lines[number + 1]
    if not _is_row(line) or not _is_row(below):
        return False
    names = tuple(cell.casefold() for cell in _cells(line))
    dashes = _cells(below)
    return (
        names[: len(_HEADER)] == _HEADER
        and len(dashes) == len(names)
        and all(cell.strip(":") and not cell.strip(":").strip("-") for cell in dashes)
    )


def _rows_below(lines: Sequence[bytes], first: int) -> _Table:
    stop = first
    while stop < len(lines) and _is_row(lines[stop]):
        stop += 1
    return _Table(first, stop)


def _is_row(line: bytes) -> bool:
    return line.lstrip(b" ").startswith(b"|")


def _cells(line: bytes) -> list[str]:
    """The cells of a table line, unescaped and trimmed. A pipe behind a backslash is text."""
    text = line.decode("utf-8", "replace").strip().removeprefix("\ufeff").removeprefix("|")
    # No line holds a line feed, so it can stand for the escaped pipes while the others split.
    held = text.replace("\\|", "\n").removesuffix("|")
    return [cell.replace("\n", "|").strip() for cell in held.split("|")]


def _row(cells: Sequence[str]) -> Row:
    """A row from its cells; what is missing is empty."""
    file, description, tags, updated = [*cells, "", "", "", ""][: len(_HEADER)]
    labels = (label.strip() for label in tags.split(","))
    return Row(file, description, tuple(label for label in labels if label), updated)


def _line(row: Row, extra: Sequence[str] = ()) -> bytes:
    """A row as a line without its end."""
    cells = [_escaped(cell) for cell in (row.file, row.description, ", ".join(row.tags))]
    text = " | ".join([*cells, _escaped(row.updated), *extra])
    return f"| {text} |".encode()


def _escaped(cell: str) -> str:
    return _one_line(cell).replace("|", "\\|")


def _one_line(text: str) -> str:
    """What a cell can hold: one line without the control characters of a hand-written block."""
    shown = "".join(
        "\ufffd" if category(char) in {"Cc", "Cs"} and not char.isspace() else char for char in text
    )
    return " ".join(shown.split())


def _end(line: bytes) -> bytes:
    """What stands between a line and its line feed: a carriage return or nothing."""
    return b"\r" if line.endswith(b"\r") else b""


def _lines_of(lines: Sequence[bytes], table: _Table, file: str) -> list[int]:
    return [
        number
        for number in range(table.first, table.stop)
        if _row(_cells(lines[number])).file == file
    ]


def _without(lines: list[bytes], gone: Iterable[int]) -> bytes:
    numbers = set(gone)
    if len(lines) - 1 in numbers:
        # The last line had no line end: the one before it keeps its own.
        lines[-1] = b""
        numbers.discard(len(lines) - 1)
    return b"\n".join(line for number, line in enumerate(lines) if number not in numbers)


def _with_table(data: bytes, row: Row) -> bytes:
    """The file with a new table of one row at its end, one blank line below what was there."""
    first = data.find(b"\n")
    newline = b"\r\n" if first > 0 and data[first - 1 : first] == b"\r" else b"\n"
    text = data.removeprefix(_BOM)
    gap = b""
    if text and not text.endswith(b"\n"):
        gap = newline * 2
    elif text.rstrip(b"\r\n") and not text.endswith((b"\n\n", b"\n\r\n")):
        gap = newline
    table = b"".join(line + newline for line in (*_HEAD_LINES, _line(row)))
    return data + gap + table
