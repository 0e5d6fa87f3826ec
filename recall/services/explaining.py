"""Why a memory stood where it did in the answer to a query, or was not in it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from banks import queries
from banks.access import Principal, Scope, require
from banks.models import Bank, Entry
from recall import documents, indexer
from recall.engine.english import asks_for_time
from recall.engine.query import asks_for_newest
from recall.indexer import IndexState
from recall.meaning import MeaningState
from recall.services.recalling import Ranking, misfits, ranked

NO_TERMS = "no_terms"
NO_MATCH = "no_match"
OUTRANKED = "outranked"
LIMIT = "limit"

_ASKED = {"newest": asks_for_newest, "time": asks_for_time}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """One memory and one query. `rank` counts from 1 among all candidates, `score` and `signals`
    are those of its hit: None when it was no candidate. `reasons` is empty for a hit. `terms` are
    those that were looked up, each with the parts of the memory that hold it.
    """

    bank: str
    id: str
    is_hit: bool
    reasons: list[str]
    rank: int | None
    limit: int
    score: float | None
    signals: dict[str, float] | None
    terms: dict[str, list[str]]
    named: list[str]
    asks_for: list[str]
    retrieval: str
    index: IndexState
    meaning: MeaningState | None = None


def explain(
    principal: Principal,
    bank: Bank,
    query: str,
    key: str,
    *,
    limit: int | None = None,
    filters: queries.Filters | None = None,
) -> Explained:
    """What the recall with the same arguments does with the memory `key` of an opened bank.

    Reasons are `retired`, the names of filters that it does not pass, `no_terms` (the query has
    nothing to look up), `no_match` (the memory has none of it), `outranked` (by its text it is not
    among the candidates) and `limit` (ranked, but below the last hit). Raises ScopeMissing,
    MemoryNotFound, AmbiguousId, Invalid (limit).
    """
    require(principal, Scope.MEMORY_READ)
    row = queries.find(bank, key)
    ranking = ranked(bank, query, limit=limit, filters=filters)
    parts = documents.parts(bank, row, indexer.analyzer_of(bank))
    terms = {term: [name for name, held in parts.items() if term in held] for term in ranking.terms}
    places = {each.id: place for place, each in enumerate(ranking.order, start=1)}
    rank = places.get(row.entry_id)
    hit = ranking.order[rank - 1] if rank else None
    reasons = _reasons(ranking, row, rank, terms)
    return Explained(
        bank=bank.name,
        id=row.entry_id,
        is_hit=not reasons,
        reasons=reasons,
        rank=rank,
        limit=ranking.limit,
        score=hit.score if hit else None,
        signals=asdict(hit.signals) if hit else None,
        terms=terms,
        named=list(ranking.pool.named),
        asks_for=[name for name, asks in _ASKED.items() if asks(query)],
        retrieval=ranking.retrieval,
        index=ranking.index,
        meaning=ranking.meaning,
    )


def _reasons(
    ranking: Ranking, row: Entry, rank: int | None, terms: Mapping[str, Sequence[str]]
) -> list[str]:
    if rank is not None:
        return [] if rank <= ranking.limit else [LIMIT]
    reasons = misfits(row, ranking.wanted)
    if not terms:
        reasons.append(NO_TERMS)
    elif not any(terms.values()):
        reasons.append(NO_MATCH)
    elif not ranking.limit:
        reasons.append(LIMIT)
    return reasons or [OUTRANKED]
