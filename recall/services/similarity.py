"""Memories that say much the same as a text: those that recall finds for it, the likest first."""

from dataclasses import dataclass

from banks.models import Bank
from banks.queries import Memory
from recall.engine.likeness import likeness, words
from recall.services.recalling import found

SIMILAR_MOST = 3
"""How many similar memories are given unless another number is asked for."""

LOOKED_AT = 20
"""Hits for the text that are compared with it."""

LEAST = 0.3
"""Likeness from which two memories are worth a look: small words alone give less."""


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory, and how much it says the same as the text, 0..1."""

    memory: Memory
    likeness: float

    @property
    def percent(self) -> int:
        """The same for people: 0..100."""
        return round(100 * self.likeness)


def similar(
    bank: Bank, text: str, *, without: str = "", limit: int = SIMILAR_MOST, least: float = LEAST
) -> list[Similar]:
    """Live memories most like a text, but for the one with the id `without`: at most `limit`,
    likest first, then by id, each at `least` so like.

    For a caller whose scope was looked at already; nothing is written but the index.
    """
    own = words(text)
    hits = found(bank, text, limit=LOOKED_AT, mode="lexical").memories
    alike = [
        Similar(hit.memory, likeness(own, words(hit.memory.text)))
        for hit in hits
        if hit.memory.id != without
    ]
    alike.sort(key=lambda each: (-each.likeness, each.memory.id))
    return [each for each in alike if each.likeness >= least][:limit]
