"""One walk over the folder of a bank: which files it consists of, and what is passed over.

It only lists and asks for the state of names; `folder` is its one caller.
"""

import stat
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from os import stat_result

from banks.store import disk as d
from banks.store import tree
from banks.store.disk import Disk, Fingerprint
from banks.store.errors import FileMissing, NotAFile

DEEPEST = 8

_OURS = "ours"
_LOST_RULE = "lost_rule"
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


# A look asks about every file again, and this is most of what it costs.
@lru_cache(maxsize=65_536)
def _place(path: str) -> str:
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


def _reason_to_ignore(place: str, mode: int, depth: int) -> str:
    """The code for a name that is passed over; "" for one that is not."""
    if stat.S_ISLNK(mode):
        return "link"
    if place in {"name", "dropping"}:
        return place
    if stat.S_ISDIR(mode):
        return "too_deep" if depth >= DEEPEST else ""
    if not stat.S_ISREG(mode):
        return "not_a_file"
    return "name" if place == _LOST_RULE else ""
