"""A commit and its segments, read from Whoosh's own files without its readers.

Those copy whole files into memory for each commit and may not be shared by threads. A segment never
changes after it was written (deletions are in the table of contents), so any number of threads may
read one, and what was read from it stays true in every later commit.
"""

import os
import pickle
import struct
import weakref
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import md5
from io import BytesIO
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

from whoosh.codec.whoosh3 import STORED_COLUMN
from whoosh.filedb.structfile import BufferFile

HELD_BYTES = 65_536
"""A segment file up to this size is read at once; of a larger one a descriptor stays open."""

_HEAD = struct.Struct("!qi")
_LENGTHS = struct.Struct("!ii")
_SLOT = struct.Struct("!Iq")
_TABLE = struct.Struct("!qi")
_INT = struct.Struct("!i")
_FIELD = struct.Struct("!H")
_TERM = struct.Struct("!BfIBBfII")
_EXTENT = struct.Struct("!qi")
_TABLES = 256 * _TABLE.size
_MD5 = 0
_HASH_MAGIC, _POSTINGS_MAGIC = b"HSH3", b"W3Bl"

Block = tuple[int, tuple[int, ...], tuple[float, ...] | float | None]


class _File:
    """Bytes of a file by their place. Not a memory map: a cut file would end the process."""

    def __init__(self, path: Path) -> None:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        close = weakref.finalize(self, os.close, descriptor)
        self._descriptor = descriptor
        self._held: bytes | None = None
        if os.fstat(descriptor).st_size <= HELD_BYTES:
            self._held = os.pread(descriptor, HELD_BYTES, 0)
            close()

    def read(self, start: int, size: int) -> bytes:
        """Exactly so many bytes. Raises EOFError, ValueError, OSError."""
        if start < 0 or size < 0:
            raise ValueError("a place outside the file")
        if self._held is None:
            found = os.pread(self._descriptor, size, start)
        else:
            found = self._held[start : start + size]
        if len(found) != size:
            raise EOFError("the file is too short")
        return found


class Segment:
    """A segment of a commit, by Whoosh's description of it.

    Raises whatever reading a damaged file raises: calls belong inside `faults()`.
    """

    def __init__(self, described: Any, folder: Path) -> None:
        self.count: int = described.doc_count_all()
        self._name = described.make_filename
        self._file = _File(folder / self._name(".seg"))
        place, size = _HEAD.unpack(self._file.read(0, _HEAD.size))
        self._files = pickle.loads(self._file.read(place, size))  # noqa: S301  as Whoosh does
        self._postings = self._range(".pst")[0]
        self._read_tables()

    def column(self, name: str) -> bytes:
        """The bytes of a column; none when no document has a value there."""
        suffix = f".{name}.col"
        return self._file.read(*self._range(suffix)) if self._name(suffix) in self._files else b""

    def id_of(self, number: int) -> str:
        """Id of a document, by its number here."""
        found: str = self._stored[number]["id"]
        return found

    def has(self, field: str, label: str) -> bool:
        """Whether a document has the term, deleted ones too."""
        return self._find(field, label) is not None

    def frequency(self, field: str, term: str) -> int:
        """How many documents have a term, deleted ones too."""
        place = self._find(field, term)
        if place is None:
            return 0
        found: int = _TERM.unpack(self._file.read(place, _TERM.size))[2]
        return found

    def blocks(self, field: str, term: str) -> list[Block]:
        """Postings of a term, at most 128 a block; none when no document has it.

        Of each block its last number, the distances between numbers (the first from 0), and the
        weights: one for all, or None for 1.0.
        """
        place = self._find(field, term)
        if place is None:
            return []
        entry = self._file.read(place, _TERM.size + _EXTENT.size)
        if _TERM.unpack_from(entry)[0]:
            raise ValueError("postings inside the table of terms")
        start, size = _EXTENT.unpack_from(entry, _TERM.size)
        return list(_blocks(self._file.read(self._postings + start, size)))

    def numbers(self, field: str, label: str) -> list[int]:
        """Numbers of the documents with a label, deleted ones too, in order."""
        blocks = self.blocks(field, label)
        return [number for _, distances, _ in blocks for number in accumulate(distances)]

    @cached_property
    def _stored(self) -> Any:
        # Whoosh's own reader of this column keeps no place: threads may share it.
        raw = self.column("_stored")
        return STORED_COLUMN.reader(BufferFile(raw), 0, len(raw), self.count)

    def _range(self, suffix: str) -> tuple[int, int]:
        entry = self._files[self._name(suffix)]
        return entry["offset"], entry["length"]

    def _read_tables(self) -> None:
        """Whoosh's table of terms: entries, 256 hash tables of their places, places of these."""
        self._terms, size = self._range(".trm")
        magic = self._file.read(self._terms, len(_HASH_MAGIC) + 1)
        if magic != _HASH_MAGIC + bytes([_MD5]):
            raise ValueError("another kind of table of terms")
        end = self._terms + size - _INT.size
        rest = _INT.unpack(self._file.read(end, _INT.size))[0]
        self._fields = pickle.loads(self._file.read(end - rest, rest))["fieldmap"]  # noqa: S301
        directory = end - rest - _TABLES
        self._tables = list(_TABLE.iter_unpack(self._file.read(directory, _TABLES)))
        self._first = self._tables[0][0]
        start = self._terms + self._first
        self._slots = self._file.read(start, directory - start)

    def _find(self, field: str, term: str) -> int | None:
        """Where in the file the entry of a term begins."""
        number = self._fields.get(field)
        if number is None:
            return None
        key = _FIELD.pack(number) + term.encode(errors="surrogatepass")
        wanted = int.from_bytes(md5(key, usedforsecurity=False).digest()[-4:], "big")
        table, slots = self._tables[wanted & 255]
        for step in range(slots):
            slot = ((wanted >> 8) + step) % slots
            hashed, item = _SLOT.unpack_from(self._slots, table - self._first + slot * _SLOT.size)
            if not item:
                return None
            if hashed == wanted:
                place: int = self._terms + item
                entry = self._file.read(place, _LENGTHS.size + len(key))
                size = _LENGTHS.unpack_from(entry)[0]
                if size == len(key) and entry[_LENGTHS.size :] == key:
                    return place + len(entry)
        return None


class Commit:
    """The documents of one commit: those of its segments, numbered one behind the other.

    Segments that an earlier commit had open are taken over from it.
    """

    def __init__(self, described: Sequence[Any], folder: Path, before: "Commit | None") -> None:
        had = before.segments if before else {}
        self.segments: dict[str, Segment] = {}
        for each in described:
            name = each.segment_id()
            self.segments[name] = had.get(name) or Segment(each, folder)
        counts = (segment.count for segment in self.segments.values())
        self.spans = list(pairwise(accumulate(counts, initial=0)))
        self.count = self.spans[-1][1] if self.spans else 0
        self.words = sum(each._fieldlengths.get("terms", 0) for each in described)
        self.deleted = frozenset(
            start + number
            for (start, _), each in zip(self.spans, described, strict=True)
            for number in each.deleted_docs()
        )

    def has(self, field: str, label: str) -> bool:
        """Whether a document has the label, deleted ones too."""
        return any(segment.has(field, label) for segment in self.segments.values())

    def frequency(self, field: str, term: str) -> int:
        """How many documents have a term, deleted ones too: so scores count them."""
        return sum(segment.frequency(field, term) for segment in self.segments.values())

    def numbers(self, field: str, label: str) -> set[int]:
        """Numbers of the documents that carry a label."""
        return {
            start + number
            for (start, _), segment in zip(self.spans, self.segments.values(), strict=True)
            for number in segment.numbers(field, label)
        } - self.deleted

    def ids(self, numbers: Iterable[int]) -> list[str]:
        """Ids of documents, in the same order."""
        segments, starts = list(self.segments.values()), [start for start, _ in self.spans]
        found = []
        for number in numbers:
            place = bisect_right(starts, number) - 1
            found.append(segments[place].id_of(number - starts[place]))
        return found


def _blocks(raw: bytes) -> Iterator[Block]:
    if not raw.startswith(_POSTINGS_MAGIC):
        raise ValueError("no postings there")
    place, size = len(_POSTINGS_MAGIC), 1
    # The size of the last block is negative.
    while size > 0:
        size = _INT.unpack_from(raw, place)[0]
        place += _INT.size
        block = BytesIO(raw[place : place + abs(size)])
        _, last, _, compressed, _, _ = pickle.load(block)  # noqa: S301  as Whoosh does
        data = block.read()
        distances, weights, _ = pickle.loads(zlib.decompress(data) if compressed else data)  # noqa: S301
        yield last, distances, weights
        place += abs(size)
