"""The files of one bank: lock, look, read, append, replace, remove. `files` is its front door.

Paths are relative to the bank's folder, with `/`. Every one is checked part by part and walked
with folder descriptors that follow no link, so that nothing leaves the data folder. What is in a
file is not known here, and nothing is kept between two calls.
"""

import itertools
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from banks.store import disk as d
from banks.store import tree
from banks.store.disk import Disk, Fingerprint
from banks.store.errors import FileChanged, FileMissing, FolderMoved, NotAFile
from banks.store.scan import HISTORY_FOLDERS, Scan, history_logs

TEMP_PREFIX = ".mc-tmp-"
READ_TRIES = 5
CHUNK_BYTES = 256 * 1024


def _parts(path: str) -> list[str]:
    """The checked parts of a file's path; only the history folder may be hidden. InvalidName."""
    parts = path.split("/")
    is_history = parts[0] == tree.HISTORY_FOLDER and len(parts) > 1
    for part in parts[1:] if is_history else parts:
        d.check_component(part)
    return parts


class BankFolder:
    """The folder of one bank, for reading; `lock` gives the one that writes."""

    def __init__(
        self, root: Path, name: str, disk: Disk, is_in_use: Callable[[], bool] | None = None
    ) -> None:
        """`is_in_use` is asked by whoever got the lock: False when the banks lie elsewhere now."""
        self.name = name
        self._root = root
        self._disk = disk
        self._is_in_use = is_in_use

    @contextmanager
    def _top(self) -> Iterator[int]:
        """The open folder. Raises FolderMoved, DiskFault when the data folder is not there."""
        with d.root_opened(self._disk, str(self._root)) as root:
            try:
                fd = self._disk.open(self.name, d.FOLDER, dir_fd=root)
            except OSError as error:
                refused = d.refusal(error, self.name)
                if isinstance(refused, FileMissing | NotAFile):
                    raise self._moved() from error
                raise refused from error
            try:
                yield fd
            finally:
                d.close_quietly(self._disk, fd)

    @staticmethod
    def _moved() -> FolderMoved:
        return FolderMoved("The bank's folder is not there any more. Look for its new name.")

    @contextmanager
    def _parent(self, path: str) -> Iterator[tuple[int, str]]:
        """The open folder of a file and its name in there, walked anew at every call."""
        *folders, leaf = _parts(path)
        with self._top() as top, d.descended(self._disk, top, folders) as fd:
            yield fd, leaf

    @contextmanager
    def _reader(self, path: str) -> Iterator[int]:
        with (
            self._parent(path) as (folder, leaf),
            d.opened(self._disk, leaf, d.READ, dir_fd=folder) as fd,
        ):
            d.plain_size(self._disk, fd, path)
            yield fd

    def exists(self) -> bool:
        """Whether the folder is there, and no link. Raises DiskFault without a data folder."""
        with d.root_opened(self._disk, str(self._root)) as root:
            return d.is_folder(d.status_of(self._disk, self.name, dir_fd=root))

    def look(self) -> dict[str, Fingerprint]:
        """The files the bank consists of, sorted by folder and name: entry files, rules, routers,
        `bank.yaml`. Raises FolderMoved; DiskFault when a part cannot be listed, so that it does
        not pass for empty."""
        return self._scan().found

    def ignored(self) -> list[tuple[str, str]]:
        """Paths that a look passes over, with a code: `link`, `dropping`, `name`, `not_a_file`,
        `too_deep`. Files that are nobody's business (a README) are not among them."""
        return self._scan().ignored

    def _scan(self) -> Scan:
        scan = Scan(self._disk)
        with self._top() as top, d.faults(certain=True):
            scan.walk(top)
        return scan

    def read(self, path: str) -> tuple[bytes, Fingerprint]:
        """The bytes of a file and its fingerprint from before they were read.

        While somebody goes on writing, the last try is given: its fingerprint is then an old one,
        so the next look reads again. Raises FileMissing, NotAFile, InvalidName.
        """
        with self._reader(path) as fd, d.faults(certain=True):
            for _ in range(READ_TRIES):
                before = Fingerprint.of(self._disk.fstat(fd))
                data = d.pread_all(self._disk, fd, before.size, 0)
                if Fingerprint.of(self._disk.fstat(fd)) == before:
                    break
        return data, before

    def tail(self, path: str, size_bytes: int) -> tuple[bytes, Fingerprint]:
        """The last bytes of a file, at most so many, and its fingerprint. Errors as `read`."""
        with self._reader(path) as fd, d.faults(certain=True):
            before = Fingerprint.of(self._disk.fstat(fd))
            size = min(size_bytes, before.size)
            return d.pread_all(self._disk, fd, size, before.size - size), before

    def chunks(self, path: str) -> Iterator[bytes]:
        """The bytes of a file, some at a time, up to where it ended at first. Errors as `read`."""
        with self._reader(path) as fd, d.faults(certain=True):
            place, end = 0, self._disk.fstat(fd).st_size
            while piece := self._disk.pread(fd, min(CHUNK_BYTES, end - place), place):
                yield piece
                place += len(piece)

    def logs(self, folders: Iterable[str] = HISTORY_FOLDERS) -> list[str]:
        """Sorted paths of the logs of earlier revisions that are there; none without a folder."""
        with self._top() as top, d.faults(certain=True):
            return history_logs(self._disk, top, folders)

    def history(self, path: str) -> bytes:
        """The bytes of a log; empty when there is none."""
        try:
            return self.read(path)[0]
        except FileMissing:
            return b""

    def git_busy(self) -> bool:
        """Whether git is at work on the bank's folder or on the data folder."""
        with d.root_opened(self._disk, str(self._root)) as root, self._top() as top:
            return any(d.has_git_lock(self._disk, fd) for fd in (root, top))

    @contextmanager
    def lock(self, timeout_s: float) -> "Iterator[LockedBank]":
        """Holds the bank's write lock, across threads and processes; 0 s = one try.

        Raises LockTimeout; FolderMoved when the folder went elsewhere while we waited. Whoever
        needs the data folder's lock as well takes that one first.
        """
        with self._top() as fd, d.flocked(self._disk, fd, timeout_s):
            with d.faults(certain=True), d.root_opened(self._disk, str(self._root)) as root:
                there = d.status_of(self._disk, self.name, dir_fd=root)
                if there is None or not os.path.samestat(there, self._disk.fstat(fd)):
                    raise self._moved()
            d.check_in_use(self._is_in_use)
            locked = LockedBank(self._root, self.name, self._disk, fd)
            try:
                yield locked
            finally:
                locked.release()


class LockedBank(BankFolder):
    """A bank whose lock we hold. All writing of its files is here."""

    def __init__(self, root: Path, name: str, disk: Disk, fd: int) -> None:
        super().__init__(root, name, disk)
        self._fd: int | None = fd

    def release(self) -> None:
        """Called by `lock` at its end: from here on nothing can be written through this."""
        self._fd = None

    @contextmanager
    def _top(self) -> Iterator[int]:
        if self._fd is None:
            raise ValueError("the bank's lock was given back")
        yield self._fd

    def make_folders(self, folders: Iterable[str]) -> None:
        """Make these folders and those above them, durably; those that are there stay."""
        for folder in folders:
            self._make(_parts(f"{folder}/file")[:-1])

    def _make(self, folders: list[str]) -> None:
        with self._top() as top:
            for depth, name in enumerate(folders):
                with d.descended(self._disk, top, folders[:depth]) as above:
                    d.make_folder(self._disk, name, dir_fd=above)

    def _status(self, path: str) -> os.stat_result | None:
        """What is at that path now, a link as itself; None when nothing is."""
        try:
            with self._parent(path) as (folder, leaf):
                return d.status_of(self._disk, leaf, dir_fd=folder)
        except FileMissing:
            return None

    def _expect(self, path: str, expect: Fingerprint | None) -> os.stat_result | None:
        status = self._status(path)
        if (None if status is None else Fingerprint.of(status)) != expect:
            raise self._changed(path, "before")
        return status

    @staticmethod
    def _changed(path: str, stage: str) -> FileChanged:
        message = "Somebody else changed the file just now. Try again."
        return FileChanged(message, path=path, stage=stage)

    def append(self, path: str, data: bytes, *, offset: int | None) -> Fingerprint:
        """Add bytes to the end of a file, durably; its fingerprint afterwards.

        `offset` is the size that the file must have: 0 = empty or to be made (its folders too),
        None = wherever it ends, or to be made. Raises FileChanged with `stage` "before" (another
        size or gone: nothing was written) or "after" (written, but the path or the place is no
        longer ours: look for the block before you append again), and DiskFault: what was written
        is cut off again, `certain` when that is safe on disk too. After an uncertain one call
        `sync` and read the file before anything is believed of it.
        """
        if not offset:
            self._make(_parts(path)[:-1])
        try:
            return self._appended(path, data, offset)
        except FileMissing as error:
            raise self._changed(path, "before") from error

    def _appended(self, path: str, data: bytes, offset: int | None) -> Fingerprint:
        with (
            self._parent(path) as (folder, leaf),
            self._target(folder, leaf, may_create=not offset) as target,
        ):
            if offset is not None and offset != target.size:
                raise self._changed(path, "before")
            self._put(target, data)
            with d.faults(certain=False):
                mine = self._disk.fstat(target.fd)
                back = d.pread_all(self._disk, target.fd, len(data), target.size)
                there = self._status(path)
            if there is None or there.st_ino != mine.st_ino or back != data:
                raise self._changed(path, "after")
        return Fingerprint.of(mine)

    @contextmanager
    def _target(self, folder: int, leaf: str, *, may_create: bool) -> Iterator[d.Target]:
        """The open end of a file. One that is made here is made exclusively."""
        missing = d.status_of(self._disk, leaf, dir_fd=folder) is None
        flags = d.CREATE_APPEND if missing and may_create else d.APPEND
        with d.opened(self._disk, leaf, flags, dir_fd=folder) as fd:
            # Nothing that can fail comes between making a file and the block that takes it back.
            size = 0 if missing else d.plain_size(self._disk, fd, leaf)
            yield d.Target(fd=fd, folder=folder, leaf=leaf, size=size, is_new=missing)

    def _put(self, target: d.Target, data: bytes) -> None:
        is_written = False
        try:
            d.write_all(self._disk, target.fd, data, failpoint="append.part")
            is_written = True
            self._disk.fdatasync(target.fd)
            if target.is_new:
                self._disk.failpoint("append.created")
                self._disk.fsync(target.folder)
        except OSError as error:
            # A sync that failed once may say yes the next time without having written anything,
            # so it is not asked again, and what is safe on disk is not known.
            is_back = self._take_back(target, data, is_synced=not is_written)
            raise d.fault(error, certain=is_back and not is_written) from error
        self._disk.failpoint("append.synced")

    def _take_back(self, target: d.Target, data: bytes, *, is_synced: bool) -> bool:
        """Whether the file is as it was before; not when somebody else appended behind us."""
        try:
            size = self._disk.fstat(target.fd).st_size - target.size
            ours = d.pread_all(self._disk, target.fd, size, target.size)
            if size < 0 or not data.startswith(ours):
                return False
            if target.is_new:
                self._disk.unlink(target.leaf, dir_fd=target.folder)
            else:
                self._disk.ftruncate(target.fd, target.size)
            if is_synced:
                self._disk.fsync(target.folder if target.is_new else target.fd)
        except OSError:
            return False
        return True

    def replace(self, path: str, data: bytes, *, expect: Fingerprint | None) -> Fingerprint:
        """Put a whole file in the place of the one with fingerprint `expect`, durably.

        None = no file may be there; missing folders are made. The mode stays. At any instant the
        path holds the old bytes or the new ones. Raises FileChanged (nothing was changed) and
        DiskFault, `certain` unless the new bytes are there and may not last: then `sync`.
        """
        status = self._expect(path, expect)
        mode = d.NEW_FILE_MODE if status is None else stat.S_IMODE(status.st_mode)
        if status is None:
            self._make(_parts(path)[:-1])
        with self._parent(path) as (folder, leaf), self._temp(folder, mode) as (temp, fd):
            is_in_place = False
            try:
                with d.faults(certain=True):
                    self._fill(fd, data, None if status is None else mode)
                    self._expect(path, expect)
                    self._disk.rename(temp, leaf, old_dir_fd=folder, new_dir_fd=folder)
                is_in_place = True
            finally:
                if not is_in_place:
                    # Should this fail too, the name tells `sweep` what it is.
                    with suppress(OSError):
                        self._disk.unlink(temp, dir_fd=folder)
            self._disk.failpoint("replace.renamed")
            with d.faults(certain=False):
                self._disk.fsync(folder)
                return Fingerprint.of(self._disk.fstat(fd))

    @contextmanager
    def _temp(self, folder: int, mode: int) -> Iterator[tuple[str, int]]:
        """A new file for writing, and its name. In a container every process can have the number
        of one that was killed and left a file, so a name in use is passed over."""
        names = (f"{TEMP_PREFIX}{os.getpid()}-{number}" for number in itertools.count())
        temp = next(n for n in names if d.status_of(self._disk, n, dir_fd=folder) is None)
        with d.opened(self._disk, temp, d.CREATE, mode, dir_fd=folder) as fd:
            yield temp, fd

    def _fill(self, fd: int, data: bytes, mode: int | None) -> None:
        if mode is not None:
            self._disk.fchmod(fd, mode)
        d.write_all(self._disk, fd, data, failpoint="replace.part")
        self._disk.fsync(fd)
        self._disk.failpoint("replace.synced")

    def remove(self, path: str, *, expect: Fingerprint | None) -> None:
        """Take a file away, durably; one that is gone already (None) stays gone. Errors as
        `replace`."""
        if self._expect(path, expect) is None:
            return
        with self._parent(path) as (folder, leaf):
            with d.faults(certain=True):
                self._disk.unlink(leaf, dir_fd=folder)
            self._disk.failpoint("remove.unlinked")
            with d.faults(certain=False):
                self._disk.fsync(folder)

    def cut(self, path: str, start: int, end: int) -> Fingerprint:
        """Take a range of bytes out of a file, by replacing it. Raises FileChanged when the file
        does not reach that far; else errors as `replace`."""
        data, fingerprint = self.read(path)
        if not 0 <= start <= end <= len(data):
            raise self._changed(path, "before")
        return self.replace(path, data[:start] + data[end:], expect=fingerprint)

    def truncate(self, path: str, size: int) -> None:
        """Cut a log of ours in place, durably: a full disk allows it. DiskFault: never certain."""
        with (
            self._parent(path) as (folder, leaf),
            d.opened(self._disk, leaf, d.APPEND, dir_fd=folder) as fd,
            d.faults(certain=False),
        ):
            self._disk.ftruncate(fd, size)
            self._disk.fdatasync(fd)

    def sync(self, path: str) -> None:
        """Make durable what is at that path now, a file or its absence, and its folders: for what
        a process left that was killed between a write and its sync. DiskFault is never certain."""
        *folders, _leaf = _parts(path)
        with d.faults(certain=False), self._top() as top:
            with suppress(FileMissing), self._reader(path) as fd:
                self._disk.fdatasync(fd)
            for depth in range(len(folders), -1, -1):
                with (
                    suppress(FileMissing),
                    d.descended(self._disk, top, folders[:depth]) as fd,
                ):
                    self._disk.fsync(fd)

    def sweep(self) -> int:
        """Remove the temporary files that killed writers left; how many. The lock is ours, so
        nobody is writing one of them."""
        return sum(self._sweep(folder) for folder in (*self._scan().folders, *HISTORY_FOLDERS))

    def _sweep(self, path: str) -> int:
        folders = path.split("/") if path else []
        with (
            self._top() as top,
            suppress(FileMissing),
            d.descended(self._disk, top, folders) as fd,
            d.faults(certain=False),
        ):
            temps = [n for n in self._disk.listdir(fd) if n.startswith(TEMP_PREFIX)]
            for name in temps:
                self._disk.unlink(name, dir_fd=fd)
            return len(temps)
        return 0
