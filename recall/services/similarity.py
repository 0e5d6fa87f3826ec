"""Memories that say nearly the same as another one."""

from dataclasses import dataclass

from banks import queries
from banks.models import Bank
from banks.queries import Filters, Memory
from banks.store.types import Category
from recall import indexer
from recall.engine.likeness import likeness
from recall.services.recalling import ranked

SIMILAR_MOST = 5
"""How many similar memories are given unless another number is asked for."""


@dataclass(frozen=True, slots=True)
class Similar:
    """A memory, and how much it says the same as the other one, 0..1."""

    memory: Memory
    likeness: float


def similar(
    bank: Bank,
    key: str,
    *,
    limit: int = SIMILAR_MOST,
    least: float = 0.0,
    same_category: bool = False,
) -> list[Similar]:
    """Live memories most like `key`, itself left out: at most `limit` (0..100), likest first, then
    by id, each at `least` so like (`likeness.NEAR_DUPLICATE` for near duplicates).

    For a caller whose scope was looked at already. Raises MemoryNotFound, AmbiguousId, Invalid.
    """
    row = queries.find(bank, key)
    wanted = Filters(category=Category(row.category) if same_category else None)
    ranking = ranked(bank, row.text, limit=limit, filters=wanted, mode="lexical")
    terms_of = indexer.analyzer_of(bank).terms
    own = terms_of(row.text)
    others = [other for other, _ in ranking.pool.found if other.pk != row.pk]
    alike = sorted(
        ((likeness(own, terms_of(other.text)), other) for other in others),
        key=lambda pair: (-pair[0], pair[1].entry_id),
    )
    best = [pair for pair in alike if pair[0] >= least and pair[0] > 0][:limit]
    memories = queries.memories(bank, [other for _, other in best])
    return [Similar(each, share) for each, (share, _) in zip(memories, best, strict=True)]
