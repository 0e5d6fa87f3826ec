"""Where the index of one bank lies: a folder a generation and a file that names the current one.

`<bank id>/CURRENT` holds the number of the generation that answers, `<bank id>/<number>/` a
stock Whoosh index and its stamp.
"""

import fcntl
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from recall.index.errors import IndexBusy, IndexUnavailable
from recall.index.stamp import replace_file, sync_folder

_CURRENT = "CURRENT"
_COMMIT = re.compile(r"_MAIN_([0-9]+)\.toc")
_LOCK = "rebuild.lock"
_NUMBERS = 1 << 48
_FIRST_SLEEP_S = 0.001
_LONGEST_SLEEP_S = 0.05


class Generations:
    """The generations of one bank's index."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def current(self) -> int:
        """Number of the generation that answers. Raises IndexUnavailable when there is none."""
        try:
            return int((self.folder / _CURRENT).read_bytes())
        except (OSError, ValueError) as fault:
            raise IndexUnavailable("there is no index yet") from fault

    def path(self, number: int) -> Path:
        """Folder of a generation."""
        return self.folder / str(number)

    def begin(self) -> int:
        """Make the empty folder of a new generation, without naming it."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Drawn, not counted: a process that still reads a generation must not take another one for
        # it, when the folder was deleted meanwhile and all begins anew.
        number = secrets.randbelow(_NUMBERS) + 1
        self.path(number).mkdir(mode=0o700)
        return number

    def publish(self, number: int) -> None:
        """Let a complete generation answer and remove all others.

        Who reads an old one keeps its open files; who is just opening it tries again.
        """
        replace_file(self.folder / _CURRENT, str(number).encode(), durable=True)
        for old in self._numbers():
            if old != number:
                shutil.rmtree(self.path(old), ignore_errors=True)

    def discard(self, number: int) -> None:
        """Remove a generation that was not published."""
        shutil.rmtree(self.path(number), ignore_errors=True)

    @contextmanager
    def rebuilding(self, timeout_s: float) -> Iterator[None]:
        """One rebuild at a time. Raises IndexBusy when another runs for longer than that."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self.folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as fault:
            raise IndexUnavailable("the folder of the index refuses") from fault
        try:
            wait_for(lambda: _flock(descriptor), timeout_s)
            yield
        finally:
            os.close(descriptor)

    def is_rebuilding(self) -> bool:
        """Whether a rebuild runs just now, in any process."""
        try:
            descriptor = os.open(self.folder / _LOCK, os.O_RDONLY)
        except OSError:
            return False
        try:
            # Shared, so that those who ask do not see each other.
            return not _flock(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)

    def forget(self) -> None:
        """Let no generation answer any more; whoever reads one goes on."""
        (self.folder / _CURRENT).unlink(missing_ok=True)

    def _numbers(self) -> list[int]:
        return [int(entry.name) for entry in self.folder.iterdir() if entry.name.isdigit()]


def newest_commit(generation: Path) -> int:
    """Number of Whoosh's newest commit in the folder of a generation; -1 when there is none."""
    matches = (_COMMIT.fullmatch(name) for name in os.listdir(generation))  # noqa: PTH208  no paths
    return max((int(match[1]) for match in matches if match), default=-1)


def wait_for(attempt: Callable[[], bool], timeout_s: float) -> None:
    """Try until it works, with growing sleeps. Raises IndexBusy after `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    sleep_s = _FIRST_SLEEP_S
    while not attempt():
        if time.monotonic() >= deadline:
            raise IndexBusy("another writer holds the index")
        time.sleep(sleep_s)
        sleep_s = min(2 * sleep_s, _LONGEST_SLEEP_S)


def sync_all(folder: Path) -> None:
    """Make the files of a generation and their names survive a power loss."""
    for path in folder.iterdir():
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    sync_folder(folder)


def _flock(descriptor: int, how: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
