"""What the recall calls take and give."""

from typing import Literal

from django.conf import settings
from pydantic import Field

from banks.queries import Filters, from_milliseconds
from banks.schemas.common import (
    Answer,
    BankField,
    Body,
    CategoryField,
    KindField,
    Milliseconds,
    OriginField,
    tag_filter,
)
from banks.schemas.memories import MemoryOut

QUERY_LENGTH = 4_000
LIMIT_MOST = 100


class RecallIn(Body):
    """What to look for, and among which memories. Filters apply before the limit."""

    bank: BankField = None
    query: str = Field(max_length=QUERY_LENGTH, description="Plain words; there are no operators.")
    limit: int = Field(default=settings.RECALL_LIMIT, ge=0, le=LIMIT_MOST)
    mode: Literal["hybrid", "lexical", "semantic"] = "hybrid"
    include_superseded: bool = False
    kind: KindField | None = None
    category: CategoryField | None = None
    tag: str | None = None
    tags: list[str] = Field(default=[], description="Memories that carry all of them.")
    origin: OriginField | None = None
    since: Milliseconds | None = None
    until: Milliseconds | None = Field(default=None, description="Not included.")

    def filters(self) -> Filters:
        """What the services take. Raises Invalid."""
        one = [] if self.tag is None else [self.tag]
        return Filters(
            kind=self.kind,
            category=self.category,
            tags=tag_filter([*one, *self.tags], "tags"),
            origin=self.origin,
            since=None if self.since is None else from_milliseconds(self.since),
            until=None if self.until is None else from_milliseconds(self.until),
            include_superseded=self.include_superseded,
        )


class HitOut(Answer):
    """A memory with its score; the signals add up to it."""

    memory: MemoryOut
    score: float
    signals: dict[str, float]


class IndexOut(Answer):
    """How the search index stands: `lag` counts changes that it has not seen yet."""

    state: Literal["ok", "behind", "rebuilding", "unavailable"]
    lag: int


class RecallOut(Answer):
    """Hits, best first; `retrieval` says what ran."""

    bank: str
    memories: list[HitOut]
    retrieval: str
    index: IndexOut
