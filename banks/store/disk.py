"""The system calls of the store, and the few steps that every file operation is made of.

`Disk` is the one seam to the operating system: tests record, break and kill through it. Below it
stand steps that turn an `OSError` into a `StoreError`. What a bank is made of is not known here.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self

from banks.store.errors import (
    DiskFault,
    FileChanged,
    FileMissing,
    InvalidName,
    LockTimeout,
    NotAFile,
    StoreError,
)

NAME_BYTES = 255  # NAME_MAX of ext4, xfs, btrfs and APFS
NEW_FILE_MODE = 0o644
NEW_FOLDER_MODE = 0o755
FIRST_NAP_S = 0.001
LONGEST_NAP_S = 0.020

# O_NONBLOCK: opening a pipe that somebody put there must not wait for its other end.
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
READ = os.O_RDONLY | _FILE
_LARGEST = (1 << 63) - 1  # of a database's integer
APPEND = os.O_RDWR | os.O_APPEND | _FILE
CREATE_APPEND = APPEND | os.O_CREAT | os.O_EXCL
CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
FOLDER = _FOLDER | os.O_NOFOLLOW
ROOT = _FOLDER  # the data folder itself may be a link: the operator's choice

_CAUSES = {
    errno.ENOENT: "The folder is not there. Mount the disk or put the folder back.",
    errno.ENOSPC: "The disk is full. Free some space and try again.",
    errno.EDQUOT: "The disk quota is used up. Free some space and try again.",
    errno.EFBIG: "The file would grow beyond the largest size that is allowed.",
    errno.EROFS: "The disk is read-only. Make it writable and try again.",
    errno.EACCES: "The program may not write or read there. Check the owner and the mode.",
    errno.EPERM: "The program may not write or read there. Check the owner and the mode.",
    errno.EIO: "The disk reported an error. Check it before you go on.",
}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What tells one state of a file from another without reading it; times in nanoseconds."""

    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result) -> Self:
        """The fingerprint in a stat answer; numbers beyond 63 bits (a time after 2262) are cut."""
        numbers = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        return cls(*(max(-_LARGEST, min(number, _LARGEST)) for number in numbers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A file that is open for an append, and its size before it."""

    fd: int
    folder: int
    leaf: str
    size: int
    is_new: bool


class Disk:
    """Every system call of the store, one thin method each. Raises OSError as the call does.

    Names are single components below `dir_fd`, but for the data folder itself.
    """

    def open(
        self, name: str, flags: int, mode: int = NEW_FILE_MODE, *, dir_fd: int | None = None
    ) -> int:
        """open(2); the descriptor."""
        return os.open(name, flags, mode, dir_fd=dir_fd)

    def close(self, fd: int) -> None:
        """close(2)."""
        os.close(fd)

    def pread(self, fd: int, size: int, offset: int) -> bytes:
        """pread(2)."""
        return os.pread(fd, size, offset)

    def write(self, fd: int, data: bytes) -> int:
        """write(2); the number of bytes written, which may be fewer than given."""
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        """fsync(2), of a file or of a folder."""
        os.fsync(fd)

    def fdatasync(self, fd: int) -> None:
        """fdatasync(2): the bytes and the size."""
        os.fdatasync(fd)

    def ftruncate(self, fd: int, size: int) -> None:
        """ftruncate(2)."""
        os.ftruncate(fd, size)

    def fchmod(self, fd: int, mode: int) -> None:
        """fchmod(2)."""
        os.fchmod(fd, mode)

    def fstat(self, fd: int) -> os.stat_result:
        """fstat(2)."""
        return os.fstat(fd)

    def stat(self, name: str, *, dir_fd: int) -> os.stat_result:
        """fstatat(2) of the name itself, never of what a link points to."""
        return os.stat(name, dir_fd=dir_fd, follow_symlinks=False)

    def listdir(self, fd: int) -> list[str]:
        """The names in an open folder, in no order."""
        return os.listdir(fd)

    def free_bytes(self, fd: int) -> int:
        """What fstatvfs(2) says is left for this process on the disk of an open folder."""
        room = os.fstatvfs(fd)
        return room.f_bavail * room.f_frsize

    def may_write(self, root: str) -> bool:
        """access(2): whether names can be made and removed in the data folder."""
        return os.access(root, os.W_OK | os.X_OK)

    def mkdir(self, name: str, *, dir_fd: int) -> None:
        """mkdirat(2)."""
        os.mkdir(name, NEW_FOLDER_MODE, dir_fd=dir_fd)

    def rmdir(self, name: str, *, dir_fd: int) -> None:
        """Remove an empty folder."""
        os.rmdir(name, dir_fd=dir_fd)

    def unlink(self, name: str, *, dir_fd: int) -> None:
        """unlinkat(2)."""
        os.unlink(name, dir_fd=dir_fd)

    def rename(self, old: str, new: str, *, old_dir_fd: int, new_dir_fd: int) -> None:
        """renameat(2)."""
        os.rename(old, new, src_dir_fd=old_dir_fd, dst_dir_fd=new_dir_fd)

    def flock(self, fd: int, operation: int) -> None:
        """flock(2)."""
        fcntl.flock(fd, operation)

    def now(self) -> float:
        """Seconds of a clock that only goes forward."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def failpoint(self, name: str) -> None:
        """Called at each named step of a write. Does nothing; tests stop the process here."""


def fault(error: OSError, *, certain: bool) -> DiskFault:
    """The domain's word for a refusal of the disk; the message holds no path."""
    number = error.errno or errno.EIO
    name = errno.errorcode.get(number, str(number))
    message = _CAUSES.get(number, f"The disk refused ({name}).")
    return DiskFault(message, certain=certain, errno_name=name)


@contextmanager
def faults(*, certain: bool) -> Iterator[None]:
    """Turns an OSError of the body into `DiskFault`. `certain`: nothing was changed; without it
    no `DiskFault` from below may claim that either."""
    try:
        yield
    except OSError as error:
        raise fault(error, certain=certain) from error
    except DiskFault as error:
        if certain or not error.certain:
            raise
        name = str(error.data["errno"])
        raise DiskFault(error.message, certain=False, errno_name=name) from error


def check_component(name: str) -> str:
    """The name, if it is one visible component that a file system can hold.

    Raises InvalidName. A leading dot is refused, so that nothing names `..`, `.git` or `.trash`.
    """
    printable = name.isprintable() and "/" not in name and not name.startswith(".")
    if not (name and printable):
        raise InvalidName("A name is one part of visible characters without '/'.", field="path")
    if len(name.encode()) > NAME_BYTES:
        raise InvalidName(f"A file name has at most {NAME_BYTES} bytes.", field="path")
    return name


def close_quietly(disk: Disk, fd: int) -> None:
    """Close. Linux gives the descriptor back even when close fails, and a sync has told before
    whether the bytes are safe: what close says would only hide that."""
    with suppress(OSError):
        disk.close(fd)


def refusal(error: OSError, name: str) -> StoreError:
    """What it means that `name` could not be opened."""
    if error.errno == errno.ENOENT:
        return FileMissing("There is no such file or folder.", path=name)
    if error.errno in {errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENXIO}:
        return NotAFile("A link or a special file is in the way. Remove it.", path=name)
    if error.errno == errno.EEXIST:
        return FileChanged(
            "Somebody else made that file just now. Try again.", path=name, stage="before"
        )
    return fault(error, certain=True)


@contextmanager
def opened(
    disk: Disk, name: str, flags: int, mode: int = NEW_FILE_MODE, *, dir_fd: int
) -> Iterator[int]:
    """An open descriptor. Raises FileMissing, NotAFile, FileChanged (was made just now)."""
    try:
        fd = disk.open(name, flags, mode, dir_fd=dir_fd)
    except OSError as error:
        raise refusal(error, name) from error
    try:
        yield fd
    finally:
        close_quietly(disk, fd)


@contextmanager
def root_opened(disk: Disk, root: str) -> Iterator[int]:
    """The descriptor of the data folder. Raises DiskFault when it is not there: a volume that is
    not mounted must not look like banks that were deleted."""
    with faults(certain=True):
        fd = disk.open(root, ROOT)
    try:
        yield fd
    finally:
        close_quietly(disk, fd)


@contextmanager
def descended(disk: Disk, top: int, folders: Sequence[str]) -> Iterator[int]:
    """The descriptor of a folder below `top`; no step of the way may be a link."""
    if not folders:
        yield top
        return
    with (
        opened(disk, folders[0], FOLDER, dir_fd=top) as fd,
        descended(disk, fd, folders[1:]) as last,
    ):
        yield last


def make_folder(disk: Disk, name: str, *, dir_fd: int) -> None:
    """Make a folder, durably, unless something of that name is there."""
    with faults(certain=True):
        try:
            disk.mkdir(name, dir_fd=dir_fd)
        except FileExistsError:
            return
    disk.failpoint("folder.made")
    try:
        disk.fsync(dir_fd)
    except OSError as error:
        # Left there it would pass for a safe one at the next try.
        with faults(certain=False):
            disk.rmdir(name, dir_fd=dir_fd)
        raise fault(error, certain=True) from error


def status_of(disk: Disk, name: str, *, dir_fd: int) -> os.stat_result | None:
    """What is there under that name, a link as itself; None when nothing is."""
    try:
        return disk.stat(name, dir_fd=dir_fd)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise fault(error, certain=True) from error


def is_folder(status: os.stat_result | None) -> bool:
    """Whether that is a folder, and no link to one."""
    return status is not None and stat.S_ISDIR(status.st_mode)


def is_link(status: os.stat_result | None) -> bool:
    """Whether that is a symbolic link."""
    return status is not None and stat.S_ISLNK(status.st_mode)


def is_plain(status: os.stat_result | None) -> bool:
    """Whether that is a plain file."""
    return status is not None and stat.S_ISREG(status.st_mode)


def has_git_lock(disk: Disk, fd: int) -> bool:
    """Whether git is at work in the open folder, as far as its lock tells."""
    try:
        with opened(disk, ".git", FOLDER, dir_fd=fd) as git:
            return status_of(disk, "index.lock", dir_fd=git) is not None
    except (FileMissing, NotAFile):
        return False


def plain_size(disk: Disk, fd: int, path: str) -> int:
    """The size of an open file. Raises NotAFile when it is a folder, a pipe or a device."""
    with faults(certain=True):
        status = disk.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise NotAFile("That is no plain file.", path=path)
    return status.st_size


def pread_all(disk: Disk, fd: int, size: int, offset: int) -> bytes:
    """`size` bytes from `offset`; fewer only when the file ends before."""
    pieces = []
    while size > 0:
        piece = disk.pread(fd, size, offset)
        if not piece:
            break
        pieces.append(piece)
        size -= len(piece)
        offset += len(piece)
    return b"".join(pieces)


def write_all(disk: Disk, fd: int, data: bytes, *, failpoint: str) -> None:
    """Write all of `data`, however little the system takes at a time. Raises OSError."""
    done = 0
    while done < len(data):
        count = disk.write(fd, data[done:])
        if count == 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        done += count
        disk.failpoint(failpoint)


@contextmanager
def flocked(disk: Disk, fd: int, timeout_s: float) -> Iterator[None]:
    """Holds the exclusive lock of an open folder. Raises LockTimeout; 0 s = one try.

    It excludes threads as well as processes when each opened the folder for itself. Unlocked by
    word, because a child that was forked meanwhile would keep what a close alone leaves.
    """
    deadline = disk.now() + timeout_s
    nap_s = FIRST_NAP_S
    while True:
        try:
            disk.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError as error:
            left_s = deadline - disk.now()
            if left_s <= 0:
                raise LockTimeout("Another writer is busy there. Try again.") from error
            disk.sleep(min(nap_s, left_s))
            nap_s = min(nap_s * 2, LONGEST_NAP_S)
        except OSError as error:
            raise fault(error, certain=True) from error
    try:
        yield
    finally:
        # The close that follows lets go of it too, but for the case above.
        with suppress(OSError):
            disk.flock(fd, fcntl.LOCK_UN)


def check_in_use(is_in_use: Callable[[], bool] | None) -> None:
    """Raise LockTimeout when the lock that was waited for is one of a folder that was left."""
    if is_in_use is not None and not is_in_use():
        raise LockTimeout("The data folder is another one now. Try again.")
