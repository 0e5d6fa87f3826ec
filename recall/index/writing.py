"""Changes to an index, while the caller holds its writer lock."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from whoosh.writing import MERGE_SMALL

from recall.index import stamp as stamps
from recall.index.faults import cancelled_on_fault, faults
from recall.index.folder import sync_all
from recall.index.schema import Doc, fields
from recall.index.segments import Commit
from recall.index.stamp import Stamp

LARGE_SEGMENT = 5_000
"""Documents of a segment that is merged with no other: about 1,500 are merged a second."""


class Writing:
    """The index while its writer lock is held: read cursor and rows now, then apply."""

    def __init__(
        self, engine: Any, folder: Path, stamp: Stamp, newest: Callable[[], Commit]
    ) -> None:
        self._engine = engine
        self._folder = folder
        self._newest = newest
        self.stamp = stamp

    def apply(self, upserts: Iterable[Doc], deletes: Iterable[str], stamp: Stamp) -> None:
        """Make the index hold `upserts` and not `deletes`, and stand at `stamp`.

        Applying the same again ends in the same state; of several docs with one id the last
        counts. Raises IndexUnavailable when the index is damaged or the disk refuses: the
        stamp is then the old one still, so that the same changes are applied again.
        """
        docs = {doc.id: doc for doc in upserts}
        gone = set(deletes) | docs.keys()
        if gone:
            self._soil()
            with faults():
                self._write(docs.values(), gone)
        # The caller's stamp may still say "clean": it was read before this change.
        self._store(replace(stamp, clean=self.stamp.clean))

    def compact(self, *, full: bool = False) -> None:
        """Merge small segments; with `full` all into one, without the deleted documents.

        Those of more than `LARGE_SEGMENT` documents stay, so that it takes seconds at most.
        """
        self._soil()
        with faults():
            writer = self._engine.writer(_lk=False)
            with cancelled_on_fault(writer):
                writer.commit(optimize=full, mergetype=None if full else _small_ones)
        self._store(self.stamp)

    def settle(self) -> None:
        """Sync everything and say so: then the index is trusted after a reboot too."""
        with faults():
            sync_all(self._folder)
        self._store(replace(self.stamp, clean=True), durable=True)

    def _write(self, docs: Collection[Doc], gone: set[str]) -> None:
        commit = self._newest()
        old = [number for key in gone for number in commit.numbers("id", key)]
        writer = self._engine.writer(_lk=False)
        with cancelled_on_fault(writer):
            for number in old:
                writer.delete_document(number)
            for doc in docs:
                writer.add_document(**fields(doc))
            writer.commit(merge=False)

    def _soil(self) -> None:
        """Before the first change after a clean close the stamp must stop saying "clean"."""
        if self.stamp.clean:
            self._store(replace(self.stamp, clean=False), durable=True)

    def _store(self, stamp: Stamp, *, durable: bool = False) -> None:
        with faults():
            self.stamp = replace(
                stamp,
                generation=self.stamp.generation,
                toc=self._engine.latest_generation(),
                boot=stamps.boot_id(),
            )
            stamps.write(self._folder, self.stamp, durable=durable)


def _small_ones(writer: Any, segments: list[Any]) -> list[Any]:
    """Whoosh's policy of tiers, without large segments; the segments that stay."""
    large = [each for each in segments if each.doc_count_all() > LARGE_SEGMENT]
    kept: list[Any] = MERGE_SMALL(writer, [each for each in segments if each not in large])
    return large + kept
