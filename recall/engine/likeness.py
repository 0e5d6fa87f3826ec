"""How much two texts say the same, by their terms alone: the same in every bank."""

from collections import Counter
from collections.abc import Sequence

NEAR_DUPLICATE = 0.8
"""Likeness from which two memories are worth a look as one. Not proof: "runs at 40 Hz" and "runs
at 48 Hz" are as near, and say the opposite."""


def likeness(one: Sequence[str], other: Sequence[str]) -> float:
    """Share of all terms, with their repeats, that both have, 0..1; 0 when there are none."""
    shared = (Counter(one) & Counter(other)).total()
    return 2 * shared / (len(one) + len(other)) if shared else 0.0
