r"""Bytes of a bank's files → spans, entries and problems. Never raises on content.

A span is found without decoding anything, so that one bad byte hides one block and no more. Only
`\n` and `\r\n` end a line. Damaged content is data (`Problem`), not an exception.
"""

import hashlib
import re
from dataclasses import replace

from banks.store import fields, frontmatter, tree
from banks.store.fields import Note
from banks.store.frontmatter import Unreadable
from banks.store.types import Block, Document, Entry, Problem, Severity, Span

BOM = b"\xef\xbb\xbf"

_FENCE = b"---"
_NEXT_FENCE = b"\n---"
# A word with a colon opens an entry; an address (`https://`) below a rule across the page does not.
_KEY_LINE = re.compile(rb"[A-Za-z_\x80-\xff][A-Za-z0-9_\x80-\xff-]*:(?!//)")
_ID_LINE = re.compile(rb"^id:", re.MULTILINE)
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
_SPACE = b" \t\r\n"
_SPACE_TEXT = " \t\r\n"


def spans(data: bytes) -> tuple[Span, ...]:
    """The blocks of a file in order; they never overlap. Linear in the size of the file.

    What lies between two spans, or before the first, belongs to no entry.
    """
    found: list[Span] = []
    at, below = _opener(data, len(BOM) if data.startswith(BOM) else 0)
    line, counted = 1, 0
    while at >= 0:
        close, body = _closing(data, below)
        following = _opener(data, body if close >= 0 else below)
        limit = following[0] if following[0] >= 0 else len(data)
        line += data.count(b"\n", counted, at)
        counted = at
        if close < 0:
            found.append(Span(at, _content_end(data, below, limit), line, None))
        else:
            end = _content_end(data, body, limit)
            # Nothing but white space: the block ends with its fence.
            span = Span(at, end, line, body) if end > body else None
            found.append(span or Span(at, close + len(_FENCE), line, close + len(_FENCE)))
        at, below = following
    return tuple(found)


def block(data: bytes) -> Block:
    """The entry in the bytes of one block (`data[span.start : span.end]`) and what is wrong.

    Lines of problems count from the block's opening fence, which is line 1.
    """
    seams = cut(data)
    if seams is None:
        message = (
            "The closing fence is missing: put a line of three hyphens below the last key, "
            "without a blank line before it."
        )
        return Block(None, (Problem("unclosed_fence", 1, message),))
    start, close, body = seams
    try:
        front = frontmatter.decode(data[start:close])
        nodes = frontmatter.read(front)
    except Unreadable as error:
        return Block(None, (Problem(error.code, error.line + 1, error.message),))
    try:
        text = _trimmed(data[body:].decode().replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, body + error.start) + 1
        message = "A byte of the text is not UTF-8. Save the file as UTF-8."
        return Block(None, (Problem("not_utf8", line, message),))
    entry, notes = fields.entry(nodes, text)
    problems = [_placed(note, data, front, body) for note in notes]
    stray, _ = _fence(data, body)
    if stray >= 0:
        problems.append(_stray(data.count(b"\n", 0, stray) + 1))
    return Block(entry, tuple(problems))


def document(data: bytes, *, path: str = "") -> Document:
    """A whole file. `path` (relative to the bank) tells which category belongs in it.

    A block whose id an earlier one of the file has is a problem; so an id is there at most once.
    """
    found = spans(data)
    blocks: list[Block] = []
    problems: list[Problem] = []
    expected = tree.category_of(path)
    seen: set[str] = set()
    stray, _ = _fence(data, len(BOM) if data.startswith(BOM) else 0)
    if stray >= 0 and (not found or stray < found[0].start):
        problems.append(_stray(data.count(b"\n", 0, stray) + 1))
    for span in found:
        parsed = block(data[span.start : span.end])
        entry = parsed.entry
        if entry is not None and entry.id in seen:
            parsed = Block(None, (*parsed.problems, _duplicate(entry)))
        elif entry is not None:
            seen.add(entry.id)
            if expected not in {None, entry.category}:
                parsed = Block(entry, (*parsed.problems, _misplaced(entry)))
        blocks.append(parsed)
        problems.extend(replace(each, line=each.line + span.line - 1) for each in parsed.problems)
    return Document(found, tuple(blocks), tuple(problems))


def version(data: bytes) -> str:
    """What `if_version` compares: the first 16 hex digits of the SHA-256 of a block or file."""
    return hashlib.sha256(data).hexdigest()[:16]


def newline(data: bytes) -> bytes:
    r"""The line end of a file by its first line: `\n` or `\r\n`; `\n` when it has none."""
    at = data.find(b"\n")
    return b"\r\n" if at > 0 and data[at - 1 : at] == b"\r" else b"\n"


def bank_yaml(data: bytes) -> tuple[dict[str, object], tuple[Problem, ...]]:
    """The keys of a `bank.yaml`, the known ones typed, the others as YAML has them (strings).

    A known key with a value that is not of its type is left out and is a problem. A file that
    cannot be read gives no keys and one problem.
    """
    try:
        front = frontmatter.decode(data.removeprefix(BOM))
        nodes = frontmatter.structured(front)
    except Unreadable as error:
        return {}, (Problem(error.code, error.line, error.message),)
    values, notes = fields.bank(nodes)
    return values, tuple(_placed(note, front.encode(), front, 0) for note in notes)


def cut(data: bytes) -> tuple[int, int, int] | None:
    """Offsets in one block: of its first key, of its closing fence, of what follows that line.

    None when the bytes do not begin with a fence or the closing one is missing.
    """
    start = len(_FENCE) + len(newline(data))
    if data[:start].rstrip(b"\r\n") != _FENCE or data[start - 1 : start] != b"\n":
        return None
    close, body = _fence(data, start)
    if close < 0 or _BLANK_LINE.search(data, start - 1, close):
        return None
    return start, close, body


def _fence(data: bytes, pos: int) -> tuple[int, int]:
    """The next line that is exactly a fence, from the line start `pos`: its offset, and the one
    behind its terminator. (-1, -1) when there is none.
    """
    # A failed find plus one is 0, which `or` turns into -1.
    at = pos if data.startswith(_FENCE, pos) else data.find(_NEXT_FENCE, pos) + 1 or -1
    while at >= 0:
        end = at + len(_FENCE)
        tail = data[end : end + 2]
        if tail[:1] == b"\n":
            return at, end + 1
        if tail == b"\r\n":
            return at, end + 2
        if not tail:
            return at, end
        at = data.find(_NEXT_FENCE, end) + 1 or -1
    return -1, -1


def _opener(data: bytes, pos: int) -> tuple[int, int]:
    """The next fence with a key line below it, and that line's offset; (-1, -1) for none."""
    at, below = _fence(data, pos)
    while at >= 0 and not _KEY_LINE.match(data, below):
        at, below = _fence(data, below)
    return at, below


def _closing(data: bytes, pos: int) -> tuple[int, int]:
    """The fence that closes the frontmatter that begins at `pos`; (-1, -1) when it is missing.

    A fence that is itself the opening one of a sound block is not taken for it: else a forgotten
    closing fence would hide the next entry as well.
    """
    close, body = _fence(data, pos)
    if close < 0 or _BLANK_LINE.search(data, pos, close):
        return -1, -1
    if _KEY_LINE.match(data, body):
        second, _ = _fence(data, body)
        opens = second >= 0 and not _BLANK_LINE.search(data, body, second)
        if opens and _ID_LINE.search(data[body:second]):
            return -1, -1
    return close, body


def _content_end(data: bytes, start: int, limit: int) -> int:
    """Where the last line with content of `data[start:limit]` ends; `start` when all is blank."""
    length = len(data[start:limit].rstrip(_SPACE))
    if not length:
        return start
    at = data.find(b"\n", start + length, limit)
    if at < 0:
        return limit
    return at - 1 if data[at - 1 : at] == b"\r" else at


def _trimmed(text: str) -> str:
    """The text without the blank lines around it; its first and last line stay as they are."""
    length = len(text.rstrip(_SPACE_TEXT))
    at = text.find("\n", length)
    end = at if at >= 0 else len(text)
    first = len(text) - len(text.lstrip(_SPACE_TEXT))
    return text[text.rfind("\n", 0, first) + 1 : end] if length else ""


def _placed(note: Note, data: bytes, front: str, body: int) -> Problem:
    """The problem for a note, on the line of its key or on the first line of the text."""
    if note.key:
        at = f"\n{front}".find(f"\n{note.key}:")
        line = front.count("\n", 0, max(at, 0)) + (2 if body else 1)
    else:
        first = len(data) - len(data[body:].lstrip(_SPACE))
        line = data.count(b"\n", 0, first) + 1
    return Problem(note.code, line, note.message, note.severity)


def _stray(line: int) -> Problem:
    message = (
        "A line of three hyphens opens no entry, since no key follows it: it counts as text. "
        "Write *** for a rule across the page."
    )
    return Problem("stray_fence", line, message, Severity.WARNING)


def _duplicate(entry: Entry) -> Problem:
    message = f"The id {entry.id} stands further up in this file. Give this entry another id."
    return Problem("duplicate_id", 1, message)


def _misplaced(entry: Entry) -> Problem:
    message = f"The category {entry.category} does not belong in this file. The entry stays here."
    return Problem("wrong_file", 1, message, Severity.WARNING)
