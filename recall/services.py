"""Recall: the memories that fit a query. One code path for people, agents and previews.

Rows are the truth: the index only proposes, and what it proposes is checked against its row.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Literal

from django.conf import settings
from django.db.models import Q

from banks import errors, projection, queries, seams
from banks.access import Principal, Scope, require
from banks.models import Bank, Entry
from banks.queries import Memory
from recall import indexer
from recall.engine.query import asks_for_newest, named_entities, query_terms, subjects
from recall.engine.scoring import Candidate, Ranked, Signals, pool_size, rank
from recall.index import Filters as IndexFilters
from recall.index import Found, IndexUnavailable
from recall.indexer import IndexState

__all__ = ["Hit", "IndexState", "Recalled", "recall"]

LIMIT_MOST = 100

SCANNED_TERMS = 8
"""Terms of a query that are looked for in the rows while there is no index."""

SCANNED_ROWS = 500
"""Newest rows with any of the terms that are ranked while there is no index."""

_WIDER = 4

Mode = Literal["hybrid", "lexical", "semantic"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory with its score; the signals add up to it."""

    memory: Memory
    score: float
    signals: dict[str, float]


@dataclass(frozen=True, slots=True)
class Recalled:
    """Hits, best first. `retrieval` says what ran, `index` how far the search could see."""

    bank: str
    memories: list[Hit]
    retrieval: str
    index: IndexState


def recall(
    principal: Principal,
    bank: Bank,
    query: str,
    *,
    limit: int | None = None,
    filters: queries.Filters | None = None,
    mode: Mode = "hybrid",
    include_superseded: bool = False,
) -> Recalled:
    """The memories of an opened bank that fit the query, at most `limit` (0..100), best first.

    Every change that was acknowledged before the call is seen, or `index` says otherwise. The
    order is total: score, `stated_at`, id. Reading changes no memory. Filters (`text` is not
    used) apply before the limit. Raises ScopeMissing, Invalid (limit).
    """
    require(principal, Scope.MEMORY_READ)
    limit = settings.RECALL_LIMIT if limit is None else limit
    if not 0 <= limit <= LIMIT_MOST:
        raise errors.Invalid(f"Use 0 to {LIMIT_MOST}.", loc="limit")
    wanted = replace(filters or queries.Filters(), text="")
    wanted = replace(wanted, include_superseded=wanted.include_superseded or include_superseded)
    state = indexer.catch_up(bank)
    if mode == "semantic":
        return Recalled(bank.name, [], "semantic-unavailable", state)
    terms = query_terms(query, indexer.analyzer_of(bank))
    if not terms or not limit:
        return Recalled(bank.name, [], "none", state)
    pool, state = _pool(bank, terms, wanted, limit, state)
    lexical = mode == "lexical" or pool is None
    if pool is None:
        pool = _scan(bank, terms, wanted)
    ranked = _by_text(pool) if mode == "lexical" else _ranked(bank, query, pool, state)
    rows = {row.entry_id: row for row, _ in pool}
    best = ranked[:limit]
    memories = queries.memories(bank, [rows[each.id] for each in best])
    hits = [
        Hit(memory, each.score, asdict(each.signals))
        for memory, each in zip(memories, best, strict=True)
    ]
    return Recalled(bank.name, hits, "lexical" if lexical else "bm25-entity", state)


Pool = list[tuple[Entry, float]]
"""Rows that fit, each with the score of its text."""


def _pool(
    bank: Bank, terms: Sequence[str], wanted: queries.Filters, limit: int, state: IndexState
) -> tuple[Pool | None, IndexState]:
    """Candidates by the index and how it stands; None when it cannot be used."""
    for tried in range(2):
        if state.state in ("rebuilding", "unavailable"):
            break
        try:
            return _candidates(bank, terms, wanted, limit), state
        except IndexUnavailable:
            # Once may be a rebuild by somebody else; twice is damage that the stamp cannot see.
            if tried:
                indexer.distrust(bank)
            state = indexer.catch_up(bank)
    else:
        return _after_repair(bank, terms, wanted, limit, state)
    return None, state


def _after_repair(
    bank: Bank, terms: Sequence[str], wanted: queries.Filters, limit: int, state: IndexState
) -> tuple[Pool | None, IndexState]:
    try:
        return _candidates(bank, terms, wanted, limit), state
    except IndexUnavailable:
        return None, IndexState("unavailable", state.lag)
