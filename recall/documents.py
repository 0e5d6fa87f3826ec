"""From rows to documents of the index: a memory's own words, and those of its neighbours.

Neighbours are the two nearest live memories before and after it in its session, in the order of
the blocks (path, position): whole sessions share one instant, so that times give no order. Without
a session there are none.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from banks import links, queries
from banks.models import Bank, Entry
from recall.engine.analysis import Analyzer
from recall.engine.dates import day_terms
from recall.engine.query import document_terms
from recall.index import Doc

REACH = 2
"""Neighbours on each side. On LoCoMo the second one gives as much as half of the first."""

Place = tuple[str, int, str, bool]
"""Where a block stands: path, position, id, and whether it is live."""


@dataclass(frozen=True, slots=True)
class _Around:
    """One memory's surroundings, as places in the ids of its session."""

    ids: list[str]
    nearest: tuple[int, ...]
    first: int
    last: int


class Order:
    """Who stands beside whom in some sessions of a bank."""

    def __init__(self, places: Iterable[tuple[str, Place]]) -> None:
        sessions: dict[str, list[Place]] = defaultdict(list)
        for session, place in places:
            sessions[session].append(place)
        self._around: dict[str, _Around] = {}
        for ordered in sessions.values():
            # Sorted here: a database's own collation may order paths differently.
            self._learn(sorted(ordered))

    def _learn(self, places: list[Place]) -> None:
        ids = [key for _, _, key, _ in places]
        alive = [number for number, (*_, live) in enumerate(places) if live]
        for number, key in enumerate(ids):
            at = bisect_left(alive, number)
            before = alive[max(0, at - REACH) : at]
            at += alive[at : at + 1] == [number]
            after = alive[at : at + REACH]
            first = before[0] if len(before) == REACH else 0
            last = after[-1] if len(after) == REACH else len(ids)
            self._around[key] = _Around(ids, (*before, *after), first, last)

    def neighbours(self, key: str) -> tuple[str, ...]:
        """Ids of the nearest live memories before and after this one: `REACH` each at most."""
        around = self._around.get(key)
        return tuple(around.ids[number] for number in around.nearest) if around else ()

    def between_neighbours(self, key: str) -> list[str]:
        """Ids of all that may have this one as a neighbour, in order."""
        around = self._around.get(key)
        return around.ids[around.first : around.last + 1] if around else []


def _places(bank: Bank, sessions: Collection[str] | None) -> Iterator[tuple[str, Place]]:
    rows = Entry.objects.filter(bank=bank).exclude(session="")
    fields = ("session", "file__path", "position", "entry_id", "live")
    parts = [rows] if sessions is None else [
        rows.filter(session__in=part) for part in links.chunks(sessions)
    ]  # fmt: skip
    for part in parts:
        for session, *place in part.values_list(*fields).iterator(chunk_size=2_000):
            yield session, tuple(place)


def _order_around(bank: Bank, keys: Iterable[str]) -> Order:
    """The order of all sessions that these memories are in."""
    sessions: set[str] = set()
    for part in links.chunks(keys):
        rows = Entry.objects.filter(bank=bank, entry_id__in=part).exclude(session="")
        sessions |= set(rows.values_list("session", flat=True))
    return Order(_places(bank, sessions) if sessions else ())


def touched(bank: Bank, changed: Iterable[str], beside: Callable[[set[str]], set[str]]) -> set[str]:
    """Ids of all documents that may differ after these entries changed.

    `beside` gives the documents that hold the text of some memories. Besides those: entries whose
    pointers lead to a changed one (they may live or die with it) and new neighbours of one that
    lives. Ids without a row are among them: their documents have to go.
    """
    keys = set(changed)
    fresh = keys
    while fresh:
        pointing: set[str] = set()
        for part in links.chunks(fresh):
            rows = Entry.objects.filter(bank=bank, superseded_by__in=part)
            pointing |= set(rows.values_list("entry_id", flat=True))
        fresh = pointing - keys
        keys |= fresh
    order = _order_around(bank, keys)
    around = {other for key in keys for other in order.between_neighbours(key)}
    return keys | around | beside(keys)


def documents(bank: Bank, keys: Collection[str], analyzer: Analyzer) -> Iterator[Doc]:
    """The documents of these entries as their rows are now; ids without a row give none."""
    order = _order_around(bank, keys)
    for part in links.chunks(sorted(keys)):
        yield from _of(bank, part, order, analyzer)


def every_document(
    bank: Bank, analyzer: Analyzer, progress: Callable[[int, int], None] | None = None
) -> Iterator[Doc]:
    """All documents of a bank. `progress` is told how many are done, and of how many."""
    order = Order(_places(bank, None))
    rows = Entry.objects.filter(bank=bank).order_by("session", "file", "position")
    # In the order of sessions, so that neighbours mostly come with the same query.
    keys = list(rows.values_list("entry_id", flat=True))
    done = 0
    for part in links.chunks(keys):
        yield from _of(bank, part, order, analyzer)
        done += len(part)
        if progress is not None:
            progress(done, len(keys))


def _of(bank: Bank, keys: list[str], order: Order, analyzer: Analyzer) -> Iterator[Doc]:
    rows = queries.rows_by_ids(bank, keys)
    beside = {key: order.neighbours(key) for key in rows}
    wanted = {other for around in beside.values() for other in around}
    texts = {key: rows[key].text for key in wanted & rows.keys()}
    texts |= _texts(bank, wanted - texts.keys())
    terms = {key: analyzer.terms(text) for key, text in texts.items()}
    for key, row in rows.items():
        yield _document(row, {other: terms.get(other, []) for other in beside[key]}, analyzer)


def _texts(bank: Bank, keys: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in links.chunks(keys):
        rows = Entry.objects.filter(bank=bank, entry_id__in=part)
        found |= dict(rows.values_list("entry_id", "text"))
    return found


def parts(bank: Bank, row: Entry, analyzer: Analyzer) -> dict[str, set[str]]:
    """The terms of one document by where they come from, for who asks why it was found."""
    beside = _order_around(bank, [row.entry_id]).neighbours(row.entry_id)
    said = {
        "text": [row.text],
        "title": [row.title],
        "summary": [row.summary],
        "tags": row.tags,
        "entities": row.entities,
        "session": _texts(bank, beside).values(),
    }
    found = {name: {*chain(*map(analyzer.terms, texts))} for name, texts in said.items()}
    return found | {"day": set(day_terms(row.created_at.date()))}


def _document(row: Entry, neighbours: Mapping[str, Sequence[str]], analyzer: Analyzer) -> Doc:
    entities = [entity.casefold() for entity in row.entities]
    return Doc(
        id=row.entry_id,
        terms=document_terms(
            row.text,
            analyzer=analyzer,
            title=row.title,
            summary=row.summary,
            day=row.created_at.date(),
            neighbours=neighbours.values(),
            labels=(*row.tags, *entities),
        ),
        category=row.category,
        kind=row.kind,
        origin=row.origin,
        created_ms=queries.milliseconds(row.created_at),
        live=row.live,
        tags=row.tags,
        entities=entities,
        beside=tuple(neighbours),
    )
