"""How much two texts say the same, by their words alone: the same in every bank and language.

Words stand as they are written. Without their endings and without small words "the valve is open"
and "the valve is not open" would be one text.
"""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from recall.engine.analysis import fold, is_single

ALIKE = 0.85
"""Share of all words of two texts that both have, from which they may say the same."""

WORDS_LEAST = 4
"""Shorter texts have too little in them to be alike by chance."""

# A mark behind a word ends a sentence; behind a symbol or a number it says something.
_WORD = re.compile(r"\w+|(?<![^\W\d_])!|[^\w\s.,;:!\u3002]")

Word = tuple[str, int]
Words = frozenset[Word]
"""Words and symbols, each with how often it came before: a bag as a set."""


def words(text: str) -> Words:
    """Words and symbols of a text; of an unspaced script its characters."""
    seen: Counter[str] = Counter()
    found = []
    for token in _WORD.findall(fold(text).casefold()):
        for word in [token] if token.isascii() else _split(token):
            found.append((word, seen[word]))
            seen[word] += 1
    return frozenset(found)


def _split(token: str) -> Iterator[str]:
    for unspaced, characters in groupby(token, is_single):
        if unspaced:
            yield from characters
        else:
            yield "".join(characters)


def likeness(one: Words, other: Words) -> float:
    """Share of all words of both that both have, 0..1; 0.0 when there are none."""
    return len(one & other) / len(one | other) if one and other else 0.0


def fixed(found: Words) -> Words:
    """Numbers and symbols: texts with other ones do not say the same, however like they are."""
    return frozenset(each for each in found if not each[0].isalpha())


def are_alike(one: Words, other: Words) -> bool:
    """Whether two texts may say the same, for a person to look at."""
    long = min(len(one), len(other)) >= WORDS_LEAST
    return long and likeness(one, other) >= ALIKE and fixed(one) == fixed(other)
