"""One walk over the folder of a bank: which files it consists of, and what is passed over.

It only lists and asks for the state of names; `folder` is its one caller.
"""

import itertools
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from os import stat_result

from banks.store import disk as d
from banks.store import tree
from banks.store.disk import Disk, Fingerprint
from banks.store.errors import FileMissing, NotAFile

DEEPEST = 8

HISTORY_FOLDERS = (tree.HISTORY_FOLDER, tree.RULE_HISTORIES)
_OURS = "ours"
_LOST_RULE = "lost_rule"
_PASSED_OVER = frozenset({"name", "dropping"})
_WALKED = frozenset(tree.SEED_FOLDERS) - {tree.HISTORY_FOLDER}
# What editors and sync programs put into the names of their second copies.
_DROPPING_MARKS = (".sync-conflict-", "conflicted copy", ".orig.", ".bak.")
_DROPPING_ENDS = ("~", ".swp", ".swo", ".swx", ".tmp", ".bak", ".orig", ".part", ".lock")


def is_dropping(name: str) -> bool:
    """Whether an editor or a sync program left this beside the file that is meant."""
    low = name.lower()
    return (
        low.startswith((".", "#"))
        or low.endswith(_DROPPING_ENDS)
        or any(mark in low for mark in _DROPPING_MARKS)
    )


def shown(path: str) -> str:
    """A path that any page can hold: what is not printable is escaped."""
    return path if path.isprintable() else ascii(path)[1:-1]


@dataclass(frozen=True, slots=True)
class Scan:
    """The files of a bank, and paths that were passed over, each with a code for the doctor."""

    disk: Disk
    found: dict[str, Fingerprint] = field(default_factory=dict)
    ignored: list[tuple[str, str]] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)

    def walk(self, fd: int, prefix: str = "") -> None:
        """Take in an open folder and those below it. Raises OSError."""
        self.folders.append(prefix.removesuffix("/"))
        for name in sorted(self.disk.listdir(fd)):
            if name == ".git" or (name == tree.HISTORY_FOLDER and not prefix):
                continue
            # Gone since the listing: nothing to say about it.
            with suppress(FileNotFoundError):
                self._take(fd, prefix + name, name, self.disk.stat(name, dir_fd=fd))

    def _take(self, fd: int, path: str, name: str, status: stat_result) -> None:
        place = _place(path)
        mode = status.st_mode
        if stat.S_ISREG(mode) and place == _OURS:
            self.found[path] = Fingerprint.of(status)
        elif reason := _reason_to_ignore(place, mode, path.count("/")):
            self.ignored.append((shown(path), reason))
        elif stat.S_ISDIR(mode) and path.partition("/")[0] in _WALKED:
            # Gone, or turned into a link, since the listing: the next look tells.
            with (
                suppress(FileMissing, NotAFile),
                d.opened(self.disk, name, d.FOLDER, dir_fd=fd) as below,
            ):
                self.walk(below, f"{path}/")


def is_ours(path: str) -> bool:
    """Whether a walk takes a plain file at this path, by the names on its way alone."""
    *folders, _ = path.split("/")
    above = itertools.accumulate(folders, "{}/{}".format)
    # Not through the cache: it is for names that are there, and a caller may make up any number.
    return (
        len(folders) <= DEEPEST
        and _place_by_name(path) == _OURS
        and not any(_place_by_name(folder) in _PASSED_OVER for folder in above)
    )


def _place_by_name(path: str) -> str:
    """What a path is by its name alone: ours, a reason to pass it over, or "" for neither."""
    name = path.rpartition("/")[2]
    if not name.isprintable() or "\\" in name:
        return "name"
    if is_dropping(name):
        return "dropping"
    if (
        path == tree.BANK_FILE
        or tree.is_router(path)
        or tree.is_entry_file(path)
        or tree.is_rule_file(path)
    ):
        return _OURS
    is_lost_rule = path.startswith(f"{tree.RULES_FOLDER}/") and name.endswith(".md")
    return _LOST_RULE if is_lost_rule else ""


def history_logs(disk: Disk, top: int, folders: Iterable[str] = HISTORY_FOLDERS) -> list[str]:
    """Sorted paths of the logs below the open folder of a bank: plain files with such a name.
    Raises OSError."""
    found = []
    for folder in folders:
        # Not made yet, or no folder of ours: then there are no logs of ours in it.
        with (
            suppress(FileMissing, NotAFile),
            d.descended(disk, top, folder.split("/")) as fd,
        ):
            names = [name for name in disk.listdir(fd) if tree.is_history_file(f"{folder}/{name}")]
            plain = (name for name in names if d.is_plain(d.status_of(disk, name, dir_fd=fd)))
            found += [f"{folder}/{name}" for name in plain]
    return sorted(found)


# A look asks about every file again, and this is most of what it costs.
_place = lru_cache(maxsize=65_536)(_place_by_name)


def _reason_to_ignore(place: str, mode: int, depth: int) -> str:
    """The code for a name that is passed over; "" for one that is not."""
    if stat.S_ISLNK(mode):
        return "link"
    if place in _PASSED_OVER:
        return place
    if stat.S_ISDIR(mode):
        return "too_deep" if depth >= DEEPEST else ""
    if not stat.S_ISREG(mode):
        return "not_a_file"
    return "name" if place == _LOST_RULE else ""
