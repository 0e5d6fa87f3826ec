"""The search of `candidates` over arrays: what was read of a segment stays unpacked.

Gives the same ids and the same scores, bit by bit: Whoosh's formula in Whoosh's order of
operations, its rounded lengths, its counts with the deleted documents among them. The only module
that needs numpy; without it the other path answers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from whoosh.util.numeric import byte_to_length

from recall.engine.scoring import K1, B
from recall.index.candidates import Filters, Found
from recall.index.schema import RETIRED
from recall.index.segments import Commit, Segment

_ENTRY_BYTES = 150
"""What one more key costs, about; an array costs `_ARRAY_BYTES` beside its numbers."""

_ARRAY_BYTES = 120
_ID_BYTES = 80

_FOLDS = 8
"""The best are looked for above a bound that so many groups a wanted hit give."""

Value = TypeVar("Value")
Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]


class _Kept:
    """Values that were made once, and how many bytes they take. For any number of threads."""

    def __init__(self) -> None:
        self._values: dict[Any, Any] = {}
        self._guard = Lock()
        self.size = 0

    def get(self, key: Any, make: Callable[[], tuple[Value, int]]) -> Value:
        try:
            found: Value = self._values[key]
        except KeyError:
            # Two threads may make the same; the later one's work is for nothing.
            found, size = make()
            with self._guard:
                self.size += 0 if key in self._values else size + _ENTRY_BYTES
                self._values[key] = found
        return found


@dataclass(frozen=True, slots=True)
class _Postings:
    """Documents with a term in one segment, and the weights of the term there."""

    numbers: Numbers
    weights: NDArray[np.float32]

    @property
    def size(self) -> int:
        return self.numbers.nbytes + self.weights.nbytes + 2 * _ARRAY_BYTES


_NONE = _Postings(np.zeros(0, np.int32), np.zeros(0, np.float32))


class _Unpacked:
    """What was read of one segment: true in every commit that has it."""

    def __init__(self, segment: Segment) -> None:
        self.segment = segment
        self.lengths = _column(segment, "_terms_len", "u1")
        self.kept = _Kept()

    def postings(self, field: str, term: str) -> _Postings:
        """Postings of a term, deleted documents too; empty when there are none."""
        return self.kept.get((field, term), lambda: self._read(field, term))

    def created(self) -> NDArray[Any]:
        """Creation of each document, milliseconds."""

        def read() -> tuple[NDArray[Any], int]:
            column = _column(self.segment, "created", ">i8")
            return column, column.nbytes

        return self.kept.get("created", read)

    def id_of(self, number: int) -> str:
        """Id of a document, by its number here."""
        return self.kept.get(number, lambda: (self.segment.id_of(number), _ID_BYTES))

    def _read(self, field: str, term: str) -> tuple[_Postings, int]:
        blocks = self.segment.blocks(field, term)
        if not blocks:
            return _NONE, 0
        sizes = np.array([len(distances) for _, distances, _ in blocks], np.int64)
        stops = np.cumsum(sizes)
        every = chain.from_iterable(distances for _, distances, _ in blocks)
        steps = np.fromiter(every, np.int32, sizes.sum())
        # The first distance of a block counts from 0; from the block before it, one sum does.
        steps[stops[:-1]] -= np.array([last for last, _, _ in blocks[:-1]], np.int32)
        weights = np.ones(len(steps), np.float32)
        for start, stop, (_, _, given) in zip(stops - sizes, stops, blocks, strict=True):
            if given is not None:
                weights[start:stop] = given
        found = _Postings(np.cumsum(steps, dtype=np.int32), weights)
        return found, found.size


class Snapshot:
    """The arrays of one commit. Never changes but for what it keeps; threads may share it."""

    def __init__(self, commit: Commit, before: "Snapshot | None" = None) -> None:
        self._commit = commit
        had = before._parts if before else {}
        self._parts: dict[str, _Unpacked] = {
            name: had.get(name) or _Unpacked(segment) for name, segment in commit.segments.items()
        }
        self._starts = np.array([start for start, _ in commit.spans], np.int32)
        self._lengths = _joined([part.lengths for part in self._parts.values()], np.uint8)
        average = commit.words / (commit.count or 1) or 1
        self._norms = np.array(
            [K1 * ((1 - B) + B * byte_to_length(byte) / average) for byte in range(256)]
        )
        self._deleted = np.array(sorted(commit.deleted), np.int32)
        self._kept = _Kept()

    def size(self) -> int:
        """Bytes of everything that is kept."""
        return self._kept.size + sum(part.kept.size for part in self._parts.values())

    def search(self, terms: Sequence[str], *, limit: int, filters: Filters) -> list[Found]:
        """Up to `limit` documents with any of `terms`, as `candidates` gives them."""
        if limit < 1 or not self._commit.count:
            return []
        scores = np.zeros(self._commit.count)
        for term in dict.fromkeys(terms):
            numbers, shares = self._scored(term)
            np.add.at(scores, numbers, shares)
        scores[self._deleted] = 0.0
        if filters.live_only:
            scores[self._labelled("retired", RETIRED)] = 0.0
        for field, label in filters.labels():
            scores *= self._carrying(field, label)
        if filters.since_ms is not None or filters.until_ms is not None:
            scores *= self._within(filters.since_ms, filters.until_ms)
        best = _best(scores, limit)
        ids = self._ids(best)
        return [Found(key, float(score)) for key, score in zip(ids, scores[best], strict=True)]

    def _scored(self, term: str) -> tuple[Numbers, Floats]:
        """Documents with a term and what it gives each of them."""

        def score() -> tuple[tuple[Numbers, Floats], int]:
            numbers, weights = self._postings("terms", term)
            idf = math.log(self._commit.count / (len(numbers) + 1)) + 1
            norms = self._norms[self._lengths[numbers]]
            tf = weights.astype(np.float64)
            shares = idf * ((tf * (K1 + 1)) / (tf + norms))
            # Of a single segment the numbers are those that it keeps anyway.
            own = numbers.nbytes if len(self._parts) > 1 else 0
            return (numbers, shares), shares.nbytes + own + 2 * _ARRAY_BYTES

        return self._kept.get(term, score)

    def _postings(self, field: str, term: str) -> tuple[Numbers, NDArray[np.float32]]:
        found = [part.postings(field, term) for part in self._parts.values()]
        if len(found) == 1:
            return found[0].numbers, found[0].weights
        shifted = [
            each.numbers + start
            for start, each in zip(self._starts, found, strict=True)
            if len(each.numbers)
        ]
        weights = [each.weights for each in found if len(each.weights)]
        return _joined(shifted, np.int32), _joined(weights, np.float32)

    def _labelled(self, field: str, label: str) -> Numbers:
        def read() -> tuple[Numbers, int]:
            numbers = self._postings(field, label)[0]
            return numbers, numbers.nbytes

        return self._kept.get(("labelled", field, label), read)

    def _carrying(self, field: str, label: str) -> NDArray[np.bool_]:
        """For each document whether it carries a label."""

        def mark() -> tuple[NDArray[np.bool_], int]:
            marks = np.zeros(self._commit.count, np.bool_)
            marks[self._postings(field, label)[0]] = True
            return marks, marks.nbytes

        return self._kept.get(("carrying", field, label), mark)

    def _within(self, since_ms: int | None, until_ms: int | None) -> NDArray[np.bool_]:
        created = _joined([part.created() for part in self._parts.values()], np.int64)
        marks = np.ones(len(created), np.bool_)
        if since_ms is not None:
            marks &= created >= since_ms
        if until_ms is not None:
            marks &= created < until_ms
        return marks

    def _ids(self, numbers: Numbers) -> list[str]:
        parts, starts = list(self._parts.values()), self._starts
        places = np.searchsorted(starts, numbers, side="right") - 1
        within = numbers - starts[places]
        pairs = zip(places.tolist(), within.tolist(), strict=True)
        return [parts[place].id_of(number) for place, number in pairs]


def _best(scores: Floats, limit: int) -> Numbers:
    """Places of the `limit` highest scores above 0, best first, ties in order of place."""
    groups = _FOLDS * limit
    rows = len(scores) // groups
    bound = 0.0
    if rows > 1:
        # The best of each group: `limit` of them reach the bound, so the wanted ones do too.
        tops = scores[: rows * groups].reshape(rows, groups).max(axis=0)
        bound = np.partition(tops, groups - limit)[groups - limit]
    places = np.flatnonzero(scores >= bound if bound > 0.0 else scores)
    order = np.argsort(-scores[places], kind="stable")[:limit]
    best: Numbers = places[order].astype(np.int32)
    return best


def _column(segment: Segment, name: str, dtype: str) -> NDArray[Any]:
    """A column of numbers; Whoosh leaves out the zeros at its end."""
    raw = segment.column(name)
    values = np.frombuffer(raw, dtype)
    column = np.zeros(segment.count, values.dtype.newbyteorder("="))
    column[: len(values)] = values
    return column


def _joined(parts: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    return np.concatenate(parts, dtype=dtype) if parts else np.zeros(0, dtype)
