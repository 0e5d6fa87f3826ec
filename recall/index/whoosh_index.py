"""The index of one bank: a guest that may be deleted and rebuilt at any time.

Nothing is ever wiped or rebuilt implicitly: a fault goes up as IndexUnavailable.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from whoosh.filedb.filestore import FileStorage
from whoosh.index import TOC, FileIndex
from whoosh.searching import Searcher

from recall.index import stamp as stamps
from recall.index.candidates import Filters, Found, Opened, candidates, weighting
from recall.index.errors import IndexUnavailable
from recall.index.faults import cancelled_on_fault, faults
from recall.index.folder import Generations, newest_commit, sync_all, wait_for
from recall.index.schema import FORMAT, RETIRED, SCHEMA, Doc, fields
from recall.index.segments import Commit
from recall.index.stamp import Stamp
from recall.index.writing import Writing

if TYPE_CHECKING:
    from recall.index.packed import Snapshot

logger = logging.getLogger(__name__)

LOCK_TIMEOUT_S = 10.0
"""How long a writer waits for another one, seconds."""

MANY_SEGMENTS = 16
"""Above so many segments an index wants `compact` (a save adds one)."""

REBUILD_MEMORY_MB = 32
"""Postings that a rebuild keeps in memory before it spills them, megabytes."""

PROBE_TERMS = 8
PROBE_POSTINGS = 2_000
"""How many terms, with so many documents all together, are searched by both paths once."""

_ATTEMPTS = 5
_RETRY_S = 0.005
_IDLE_SEARCHERS = 2

Result = TypeVar("Result")


def version(language: str) -> str:
    """What a stamp's `version` must be for terms of `language`; anything else: rebuild."""
    return f"{FORMAT}/{language}"


@dataclass(slots=True)
class _View:
    """The newest commit of the generation that answers."""

    number: int
    toc: int
    storage: Any
    commit: Commit
    snapshot: "Snapshot | None" = None


class Index:
    """One bank's index in `folder`, for any number of threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._generations = Generations(folder)
        self._view: _View | None = None
        self._idle: list[tuple[int, Opened]] = []
        self._guard = Lock()
        self._probed = 0
        self._distrusted = 0

    def stamp(self) -> Stamp:
        """Where the index stands. Raises IndexUnavailable when it must not be trusted.

        That is: no index, an older one than its stamp, or a stamp of an earlier boot without a
        clean close (Whoosh never syncs). Format and language are for the caller to compare.
        """
        return self._again(self._look)[1]

    def search(
        self, terms: Sequence[str], *, limit: int, filters: Filters | None = None
    ) -> list[Found]:
        """Up to `limit` candidates, best first. Raises IndexUnavailable for any fault.

        By arrays, or by Whoosh itself where numpy is missing or the two gave different answers.
        """
        wanted, view = filters or Filters(), self._newest()
        try:
            snapshot = self._packed(view)
            if snapshot is not None:
                with faults():
                    return snapshot.search(terms, limit=limit, filters=wanted)
        except IndexUnavailable as fault:
            # If the files are damaged, Whoosh will say so too.
            self._distrust_arrays(view, type(fault.__cause__).__name__)
        return self._reading(lambda opened: candidates(opened, terms, limit=limit, filters=wanted))

    def paths_agree(self) -> bool:
        """Whether the arrays, if there are any, give what Whoosh gives (for the doctor)."""
        arrays = _arrays()
        return arrays is None or self._again(lambda: self._probe(arrays))

    def known_entities(self, labels: Collection[str]) -> frozenset[str]:
        """Those of `labels` that an indexed memory has as an entity."""
        commit = self._newest().commit
        with faults():
            return frozenset(label for label in labels if commit.has("entities", label))

    def frequencies(self, terms: Iterable[str]) -> tuple[list[int], int]:
        """How many documents have each of `terms`, and how many there are: what scores count by."""
        commit = self._newest().commit
        with faults():
            return [commit.frequency("terms", term) for term in terms], commit.count

    def ids(self) -> set[str]:
        """Ids of all documents, retired ones too (for the doctor)."""
        commit = self._newest().commit
        with faults():
            return set(commit.ids(set(range(commit.count)) - commit.deleted))

    def retired_ids(self) -> set[str]:
        """Ids of the documents that are indexed as not live (for the doctor)."""
        commit = self._newest().commit
        with faults():
            return set(commit.ids(commit.numbers("retired", RETIRED)))

    def beside(self, keys: Iterable[str]) -> set[str]:
        """Ids of the documents whose terms hold the text of one of these memories."""
        commit = self._newest().commit
        with faults():
            return {id_ for key in keys for id_ in commit.ids(commit.numbers("beside", key))}

    def segment_count(self) -> int:
        """How many segments the index has; above `MANY_SEGMENTS` it wants `compact`."""
        return len(self._newest().commit.segments)

    def packed_bytes(self) -> int:
        """How much memory the arrays take, bytes."""
        view = self._view
        return view.snapshot.size() if view and view.snapshot else 0

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
        """Give back all files and arrays that are not in use."""
        with self._guard:
            idle, self._idle, self._view = self._idle, [], None
        for _, opened in idle:
            opened.close()

    def _lock(self, timeout_s: float) -> tuple[Writing, Any]:
        view, _ = self._look()
        with faults():
            engine = FileIndex(view.storage, SCHEMA)
            lock = engine.lock("WRITELOCK")
            wait_for(lock.acquire, timeout_s)
        try:
            # A rebuild may have swapped generations, a writer moved the stamp while we waited.
            current, stamp = self._look()
            if current.number != view.number:
                raise IndexUnavailable("the index was just rebuilt")
        except BaseException:
            lock.release()
            raise
        folder = self._generations.path(view.number)
        return Writing(engine, folder, stamp, lambda: self._look()[0].commit), lock

    def _newest(self) -> _View:
        return self._again(self._look)[0]

    def _look(self) -> tuple[_View, Stamp]:
        """The newest commit and the trusted stamp of the generation that answers.

        Two small files and a list of names are read: what another process wrote is seen. The rest
        is read once a commit, and of it only what is new.
        """
        number = self._generations.current()
        folder = self._generations.path(number)
        with faults():
            stamp, toc = stamps.read(folder), newest_commit(folder)
        if stamp.generation != number or stamp.toc > toc:
            raise IndexUnavailable("the index is older than its stamp")
        if not stamp.clean and stamp.boot != stamps.boot_id():
            raise IndexUnavailable("the machine went down while the index was open")
        view = self._view
        if view is None or (view.number, view.toc) != (number, toc):
            before = view if view and view.number == number else None
            with faults():
                view = _opened_view(folder, number, toc, before)
            self._view = view
        return view, stamp

    def _packed(self, view: _View) -> "Snapshot | None":
        """The arrays of a commit; None where they cannot be had or were found wrong."""
        arrays = _arrays()
        if arrays is None or view.number == self._distrusted:
            return None
        if view.snapshot is None:
            with faults():
                view.snapshot = arrays(view.commit)
        if view.number != self._probed:
            if not self.paths_agree():
                self._distrust_arrays(view, "another answer")
                return None
            self._probed = view.number
        return view.snapshot

    def _probe(self, arrays: "type[Snapshot]") -> bool:
        view, _ = self._look()
        with faults():
            opened = _searcher(view)
            try:
                return _agree(arrays(view.commit), opened)
            finally:
                # Not kept for a later search: in it are copies of whole files.
                opened.close()

    def _distrust_arrays(self, view: _View, reason: str) -> None:
        self._distrusted = view.number
        logger.warning("index is searched without arrays reason=%s", reason)

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
        view, _ = self._look()
        number, toc = view.number, view.toc
        with faults():
            with self._guard:
                idle, self._idle = self._idle, []
                fresh = [pair for pair in idle if pair[0] == number and pair[1].toc == toc]
                taken = fresh.pop() if fresh else None
                self._idle.extend(fresh)
            for pair in idle:
                if pair is not taken and pair not in fresh:
                    pair[1].close()
            return taken or (number, _searcher(view))

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


def _opened_view(folder: Path, number: int, toc: int, before: _View | None) -> _View:
    """A commit, with what can be taken over from the one `before`."""
    storage = FileStorage(str(folder))
    described = TOC.read(storage, "MAIN", gen=toc, schema=SCHEMA).segments
    commit = Commit(described, folder, before.commit if before else None)
    view = _View(number, toc, storage, commit)
    if before and before.snapshot:
        view.snapshot = type(before.snapshot)(commit, before.snapshot)
    return view


def _searcher(view: _View) -> Opened:
    """A searcher over a commit.

    Not by Whoosh's own `searcher()`: that waits half a second for a file that is gone for good,
    and does not tell which commit it opened.
    """
    described = TOC.read(view.storage, "MAIN", gen=view.toc, schema=SCHEMA).segments
    reader = FileIndex._reader(view.storage, SCHEMA, described, view.toc)
    return Opened(Searcher(reader, weighting=weighting()), view.toc)


def _arrays() -> "type[Snapshot] | None":
    """The faster path, where numpy is installed."""
    try:
        from recall.index.packed import Snapshot  # noqa: PLC0415  everything works without it
    except ImportError:
        return None
    return Snapshot


def _agree(snapshot: "Snapshot", opened: Opened) -> bool:
    """Whether both paths give the same for a few terms."""
    terms, filters = opened.some_terms(PROBE_TERMS, PROBE_POSTINGS), Filters()
    return candidates(opened, terms, limit=PROBE_POSTINGS, filters=filters) == snapshot.search(
        terms, limit=PROBE_POSTINGS, filters=filters
    )


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
