"""Memories that say the same: word for word, and nearly. Pure, and without a model.

What is equal is merged; what is only alike is for a person. Symbols count: `!= 80` is not `= 80`.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from banks.store import names
from recall.engine.likeness import (
    ALIKE,
    WORDS_LEAST,
    Word,
    Words,
    are_alike,
    fixed,
    likeness,
    words,
)

# A full stop or an exclamation mark behind a word says nothing; behind a symbol it may. A question
# mark always does.
_FINAL = re.compile(
    "(?:(?<=[\\w)\\]}\"'`\u00bb\u201d\u2019])\\.+|(?<=[^\\W\\d_])!+|[\u3002\uff01]+)$"
)

COMPARED_MOST = 500_000
"""So many pairs are looked at; in a large bank of few words the rest is left."""


@dataclass(frozen=True, slots=True)
class Said:
    """A live memory as far as it matters here."""

    id: str
    version: str
    text: str
    pinned: bool
    corroboration: int
    created: datetime


@dataclass(frozen=True, slots=True)
class Pair:
    """Two that say the same; `loser` gives way. `alike`: 1.0 for the same words."""

    loser: Said
    survivor: Said
    alike: float = 1.0


def folded(text: str) -> str:
    """The form in which two texts are exact duplicates: case, white space and the end of the
    sentence do not count, everything else does."""
    plain = names.normalise(text)
    return _FINAL.sub("", plain) or plain


def exact(memories: Iterable[Said]) -> Iterator[Pair]:
    """Every memory of one category that another one makes superfluous.

    Survivor is the pinned one, else the most corroborated, else the oldest.
    """
    groups: dict[str, list[Said]] = defaultdict(list)
    for each in memories:
        groups[folded(each.text)].append(each)
    for group in groups.values():
        survivor, *losers = sorted(group, key=_strength)
        yield from (Pair(loser, survivor) for loser in losers)


def near(memories: Sequence[Said]) -> list[Pair]:
    """Pairs of one category with the same words in another order, or nearly the same words; the
    most alike first. All pairs at once: asking the index for each memory would take minutes."""
    bags = [words(each.text) for each in memories]
    often = Counter(word for bag in bags for word in bag)
    places: dict[tuple[Words, Word], list[int]] = defaultdict(list)
    found: list[Pair] = []
    left = COMPARED_MOST
    for place, bag in enumerate(bags):
        if len(bag) < WORDS_LEAST:
            continue
        same = fixed(bag)
        # Whoever shares enough of all words shares one of the rarest few: only those are looked up.
        rarest = sorted(bag, key=lambda word: (often[word], word))
        few = rarest[: len(bag) - math.ceil(ALIKE * len(bag)) + 1]
        others = {each for word in few for each in places[same, word]}
        left -= len(others)
        if left < 0:
            break
        found += filter(None, (_pair(memories, bags, place, each) for each in others))
        for word in few:
            places[same, word].append(place)
    return sorted(found, key=lambda pair: (-pair.alike, pair.loser.id, pair.survivor.id))


def _pair(memories: Sequence[Said], bags: Sequence[Words], one: int, two: int) -> Pair | None:
    """The two as a pair when they are alike and not exact duplicates."""
    is_exact = folded(memories[one].text) == folded(memories[two].text)
    if is_exact or not are_alike(bags[one], bags[two]):
        return None
    survivor, loser = sorted((memories[one], memories[two]), key=_strength)
    return Pair(loser, survivor, likeness(bags[one], bags[two]))


def _strength(memory: Said) -> tuple[bool, int, datetime, str]:
    return not memory.pinned, -memory.corroboration, memory.created, memory.id
