"""The data folder: which banks there are, and their folders as wholes. The front door of the disk.

With `folder`, `scan` and `disk` below it the only place that touches a bank's disk. Whoever moves
a folder holds the data folder's lock, and the bank's own lock after it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from banks.store import disk as d
from banks.store import names, tree
from banks.store.disk import Disk, Fingerprint
from banks.store.errors import (
    DiskFault,
    FileMissing,
    FolderExists,
    FolderMoved,
    InvalidName,
    NotAFile,
)
from banks.store.folder import BankFolder, LockedBank
from banks.store.scan import shown

__all__ = ["BankFolder", "DataFolder", "Disk", "Fingerprint", "LockedBank"]

TRASH = ".trash"
STAGE_PREFIX = ".import-"


def _is_bank_name(name: str) -> bool:
    try:
        names.bank_name(name)
    except InvalidName:
        return False
    return True


def _checked(value: str, field: str) -> str:
    """A value that becomes part of a folder's name, letter by letter safe. InvalidName."""
    if not names.is_entry_id(value):
        raise InvalidName("That cannot be part of a folder's name.", field=field)
    return value


class DataFolder:
    """All banks under one folder. Raises DiskFault when that folder is not there."""

    def __init__(
        self, root: Path, disk: Disk | None = None, is_in_use: Callable[[], bool] | None = None
    ) -> None:
        """`is_in_use` is asked by whoever got a lock: False when the banks lie elsewhere now."""
        self.root = root.absolute()
        self._disk = disk or Disk()
        self._is_in_use = is_in_use

    @contextmanager
    def _top(self) -> Iterator[int]:
        with d.root_opened(self._disk, str(self.root)) as fd:
            yield fd

    def make(self) -> None:
        """Make the data folder and those above it, durably; done when it is there."""
        self._make(self.root)

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make(folder.parent)
            with d.root_opened(self._disk, str(folder.parent)) as above:
                d.make_folder(self._disk, folder.name, dir_fd=above)

    def trouble(self) -> str:
        """Why nothing can be saved here, as a sentence; `""` as far as can be told without trying.
        A few system calls."""
        try:
            with self._top():
                pass
        except DiskFault as fault:
            return fault.message
        if self._disk.may_write(str(self.root)):
            return ""
        return "The program may not write there, or the disk is read-only."

    def free_bytes(self) -> int:
        """How much room is left on the disk."""
        with self._top() as top, d.faults(certain=True):
            return self._disk.free_bytes(top)

    def bank_names(self) -> list[str]:
        """Sorted names of the banks: folders with a valid name and a `bank.yaml` or `index.md`."""
        with self._top() as top, d.faults(certain=True):
            return sorted(name for name in self._disk.listdir(top) if self._is_bank(top, name))

    def _is_bank(self, top: int, name: str) -> bool:
        return _is_bank_name(name) and self._has_bank_files(top, name)

    def _has_bank_files(self, top: int, name: str) -> bool:
        if not d.is_folder(d.status_of(self._disk, name, dir_fd=top)):
            return False
        try:
            with d.opened(self._disk, name, d.FOLDER, dir_fd=top) as fd:
                return any(
                    d.status_of(self._disk, file, dir_fd=fd) is not None
                    for file in (tree.BANK_FILE, tree.ROUTER)
                )
        except DiskFault:
            # One folder that cannot be opened must not hide the others: its own look will tell.
            return True
        except (FileMissing, NotAFile):
            return False

    def ignored(self) -> list[tuple[str, str]]:
        """What lies beside the banks and is passed over, sorted, with a code: `link`, or `name`
        for a bank whose folder has a name that no bank may have."""
        with self._top() as top, d.faults(certain=True):
            listed = sorted(self._disk.listdir(top))
            reasons = [(name, self._reason_to_ignore(top, name)) for name in listed]
        return [(shown(name), reason) for name, reason in reasons if reason]

    def _reason_to_ignore(self, top: int, name: str) -> str:
        status = d.status_of(self._disk, name, dir_fd=top)
        if d.is_link(status):
            return "link"
        is_lost = not name.startswith(".") and not _is_bank_name(name)
        return "name" if is_lost and self._has_bank_files(top, name) else ""

    def bank(self, name: str) -> BankFolder:
        """The folder of a bank, there or not. Raises InvalidName."""
        return BankFolder(self.root, names.bank_name(name), self._disk, self._is_in_use)

    @contextmanager
    def lock(self, timeout_s: float) -> Iterator[None]:
        """Holds the lock for creating, moving and restoring banks; 0 s = one try. LockTimeout."""
        with self._top() as fd, d.flocked(self._disk, fd, timeout_s):
            d.check_in_use(self._is_in_use)
            yield

    def trash(self, name: str, stamp: str) -> str:
        """Move a bank to the trash, durably; its folder's name there.

        `stamp` is a time, like `20261130T101500Z`; a second bank of the same name and stamp gets
        `-2`. Raises FolderMoved when there is no such bank.
        """
        wanted = f"{names.bank_name(name)}-{_checked(stamp, 'stamp')}"
        with self._top() as top:
            with d.faults(certain=True):
                if d.status_of(self._disk, TRASH, dir_fd=top) is None:
                    self._disk.mkdir(TRASH, dir_fd=top)
            with d.opened(self._disk, TRASH, d.FOLDER, dir_fd=top) as trash:
                folder, number = wanted, 1
                while d.status_of(self._disk, folder, dir_fd=trash) is not None:
                    number += 1
                    folder = f"{wanted}-{number}"
                self._move(name, folder, old_dir_fd=top, new_dir_fd=trash)
        return folder

    def has(self, location: str) -> bool:
        """Whether a folder is there: a bank's name, a staged one's, or `.trash/` and a name."""
        *above, name = location.split("/")
        with self._top() as top:
            try:
                with d.descended(self._disk, top, above) as fd, d.faults(certain=True):
                    status = d.status_of(self._disk, name, dir_fd=fd)
            except (FileMissing, NotAFile):
                return False
        return d.is_folder(status)

    def sync(self) -> None:
        """Make the names of banks and of the trash durable: for a rename that a process left which
        was killed before it synced them. DiskFault is never certain."""
        with self._top() as top, d.faults(certain=False):
            self._disk.fsync(top)
            with (
                suppress(FileMissing),
                d.opened(self._disk, TRASH, d.FOLDER, dir_fd=top) as trash,
            ):
                self._disk.fsync(trash)

    def trashed(self) -> list[str]:
        """Sorted names of the folders in the trash."""
        with self._top() as top:
            try:
                with (
                    d.opened(self._disk, TRASH, d.FOLDER, dir_fd=top) as trash,
                    d.faults(certain=True),
                ):
                    return sorted(n for n in self._disk.listdir(trash) if names.is_entry_id(n))
            except FileMissing:
                return []

    def restore(self, folder: str, name: str) -> None:
        """Move a folder out of the trash to be the bank `name`, durably. Raises FolderMoved when
        it is not in the trash, FolderExists when there is a bank of that name."""
        _checked(folder, "folder")
        names.bank_name(name)
        with self._top() as top:
            try:
                with d.opened(self._disk, TRASH, d.FOLDER, dir_fd=top) as trash:
                    self._move(folder, name, old_dir_fd=trash, new_dir_fd=top)
            except FileMissing as error:
                raise FolderMoved("There is nothing in the trash.") from error

    def rename(self, old: str, new: str) -> None:
        """Give a bank's folder another name, durably. Raises FolderMoved, FolderExists."""
        with self._top() as top:
            self._move(names.bank_name(old), names.bank_name(new), old_dir_fd=top, new_dir_fd=top)

    def stage(self, operation: str) -> BankFolder:
        """A new, empty folder beside the banks in which an operation makes a bank ready.
        Raises FolderExists when the operation has one already."""
        name = STAGE_PREFIX + _checked(operation, "operation")
        with self._top() as top, d.faults(certain=True):
            if d.status_of(self._disk, name, dir_fd=top) is not None:
                raise FolderExists("The operation has a folder already. Discard it first.")
            self._disk.mkdir(name, dir_fd=top)
        return BankFolder(self.root, name, self._disk)

    def staged(self) -> list[str]:
        """Sorted operations that have a folder made by `stage`."""
        with self._top() as top, d.faults(certain=True):
            listed = self._disk.listdir(top)
        return sorted(n.removeprefix(STAGE_PREFIX) for n in listed if n.startswith(STAGE_PREFIX))

    def publish(self, operation: str, name: str) -> None:
        """Make a staged folder the bank `name`, durably and in one step. What is in it must have
        been synced. Raises FolderMoved, FolderExists."""
        staged = STAGE_PREFIX + _checked(operation, "operation")
        with self._top() as top:
            self._move(staged, names.bank_name(name), old_dir_fd=top, new_dir_fd=top)

    def discard_stage(self, operation: str) -> None:
        """Remove a staged folder with all that is in it; nothing when there is none."""
        name = STAGE_PREFIX + _checked(operation, "operation")
        with self._top() as top, d.faults(certain=True):
            if d.status_of(self._disk, name, dir_fd=top) is not None:
                self._clear(name, top)

    def _clear(self, name: str, dir_fd: int) -> None:
        with d.opened(self._disk, name, d.FOLDER, dir_fd=dir_fd) as fd:
            for below in self._disk.listdir(fd):
                if d.is_folder(d.status_of(self._disk, below, dir_fd=fd)):
                    self._clear(below, fd)
                else:
                    self._disk.unlink(below, dir_fd=fd)
        self._disk.rmdir(name, dir_fd=dir_fd)

    def _move(self, old: str, new: str, *, old_dir_fd: int, new_dir_fd: int) -> None:
        """Rename a folder, then sync both folders. A rename alone would replace an empty folder,
        hence the look, which the data folder's lock makes safe."""
        if not d.is_folder(d.status_of(self._disk, old, dir_fd=old_dir_fd)):
            raise FolderMoved("The bank's folder is not there any more. Look for its new name.")
        if d.status_of(self._disk, new, dir_fd=new_dir_fd) is not None:
            raise FolderExists("There is a bank of that name already. Choose another one.")
        with d.faults(certain=True):
            self._disk.rename(old, new, old_dir_fd=old_dir_fd, new_dir_fd=new_dir_fd)
        self._disk.failpoint("folder.renamed")
        with d.faults(certain=False):
            self._disk.fsync(new_dir_fd)
            if old_dir_fd != new_dir_fd:
                self._disk.fsync(old_dir_fd)
