"""Recall: the memories that fit a query. One code path for people, agents and previews.

Rows are the truth: the index only proposes, and what it proposes is checked against its row.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import or_
from typing import Literal

from django.db.models import Q

from banks import config, errors, queries, seams
from banks.access import Principal, Scope, require
from banks.models import Bank, Entry
from banks.queries import Memory
from recall import indexer
from recall.engine.query import asks_for_newest, named_entities, query_terms, subjects
from recall.engine.scoring import Candidate, Ranked, Signals, pool_size, rank
from recall.index import Filters as IndexFilters
from recall.index import IndexUnavailable
from recall.indexer import IndexState
from recall.services import limits
from recall.services.limits import LIMIT_MOST

SCANNED_TERMS = 8
"""Terms of a query that are looked for in the rows while there is no index."""

SCANNED_ROWS = 500
"""Newest rows with any of the terms that are ranked while there is no index."""

_ATTEMPTS = 3
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
    return found(
        bank,
        query,
        limit=limit,
        filters=filters,
        mode=mode,
        include_superseded=include_superseded,
    )


def found(
    bank: Bank,
    query: str,
    *,
    limit: int | None = None,
    filters: queries.Filters | None = None,
    mode: Mode = "hybrid",
    include_superseded: bool = False,
) -> Recalled:
    """The same for a caller whose scope was looked at already. Raises Invalid (limit)."""
    limit = limits.of(bank).recall_limit if limit is None else limit
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
    pool, state = _searched(bank, query, terms, wanted, limit=limit, state=state)
    retrieval = "lexical" if mode == "lexical" else "bm25-entity"
    if pool is None:
        pool, retrieval = _scanned(bank, terms, wanted), "lexical"
    ranked = _by_text(pool) if mode == "lexical" else _by_signals(query, pool)
    return Recalled(bank.name, _hits(bank, pool, ranked[:limit]), retrieval, state)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Rows that fit, each with the score of its text, and the entities that the query names."""

    found: list[tuple[Entry, float]]
    named: tuple[str, ...] = ()


def _searched(
    bank: Bank,
    query: str,
    terms: Sequence[str],
    wanted: queries.Filters,
    *,
    limit: int,
    state: IndexState,
) -> tuple[_Pool | None, IndexState]:
    """Candidates of the index and how it stands; None when it cannot be used."""
    for attempt in range(_ATTEMPTS):
        if state.state in ("rebuilding", "unavailable"):
            return None, state
        try:
            named = named_entities(query, indexer.index_of(bank).known_entities)
            return _Pool(_candidates(bank, terms, wanted, limit), named), state
        except IndexUnavailable:
            # Once may be another process's rebuild; twice is damage that the stamp cannot see.
            if attempt == 1:
                indexer.distrust(bank)
            state = indexer.catch_up(bank)
    return None, replace(state, state="unavailable")


def _candidates(
    bank: Bank, terms: Sequence[str], wanted: queries.Filters, limit: int
) -> list[tuple[Entry, float]]:
    """Rows for ranking. What is gone, dead or changed since it was indexed takes no slot."""
    index, size = indexer.index_of(bank), pool_size(limit)
    while True:
        found = index.search(terms, limit=size, filters=_index_filters(wanted))
        rows = queries.rows_by_ids(bank, [each.id for each in found])
        fitting = [
            (rows[each.id], each.score)
            for each in found
            if each.id in rows and _fits(rows[each.id], wanted)
        ]
        if len(fitting) >= limit or len(found) < size:
            return fitting
        size *= _WIDER


def _index_filters(wanted: queries.Filters) -> IndexFilters:
    return IndexFilters(
        kind=wanted.kind.value if wanted.kind else None,
        category=wanted.category.value if wanted.category else None,
        origin=wanted.origin.value if wanted.origin else None,
        tags=() if wanted.any_tag else wanted.tags,
        since_ms=queries.milliseconds(wanted.since) if wanted.since else None,
        until_ms=queries.milliseconds(wanted.until) if wanted.until else None,
        live_only=not wanted.include_superseded,
    )


def _fits(row: Entry, wanted: queries.Filters) -> bool:
    """Whether a row passes the filters as it is now."""
    tags = set(wanted.tags)
    return (
        (row.live or wanted.include_superseded)
        and wanted.kind in (None, row.kind)
        and wanted.category in (None, row.category)
        and wanted.origin in (None, row.origin)
        and wanted.pinned in (None, row.pinned)
        and (wanted.since is None or row.created_at >= wanted.since)
        and (wanted.until is None or row.created_at < wanted.until)
        and (not tags or (bool(tags & set(row.tags)) if wanted.any_tag else tags <= set(row.tags)))
    )


def _scanned(bank: Bank, terms: Sequence[str], wanted: queries.Filters) -> _Pool:
    """Newest rows that hold any of the first terms as a substring, scored by how many (0..1)."""
    looked_for = terms[:SCANNED_TERMS]
    anyone = reduce(or_, (Q(folded__contains=term) for term in looked_for))
    rows = queries.narrowed(bank, wanted).filter(anyone).select_related("file")
    newest = rows.defer("block", "problems").order_by("-created_at", "-entry_id")[:SCANNED_ROWS]
    return _Pool(
        [(row, sum(term in row.folded for term in looked_for) / len(looked_for)) for row in newest]
    )


def _by_signals(query: str, pool: _Pool) -> Sequence[Ranked]:
    return rank(
        [
            Candidate(
                id=row.entry_id,
                text_score=score,
                stated_at=row.stated_at,
                subjects=subjects(row.text, row.entities),
                corroboration=row.corroboration,
                pinned=row.pinned,
            )
            for row, score in pool.found
        ],
        named=pool.named,
        now=seams.now(),
        half_life_days=config.current().decay_half_life_days,
        newest=asks_for_newest(query),
    )


def _by_text(pool: _Pool) -> Sequence[Ranked]:
    """In the same total order, by the score of the text alone."""
    rows = sorted(
        pool.found, key=lambda each: (-each[1], -each[0].stated_at.timestamp(), each[0].entry_id)
    )
    return [Ranked(row.entry_id, score, Signals(text=score)) for row, score in rows]


def _hits(bank: Bank, pool: _Pool, best: Sequence[Ranked]) -> list[Hit]:
    rows = {row.entry_id: row for row, _ in pool.found}
    memories = queries.memories(bank, [rows[each.id] for each in best])
    return [
        Hit(memory, each.score, asdict(each.signals))
        for memory, each in zip(memories, best, strict=True)
    ]
