"""From rows to documents of the index: a memory's own words, and those of its neighbours.

Neighbours are the nearest live memories before and after it in its session, in the order of the
blocks (path, position): whole sessions share one instant, so that times give no order. Without a
session there are none.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator

from banks import links, queries
from banks.models import Bank, Entry
from recall.engine.analysis import Analyzer
from recall.engine.query import document_terms
from recall.index import Doc

Place = tuple[str, int, str, bool]
"""Where a block stands: path, position, id, and whether it is live."""


class Order:
    """Who stands beside whom in some sessions of a bank."""

    def __init__(self, places: Iterable[tuple[str, Place]]) -> None:
        sessions: dict[str, list[Place]] = defaultdict(list)
        for session, place in places:
            sessions[session].append(place)
        self._around: dict[str, tuple[list[str], int, int]] = {}
        for ordered in sessions.values():
            # Sorted here: a database's own collation may order paths differently.
            self._learn(sorted(ordered))

    def _learn(self, places: list[Place]) -> None:
        ids = [key for _, _, key, _ in places]
        before, last = [], -1
        for number, (_, _, _, live) in enumerate(places):
            before.append(last)
            last = number if live else last
        following = len(places)
        for number in range(len(places) - 1, -1, -1):
            self._around[ids[number]] = (ids, before[number], following)
            following = number if places[number][3] else following

    def neighbours(self, key: str) -> tuple[str, ...]:
        """Ids of the nearest live memories before and after this one: two at most."""
        if key not in self._around:
            return ()
        ids, before, after = self._around[key]
        return (*ids[max(before, 0) : before + 1], *ids[after : after + 1])

    def between_neighbours(self, key: str) -> list[str]:
        """Ids from the nearest live memory before this one to that after it, in order."""
        if key not in self._around:
            return []
        ids, before, after = self._around[key]
        return ids[max(before, 0) : after + 1]


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
    texts = {key: row.text for key, row in rows.items()}
    missing = {other for pair in beside.values() for other in pair} - texts.keys()
    for part in links.chunks(missing):
        others = Entry.objects.filter(bank=bank, entry_id__in=part)
        texts |= dict(others.values_list("entry_id", "text"))
    for key, row in rows.items():
        yield _document(row, {other: texts.get(other, "") for other in beside[key]}, analyzer)


def _document(row: Entry, neighbours: dict[str, str], analyzer: Analyzer) -> Doc:
    entities = [entity.casefold() for entity in row.entities]
    return Doc(
        id=row.entry_id,
        terms=document_terms(
            row.text,
            analyzer=analyzer,
            title=row.title,
            summary=row.summary,
            day=row.created_at.date(),
            neighbours=tuple(neighbours.values()),
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
