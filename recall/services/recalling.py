"""Recall: the memories that fit a query. One code path for people, agents and previews.

Rows are the truth: the index only proposes, and what it proposes is checked against its row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import reduce
from operator import or_
from typing import Literal

from django.db.models import Q

from banks import config, errors, queries, seams
from banks.access import Principal, Scope, require
from banks.models import Bank, Entry
from banks.queries import Memory
from recall import indexer
from recall.engine.english import asks_for_time, tells_time
from recall.engine.query import asking, asks_for_newest, named_entities, query_terms, subjects
from recall.engine.scoring import Candidate, Ranked, Signals, pool_size, rank
from recall.index import Filters as IndexFilters
from recall.index import IndexUnavailable
from recall.indexer import IndexState
from recall.meaning import Comparison, MeaningState, compared
from recall.services import limits
from recall.services.limits import LIMIT_MOST
from recall.services.nearness import is_near, nearest

SCANNED_TERMS = 8
"""Terms of a query that are looked for in the rows while there is no index."""

SCANNED_ROWS = 500
"""Newest rows with any of the terms that are ranked while there is no index."""

_ATTEMPTS = 3
_WIDER = 4

Mode = Literal["hybrid", "lexical", "semantic"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A memory with its score; the signals add up to it. A near one means what the query means,
    whatever words they share."""

    memory: Memory
    score: float
    signals: dict[str, float]
    is_near: bool = False


@dataclass(frozen=True, slots=True)
class Recalled:
    """Hits, best first. `retrieval` says what ran, `index` how far the search could see, `meaning`
    how far meanings could be compared: None where they were not to be. `terms` were looked up."""

    bank: str
    memories: list[Hit]
    retrieval: str
    index: IndexState
    meaning: MeaningState | None = None
    terms: tuple[str, ...] = ()


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
    ranking = ranked(
        bank,
        query,
        limit=limit,
        filters=filters,
        mode=mode,
        include_superseded=include_superseded,
    )
    rows = {row.entry_id: row for row, _ in ranking.pool.found}
    best = ranking.order[: ranking.limit]
    memories = queries.memories(bank, [rows[each.id] for each in best])
    hits = [
        Hit(memory, each.score, asdict(each.signals), each.id in ranking.pool.near)
        for memory, each in zip(memories, best, strict=True)
    ]
    return Recalled(
        bank.name, hits, ranking.retrieval, ranking.index, ranking.meaning, ranking.terms
    )


@dataclass(frozen=True, slots=True)
class Pool:
    """Rows that fit, each with the score of its text, the entities that the query names, the ids of
    those that are near, and by fingerprint the cosine of a text, where that is known."""

    found: Sequence[tuple[Entry, float]] = ()
    named: tuple[str, ...] = ()
    near: frozenset[str] = frozenset()
    closeness: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """All candidates for a query in their order; the first `limit` are the hits."""

    terms: tuple[str, ...]
    wanted: queries.Filters
    limit: int
    retrieval: str
    index: IndexState
    meaning: MeaningState | None = None
    pool: Pool = Pool()
    order: Sequence[Ranked] = ()


def ranked(
    bank: Bank,
    query: str,
    *,
    limit: int | None = None,
    filters: queries.Filters | None = None,
    mode: Mode = "hybrid",
    include_superseded: bool = False,
) -> Ranking:
    """What `found` cuts its hits from. Raises Invalid (limit)."""
    limit = limits.of(bank).recall_limit if limit is None else limit
    if not 0 <= limit <= LIMIT_MOST:
        raise errors.Invalid(f"Use 0 to {LIMIT_MOST}.", loc="limit")
    wanted = replace(filters or queries.Filters(), text="")
    wanted = replace(wanted, include_superseded=wanted.include_superseded or include_superseded)
    state = indexer.catch_up(bank)
    terms = query_terms(query, indexer.analyzer_of(bank))
    nothing = Ranking(terms=terms, wanted=wanted, limit=limit, retrieval="none", index=state)
    meaning = None
    if mode != "lexical" and terms and limit:
        meaning = compared(bank, query)
        nothing = replace(nothing, meaning=meaning.state if meaning else None)
    if mode == "semantic":
        return _by_meaning(bank, nothing, meaning)
    if not terms or not limit:
        return nothing
    pool, state = _searched(bank, query, terms, wanted, limit=limit, state=state)
    retrieval = "lexical" if mode == "lexical" else "bm25-entity"
    if pool is None:
        pool, retrieval = _scanned(bank, terms, wanted), "lexical"
    elif meaning is not None and meaning.is_there:
        pool, retrieval = _widened(bank, pool, meaning, wanted, limit), "bm25-entity-semantic"
    order = _by_text(pool) if mode == "lexical" else _by_signals(query, pool)
    return replace(nothing, retrieval=retrieval, index=state, pool=pool, order=order)


def _widened(
    bank: Bank, pool: Pool, meaning: Comparison, wanted: queries.Filters, limit: int
) -> Pool:
    """The same with what is near without a word in common, and how near each is."""
    known = {row.fingerprint for row, _ in pool.found}
    near = nearest(bank, meaning, wanted, count=limit, known=known)
    found = [*pool.found, *((row, 0.0) for row, _ in near)]
    closeness = meaning.cosines({row.fingerprint for row, _ in found})
    ids = (row.entry_id for row, _ in found if is_near(closeness.get(row.fingerprint, 0.0)))
    return replace(pool, found=found, near=frozenset(ids), closeness=closeness)


def _by_meaning(bank: Bank, nothing: Ranking, meaning: Comparison | None) -> Ranking:
    """What is near, in the order of its cosine alone."""
    if nothing.terms and nothing.limit and meaning is not None and meaning.is_there:
        near = nearest(bank, meaning, nothing.wanted, count=nothing.limit)
        rows = sorted(near, key=_in_order)
        order = [
            Ranked(row.entry_id, score, Signals(text=0.0, meaning=score)) for row, score in rows
        ]
        pool = Pool(
            [(row, 0.0) for row, _ in rows], near=frozenset(row.entry_id for row, _ in rows)
        )
        return replace(nothing, retrieval="semantic", pool=pool, order=order)
    return replace(nothing, retrieval="semantic-unavailable")


def _searched(
    bank: Bank,
    query: str,
    terms: Sequence[str],
    wanted: queries.Filters,
    *,
    limit: int,
    state: IndexState,
) -> tuple[Pool | None, IndexState]:
    """Candidates of the index and how it stands; None when it cannot be used."""
    for attempt in range(_ATTEMPTS):
        if state.state in ("rebuilding", "unavailable"):
            return None, state
        try:
            named = named_entities(query, indexer.index_of(bank).known_entities)
            return Pool(_candidates(bank, terms, wanted, limit), named), state
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
            if each.id in rows and not misfits(rows[each.id], wanted)
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


def misfits(row: Entry, wanted: queries.Filters) -> list[str]:
    """The filters that keep a row out as it is now, by name."""
    tags = set(wanted.tags)
    passed = {
        "retired": row.live or wanted.include_superseded,
        "kind": wanted.kind in (None, row.kind),
        "category": wanted.category in (None, row.category),
        "origin": wanted.origin in (None, row.origin),
        "pinned": wanted.pinned in (None, row.pinned),
        "since": wanted.since is None or row.created_at >= wanted.since,
        "until": wanted.until is None or row.created_at < wanted.until,
        "tags": not tags or (tags & set(row.tags) if wanted.any_tag else tags <= set(row.tags)),
    }
    return [name for name, fits in passed.items() if not fits]


def _scanned(bank: Bank, terms: Sequence[str], wanted: queries.Filters) -> Pool:
    """Newest rows that hold any of the first terms as a substring, scored by how many (0..1)."""
    looked_for = terms[:SCANNED_TERMS]
    anyone = reduce(or_, (Q(folded__contains=term) for term in looked_for))
    rows = queries.narrowed(bank, wanted).filter(anyone).select_related("file")
    newest = rows.defer("block", "problems").order_by("-created_at", "-entry_id")[:SCANNED_ROWS]
    return Pool(
        [(row, sum(term in row.folded for term in looked_for) / len(looked_for)) for row in newest]
    )


def _by_signals(query: str, pool: Pool) -> Sequence[Ranked]:
    time = asks_for_time(query)
    return rank(
        [
            Candidate(
                id=row.entry_id,
                text_score=score,
                stated_at=row.stated_at,
                subjects=subjects(row.text, row.entities),
                corroboration=row.corroboration,
                pinned=row.pinned,
                tells_time=time and tells_time(row.text),
                asking=asking(row.text),
                closeness=pool.closeness.get(row.fingerprint),
            )
            for row, score in pool.found
        ],
        named=pool.named,
        now=seams.now(),
        half_life_days=config.current().decay_half_life_days,
        newest=asks_for_newest(query),
        time=time,
    )


def _by_text(pool: Pool) -> Sequence[Ranked]:
    """In the same total order, by the score of the text alone."""
    rows = sorted(pool.found, key=_in_order)
    return [Ranked(row.entry_id, score, Signals(text=score)) for row, score in rows]


def _in_order(scored: tuple[Entry, float]) -> tuple[float, float, str]:
    row, score = scored
    return -score, -row.stated_at.timestamp(), row.entry_id
