"""Find the best candidates in an open Whoosh searcher.

`packed` gives the same ids and the same scores faster; this path says what is right, and answers
where the other one cannot.
"""

import heapq
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, islice
from typing import Any

from whoosh.query import Term
from whoosh.scoring import BM25F

from recall.engine.scoring import K1, B
from recall.index.schema import RETIRED


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a candidate must be. None and () ask nothing; `tags` asks for all of them.

    `since_ms` <= created < `until_ms`, milliseconds since the epoch.
    """

    kind: str | None = None
    category: str | None = None
    origin: str | None = None
    tags: tuple[str, ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None
    live_only: bool = True

    def labels(self) -> list[tuple[str, str]]:
        """The fields that have to carry a label, with the label: all of them."""
        named = (("kind", self.kind), ("category", self.category), ("origin", self.origin))
        asked = [(field, label) for field, label in named if label is not None]
        return asked + [("tags", tag) for tag in self.tags]


@dataclass(frozen=True, slots=True)
class Found:
    """One candidate: the id of a memory and its BM25 score (> 0)."""

    id: str
    score: float


class Opened:
    """A Whoosh searcher over one commit, for one thread at a time.

    Never refreshed (Whoosh then returns deleted and doubled documents) and never shared.
    """

    def __init__(self, searcher: Any, toc: int) -> None:
        self.searcher = searcher
        self.toc = toc
        self._created: array[int] | None = None

    def close(self) -> None:
        """Give back the files."""
        self.searcher.close()

    def documents(self, field: str, label: str) -> set[int]:
        """Numbers of the documents that carry `label` in `field`."""
        return set(self.searcher.docs_for_query(Term(field, label)))

    def some_terms(self, most: int, most_documents: int) -> list[str]:
        """The first few terms of segments that all together not too many documents have."""
        found: dict[str, None] = {}
        for leaf, _ in self.searcher.leaf_searchers():
            reader = leaf.reader()
            for term in islice(reader.lexicon("terms"), most):
                count = reader.doc_frequency("terms", term)
                if count <= most_documents and len(found) < most:
                    found[term.decode()] = None
                    most_documents -= count
        return list(found)

    def created(self) -> "array[int]":
        """Creation in milliseconds by document number, read once."""
        if self._created is None:
            # Leaf by leaf: the reader over several segments skips one without this column.
            leaves = [reader for reader, _ in self.searcher.reader().leaf_readers()]
            columns = [leaf.column_reader("created", translate=False) for leaf in leaves]
            self._created = array("q", chain.from_iterable(columns))
        return self._created


def weighting() -> BM25F:
    """The scoring model of the index."""
    return BM25F(B=B, K1=K1)


def candidates(
    opened: Opened, terms: Sequence[str], *, limit: int, filters: Filters
) -> list[Found]:
    """Up to `limit` documents with any of `terms`, best first; filters apply before the limit.

    Ties go to the lower document number. Scores are Whoosh's BM25F of the field `terms`.
    """
    searcher = opened.searcher
    if limit < 1 or not terms or not searcher.doc_count_all():
        return []
    allowed = _allowed(opened, filters)
    if allowed is not None and not allowed:
        return []
    scores = _scores(searcher, dict.fromkeys(terms))
    retired = opened.documents("retired", RETIRED) if filters.live_only else set()
    best = heapq.nlargest(
        limit,
        (
            (score, -number)
            for number, score in scores.items()
            if number not in retired and (allowed is None or number in allowed)
        ),
    )
    return [Found(searcher.stored_fields(-number)["id"], score) for score, number in best]


def _scores(searcher: Any, terms: Iterable[str]) -> dict[int, float]:
    """BM25 score of every document with any of `terms`, by document number.

    Term by term with Whoosh's own scorers, but not by its search: once that has `limit` hits it
    replaces its matchers by cheaper ones and at times loses a better hit (seen in 2.7.4 with
    the options on and off).
    """
    scores: dict[int, float] = {}
    for leaf, offset in searcher.leaf_searchers():
        reader = leaf.reader()
        for term in terms:
            if ("terms", term) not in reader:
                continue
            matcher = leaf.postings("terms", term)
            while matcher.is_active():
                number = offset + matcher.id()
                scores[number] = scores.get(number, 0.0) + matcher.score()
                matcher.next()
    return scores


def _allowed(opened: Opened, filters: Filters) -> set[int] | None:
    """Document numbers that the filters leave, None when they ask nothing."""
    sets = [opened.documents(field, label) for field, label in filters.labels()]
    if filters.since_ms is not None or filters.until_ms is not None:
        sets.append(_within(opened.created(), filters.since_ms, filters.until_ms))
    return reduce(set.intersection, sets) if sets else None


def _within(created: "array[int]", since_ms: int | None, until_ms: int | None) -> set[int]:
    return {
        number
        for number, moment in enumerate(created)
        if (since_ms is None or moment >= since_ms) and (until_ms is None or moment < until_ms)
    }
