"""What each key of a block, or of a `bank.yaml`, means: strings → typed values and notes.

Strict about types, lenient about the rest: a value of the wrong type makes the block unreadable,
an odd one that can be understood is read and noted.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from banks.store import names
from banks.store.errors import InvalidContent
from banks.store.frontmatter import Node
from banks.store.types import Category, Entry, Origin, Severity, Trust

_CATEGORIES = {str(each): each for each in Category}
_ORIGINS = {str(each): each for each in Origin}
_TRUSTS = {str(each): each for each in Trust}
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "yes", "on"})
_FALSE = frozenset({"false", "no", "off"})
# Nine digits fit every database's integer.
_COUNT = re.compile(r"[0-9]{1,9}", re.ASCII)
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_TEXT_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_DASHES = (4, 7)
_DAY_LENGTH = 10


@dataclass(frozen=True, slots=True)
class Note:
    """Something about one key (`""`: about the text), to become a `Problem` with a line."""

    code: str
    key: str
    message: str
    severity: Severity = Severity.PROBLEM


class _Wrong(ValueError):
    """A value that is not of its field's type."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


_Notes = list[Note]
_Converter = Callable[[str, Node, _Notes], Any]


def entry(nodes: Mapping[str, Node], text: str) -> tuple[Entry | None, list[Note]]:
    """The entry that a block's keys and text make; None when a note is a problem.

    A title equal to the summary and an `updated` or `stated` equal to `created` are the defaults
    and read as absent, so that equal entries are written alike.
    """
    notes: _Notes = []
    values: dict[str, Any] = {"text": text}
    for key, node in nodes.items():
        known = _ENTRY.get(key)
        if known is None:
            continue
        attribute, convert = known
        try:
            value = convert(key, node, notes)
        except _Wrong as wrong:
            notes.append(Note(wrong.code, key, wrong.message))
            continue
        if value is not None:
            values[attribute] = value
    if not _REQUIRED.keys() <= values.keys():
        notes.extend(_missing(values, notes))
    if notes and any(note.severity is Severity.PROBLEM for note in notes):
        return None, notes
    kind = values.pop("type", None)
    if "title" in values and values["title"] == values.get("summary"):
        del values["title"]
    for attribute in ("updated", "stated"):
        if attribute in values and values[attribute] == values["created"]:
            del values[attribute]
    made = Entry(**values)
    if kind is not None and kind != made.kind:
        message = f"The category {made.category} is {made.kind}, and that is what counts."
        notes.append(Note("type_mismatch", "type", message, Severity.WARNING))
    _note_text(made, notes)
    return made, notes


def bank(nodes: Mapping[str, Node]) -> tuple[dict[str, object], list[Note]]:
    """The keys of a `bank.yaml`: known ones typed, or left out with a note; others as they are."""
    notes: _Notes = []
    values: dict[str, object] = {}
    for key, node in nodes.items():
        try:
            value = _BANK[key](key, node, notes) if key in _BANK else node
        except _Wrong as wrong:
            notes.append(Note(wrong.code, key, wrong.message))
            continue
        if value is not None:
            values[key] = value
    return values, notes


def moment(value: str) -> datetime:
    """An ISO 8601 time or day as an aware UTC time in whole milliseconds.

    Without an offset it is UTC; a bare day is its first instant. Raises ValueError.
    """
    # Without dashes a count of milliseconds would pass for a day of the year 1782.
    if any(value[at : at + 1] != "-" for at in _DASHES):
        raise ValueError("not a day")
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        # As other programs write it: a space before the offset, a small z.
        rest = value[_DAY_LENGTH + 1 :].replace(" ", "").upper()
        found = datetime.fromisoformat(f"{value[:_DAY_LENGTH]}T{rest}")
    if found.tzinfo is not UTC:
        try:
            found = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
        except OverflowError as error:
            raise ValueError("out of range") from error
    if found.microsecond % 1000:
        found = found.replace(microsecond=found.microsecond // 1000 * 1000)
    return found


def _missing(values: Mapping[str, Any], notes: _Notes) -> list[Note]:
    """A note for each required key that is neither there nor noted already."""
    noted = {note.key for note in notes}
    return [
        Note(code, key, f"The key {key} is missing. Add it below the opening fence.")
        for key, code in _REQUIRED.items()
        if key not in values and key not in noted
    ]


def _note_text(made: Entry, notes: _Notes) -> None:
    text = made.text
    if not text.replace("\n", "").isprintable() and _TEXT_CONTROL.search(text):
        message = "The text holds a control character. It is kept, and hidden where it is shown."
        notes.append(Note("control_character", "", message, Severity.WARNING))
    try:
        names.check_length(text, made.category)
    except InvalidContent as error:
        notes.append(Note("over_limit", "", error.message, Severity.WARNING))
    if len(made.summary) > names.SUMMARY_LENGTH:
        _note_limit("summary", f"more than {names.SUMMARY_LENGTH} characters", notes)
    for key, labels in (("tags", made.tags), ("entities", made.entities)):
        if not labels:
            continue
        if len(labels) > names.LABEL_COUNT:
            _note_limit(key, f"more than {names.LABEL_COUNT} words", notes)
        if max(map(len, labels)) > names.LABEL_LENGTH:
            _note_limit(key, f"a word of more than {names.LABEL_LENGTH} characters", notes)


def _note_limit(key: str, what: str, notes: _Notes) -> None:
    message = f"The key {key} has {what}. It is read as it is; an edit of it must fit."
    notes.append(Note("over_limit", key, message, Severity.WARNING))


def _scalar(key: str, node: Node) -> str:
    if not isinstance(node, str):
        raise _Wrong("bad_value", f"The key {key} takes one value, not a list or a mapping.")
    return node


def _line(key: str, node: Node, notes: _Notes) -> str:
    # The usual case, without two more calls.
    if isinstance(node, str) and node.isprintable():
        return node.strip()
    return _single(key, _scalar(key, node).strip(), notes)


def _single(key: str, value: str, notes: _Notes) -> str:
    if value.isprintable() or not _UNPRINTABLE.search(value):
        return value
    message = f"The key {key} holds a line end or a control character, which counts as a space."
    notes.append(Note("control_character", key, message, Severity.WARNING))
    return _UNPRINTABLE.sub(" ", value).strip()


def _optional(key: str, node: Node, notes: _Notes) -> str | None:
    return _line(key, node, notes) or None


def _pointer(key: str, node: Node, notes: _Notes) -> str | None:
    value = _line(key, node, notes)
    return None if value in _NULLS else value


def _labels(key: str, node: Node, notes: _Notes) -> tuple[str, ...]:
    if isinstance(node, str) and node.strip() in _NULLS:
        return ()
    if not isinstance(node, list):
        raise _Wrong("bad_value", f"The key {key} takes a list: [one, two].")
    labels: dict[str, None] = {}
    for item in node:
        if not isinstance(item, str):
            raise _Wrong("bad_value", f"The key {key} takes a list of plain words.")
        word = item.lower()
        if not word.isascii():
            word = unicodedata.normalize("NFC", word)
        word = _single(key, word.strip(), notes)
        if word:
            labels[word] = None
    return tuple(labels)


def _moment(key: str, node: Node, notes: _Notes) -> datetime | None:
    value = _scalar(key, node).strip()
    if value in _NULLS:
        return None
    try:
        return moment(value)
    except ValueError as error:
        message = f"The key {key} is no time. Write it like 2026-01-31T09:30:00+00:00."
        raise _Wrong("bad_time", message) from error


def _count(key: str, node: Node, notes: _Notes) -> int | None:
    value = _scalar(key, node).strip()
    if value in _NULLS:
        return None
    if not _COUNT.fullmatch(value):
        raise _Wrong("bad_value", f"The key {key} takes a whole number from 0 on.")
    return int(value)


def _flag(key: str, node: Node, notes: _Notes) -> bool | None:
    value = _scalar(key, node).strip().lower()
    if value in _NULLS:
        return None
    if value not in _TRUE and value not in _FALSE:
        raise _Wrong("bad_value", f"The key {key} takes true or false.")
    return value in _TRUE


def _id(key: str, node: Node, notes: _Notes) -> str | None:
    if node == "":
        return None
    if not isinstance(node, str) or not names.is_entry_id(node):
        message = "An id has 1 to 128 letters, digits, _ - and dots, and no two dots in a row."
        raise _Wrong("bad_id", message)
    return node


def _category(key: str, node: Node, notes: _Notes) -> Category | None:
    if node == "":
        return None
    known = _CATEGORIES.get(node) if isinstance(node, str) else None
    if known is None:
        words = ", ".join(_CATEGORIES)
        raise _Wrong("unknown_category", f"The {key} is none of {words}.")
    return known


def _origin(key: str, node: Node, notes: _Notes) -> Origin | None:
    value = _scalar(key, node).strip()
    if value and value not in _ORIGINS:
        message = f"The {key} is none of {', '.join(_ORIGINS)}; it counts as {Origin.AGENT}."
        notes.append(Note("unknown_source", key, message, Severity.WARNING))
        return Origin.AGENT
    return _ORIGINS.get(value)


def _trust(key: str, node: Node, notes: _Notes) -> Trust | None:
    value = _scalar(key, node).strip()
    if value and value not in _TRUSTS:
        message = f"The {key} is none of {', '.join(_TRUSTS)}; it counts as {Trust.LOW}."
        notes.append(Note("unknown_confidence", key, message, Severity.WARNING))
        return Trust.LOW
    return _TRUSTS.get(value)


def _words(key: str, node: Node, notes: _Notes) -> list[str]:
    """A list of words as they are: names of files keep their case."""
    if isinstance(node, str) and node.strip() in _NULLS:
        return []
    if not isinstance(node, list):
        raise _Wrong("bad_value", f"The key {key} takes a list: [one, two].")
    return [_line(key, item, notes) for item in node]


_REQUIRED = {"id": "missing_id", "created": "missing_created", "category": "unknown_category"}

_ENTRY: dict[str, tuple[str, _Converter]] = {
    "id": ("id", _id),
    "created": ("created", _moment),
    "type": ("type", _optional),
    "category": ("category", _category),
    "source": ("origin", _origin),
    "confidence": ("trust", _trust),
    "tags": ("tags", _labels),
    "supersedes": ("supersedes", _pointer),
    "superseded_by": ("superseded_by", _pointer),
    "summary": ("summary", _line),
    "title": ("title", _optional),
    "entities": ("entities", _labels),
    "pinned": ("pinned", _flag),
    "corroboration": ("corroboration", _count),
    "revision": ("revision", _count),
    "updated": ("updated", _moment),
    "stated": ("stated", _moment),
    "invalidated": ("invalidated", _moment),
    "session": ("session", _optional),
    "entry": ("entry", _optional),
    "agent": ("agent", _optional),
    "former_id": ("former_id", _pointer),
}

# The keys of a block that the program knows, in the order in which it writes them.
KEYS = tuple(_ENTRY)

_BANK: dict[str, _Converter] = {
    "format": _count,
    "description": _line,
    "created": _moment,
    "language": _line,
    "consolidation_mode": _line,
    "learned_rules": _line,
    "recall_limit": _count,
    "recall_budget_tokens": _count,
    "max_rule_chars": _count,
    "extraction_enabled": _flag,
    "rule_learning_enabled": _flag,
    "rules_off": _words,
}
