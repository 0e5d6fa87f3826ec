"""What is measured: memories to save, and questions with the memories that answer them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

DAY = datetime(2026, 3, 2, 9, tzinfo=UTC)
"""When a memory was said that has no time of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One memory. `key` names it here; `replaces` the one that it supersedes.

    `again` counts how often it was stated once more.
    """

    key: str
    text: str
    at: datetime = DAY
    session: str | None = None
    entities: tuple[str, ...] = ()
    is_event: bool = False
    pinned: bool = False
    again: int = 0
    replaces: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the keys that should come; `never` are keys that must not."""

    kind: str
    text: str
    gold: frozenset[str]
    never: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Bank:
    """Memories in the order in which they are saved, and questions about them."""

    name: str
    said: Sequence[Said]
    asked: Sequence[Question] = field(default_factory=tuple)


Ranking = Sequence[str]
"""Keys, best first, at most ten."""


def plain_words(text: str) -> list[str]:
    """Words as the plainest search has them."""
    return re.findall(r"\w+", text.casefold())
