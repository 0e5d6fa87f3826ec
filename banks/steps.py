"""The steps of an operation: what each puts on disk, and how to tell whether it did.

A step is a value that survives in the operation's row. `do` puts it on disk (synced), `undo` takes
it back, `inspect` tells after a crash whether it got there, cutting out a torn part of ours first.
"""

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

from banks.store import edit, history, parse, tree
from banks.store.errors import FileChanged, FileMissing, NotAFile
from banks.store.files import Fingerprint, LockedBank

_TAIL_BYTES = 4


class Mark(Enum):
    """What is on disk of a step. FOREIGN: somebody changed that very place since."""

    DONE = "done"
    ABSENT = "absent"
    FOREIGN = "foreign"


def _pack(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _unpack(text: str) -> bytes:
    return base64.b64decode(text)


@dataclass(frozen=True, slots=True)
class Append:
    """New blocks at the end of an entry file. `offset`: its size when planned, None = no file."""

    name: ClassVar[str] = "append"
    path: str
    offset: int | None
    crlf: bool
    blocks: tuple[tuple[str, bytes], ...]

    def dump(self) -> dict[str, Any]:
        """The step as JSON."""
        blocks = [[key, _pack(data)] for key, data in self.blocks]
        return {"path": self.path, "offset": self.offset, "crlf": self.crlf, "blocks": blocks}

    @classmethod
    def load(cls, value: dict[str, Any]) -> "Append":
        """The step from its JSON."""
        blocks = tuple((key, _unpack(data)) for key, data in value["blocks"])
        return cls(value["path"], value["offset"], value["crlf"], blocks)

    def bytes_after(self, tail: bytes) -> bytes:
        """What is appended to a file that ends with `tail`."""
        newline = b"\r\n" if self.crlf else b"\n"
        out = b""
        for _, block in self.blocks:
            out += edit.appended((tail + out)[-_TAIL_BYTES:], block, newline)
        return out

    def do(self, locked: LockedBank) -> Fingerprint:
        """Append at the planned offset. Raises FileChanged when the file's size is another."""
        tail = locked.tail(self.path, _TAIL_BYTES)[0] if self.offset is not None else b""
        return locked.append(self.path, self.bytes_after(tail), offset=self.offset or 0)

    def undo(self, locked: LockedBank) -> None:
        """Take the blocks back, wherever they stand now; what somebody changed stays."""
        data, fingerprint = locked.read(self.path)
        ours = {parse.version(block) for _, block in self.blocks}
        left = data
        for span in reversed(parse.spans(data)):
            if parse.version(data[span.start : span.end]) in ours:
                left = left[: span.start].rstrip(b"\r\n") + left[span.end :]
        if left == data:
            return
        if self.offset is None and not left.strip():
            locked.remove(self.path, expect=fingerprint)
            return
        before = data[: self.offset or 0]
        whole = before if before.rstrip() == left.rstrip() else left
        locked.replace(self.path, whole, expect=fingerprint)

    def inspect(self, locked: LockedBank) -> tuple[Mark, "Append"]:
        """The mark, and the step that is left to do (same blocks, or the ones not there)."""
        try:
            data, _ = locked.read(self.path)
        except FileMissing:
            return Mark.ABSENT, Append(self.path, None, self.crlf, self.blocks)
        except NotAFile:
            return Mark.FOREIGN, self
        ids, versions = _ids_and_versions(data)
        missing = tuple(
            (key, block)
            for key, block in self.blocks
            if parse.version(block) not in versions and key not in ids
        )
        if missing:
            data = self._cut_torn(locked, data, missing[0])
        rest = Append(self.path, len(data), self.crlf, missing)
        return (Mark.ABSENT if len(missing) == len(self.blocks) else Mark.DONE), rest

    def _cut_torn(self, locked: LockedBank, data: bytes, first: tuple[str, bytes]) -> bytes:
        part = self._torn(data, first)
        if part is None:
            return data
        locked.cut(self.path, *part)
        return locked.read(self.path)[0]

    def _torn(self, data: bytes, first: tuple[str, bytes]) -> tuple[int, int] | None:
        """The byte range of a beginning of ours, if it may go: it reaches the end of the file
        (zeros of a torn write included) or holds our whole id."""
        start = min(self.offset or 0, len(data))
        wanted = self.bytes_after(data[max(0, start - _TAIL_BYTES) : start])
        length = _common(data[start:], wanted)
        end = start + length
        if not data[end:].strip(b"\0"):
            whole = _whole_blocks(data, start)
            return (max(start, whole), len(data)) if end > start or end < len(data) else None
        key, block = first
        opening = block[: block.find(key.encode()) + len(key)] + block[3:4]
        if opening in data[start:end]:
            return start, end
        found = data.find(opening)
        if found < 0:
            return None
        return found, found + _common(data[found:], block)


def _whole_blocks(data: bytes, start: int) -> int:
    """The end of the last complete block of ours behind `start` (a torn bulk keeps those)."""
    ends = [span.end for span in parse.spans(data) if span.start >= start and span.body is not None]
    return ends[-2] if len(ends) > 1 else start


def _common(left: bytes, right: bytes) -> int:
    length = min(len(left), len(right))
    if left[:length] == right[:length]:
        return length
    return next(i for i in range(length) if left[i] != right[i])


def _ids_and_versions(data: bytes) -> tuple[set[str], set[str]]:
    ids, versions = set(), set()
    for span in parse.spans(data):
        block = data[span.start : span.end]
        versions.add(parse.version(block))
        entry = parse.block(block).entry
        if entry is not None:
            ids.add(entry.id)
    return ids, versions


@dataclass(frozen=True, slots=True)
class Swap:
    """A block of a file that changes in place: where, whose, from which version to which bytes."""

    position: int
    key: str
    old: str
    block: bytes


@dataclass(frozen=True, slots=True)
class Edit:
    """Blocks of one entry file changed in place, in one replacement of the file."""

    name: ClassVar[str] = "edit"
    path: str
    swaps: tuple[Swap, ...]

    def dump(self) -> dict[str, Any]:
        """The step as JSON."""
        swaps = [[each.position, each.key, each.old, _pack(each.block)] for each in self.swaps]
        return {"path": self.path, "swaps": swaps}

    @classmethod
    def load(cls, value: dict[str, Any]) -> "Edit":
        """The step from its JSON."""
        swaps = (Swap(at, key, old, _unpack(block)) for at, key, old, block in value["swaps"])
        return cls(value["path"], tuple(swaps))

    def do(self, locked: LockedBank) -> Fingerprint:
        """Replace the blocks. Raises FileChanged when one is not what it was."""
        return self._swap(locked, {each.position: (each.old, each.block) for each in self.swaps})

    def _swap(self, locked: LockedBank, wanted: dict[int, tuple[str, bytes]]) -> Fingerprint:
        data, fingerprint = locked.read(self.path)
        spans = parse.spans(data)
        for position in sorted(wanted, reverse=True):
            old, block = wanted[position]
            span = spans[position] if position < len(spans) else None
            if span is None or parse.version(data[span.start : span.end]) != old:
                raise FileChanged("Somebody changed that entry in its file.")
            data = edit.splice(data, span, block)
        return locked.replace(self.path, data, expect=fingerprint)

    def undo(self, locked: LockedBank) -> None:
        """Put the old blocks back, out of their history (written just before this step), wherever
        the new ones stand now. One that somebody changed, or whose history is gone, stays."""
        data, _ = locked.read(self.path)
        places = {
            parse.version(data[span.start : span.end]): position
            for position, span in enumerate(parse.spans(data))
        }
        wanted = {}
        for each in self.swaps:
            new = parse.version(each.block)
            records, _ = history.decode(locked.history(tree.history_path(each.key)))
            old = [r.data for r in records if parse.version(r.data) == each.old]
            if new in places and old:
                wanted[places[new]] = (new, old[-1])
        if wanted:
            self._swap(locked, wanted)

    def inspect(self, locked: LockedBank) -> tuple[Mark, "Edit"]:
        """The mark, and the swaps that are left to do at the places where the blocks are now."""
        try:
            data, _ = locked.read(self.path)
        except (FileMissing, NotAFile):
            return Mark.FOREIGN, self
        versions = {
            parse.version(data[span.start : span.end]): position
            for position, span in enumerate(parse.spans(data))
        }
        if any(parse.version(each.block) in versions for each in self.swaps):
            return Mark.DONE, self
        left = tuple(
            Swap(versions[each.old], each.key, each.old, each.block)
            for each in self.swaps
            if each.old in versions
        )
        return (Mark.ABSENT if left else Mark.FOREIGN), Edit(self.path, left)


@dataclass(frozen=True, slots=True)
class Log:
    """A record at the end of a history log. `offset`: the log's size when planned."""

    name: ClassVar[str] = "log"
    path: str
    offset: int | None
    data: bytes

    def dump(self) -> dict[str, Any]:
        """The step as JSON."""
        return {"path": self.path, "offset": self.offset, "data": _pack(self.data)}

    @classmethod
    def load(cls, value: dict[str, Any]) -> "Log":
        """The step from its JSON."""
        return cls(value["path"], value["offset"], _unpack(value["data"]))

    def do(self, locked: LockedBank) -> Fingerprint:
        """Append the record."""
        return locked.append(self.path, self.data, offset=self.offset or 0)

    def undo(self, locked: LockedBank) -> None:
        """Take the record back, if it is the last one still."""
        log = locked.history(self.path)
        if log == self.data:
            locked.remove(self.path, expect=locked.tail(self.path, 0)[1])
        elif log.endswith(self.data):
            locked.truncate(self.path, len(log) - len(self.data))

    def inspect(self, locked: LockedBank) -> tuple[Mark, "Log"]:
        """The mark, and the step to do at the log's end as it is now, a torn tail cut off."""
        try:
            log = locked.history(self.path)
        except NotAFile:
            return Mark.FOREIGN, self
        if self.data in log:
            return Mark.DONE, self
        _, whole = history.decode(log)
        if whole < len(log):
            locked.truncate(self.path, whole)
        exists = bool(log) or self.offset is not None
        return Mark.ABSENT, Log(self.path, whole if exists else None, self.data)


@dataclass(frozen=True, slots=True)
class Put:
    """A whole file written anew (`data`), or removed (None). `old`: its version, "" = no file."""

    name: ClassVar[str] = "put"
    path: str
    old: str
    data: bytes | None

    def dump(self) -> dict[str, Any]:
        """The step as JSON."""
        data = None if self.data is None else _pack(self.data)
        return {"path": self.path, "old": self.old, "data": data}

    @classmethod
    def load(cls, value: dict[str, Any]) -> "Put":
        """The step from its JSON."""
        data = None if value["data"] is None else _unpack(value["data"])
        return cls(value["path"], value["old"], data)

    def _current(self, locked: LockedBank) -> tuple[str, Fingerprint | None]:
        try:
            data, fingerprint = locked.read(self.path)
        except FileMissing:
            return "", None
        return parse.version(data), fingerprint

    def do(self, locked: LockedBank) -> Fingerprint | None:
        """Write or remove the file. Raises FileChanged when it is not what it was."""
        version, fingerprint = self._current(locked)
        if version != self.old:
            raise FileChanged("Somebody changed that file.")
        if self.data is not None:
            return locked.replace(self.path, self.data, expect=fingerprint)
        if fingerprint is not None:
            locked.remove(self.path, expect=fingerprint)
        return None

    def undo(self, locked: LockedBank) -> None:
        """A file of one step is whole or absent: there is nothing behind it to take back."""

    def inspect(self, locked: LockedBank) -> tuple[Mark, "Put"]:
        """The mark and the step itself."""
        try:
            version, _ = self._current(locked)
        except NotAFile:
            return Mark.FOREIGN, self
        if version == ("" if self.data is None else parse.version(self.data)):
            return Mark.DONE, self
        return (Mark.ABSENT if version == self.old else Mark.FOREIGN), self


Step = Append | Edit | Log | Put

_STEPS: dict[str, type[Append] | type[Edit] | type[Log] | type[Put]] = {
    step.name: step for step in (Append, Edit, Log, Put)
}


def dump(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """Steps as the JSON of an operation's row."""
    return [{"step": step.name, **step.dump()} for step in steps]


def load(values: Sequence[dict[str, Any]]) -> list[Step]:
    """Steps from the JSON of an operation's row."""
    return [_STEPS[value["step"]].load(value) for value in values]
