"""What was said in a conversation, out of anybody's JSON: who, what, and an id for each message.

What the memory itself put there is not read back, nor what a system prompt says.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from banks.store.redact import mask
from recall.engine.injection import own_words, whole
from recall.engine.window import text_of

USER, ASSISTANT, TOOL = "user", "assistant", "tool"

PIECE_CHARACTERS = 4_000
"""A longer text comes in pieces; of what a tool printed the first one is kept."""

PIECES_MOST = 500
"""So many of a turn are kept, the newest."""

KNOWN_MOST = 6
"""So many of the newest messages are remembered to find the place behind them again."""

_READ_MOST = 5_000
"""So many messages are looked at, the newest: no more of them could be kept."""

_ID_LENGTH = 128
_MARKED, _WORDS = 8, 16
"""Hex digits of a mark: of the id, if there is one, and of role and words."""
_CHAINED = 3
"""A message without an id is known by its words and those of the two before it."""

_ROLES = {"user": USER, "human": USER, "assistant": ASSISTANT, "model": ASSISTANT, "ai": ASSISTANT}
_UNREAD = frozenset({"system", "developer"})
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


@dataclass(frozen=True, slots=True)
class Said:
    """One message, or a piece of it; `role` is user, assistant or tool.

    `mark`: what a message is known by again, also when it has an id here and none there.
    """

    id: str
    role: str
    text: str
    mark: str = ""
    is_part: bool = False


def read(messages: object) -> list[Said]:
    """The messages with words of their own, in their order. Whatever is no message is passed over.

    Texts are whole and not masked yet: `kept` makes them fit to be stored.
    """
    raw = list(_raw(messages))
    given = Counter(key for key, _, _ in raw if key)
    said: list[Said] = []
    for key, role, text in raw:
        # A NUL is no word, and PostgreSQL refuses it.
        words = own_words(whole(text).replace("\0", ""))
        if words:
            known = key if key and given[key] == 1 else ""
            mark = (_hash(known)[:_MARKED] if known else "") + _hash(f"{role}\0{words}")[:_WORDS]
            said.append(Said(known or _chained(said, role, words), role, words, mark))
    return said


def after(said: Sequence[Said], known: Sequence[str]) -> list[Said]:
    """What follows the messages that are known by these marks, oldest first.

    The newest of them that is there counts; without any all of it is new.
    """
    for end in range(len(known), 0, -1):
        runs = [_run(said, place, known[:end]) for place in range(1, len(said) + 1)]
        longest = max(runs, default=0)
        if longest:
            places = [place for place, run in enumerate(runs, start=1) if run == longest]
            return list(said[_past(said, places, known) :])
    return list(said)


def same(mark: str, other: str) -> bool:
    """Whether two marks mean one message: the same words, and no two ids."""
    ids = {each[:-_WORDS] for each in (mark, other)} - {""}
    return mark[-_WORDS:] == other[-_WORDS:] and len(ids) < 2


def words_of(mark: str) -> str:
    """The part of a mark that every mark of these words has."""
    return mark[-_WORDS:]


def _run(said: Sequence[Said], place: int, known: Sequence[str]) -> int:
    """How many messages before this place are the newest known ones; 0 when that proves nothing.

    One proves something by its id, or when there is none before it to compare.
    """
    most, count = min(place, len(known)), 0
    while count < most and same(said[place - 1 - count].mark, known[-1 - count]):
        count += 1
    if count == 1 < most and not (said[place - 1].mark == known[-1] and known[-1][:-_WORDS]):
        return 0
    return count


def _past(said: Sequence[Said], places: Sequence[int], known: Sequence[str]) -> int:
    """The earliest place, or a later one when all between the two says what is known."""
    best = places[0]
    for place in places[1:]:
        if not all(any(same(each.mark, mark) for mark in known) for each in said[best:place]):
            break
        best = place
    return best


def kept(said: Sequence[Said]) -> list[dict[str, Any]]:
    """Messages as they may be stored: secrets masked, in pieces, the newest 500 of those.

    The first piece of each has its mark.
    """
    found: list[dict[str, Any]] = []
    for each in said[-PIECES_MOST:]:
        pieces = _pieces(mask(each.text).text, each.role)
        part = {"is_part": True} if len(pieces) > 1 else {}
        rows = [{"id": each.id, "role": each.role, "text": piece, **part} for piece in pieces]
        rows[0]["mark"] = each.mark
        found += rows
    return found[-PIECES_MOST:]


def stored(pieces: Iterable[dict[str, Any]], *, is_spawned: bool = False) -> list[Said]:
    """What `kept` gave. In the turn of a sub-agent nobody but another agent speaks as the user."""
    return [
        Said(
            each["id"],
            ASSISTANT if is_spawned and each["role"] == USER else each["role"],
            each["text"],
            is_part=each.get("is_part", False),
        )
        for each in pieces
    ]


def _raw(messages: object) -> Iterator[tuple[str, str, str]]:
    """Id ("" = none that can be used), role and text of each message."""
    for message in messages[-_READ_MOST:] if isinstance(messages, list) else []:
        if not isinstance(message, dict):
            continue
        name = message.get("role")
        name = name if isinstance(name, str) else ""
        if name in _UNREAD:
            continue
        role = _ROLES.get(name, TOOL)
        key = _id(message.get("id"))
        content = message.get("text", message.get("content"))
        yield key, role, text_of(content, _part)
        for number, printed in enumerate(_results(content)):
            yield f"{key}#{number}" if key else "", TOOL, printed


def _id(value: object) -> str:
    """An id that can stand in a file: short, plain, no secret."""
    key = value if isinstance(value, str) else str(value) if type(value) is int else ""
    fits = len(key) <= _ID_LENGTH and key.isprintable() and key == key.strip()
    return key if fits and mask(key).text == key else ""


def _part(part: Any) -> object:
    kind = part.get("type", "text") if isinstance(part, dict) else None
    return part.get("text") if isinstance(kind, str) and kind in _TEXT_PARTS else None


def _results(content: object) -> Iterator[str]:
    """What tools printed: some harnesses hand it back within a message of the user."""
    for part in content if isinstance(content, list) else []:
        if isinstance(part, dict) and part.get("type") == "tool_result":
            inner: Any = part.get("content")
            yield text_of(inner, _part)


def _chained(said: Sequence[Said], role: str, text: str) -> str:
    recent = [(each.role, each.text) for each in said[-(_CHAINED - 1) :]]
    plain = "\0".join(f"{who}\0{words}" for who, words in [*recent, (role, text)])
    return _hash(plain)[:24]


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _pieces(text: str, role: str) -> list[str]:
    if role == TOOL:
        return [text[:PIECE_CHARACTERS]]
    return [text[at : at + PIECE_CHARACTERS] for at in range(0, len(text), PIECE_CHARACTERS)]
