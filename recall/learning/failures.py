"""Errors that keep coming back, and whether a procedure names them already. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from banks.store import names, procedure

RECURS = 3
"""So often an error has to be seen."""

NAMED = 0.6
"""An item names an error when so many of its words are words of the error."""

ITEM_LENGTH = 300

_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Seen:
    """One entry about an error; `times` is how often it was observed."""

    id: str
    fingerprint: str
    summary: str
    text: str
    times: int
    created: datetime


@dataclass(frozen=True, slots=True)
class Recurring:
    """An error that keeps coming back: all entries about it, oldest first, and how often."""

    entries: tuple[Seen, ...]
    times: int

    @property
    def words(self) -> str:
        """What the last entry says, to find a procedure by."""
        return f"{self.entries[-1].summary} {self.entries[-1].text}"

    @property
    def about(self) -> str:
        """What makes it the same error as another one."""
        return _about(self.entries[-1].text)

    @property
    def item(self) -> str:
        """The line for the section: its name, and what happened first."""
        first = self.entries[0]
        told = names.first_sentence(first.text).replace("\n", " ")
        line = told if told.startswith(first.summary) else f"{first.summary}: {told}"
        return line[:ITEM_LENGTH]


def recurring(entries: Iterable[Seen]) -> Iterator[Recurring]:
    """Errors that were seen often enough; those that differ in numbers alone are the same one."""
    groups: dict[str, list[Seen]] = defaultdict(list)
    for each in sorted(entries, key=lambda entry: (entry.created, entry.id)):
        groups[_about(each.text)].append(each)
    for group in groups.values():
        times = sum(each.times for each in group)
        if times >= RECURS:
            yield Recurring(tuple(group), times)


def is_named(error: Recurring, text: str) -> bool:
    """Whether the section of a procedure names the error: an item does, or the name before its
    colon."""
    words = set(_words(error.words))
    for line in procedure.section(text, procedure.FAILURES).splitlines():
        name = _words(line.partition(": ")[0])
        if name and sum(word in words for word in name) >= NAMED * len(name):
            return True
    return False


def _about(text: str) -> str:
    return _NUMBER.sub("#", names.normalise(text))


def _words(text: str) -> list[str]:
    return _WORD.findall(names.normalise(text))
