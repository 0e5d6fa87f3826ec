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

USER, ASSISTANT, TOOL = "user", "assistant", "tool"

PIECE_CHARACTERS = 4_000
"""A longer text comes in pieces; of what a tool printed the first one is kept."""

PIECES_MOST = 500
"""So many of a turn are kept, the newest."""

_ID_LENGTH = 128
_CHAINED = 3
"""A message without an id is known by its words and those of the two before it."""

_ROLES = {"user": USER, "human": USER, "assistant": ASSISTANT, "model": ASSISTANT, "ai": ASSISTANT}
_UNREAD = frozenset({"system", "developer"})
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})


@dataclass(frozen=True, slots=True)
class Said:
    """One message, or a piece of it; `role` is user, assistant or tool."""

    id: str
    role: str
    text: str


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
            said.append(Said(known or _chained(said, role, words), role, words))
    return said


def after(said: Sequence[Said], cursor: str) -> list[Said]:
    """What follows the message of this id; all of it when there is none."""
    for place in range(len(said) - 1, -1, -1):
        if said[place].id == cursor:
            return list(said[place + 1 :])
    return list(said)


def kept(said: Iterable[Said]) -> list[dict[str, str]]:
    """Messages as they may be stored: secrets masked, in pieces, the newest 500 of those."""
    pieces = [
        {"id": each.id, "role": each.role, "text": piece}
        for each in said
        for piece in _pieces(mask(each.text).text, each.role)
    ]
    return pieces[-PIECES_MOST:]


def stored(pieces: Iterable[dict[str, str]], *, is_spawned: bool = False) -> list[Said]:
    """What `kept` gave. In the turn of a sub-agent nobody but another agent speaks as the user."""
    return [
        Said(each["id"], ASSISTANT if is_spawned and each["role"] == USER else each["role"],
             each["text"])
        for each in pieces
    ]  # fmt: skip


def _raw(messages: object) -> Iterator[tuple[str, str, str]]:
    """Id ("" = none that can be used), role and text of each message."""
    for message in messages if isinstance(messages, list) else []:
        if not isinstance(message, dict):
            continue
        name = message.get("role")
        role = _ROLES.get(name, TOOL) if isinstance(name, str) else TOOL
        if name in _UNREAD:
            continue
        key = _id(message.get("id"))
        content = message.get("text", message.get("content"))
        yield key, role, _text(content)
        for number, printed in enumerate(_results(content)):
            yield f"{key}#{number}" if key else "", TOOL, printed


def _id(value: object) -> str:
    """An id that can stand in a file: short, plain, no secret."""
    key = value if isinstance(value, str) else str(value) if type(value) is int else ""
    fits = len(key) <= _ID_LENGTH and key.isprintable() and key == key.strip()
    return key if fits and mask(key).text == key else ""


def _text(content: object) -> str:
    """What was said: a text itself, or the parts that are texts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part if isinstance(part, str) else _part(part) for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def _part(part: object) -> object:
    if not isinstance(part, dict) or part.get("type", "text") not in _TEXT_PARTS:
        return None
    return part.get("text")


def _results(content: object) -> Iterator[str]:
    """What tools printed: some harnesses hand it back within a message of the user."""
    for part in content if isinstance(content, list) else []:
        if isinstance(part, dict) and part.get("type") == "tool_result":
            inner: Any = part.get("content")
            yield _text(inner)


def _chained(said: Sequence[Said], role: str, text: str) -> str:
    recent = [(each.role, each.text) for each in said[-(_CHAINED - 1) :]]
    plain = "\0".join(f"{who}\0{words}" for who, words in [*recent, (role, text)])
    return hashlib.sha256(plain.encode()).hexdigest()[:24]


def _pieces(text: str, role: str) -> list[str]:
    if role == TOOL:
        return [text[:PIECE_CHARACTERS]]
    return [text[at : at + PIECE_CHARACTERS] for at in range(0, len(text), PIECE_CHARACTERS)]
