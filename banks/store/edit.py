"""Bytes → bytes: the least change that makes a file say something new.

Nothing outside the lines at hand moves: not a neighbour, a comment, a line end or an unknown key.
Each result is read back before it is given out.
"""

import re
from collections.abc import Mapping, Sequence

from banks.store import fields, frontmatter, parse, render
from banks.store.errors import InvalidContent
from banks.store.frontmatter import Node, Part, Unreadable
from banks.store.types import Entry, Span

_BLANK_END = re.compile(rb"\n[ \t]*\r?\n\Z")
_BLANK_LINES = re.compile(rb"(?:[ \t\r]*\n)*")
# An amendment can uncover a line that had said the default: one more round settles it.
_ROUNDS = 2


def appended(tail: bytes, block: bytes, newline: bytes = b"\n") -> bytes:
    """What to write behind a file that ends with `tail` so that `block` is its last entry.

    `tail` is the last 4 bytes, or the whole file when it is shorter; `b""` for a new file. One
    blank line parts the block from what is above; a last line without an end gets one.
    """
    if tail in {b"", parse.BOM, b"\n", b"\r\n"}:
        gap = b""
    elif not tail.endswith(b"\n"):
        # A lone carriage return would be swallowed by a bare line feed, and its line with it.
        gap = (b"\r\n" if tail.endswith(b"\r") else newline) + newline
    else:
        gap = b"" if _BLANK_END.search(tail) else newline
    return gap + block + newline


def splice(data: bytes, span: Span, block: bytes) -> bytes:
    """The file with these bytes in place of the span's."""
    return data[: span.start] + block + data[span.end :]


def amend(block: bytes, before: Entry, after: Entry) -> bytes:
    """The block with only the lines changed in which `before` and `after` differ.

    A key that was absent comes at its place in the usual order; one that gets its default goes.
    Comments, unknown keys, the order of keys and line ends stay. Raises InvalidContent when the
    block does not say `before`, or cannot be made to say `after`.
    """
    wanted = render.canonical(after)
    current = parse.block(block).entry
    if current is None or current != render.canonical(before):
        raise InvalidContent("The block does not hold the entry that was to be changed.")
    if current.text != wanted.text:
        render.check_text(wanted.text)
    amended = block
    for _ in range(_ROUNDS):
        if current is not None and current != wanted:
            amended = _amended(amended, current, wanted)
            current = parse.block(amended).entry
    if current != wanted or not _keeps(block, amended, fields.KEYS):
        raise InvalidContent("This change cannot be written so that it reads back the same.")
    return amended


def set_yaml_key(data: bytes, key: str, value: str | None) -> bytes:
    """A `bank.yaml` with one top-level key set or, with None, taken out; one line changes.

    `value` is YAML as it is to stand there, on one line (`render.scalar`, `render.labels`,
    `render.time`, a number, true or false). A new key comes last. Raises InvalidContent for a
    file that cannot be read or a value that is not one.
    """
    bom = parse.BOM if data.startswith(parse.BOM) else b""
    body = data.removeprefix(bom)
    try:
        wanted = frontmatter.structured(f"{key}: {value}") if value is not None else {}
        others = _without(frontmatter.structured(frontmatter.decode(body)), (key,))
        changed = _with_key(body.decode(), key, value, ()).encode()
        found = frontmatter.structured(frontmatter.decode(changed))
    except Unreadable as error:
        raise InvalidContent(error.message, field=key) from error
    if found != {**others, **wanted} or "\n" in (value or ""):
        raise InvalidContent("This value cannot be set on one line.", field=key)
    return bom + changed


def _amended(block: bytes, current: Entry, wanted: Entry) -> bytes:
    """One round: the lines of each key whose value differs, then the text."""
    start, close, body = parse.cut(block) or (0, 0, 0)
    front = block[start:close].decode()
    old = render.values(current)
    for key, value in render.values(wanted).items():
        if value != old[key]:
            front = _with_key(front, key, value, fields.KEYS)
    head = block[:start] + front.encode()
    if current.text == wanted.text:
        return head + block[close:]
    return head + _with_text(block[close:], body - close, wanted.text, parse.newline(block))


def _with_text(tail: bytes, body: int, text: str, newline: bytes) -> bytes:
    """A block from its closing fence on, whose body begins at `body`, with another text."""
    if not text:
        return tail[:body].rstrip(b"\r\n")
    lead = tail[: body + len(_lead(tail, body))]
    if not lead.endswith(b"\n"):
        lead += newline + newline
    return lead + text.encode().replace(b"\n", newline)


def _lead(tail: bytes, body: int) -> bytes:
    found = _BLANK_LINES.match(tail, body)
    return found[0] if found else b""


def _with_key(front: str, key: str, value: str | None, order: Sequence[str]) -> str:
    """Frontmatter with one top-level key set or taken out. Raises Unreadable."""
    parts = frontmatter.layout(front.replace("\r\n", "\n"))
    lines = front.split("\n")
    found = next((part for part in parts if part.key == key), None)
    if found is not None:
        fresh = [] if value is None else [f"{key}: {value}{_behind(lines, found)}"]
        lines[found.first : found.last + 1] = fresh
        # Without a line end behind it, the line above the one that went has half an end too much.
        return "\n".join(lines).removesuffix("\r")
    return front if value is None else _inserted(lines, parts, f"{key}: {value}", key, order)


def _inserted(
    lines: list[str], parts: Sequence[Part], line: str, key: str, order: Sequence[str]
) -> str:
    """The lines with a new one behind the key that comes nearest before it in the usual order."""
    carriage = "\r" if lines[0].endswith("\r") else ""
    rank = order.index(key) if key in order else len(order)
    above = [part for part in parts if part.key in order[:rank]] if order else list(parts)
    at = max(above, key=lambda part: _rank(part, order)).last + 1 if above else len(lines)
    if at < len(lines):
        lines.insert(at, line + carriage)
    elif lines[-1]:
        # The last line has no end: it gets one, and the new one has none.
        lines[-1] += carriage
        lines.append(line)
    else:
        lines[-1:] = [line + carriage, ""]
    return "\n".join(lines)


def _rank(part: Part, order: Sequence[str]) -> int:
    return order.index(part.key) if order else part.last


def _behind(lines: Sequence[str], part: Part) -> str:
    """What stays behind a new value: the comment on its line, and the carriage return."""
    line = lines[part.last]
    carriage = "\r" if line.endswith("\r") else ""
    rest = line.removesuffix("\r")[part.column :] if part.column is not None else ""
    return (rest if rest.lstrip(" \t").startswith("#") else "") + carriage


def _keeps(block: bytes, amended: bytes, keys: Sequence[str]) -> bool:
    """Whether the amended bytes are one block, with the unknown keys and values of the old one."""
    return render.is_one_block(amended) and _unknown(amended, keys) == _unknown(block, keys)


def _unknown(block: bytes, keys: Sequence[str]) -> list[tuple[str, Node]]:
    start, close, _ = parse.cut(block) or (0, 0, 0)
    nodes = frontmatter.read(frontmatter.decode(block[start:close]))
    return list(_without(nodes, keys).items())


def _without(nodes: Mapping[str, Node], keys: Sequence[str]) -> dict[str, Node]:
    return {key: node for key, node in nodes.items() if key not in keys}
