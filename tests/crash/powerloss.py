"""What a disk may hold after the power went: every state that a trace of system calls allows.

`RecordingDisk` writes the trace down, `states` enumerates. The model is stricter than the usual
file systems, so that no promise leans on one of them:

* bytes of a file that were not synced since may be there, absent, or there in part (a prefix of
  the calls in their order, the last one cut short);
* names (made, renamed, removed) whose folder was not synced since may be there or not, in their
  order within a folder; a rename between two folders is whole or absent, and is safe when both
  have been synced;
* what was synced is there, and a database commit or an acknowledgement is a mark in the trace.

SIGKILL shows none of this: the page cache survives it.
"""

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from banks.store.disk import Disk

ROOT = "."


@dataclass(frozen=True, slots=True)
class Made:
    folder: str
    name: str
    node: str
    is_folder: bool


@dataclass(frozen=True, slots=True)
class Renamed:
    folder: str
    name: str
    new_folder: str
    new_name: str


@dataclass(frozen=True, slots=True)
class Removed:
    folder: str
    name: str


@dataclass(frozen=True, slots=True)
class Written:
    node: str
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncated:
    node: str
    size: int


@dataclass(frozen=True, slots=True)
class Synced:
    node: str
    kind: str


@dataclass(frozen=True, slots=True)
class Mark:
    label: str
    payload: Any = None


NameEvent = Made | Renamed | Removed
DataEvent = Written | Truncated
Event = NameEvent | DataEvent | Synced | Mark
Names = dict[str, dict[str, str]]


class RecordingDisk(Disk):
    """Does what `Disk` does, but for the syncs, and writes down what changes below `root`.

    A node is a file or a folder whatever its name: the path at the start for what was there, a
    number for what is made. Nobody else may change the tree meanwhile.
    """

    def __init__(self, root: Path) -> None:
        self.trace: list[Event] = []
        self._root = str(root.absolute())
        self._names, _ = _load(root)
        self._nodes: dict[int, str] = {}
        self._numbers = itertools.count(1)

    def mark(self, label: str, payload: Any = None) -> None:
        """Note that something outside the disk happened: a commit, an acknowledgement."""
        self.trace.append(Mark(label, payload))

    def open(self, name: str, flags: int, mode: int = 0o644, *, dir_fd: int | None = None) -> int:
        fd = super().open(name, flags, mode, dir_fd=dir_fd)
        if dir_fd is None:
            assert name == self._root, "only the data folder is opened by its path"
            self._nodes[fd] = ROOT
            return fd
        folder = self._nodes[dir_fd]
        if name not in self._names[folder]:
            assert flags & os.O_CREAT, f"{name} was made by somebody else"
            self._made(folder, name, is_folder=False)
        self._nodes[fd] = self._names[folder][name]
        return fd

    def close(self, fd: int) -> None:
        self._nodes.pop(fd)
        super().close(fd)

    def write(self, fd: int, data: bytes) -> int:
        offset = os.fstat(fd).st_size
        count = super().write(fd, data)
        self.trace.append(Written(self._nodes[fd], offset, bytes(data[:count])))
        return count

    def ftruncate(self, fd: int, size: int) -> None:
        super().ftruncate(fd, size)
        self.trace.append(Truncated(self._nodes[fd], size))

    def fsync(self, fd: int) -> None:
        self.trace.append(Synced(self._nodes[fd], "fsync"))

    def fdatasync(self, fd: int) -> None:
        self.trace.append(Synced(self._nodes[fd], "fdatasync"))

    def mkdir(self, name: str, *, dir_fd: int) -> None:
        super().mkdir(name, dir_fd=dir_fd)
        self._made(self._nodes[dir_fd], name, is_folder=True)

    def rmdir(self, name: str, *, dir_fd: int) -> None:
        super().rmdir(name, dir_fd=dir_fd)
        self._happened(Removed(self._nodes[dir_fd], name))

    def unlink(self, name: str, *, dir_fd: int) -> None:
        super().unlink(name, dir_fd=dir_fd)
        self._happened(Removed(self._nodes[dir_fd], name))

    def rename(self, old: str, new: str, *, old_dir_fd: int, new_dir_fd: int) -> None:
        super().rename(old, new, old_dir_fd=old_dir_fd, new_dir_fd=new_dir_fd)
        self._happened(Renamed(self._nodes[old_dir_fd], old, self._nodes[new_dir_fd], new))

    def _made(self, folder: str, name: str, *, is_folder: bool) -> None:
        self._happened(Made(folder, name, f"#{next(self._numbers)}", is_folder))

    def _happened(self, event: NameEvent) -> None:
        _apply_name(self._names, event)
        self.trace.append(event)


@dataclass(frozen=True, slots=True)
class State:
    """A disk after power loss: files by path, folders, and the marks that had come before it."""

    files: Mapping[str, bytes]
    folders: frozenset[str]
    marks: tuple[Mark, ...]

    def has(self, label: str) -> bool:
        """Whether a mark of that label came before."""
        return any(mark.label == label for mark in self.marks)

    def payloads(self, label: str) -> list[Any]:
        """The payloads of the marks of that label, in their order."""
        return [mark.payload for mark in self.marks if mark.label == label]

    def materialise(self, target: Path) -> None:
        """Make this disk in an empty (or missing) folder."""
        target.mkdir(parents=True, exist_ok=True)
        for folder in sorted(self.folders):
            (target / folder).mkdir()
        for path, data in self.files.items():
            (target / path).write_bytes(data)


@dataclass(slots=True)
class _Model:
    """What is safe, and what is under way since the last syncs."""

    names: Names
    files: dict[str, bytes]
    data: dict[str, list[DataEvent]] = field(default_factory=dict)
    # Each with the folders whose sync it still waits for.
    moves: list[tuple[NameEvent, set[str]]] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    def take(self, event: Event) -> None:
        match event:
            case Mark():
                self.marks.append(event)
            case Synced(node):
                self._sync(node)
            case Written(node) | Truncated(node):
                self.data.setdefault(node, []).append(event)
            case Renamed(folder, _, new_folder):
                self.moves.append((event, {folder, new_folder}))
            case Made(folder) | Removed(folder):
                self.moves.append((event, {folder}))

    def _sync(self, node: str) -> None:
        for event in self.data.pop(node, []):
            self.files[node] = _apply_data(self.files.get(node, b""), event)
        for _, waits in self.moves:
            waits.discard(node)
        while self.moves and not self.moves[0][1]:
            _apply_name(self.names, self.moves.pop(0)[0])

    def trees(self) -> Iterator[Names]:
        """Every way in which the names can have come out."""
        folders = sorted(set().union(*(waits for _, waits in self.moves)))
        counts = [sum(folder in waits for _, waits in self.moves) for folder in folders]
        for cuts in itertools.product(*(range(count + 1) for count in counts)):
            left = dict(zip(folders, cuts, strict=True))
            names = {folder: dict(entries) for folder, entries in self.names.items()}
            for event, waits in self.moves:
                is_there = all(left[folder] > 0 for folder in waits)
                for folder in waits:
                    left[folder] -= 1
                if is_there:
                    _apply_name(names, event)
            yield names

    def contents(self, node: str) -> list[bytes]:
        """Every content that a file can have come out with, without repeats."""
        data = self.files.get(node, b"")
        found = [data]
        for event in self.data.get(node, []):
            if isinstance(event, Written):
                for size in sorted({1, len(event.data) // 2, len(event.data) - 1}):
                    part = Written(node, event.offset, event.data[:size])
                    found.append(_apply_data(data, part))
            data = _apply_data(data, event)
            found.append(data)
        return list(dict.fromkeys(found))

    def states(self) -> Iterator[State]:
        marks = tuple(self.marks)
        for names in self.trees():
            folders, nodes = _reachable(names)
            paths = sorted(nodes)
            for contents in itertools.product(*(self.contents(nodes[path]) for path in paths)):
                yield State(dict(zip(paths, contents, strict=True)), frozenset(folders), marks)


def states(trace: Sequence[Event], before: Path) -> Iterator[State]:
    """Each disk that power loss can leave at any point of the trace, without repeats.

    `before` is a copy of the tree as it was when the recording began.
    """
    model = _Model(*_load(before))
    seen: set[tuple[object, ...]] = set()
    for event in (None, *trace):
        if event is not None:
            model.take(event)
        for state in model.states():
            key = (tuple(state.files.items()), state.folders, len(state.marks))
            if key not in seen:
                seen.add(key)
                yield state


def syncs(trace: Sequence[Event], kind: str = "") -> list[int]:
    """The positions of the syncs in a trace: all, or those of one kind (fsync, fdatasync)."""
    return [
        position
        for position, event in enumerate(trace)
        if isinstance(event, Synced) and kind in {"", event.kind}
    ]


def without(trace: Sequence[Event], number: int, kind: str = "") -> list[Event]:
    """The trace as it would be without its n-th sync (from 0): every promise must break."""
    position = syncs(trace, kind)[number]
    return [*trace[:position], *trace[position + 1 :]]


def _load(root: Path) -> tuple[Names, dict[str, bytes]]:
    names: Names = {ROOT: {}}
    files: dict[str, bytes] = {}
    for path in sorted(root.rglob("*")):
        node = path.relative_to(root).as_posix()
        folder = path.parent.relative_to(root).as_posix()
        names[folder][path.name] = node
        if path.is_dir():
            names[node] = {}
        else:
            files[node] = path.read_bytes()
    return names, files


def _apply_name(names: Names, event: NameEvent) -> None:
    # A folder whose own name was lost still has entries; only nothing leads to it.
    entries = names.setdefault(event.folder, {})
    match event:
        case Made(_, name, node, is_folder):
            entries[name] = node
            if is_folder:
                names.setdefault(node, {})
        case Removed(_, name):
            entries.pop(name, "")
        case Renamed(_, name, new_folder, new_name):
            # Nothing to move when another folder lost what was moved here before.
            if node := entries.pop(name, ""):
                names.setdefault(new_folder, {})[new_name] = node


def _apply_data(data: bytes, event: DataEvent) -> bytes:
    match event:
        case Written(_, offset, piece):
            head = data[:offset].ljust(offset, b"\0")
            return head + piece + data[offset + len(piece) :]
        case Truncated(_, size):
            return data[:size].ljust(size, b"\0")


def _reachable(names: Names) -> tuple[list[str], dict[str, str]]:
    folders: list[str] = []
    files: dict[str, str] = {}
    stack = [("", ROOT)]
    while stack:
        prefix, folder = stack.pop()
        for name, node in names[folder].items():
            if node in names:
                folders.append(prefix + name)
                stack.append((f"{prefix}{name}/", node))
            else:
                files[prefix + name] = node
    return folders, files
