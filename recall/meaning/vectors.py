"""The vectors of one bank and one embedder: a file that grows, and its arrays in memory.

A record is the fingerprint of a text, a check sum and the vector in half precision. It stays true
whatever becomes of the memory. What a crash or a damaged disk left of one is passed over and made
again: nothing here is the only copy of anything.
"""

import fcntl
import json
import os
import secrets
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from recall.meaning.bert import Floats

LARGEST_DIMENSION = 8_192
_MAGIC = b"vectors1"
_HEAD_BYTES = 24
"""The beginning of a file: what it is, the size of a vector, and a number drawn for this file."""

_BLOCK = 4_096
"""Rows that are compared at once: in full precision those of a small model take 6 MB."""

_PAGE = 8_192
"""Records that are read at once."""

_KEPT_BYTES = 150
"""What the place of a text costs in memory, about, beside its vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Up to which change of the journal every memory has a vector, and of how many texts."""

    seq: int
    uid: str
    texts: int


class Vectors:
    """What `folder` keeps for the embedder `identity`; nothing of another one is ever read.

    For any number of threads and processes. Raises OSError where the disk refuses.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        name = sha256(identity.encode()).hexdigest()[:16]
        self._folder = folder
        self._path = folder / f"{name}.vectors"
        self._stamp = folder / f"{name}.json"
        self._guard = Lock()
        self._begin(b"")

    def nearest(self, vector: Floats, count: int) -> list[tuple[str, float]]:
        """Fingerprints of the texts nearest to a vector, with their cosines, nearest first.

        None at all for a vector of another size.
        """
        with self._guard:
            self._read()
            keys, rows = self._keys[: self._count], self._rows[: self._count]
        if len(vector) != rows.shape[1] or not len(rows):
            return []
        # Block by block: numpy multiplies half precision slowly, and all in full takes much room.
        blocks = range(0, len(rows), _BLOCK)
        cosines = np.concatenate([_cosines(rows[at : at + _BLOCK], vector) for at in blocks])
        count = min(count, len(rows))
        best = np.argpartition(-cosines, count - 1)[:count]
        best = best[np.argsort(-cosines[best], kind="stable")]
        return [(f"fp{keys[place]:016x}", float(cosines[place])) for place in best]

    def cosines(self, vector: Floats, fingerprints: Collection[str]) -> dict[str, float]:
        """How near these texts are to a vector; those without one are left out."""
        with self._guard:
            self._read()
            places = {each: self._places.get(_key(each)) for each in fingerprints}
            rows = self._rows
        known = {each: place for each, place in places.items() if place is not None}
        if not known or len(vector) != rows.shape[1]:
            return {}
        told = _cosines(rows[list(known.values())], vector)
        return dict(zip(known, told.tolist(), strict=True))

    def missing(self, fingerprints: Collection[str]) -> set[str]:
        """Those that have no vector."""
        with self._guard:
            self._read()
            return {each for each in fingerprints if _key(each) not in self._places}

    def count(self) -> int:
        """How many texts have a vector."""
        with self._guard:
            self._read()
            return self._count

    def dimension(self) -> int:
        """How many numbers each has; 0 where there are none."""
        with self._guard:
            self._read()
            return int(self._rows.shape[1])

    def size(self) -> int:
        """How much memory it takes, bytes."""
        return self._rows.nbytes + self._keys.nbytes + _KEPT_BYTES * self._count

    def stamped(self) -> Filled | None:
        """How far the last whole fill came, as it was noted; nothing is looked through for it."""
        try:
            found = Filled(**json.loads(self._stamp.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None
        return found if self._path.exists() else None

    def filled(self) -> Filled | None:
        """The same; None when the file does not hold as much any more, which is noted then."""
        found = self.stamped()
        if found is not None and self.count() < found.texts:
            self._stamp.unlink(missing_ok=True)
            return None
        return found

    def append(self, fingerprints: Sequence[str], vectors: Floats) -> None:
        """Add vectors. Those of another size than before begin the file anew."""
        records = np.zeros(len(fingerprints), _record(vectors.shape[1]))
        records["key"] = [_key(each) for each in fingerprints]
        records["vector"] = vectors
        records["check"] = _checks(records)
        with self._writing() as file:
            if _dimension(os.pread(file, _HEAD_BYTES, 0)) != vectors.shape[1]:
                self._replace(_head(vectors.shape[1]) + records.tobytes())
                return
            # What a killed process wrote of a record would shift all that follow.
            extra = (os.fstat(file).st_size - _HEAD_BYTES) % records.dtype.itemsize
            os.ftruncate(file, os.fstat(file).st_size - extra)
            with os.fdopen(os.dup(file), "ab") as end:
                end.write(records.tobytes())

    def close_fill(self, seq: int, uid: str) -> None:
        """Say that every memory up to this change has a vector; it holds after a power loss too."""
        with self._writing() as file:
            os.fsync(file)
            filled = Filled(seq=seq, uid=uid, texts=self.count())
            _put(self._stamp, json.dumps(asdict(filled)).encode())

    def keep_only(self, fingerprints: Collection[str]) -> None:
        """Write the file anew without the vectors of other texts."""
        with self._writing(), self._guard:
            self._read()
            known = [(key, self._places.get(key)) for key in map(_key, fingerprints)]
            places = [place for _, place in known if place is not None]
            records = np.zeros(len(places), _record(self._rows.shape[1]))
            records["key"] = self._keys[places]
            records["vector"] = self._rows[places]
            records["check"] = _checks(records)
            self._replace(_head(self._rows.shape[1]) + records.tobytes())

    def discard(self) -> None:
        """Have all of them made again."""
        with self._writing():
            self._stamp.unlink(missing_ok=True)
            self._path.unlink(missing_ok=True)

    def drop_others(self) -> None:
        """Remove what other embedders left in the folder."""
        for path in self._folder.glob("*.vectors"):
            if path != self._path:
                path.with_suffix(".json").unlink(missing_ok=True)
                path.unlink(missing_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[int]:
        """The open file, while nobody else writes it."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(self._folder / "writing.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            file = os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600)
            try:
                yield file
            finally:
                os.close(file)
        finally:
            os.close(lock)

    def _replace(self, data: bytes) -> None:
        # The stamp tells of the other file.
        self._stamp.unlink(missing_ok=True)
        _put(self._path, data)

    def _begin(self, head: bytes) -> None:
        self._head, self._at, self._count = head, _HEAD_BYTES, 0
        self._places: dict[int, int] = {}
        self._keys = np.zeros(0, np.uint64)
        self._rows = np.zeros((0, _dimension(head)), np.float16)

    def _read(self) -> None:
        """Take in what was written since; all, where the file is another one."""
        try:
            file = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            self._begin(b"")
            return
        try:
            head = os.pread(file, _HEAD_BYTES, 0)
            if head != self._head:
                self._begin(head)
            width = _record(self._rows.shape[1]).itemsize
            while self._rows.shape[1]:
                raw = os.pread(file, _PAGE * width, self._at)
                whole = len(raw) // width
                if not whole:
                    break
                self._take(np.frombuffer(raw, _record(self._rows.shape[1]), whole))
                self._at += whole * width
        finally:
            os.close(file)

    def _take(self, records: NDArray[Any]) -> None:
        sound = records[records["check"] == _checks(records)]
        fresh: dict[int, int] = {}
        for place, key in enumerate(sound["key"].tolist()):
            if key not in self._places:
                fresh.setdefault(key, place)
        end = self._count + len(fresh)
        if end > len(self._keys):
            room = max(end, 2 * len(self._keys))
            self._keys = _grown(self._keys, self._count, room)
            self._rows = _grown(self._rows, self._count, room)
        chosen = sound[list(fresh.values())]
        self._keys[self._count : end] = chosen["key"]
        self._rows[self._count : end] = chosen["vector"]
        self._places |= zip(fresh, range(self._count, end), strict=True)
        self._count = end


def _record(dimension: int) -> np.dtype[Any]:
    return np.dtype([("key", "<u8"), ("check", "<u4"), ("vector", "<f2", (dimension,))])


def _head(dimension: int) -> bytes:
    return _MAGIC + dimension.to_bytes(4, "little") + secrets.token_bytes(12)


def _dimension(head: bytes) -> int:
    """Numbers of a vector; 0 where the file is none of ours."""
    if len(head) < _HEAD_BYTES or not head.startswith(_MAGIC):
        return 0
    told = int.from_bytes(head[len(_MAGIC) : len(_MAGIC) + 4], "little")
    return told if told <= LARGEST_DIMENSION else 0


def _key(fingerprint: str) -> int:
    return int(fingerprint[2:], 16)


def _checks(records: NDArray[Any]) -> list[int]:
    """The check sum that each record should have: over its key and its vector."""
    pairs = zip(records["key"], records["vector"], strict=True)
    return [zlib.crc32(vector.tobytes(), zlib.crc32(key.tobytes())) for key, vector in pairs]


def _cosines(rows: NDArray[np.float16], vector: Floats) -> Floats:
    return rows.astype(np.float32) @ vector


def _grown(array: NDArray[Any], count: int, room: int) -> NDArray[Any]:
    larger = np.zeros((room, *array.shape[1:]), array.dtype)
    larger[:count] = array[:count]
    return larger


def _put(path: Path, data: bytes) -> None:
    """Replace a file: a reader sees the old bytes or the new ones."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_bytes(data)
    fresh.replace(path)
