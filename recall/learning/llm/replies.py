"""What a model answered, read with patience and without illusions.

Fences, thoughts and small talk around a list are passed over, a bad element costs that element.
But an answer without any list, or with half of one, is a fault: it does not mean "nothing found".
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from json import JSONDecodeError, JSONDecoder
from typing import Any

from banks import errors
from banks.store import names
from banks.store.types import Category

SHORTEST, LONGEST = 3, 500
"""Characters of what may be remembered."""

LONGEST_REPLY = 200_000
CATEGORIES = tuple(each for each in Category if each is not Category.PROCEDURE)

_STARTS_MOST = 500
"""So many brackets are tried: an answer of nothing but brackets is soon given up."""

_TRAILING = re.compile(r",(\s*[\]}])")
_BLANK = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_decoder = JSONDecoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One thing that the model would remember. `quote`: the words it says to have it from."""

    text: str
    category: Category
    quote: str
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer proposes, in its order; and of each element that cannot be kept, why."""

    elements: tuple[Element, ...]
    rejected: tuple[str, ...] = ()


def read(reply: str) -> Reading:
    """What an answer comes to: nothing at all when its list is empty.

    Raises ReplyUnusable, also for a list of other things than memories.
    """
    told = objects(reply)
    if told and not any(_is_memory(each) or isinstance(each, str) for each in told):
        raise errors.ReplyUnusable("The model's list holds no memories.")
    found = [_element(each) for each in told]
    return Reading(
        tuple(each for each in found if isinstance(each, Element)),
        tuple(each for each in found if isinstance(each, str)),
    )


def objects(reply: str) -> list[Any]:
    """The elements of the list in an answer, whatever they are. Raises ReplyUnusable."""
    text = reply.rpartition("</think>")[2].strip()
    if len(text) > LONGEST_REPLY or "<think>" in text:
        raise errors.ReplyUnusable("The model's answer has no end.")
    whole = _list_in(_loaded(text))
    if whole is not None:
        return whole
    found = _within(text) or _within(_TRAILING.sub(r"\1", text))
    if found is None:
        raise errors.ReplyUnusable("The model's answer holds no list.")
    return found


def _loaded(text: str) -> object:
    """The value of a text that is JSON and nothing else, perhaps in a fence; else None."""
    lines = text.splitlines()
    if len(lines) > 2 and lines[0].startswith("```") and lines[-1].strip() == "```":
        text = "\n".join(lines[1:-1])
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _list_in(value: object) -> list[Any] | None:
    """A list, or the one that an object wraps: with memories, else an empty one."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or _is_memory(value):
        return None
    lists = [each for each in value.values() if isinstance(each, list)]
    return next((each for each in lists if _holds_memories(each)), [] if [] in lists else None)


def _holds_memories(value: list[Any]) -> bool:
    return any(_is_memory(each) for each in value)


def _is_memory(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("text"), str)


def _within(text: str) -> list[Any] | None:
    """The last list of memories among other words; None when there is none.

    Where a list cannot be read as a whole, its elements are read one by one. An empty list counts
    only when nothing before it was broken: it may be the tags of an element that is.
    """
    best: list[Any] | None = None
    loose: list[Any] = []
    is_broken = False
    for value in _values(text):
        if value is _BROKEN:
            is_broken = True
            continue
        found = _list_in(value)
        if found and _holds_memories(found):
            best = found
        elif is_broken and _is_memory(value):
            loose.append(value)
        elif found == [] and best is None and not is_broken:
            best = []
    return best or loose or best


_BROKEN = object()


def _values(text: str) -> Iterator[object]:
    """Each JSON list or object in a text that is not within another; `_BROKEN` for what begins
    like one. Raises ReplyUnusable when the text ends within one."""
    at = tries = 0
    while (start := _next_start(text, at)) >= 0 and tries < _STARTS_MOST:
        tries += 1
        try:
            value, at = _decoder.raw_decode(text, start)
        except JSONDecodeError as error:
            if error.pos >= len(text) or error.msg.startswith("Unterminated string"):
                raise errors.ReplyUnusable("The model's answer was cut off.") from error
            at = start + 1
            if text[at:].lstrip()[:1] in ('"', "{", "["):
                yield _BROKEN
        except (ValueError, RecursionError) as error:
            # Digits or brackets without end.
            raise errors.ReplyUnusable("The model's answer cannot be read.") from error
        else:
            yield value


def _next_start(text: str, at: int) -> int:
    starts = [place for place in (text.find("[", at), text.find("{", at)) if place >= 0]
    return min(starts, default=-1)


def _element(value: object) -> Element | str:
    """An element that can be kept, or why not; a text alone is a fact."""
    told = value if isinstance(value, dict) else {"text": value}
    text = line(told.get("text"))
    if not text:
        return "no text"
    if not SHORTEST <= len(text) <= LONGEST:
        return "too short" if len(text) < SHORTEST else "too long"
    return Element(
        text=text,
        category=_category(told.get("category")),
        quote=line(told.get("quote")),
        tags=labels(told.get("tags")),
        entities=labels(told.get("entities")),
    )


def line(value: object) -> str:
    """A text on one line; "" for what is none, or holds half a character."""
    if not isinstance(value, str) or any("\ud800" <= each <= "\udfff" for each in value):
        return ""
    return _BLANK.sub(" ", value).strip()


def _category(value: object) -> Category:
    word = value.strip().lower() if isinstance(value, str) else ""
    known = {each.value: each for each in CATEGORIES}
    singular = {each.value.removesuffix("s"): each for each in CATEGORIES}
    return known.get(word) or singular.get(word) or Category.FACTS


def labels(value: object) -> tuple[str, ...]:
    """Tags or entities that fit; the others are left out."""
    words = [line(each) for each in value] if isinstance(value, list) else []
    fitting = [each for each in words if 0 < len(each) <= names.LABEL_LENGTH]
    return tuple(dict.fromkeys(fitting))[: names.LABEL_COUNT]
