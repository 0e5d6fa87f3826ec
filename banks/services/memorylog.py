"""A bank kept as one append-only `memories.jsonl`: lines → states of memories. No disk, no rows.

Each line is a whole memory as it was at one revision; the last line of an id is its present state.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, TypeVar

from banks import errors, queries
from banks.findings import Finding
from banks.store import history, names, redact, render
from banks.store.errors import InvalidContent
from banks.store.types import Category, Origin, Severity, Trust
from banks.store.types import Entry as Block

FILE = "memories.jsonl"

_CONFIDENCE = {"stated": Trust.HIGH, "extracted": Trust.MEDIUM, "inferred": Trust.LOW}
_FINGERPRINT_LENGTH = 18
_LINE_LENGTH = 10_000

_Word = TypeVar("_Word", Category, Origin)


@dataclass(frozen=True, slots=True)
class State:
    """One line of the log: a memory as it was. Pointers in `entry` are still the log's own ids."""

    line: int
    entry: Block
    labels: tuple[str, ...]


@dataclass(slots=True)
class Log:
    """The readable states by the log's ids, in order of first appearance, and what was not."""

    states: dict[str, list[State]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Converted:
    """One memory of the log as an entry of ours, with the earlier revisions of its block."""

    line: int
    entry: Block
    block: bytes
    records: tuple[history.Record, ...]
    labels: tuple[str, ...]


class _BadRecordError(ValueError):
    """A line that is no memory. The message says why, without its text."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def read(data: bytes) -> Log:
    """Every line that can be read; a finding for every other one. Only a line feed ends a line."""
    log = Log()
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            state = _state(number, line)
        except _BadRecordError as bad:
            log.findings.append(Finding(FILE, number, bad.code, bad.message))
            continue
        if state.entry.trust is Trust.LOW and b'"inferred"' not in line:
            message = "Its confidence is no known word and counts as inferred."
            log.findings.append(Finding(FILE, number, "bad_value", message, Severity.WARNING))
        log.states.setdefault(state.entry.id, []).append(state)
    return log


def _state(number: int, line: bytes) -> State:
    try:
        record = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise _BadRecordError("not_utf8", "This line is not UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise _BadRecordError("bad_json", "This line is not JSON.") from error
    if not isinstance(record, dict):
        raise _BadRecordError("bad_json", "This line is not a JSON object.")
    labels: dict[str, None] = {}
    try:
        entry = _entry(record, labels)
    except InvalidContent as error:
        raise _BadRecordError(error.code, error.message) from error
    except errors.Invalid as error:
        raise _BadRecordError("bad_time", error.message) from error
    return State(number, entry, tuple(labels))


def _entry(record: Mapping[str, Any], labels: dict[str, None]) -> Block:
    def masked(text: str) -> str:
        found = redact.mask(text)
        labels.update(dict.fromkeys(found.labels))
        return found.text

    def line(values: Mapping[str, Any], key: str) -> str | None:
        value = _typed(values, key, str, None)
        return names.clean_line(masked(value), key, _LINE_LENGTH) or None if value else None

    def words(key: str) -> tuple[str, ...]:
        values = _typed(record, key, list, [])
        if not all(isinstance(each, str) for each in values):
            raise _BadRecordError("bad_value", f"The key {key} takes a list of words.")
        cleaned = (names.clean_labels([masked(each)], key) for each in values)
        return tuple(dict.fromkeys(word for group in cleaned for word in group))

    text = masked(names.clean_text(_required(record, "text", str)))
    if not text:
        raise _BadRecordError("bad_value", "The text is empty.")
    source = _typed(record, "source", dict, {})
    summary, title = line(record, "summary"), line(record, "title")
    return Block(
        id=_id(_required(record, "id", str)),
        created=queries.from_milliseconds(_required(record, "created_at", int)),
        category=_word(record, "category", Category, Category.FACTS),
        origin=_word(record, "origin", Origin, Origin.AGENT),
        trust=_CONFIDENCE.get(str(record.get("confidence")), Trust.LOW),
        tags=words("tags"),
        superseded_by=_pointer(record),
        summary=summary or names.first_sentence(text),
        title=title,
        entities=words("entities"),
        pinned=_typed(record, "pinned", bool, False),  # noqa: FBT003  a default, not a switch
        corroboration=_count(record, "corroboration"),
        revision=_count(record, "revision"),
        updated=_time(record, "updated_at"),
        stated=_time(record, "stated_at"),
        invalidated=_time(record, "invalid_at"),
        session=line(source, "session_id"),
        entry=line(source, "entry_id"),
        agent=line(source, "agent"),
        text=text,
    )


def _typed(record: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
    """The value of a key, `default` for none. JSON's true is no number here."""
    value = record.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _BadRecordError("bad_value", f"The key {key} has a value of another type.")
    return value


def _required(record: Mapping[str, Any], key: str, kind: type) -> Any:
    value = _typed(record, key, kind, None)
    if value is None:
        raise _BadRecordError(f"missing_{key}", f"The key {key} is missing.")
    return value


def _word(record: Mapping[str, Any], key: str, kind: type[_Word], default: _Word) -> _Word:
    value = _typed(record, key, str, default.value)
    try:
        return kind(value)
    except ValueError as error:
        raise _BadRecordError("bad_value", f"The {key} is no known one.") from error


def _id(value: str) -> str:
    if not names.is_entry_id(value):
        raise _BadRecordError("bad_id", "The id may not name an entry.")
    return value


def _pointer(record: Mapping[str, Any]) -> str | None:
    value = _typed(record, "superseded_by", str, None)
    return _id(value) if value else None


def _count(record: Mapping[str, Any], key: str) -> int:
    value: int = _typed(record, key, int, 0)
    if value < 0:
        raise _BadRecordError("bad_value", f"The key {key} is negative.")
    return value


def _time(record: Mapping[str, Any], key: str) -> datetime | None:
    value = _typed(record, key, int, None)
    return None if value is None else queries.from_milliseconds(value)


def is_fingerprint(key: str) -> bool:
    """Whether an id was made from a text: such a one cannot stay the id."""
    return len(key) == _FINGERPRINT_LENGTH and key.startswith("fp")


def convert(
    log: Log,
    *,
    ids: Mapping[str, str],
    mint: Callable[[datetime], str],
    actor: str,
) -> list[Converted]:
    """The log's memories as entries, in order of first appearance.

    `ids`: entries that are there already, by the ids that the log has or names for them. A
    fingerprint becomes a minted id, and pointers are written with the new ids.
    """
    named = {
        key: ids.get(key) or (mint(states[0].entry.created) if is_fingerprint(key) else key)
        for key, states in log.states.items()
    }
    last = {key: states[-1].entry for key, states in log.states.items()}
    survivors: dict[str, str] = {}
    for key, entry in last.items():
        survivor = last.get(entry.superseded_by or "")
        if survivor is not None and survivor.id != key and not survivor.pinned:
            survivors.setdefault(survivor.id, named[key])
    found = []
    known = {**ids, **named}
    for key, states in log.states.items():
        entries = [_renamed(state.entry, known) for state in states]
        entries[-1] = replace(entries[-1], supersedes=survivors.get(key))
        try:
            found.append(_converted(states, entries, actor))
        except InvalidContent as error:
            log.findings.append(Finding(FILE, states[-1].line, error.code, error.message))
    return found


def _renamed(entry: Block, named: Mapping[str, str]) -> Block:
    pointer = entry.superseded_by
    key = named[entry.id]
    return replace(
        entry,
        id=key,
        former_id=entry.id if key != entry.id else None,
        superseded_by=named.get(pointer, pointer) if pointer else None,
    )


def _converted(states: list[State], entries: list[Block], actor: str) -> Converted:
    blocks = [render.entry(entry) for entry in entries]
    records = tuple(
        history.Record(before.revision, after.updated_at, actor, _act(before, after), None, block)
        for before, after, block, following in zip(
            entries, entries[1:], blocks, blocks[1:], strict=False
        )
        if block != following
    )
    labels = tuple(dict.fromkeys(label for state in states for label in state.labels))
    return Converted(states[-1].line, entries[-1], blocks[-1], records, labels)


def _act(before: Block, after: Block) -> str:
    """What an act did, by the states on both its sides: the first of these that holds."""
    did = {
        "updated": before.text != after.text,
        "superseded": bool(after.superseded_by and not before.superseded_by),
        "deleted": bool(after.invalidated and not before.invalidated),
        "restored": bool(before.invalidated and not after.invalidated),
        "reinforced": after.corroboration > before.corroboration,
        "pinned": after.pinned and not before.pinned,
        "unpinned": before.pinned and not after.pinned,
    }
    return next((act for act, holds in did.items() if holds), "updated")
