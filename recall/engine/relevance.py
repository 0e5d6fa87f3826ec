"""Which hits are worth a turn: those that share more with the question than chance does.

A question finds something wherever one of its words is known. Scores grow with the bank and with
the question, so they are measured by the best that this question could have found there.
"""

import math
from collections.abc import Sequence

from recall.engine.scoring import K1

FLOOR_SHARE = 0.25
"""Share of the best possible text score that a hit has to reach (set on LoCoMo)."""

FLOOR_WORDS = 1.1
"""The same in rare words, for long messages: most of one names no memory at all. Below 1.0 a single
word that both have by chance could be enough."""


def floor(frequencies: Sequence[int], count: int) -> float:
    """The least text score of a hit that is worth a turn; 0.0 without words or memories.

    `frequencies`: how many of the `count` memories have each word of the question.
    """
    if not frequencies or not count:
        return 0.0
    best = sum(_most(frequency, count) for frequency in frequencies)
    return min(FLOOR_SHARE * best, FLOOR_WORDS * _most(0, count))


def _most(frequency: int, count: int) -> float:
    """What BM25 gives for endless occurrences. In a bank of a few memories a word that none has
    would outweigh those that one has by far: it counts like those."""
    return (K1 + 1) * (math.log(count / (max(frequency, 1) + 1)) + 1)
