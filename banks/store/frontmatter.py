"""Frontmatter as text → strings, lists and mappings of strings; nothing is typed here.

Plain `key: value` lines are read by hand, anything else by libyaml. Both give the same answer (a
property test holds them together): the first is forty times faster and nearly always enough.
What the keys mean is the business of `parse`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

Node: TypeAlias = str | list["Node"] | dict[str, "Node"]

# An ordinary block has 300 bytes. The limits keep one hostile block from costing seconds.
LIMIT_BYTES = 16_000
LIMIT_DEPTH = 8

# What YAML does not take as it stands, and what it would take for a line end though we do not.
_FORBIDDEN = re.compile(
    "[^\t\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_ITEM = r"[^\W_][\w./+-]*(?: [\w./+-]+)*"
_LIST = re.compile(rf"\[(?:{_ITEM}(?:, ?{_ITEM})*)?\]")
# A plain value that begins with one of these is something else, or needs a closer look.
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_QUOTES = frozenset("\"'")
# Values that begin or end with one of these are worth more than a glance.
_CLOSER = _INDICATORS | {" "}
_BLOCK_STYLES = frozenset("|>")


class Unreadable(ValueError):
    """Frontmatter that says nothing for certain. `line` counts from 1 within the frontmatter."""

    def __init__(self, code: str, line: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.line = line
        self.message = message


@dataclass(frozen=True, slots=True)
class Part:
    """One top-level key: its value and where it stands.

    `first` and `last` are its lines, from 0, both inclusive, without comments that follow.
    `column` is the one on `last` where the value ends, or None when nothing can stand behind it.
    """

    key: str
    value: Node
    first: int
    last: int
    column: int | None


def decode(raw: bytes) -> str:
    r"""The frontmatter as text with `\n` line ends. Raises Unreadable: too large, not UTF-8."""
    if len(raw) > LIMIT_BYTES:
        raise Unreadable(
            "front_too_large",
            1,
            f"The frontmatter has {len(raw)} bytes; {LIMIT_BYTES} are read. Shorten it.",
        )
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = "A byte of the frontmatter is not UTF-8. Save the file as UTF-8."
        raise Unreadable("not_utf8", line, message) from error
    return text.replace("\r\n", "\n")


def read(front: str) -> dict[str, Node]:
    """Keys and values in order of appearance. Raises Unreadable."""
    nodes = plain(front)
    return structured(front) if nodes is None else nodes


def plain(front: str) -> dict[str, Node] | None:
    """The same as `structured` for simple lines; None when it takes YAML to be sure."""
    front = front.removesuffix("\n")
    if not front.replace("\n", "").isprintable() and ("\t" in front or _FORBIDDEN.search(front)):
        return None
    nodes: dict[str, Node] = {}
    for line in front.split("\n"):
        key, colon, rest = line.partition(": ")
        if not colon:
            if line[-1:] != ":":
                return None
            key = line[:-1]
        value: Node | None = rest
        if rest[:1] in _CLOSER or rest[-1:] in _CLOSER or ": " in rest or " #" in rest:
            value = _special(rest.strip(" "))
        # A repeated key goes the long way too, which names its line.
        if value is None or key in nodes or not _KEY.fullmatch(key):
            return None
        nodes[key] = value
    return nodes


def structured(front: str) -> dict[str, Node]:
    """Keys and values as YAML has them, each scalar a string. Raises Unreadable."""
    return {part.key: part.value for part in layout(front)}


def layout(front: str) -> tuple[Part, ...]:
    r"""The top-level keys in order, with their lines; empty when there are none.

    `front` has `\n` line ends. Raises Unreadable for what is no block of `key: value` lines, for
    anchors, aliases, tags, repeated keys and deep nesting.
    """
    odd = _FORBIDDEN.search(front)
    if odd:
        raise Unreadable(
            "bad_yaml",
            front.count("\n", 0, odd.start()) + 1,
            f"The frontmatter holds the character U+{ord(odd[0]):04X}. Take it out.",
        )
    # With a line end behind it a block scalar ends at the next line's beginning, always.
    events: Iterator[yaml.Event] = yaml.parse(front + "\n", Loader=yaml.CBaseLoader)
    try:
        return _Builder(events).parts()
    except yaml.YAMLError as error:
        line = _place(getattr(error, "problem_mark", None))[0] + 1
        # libyaml's own words are fixed sentences: they quote nothing.
        problem = getattr(error, "problem", None) or "it cannot be read"
        message = f"The frontmatter is not valid YAML: {problem}. Quotes around the value may help."
        raise Unreadable("bad_yaml", min(line, front.count("\n") + 1), message) from error


def _special(value: str) -> Node | None:
    """A trimmed value that is more than a plain word; None when only YAML can tell."""
    first = value[:1]
    if first == "[":
        if not _LIST.fullmatch(value):
            return None
        inner = value[1:-1]
        return [item.strip(" ") for item in inner.split(",")] if inner else []
    if first in _QUOTES:
        inner = value[1:-1]
        closed = len(value) > 1 and value[-1] == first
        return inner if closed and first not in inner and "\\" not in inner else None
    if first in _INDICATORS or ": " in value or " #" in value or value[-1:] == ":":
        return None
    return value


class _Builder:
    """Builds nodes out of libyaml's events, so that no alias, tag or type is ever resolved."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._last = 0
        self._column: int | None = None

    def parts(self) -> tuple[Part, ...]:
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            return ()
        top = next(self._events)
        if not isinstance(top, yaml.MappingStartEvent) or top.flow_style:
            raise self._refused(top, "it is not a list of `key: value` lines")
        self._plain_only(top)
        parts: dict[str, Part] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._key(event, parts)
            value = self._node(next(self._events), 2)
            parts[key] = Part(key, value, _place(event.start_mark)[0], self._last, self._column)
        next(self._events)
        after = next(self._events)
        if not isinstance(after, yaml.StreamEndEvent):
            raise self._refused(after, "it holds a second document")
        return tuple(parts.values())

    def _node(self, event: yaml.Event, depth: int) -> Node:
        self._plain_only(event)
        if isinstance(event, yaml.ScalarEvent):
            self._ends(event)
            return str(event.value)
        if depth > LIMIT_DEPTH:
            raise self._refused(event, f"it is nested deeper than {LIMIT_DEPTH} levels")
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Node] = []
            while not isinstance(item := next(self._events), yaml.SequenceEndEvent):
                items.append(self._node(item, depth + 1))
            self._closes(event, item)
            return items
        nodes: dict[str, Node] = {}
        while not isinstance(item := next(self._events), yaml.MappingEndEvent):
            key = self._key(item, nodes)
            nodes[key] = self._node(next(self._events), depth + 1)
        self._closes(event, item)
        return nodes

    def _key(self, event: yaml.Event, taken: dict[str, Part] | dict[str, Node]) -> str:
        self._plain_only(event)
        if not isinstance(event, yaml.ScalarEvent):
            raise self._refused(event, "a key is not a plain word")
        key = str(event.value)
        if key in taken:
            raise Unreadable(
                "duplicate_key",
                _place(event.start_mark)[0] + 1,
                "This key is there twice, and the two may disagree. Take one out.",
            )
        return key

    def _ends(self, event: yaml.ScalarEvent) -> None:
        line, column = _place(event.end_mark)
        if event.style in _BLOCK_STYLES:
            # The end of a block scalar is the beginning of the line behind it.
            self._last, self._column = line - 1, None
        else:
            self._last, self._column = line, column

    def _closes(self, start: yaml.Event, end: yaml.Event) -> None:
        # A block collection ends where its last member does: its own mark is behind the comments.
        if getattr(start, "flow_style", False):
            self._last, self._column = _place(end.end_mark)

    def _plain_only(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise self._refused(event, "anchors and aliases are not read")
        if getattr(event, "tag", None):
            raise self._refused(event, "tags (words behind an exclamation mark) are not read")

    @staticmethod
    def _refused(event: yaml.Event, reason: str) -> Unreadable:
        message = f"The frontmatter cannot be used: {reason}. Write simple `key: value` lines."
        return Unreadable("bad_yaml", _place(event.start_mark)[0] + 1, message)


def _place(mark: Any) -> tuple[int, int]:
    """Line and column, from 0, of a mark of libyaml, whose class has no public name."""
    return (mark.line, mark.column) if mark else (0, 0)
