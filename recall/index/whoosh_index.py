"""The index of one bank: a guest that may be deleted and rebuilt at any time.

Nothing is ever wiped or rebuilt implicitly: a fault goes up as IndexUnavailable.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from whoosh.filedb.filestore import FileStorage
from whoosh.index import FileIndex
from whoosh.searching import Searcher

from recall.index import stamp as stamps
from recall.index.candidates import Filters, Found, Opened, candidates, weighting
from recall.index.errors import IndexUnavailable
from recall.index.faults import cancelled_on_fault, faults
from recall.index.folder import Generations, sync_all, wait_for
from recall.index.schema import FORMAT, RETIRED, SCHEMA, Doc, fields
from recall.index.stamp import Stamp
from recall.index.writing import Writing

LOCK_TIMEOUT_S = 10.0
"""How long a writer waits for another one, seconds."""

MANY_SEGMENTS = 16
"""Above so many segments an index wants `compact` (a save adds one)."""

REBUILD_MEMORY_MB = 32
"""Postings that a rebuild keeps in memory before it spills them, megabytes."""

_ATTEMPTS = 5
_RETRY_S = 0.005
_IDLE_SEARCHERS = 2

Result = TypeVar("Result")


def version(language: str) -> str:
    """What a stamp's `version` must be for terms of `language`; anything else: rebuild."""
    return f"{FORMAT}/{language}"


class Index:
    """One bank's index in `folder`, for any number of threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._generations = Generations(folder)
        self._idle: list[tuple[int, Opened]] = []
        self._guard = Lock()

    def stamp(self) -> Stamp:
        """Where the index stands. Raises IndexUnavailable when it must not be trusted.

        That is: no index, an older one than its stamp, or a stamp of an earlier boot without a
        clean close (Whoosh never syncs). Format and language are for the caller to compare.
        """
        return self._again(lambda: self._open()[2])

    def search(
        self, terms: Sequence[str], *, limit: int, filters: Filters | None = None
    ) -> list[Found]:
        """Up to `limit` candidates, best first. Raises IndexUnavailable for any fault."""
        wanted = filters or Filters()
        return self._reading(lambda opened: candidates(opened, terms, limit=limit, filters=wanted))

    def known_entities(self, labels: Collection[str]) -> frozenset[str]:
        """Those of `labels` that an indexed memory has as an entity."""

        def look(opened: Opened) -> frozenset[str]:
            reader = opened.searcher.reader()
            return frozenset(label for label in labels if ("entities", label) in reader)

        return self._reading(look)

    def ids(self) -> set[str]:
        """Ids of all documents, retired ones too (for the doctor)."""
        return self._reading(
            lambda opened: {row["id"] for row in opened.searcher.reader().all_stored_fields()}
        )

    def retired_ids(self) -> set[str]:
        """Ids of the documents that are indexed as not live (for the doctor)."""
        return self._reading(lambda opened: opened.ids("retired", RETIRED))

    def beside(self, keys: Iterable[str]) -> set[str]:
        """Ids of the documents whose terms hold the text of one of these memories."""

        def look(opened: Opened) -> set[str]:
            return set().union(*(opened.ids("beside", key) for key in keys))

        return self._reading(look)

    def segment_count(self) -> int:
        """How many segments the index has; above `MANY_SEGMENTS` it wants `compact`."""
        return self._reading(lambda opened: len(opened.searcher.leaf_searchers()))

    @contextmanager
    def writing(self, timeout_s: float = LOCK_TIMEOUT_S) -> Iterator[Writing]:
        """Hold the writer lock: take it first, then read the cursor (`stamp`) and the rows.

        The other order lets an older view overwrite a newer one. Raises IndexBusy when another
        writer holds the lock for longer than `timeout_s`, IndexUnavailable for any fault. A
        lock file that merely exists locks nothing.
        """
        writing, lock = self._again(lambda: self._lock(timeout_s))
        try:
            yield writing
        finally:
            lock.release()

    def apply(self, upserts: Iterable[Doc], deletes: Iterable[str], stamp: Stamp) -> None:
        """`Writing.apply` under a lock of its own, for who read nothing beforehand."""
        with self.writing() as writing:
            writing.apply(upserts, deletes, stamp)

    def rebuild(
        self, docs: Iterable[Doc], stamp: Stamp, *, timeout_s: float = LOCK_TIMEOUT_S
    ) -> Stamp:
        """Build a new generation aside while the old one answers, then swap and clean up.

        `stamp` must be a position read before the first of `docs`; ids must be unique. Raises
        IndexBusy when another rebuild runs for longer than `timeout_s`, and whatever `docs`
        raises; the old generation then still answers.
        """
        with self._generations.rebuilding(timeout_s):
            with faults():
                number = self._generations.begin()
            folder = self._generations.path(number)
            try:
                toc = _build(folder, docs)
                fresh = replace(
                    stamp, generation=number, toc=toc, boot=stamps.boot_id(), clean=True
                )
                with faults():
                    sync_all(folder)
                    stamps.write(folder, fresh, durable=True)
                    self._generations.publish(number)
            except BaseException:
                self._generations.discard(number)
                raise
        return fresh

    def is_rebuilding(self) -> bool:
        """Whether a rebuild runs just now, in any process."""
        return self._generations.is_rebuilding()

    def distrust(self) -> None:
        """Say that the index is damaged although its stamp is fine: it is unavailable from now on.

        Raises IndexUnavailable when even that is refused.
        """
        with faults():
            self._generations.forget()

    def close(self) -> None:
        """Give back all files that are not in use."""
        with self._guard:
            idle, self._idle = self._idle, []
        for _, opened in idle:
            opened.close()

    def _lock(self, timeout_s: float) -> tuple[Writing, Any]:
        number, engine, _ = self._open()
        lock = engine.lock("WRITELOCK")
        with faults():
            wait_for(lock.acquire, timeout_s)
        try:
            # A rebuild may have swapped generations, a writer moved the stamp while we waited.
            current, engine, stamp = self._open()
            if current != number:
                raise IndexUnavailable("the index was just rebuilt")
        except BaseException:
            lock.release()
            raise
        return Writing(engine, self._generations.path(number), stamp), lock

    def _open(self) -> tuple[int, Any, Stamp]:
        """Number, Whoosh index and trusted stamp of the generation that answers."""
        number = self._generations.current()
        folder = self._generations.path(number)
        with faults():
            stamp = stamps.read(folder)
            engine = FileIndex(FileStorage(str(folder)), SCHEMA)
            newest = engine.latest_generation()
        if stamp.generation != number or stamp.toc > newest:
            raise IndexUnavailable("the index is older than its stamp")
        if not stamp.clean and stamp.boot != stamps.boot_id():
            raise IndexUnavailable("the machine went down while the index was open")
        return number, engine, stamp

    def _reading(self, work: Callable[[Opened], Result]) -> Result:
        number, opened = self._again(self._take)
        try:
            with faults():
                result = work(opened)
        except BaseException:
            opened.close()
            raise
        self._give_back(number, opened)
        return result

    def _take(self) -> tuple[int, Opened]:
        """A searcher over the newest commit that nobody else uses."""
        number, engine, _ = self._open()
        with faults():
            toc = engine.latest_generation()
            with self._guard:
                idle, self._idle = self._idle, []
                fresh = [pair for pair in idle if pair[0] == number and pair[1].toc == toc]
                taken = fresh.pop() if fresh else None
                self._idle.extend(fresh)
            for pair in idle:
                if pair is not taken and pair not in fresh:
                    pair[1].close()
            return taken or (number, _searcher(engine))

    def _give_back(self, number: int, opened: Opened) -> None:
        with self._guard:
            if len(self._idle) < _IDLE_SEARCHERS:
                self._idle.append((number, opened))
                return
        opened.close()

    def _again(self, attempt: Callable[[], Result]) -> Result:
        """Retry what a commit or a rebuild may have pulled away between two of our steps."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return attempt()
            except IndexUnavailable:
                time.sleep(_RETRY_S)
        return attempt()


def _searcher(engine: Any) -> Opened:
    """A searcher over the newest commit.

    Not by Whoosh's own `searcher()`: that waits half a second for a file that is gone for good,
    and does not tell which commit it opened.
    """
    toc = engine._read_toc()
    reader = FileIndex._reader(engine.storage, toc.schema, toc.segments, toc.generation)
    return Opened(Searcher(reader, weighting=weighting()), toc.generation)


def _build(folder: Path, docs: Iterable[Doc]) -> int:
    """Write a whole Whoosh index into `folder`; gives its commit number."""
    with faults():
        engine = FileIndex.create(FileStorage(str(folder)), SCHEMA)
        writer = engine.writer(limitmb=REBUILD_MEMORY_MB)
    with cancelled_on_fault(writer):
        for doc in docs:
            with faults():
                writer.add_document(**fields(doc))
        with faults():
            writer.commit(merge=False)
    newest: int = engine.latest_generation()
    return newest
