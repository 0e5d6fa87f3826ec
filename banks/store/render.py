"""Entry → the bytes of a new block, in the one spelling that every entry of ours has.

What is written must read back the same, here and in a stock YAML 1.1 reader; what would not is
refused before it reaches a disk.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

from banks.store import parse
from banks.store.errors import InvalidContent
from banks.store.types import Entry

_FENCE = "---"
_LINE_ENDS_AND_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_TEXT_REFUSED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
# Allowed in a string, but not as they stand in a YAML stream.
_ESCAPED = re.compile("[\ufeff\ufffe\uffff]")
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`=<~")
_RESERVED = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"})
# Could be a number, a time or a day in some reader's eyes: 0x1F, 1_000, 12:30, 1e3, .5, +7.
_NUMERIC = re.compile(r"[-+.]?[0-9.][0-9a-fxoetz_.,:+ -]*|[-+.]+(?:inf|nan)", re.IGNORECASE)
_LABEL = re.compile(r"[^\W_][\w./+-]*(?: [\w./+-]+)*")


def entry(entry: Entry, newline: bytes = b"\n") -> bytes:
    """The whole block of a new entry, without a line end behind its last line.

    Raises InvalidContent when it would not read back as the same entry.
    """
    check_text(entry.text)
    lines = [f"{key}: {value}" for key, value in values(entry).items() if value is not None]
    parts = [_FENCE, *lines, _FENCE]
    if entry.text:
        parts += ["", *entry.text.split("\n")]
    data = "\n".join(parts).encode().replace(b"\n", newline)
    if parse.block(data).entry != canonical(entry) or not is_one_block(data):
        raise InvalidContent("This entry cannot be written so that it reads back the same.")
    return data


def canonical(entry: Entry) -> Entry:
    """The entry as it reads back: what equals its default is absent (`fields.entry`)."""
    return replace(
        entry,
        title=entry.title if entry.title and entry.title != entry.summary else None,
        updated=entry.updated if entry.updated != entry.created else None,
        stated=entry.stated if entry.stated != entry.created else None,
        supersedes=entry.supersedes or None,
        superseded_by=entry.superseded_by or None,
        session=entry.session or None,
        entry=entry.entry or None,
        agent=entry.agent or None,
        former_id=entry.former_id or None,
    )


def values(entry: Entry) -> dict[str, str | None]:
    """Every key in its order on disk with its YAML value; None where the key is left out.

    Raises InvalidContent for a value that no single line can hold.
    """
    entry = canonical(entry)
    return {
        "id": scalar(entry.id),
        "created": time(entry.created),
        "type": str(entry.kind),
        "category": str(entry.category),
        "source": str(entry.origin),
        "confidence": str(entry.trust),
        "tags": labels(entry.tags),
        "supersedes": _optional(entry.supersedes),
        "superseded_by": _optional(entry.superseded_by),
        "summary": scalar(entry.summary),
        "title": _optional(entry.title),
        "entities": labels(entry.entities) if entry.entities else None,
        "pinned": "true" if entry.pinned else None,
        "corroboration": _count(entry.corroboration),
        "revision": _count(entry.revision),
        "updated": time(entry.updated) if entry.updated else None,
        "stated": time(entry.stated) if entry.stated else None,
        "invalidated": time(entry.invalidated) if entry.invalidated else None,
        "session": _optional(entry.session),
        "entry": _optional(entry.entry),
        "agent": _optional(entry.agent),
        "former_id": _optional(entry.former_id),
    }


def scalar(value: str) -> str:
    """A string as a YAML value on one line: plain where every reader sees this very string.

    Raises InvalidContent for line ends, control characters and lone surrogates.
    """
    if _LINE_ENDS_AND_CONTROLS.search(value):
        raise InvalidContent("A single-line field holds a line end or a control character.")
    if _is_plain(value):
        return value
    return _quoted(value)


def labels(words: Iterable[str]) -> str:
    """A list of strings as a YAML flow list on one line. Raises InvalidContent as `scalar`."""
    return f"[{', '.join(_label(word) for word in words)}]"


def time(value: datetime) -> str:
    """An aware time in UTC, with `.mmm` only when it has milliseconds; microseconds are cut off."""
    utc = value.astimezone(UTC)
    return utc.isoformat(timespec="milliseconds" if utc.microsecond >= 1000 else "seconds")


def check_text(text: str) -> None:
    """Raise InvalidContent (field "text") for a text that would break its block.

    A second guard behind `names.clean_text`, for texts that did not come through a call.
    """
    if _FENCE in text.split("\n"):
        raise InvalidContent("A line of the text is exactly three hyphens.", field="text")
    if _TEXT_REFUSED.search(text):
        raise InvalidContent("The text holds a control character.", field="text")


def is_one_block(data: bytes) -> bool:
    """Whether these bytes are one whole block in any file: nothing before, behind or between."""
    found = parse.spans(data)
    return len(found) == 1 and (found[0].start, found[0].end) == (0, len(data))


def _is_plain(value: str) -> bool:
    return not (
        not value
        or value != value.strip()
        or value[0] in _INDICATORS
        or value[-1] == ":"
        or ": " in value
        or " #" in value
        or value.lower() in _RESERVED
        or _ESCAPED.search(value)
        or _NUMERIC.fullmatch(value)
    )


def _quoted(value: str) -> str:
    # The kind of quotes that needs no escapes, which the reader knows at a glance.
    if "'" not in value and not _ESCAPED.search(value) and ('"' in value or "\\" in value):
        return f"'{value}'"
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04X}", escaped) + '"'


def _label(word: str) -> str:
    value = scalar(word)
    # In a list more characters have a meaning than in a value of its own.
    return value if value != word or _LABEL.fullmatch(word) else _quoted(word)


def _optional(value: str | None) -> str | None:
    return scalar(value) if value else None


def _count(value: int) -> str | None:
    return str(value) if value else None
