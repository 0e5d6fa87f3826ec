"""What in the files of a bank cannot be read: told where people look for what is missing."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from banks.findings import Finding
from banks.store import tree
from banks.store.types import Severity

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Damage:
    """A file and the places in it that cannot be read, as far as they are shown."""

    path: str
    places: list[Finding]
    count: int
    is_entry_file: bool

    @property
    def more(self) -> int:
        """How many places are not shown."""
        return self.count - len(self.places)


def damages(found: Iterable[Finding]) -> list[Damage]:
    """Those of the findings (sorted by path) that hide something, file by file."""
    hiding = (each for each in found if each.severity is Severity.PROBLEM)
    told = []
    for path, places in groupby(hiding, key=lambda each: each.path):
        every = list(places)
        told.append(Damage(path, every[:SHOWN], len(every), tree.is_entry_file(path)))
    return told
