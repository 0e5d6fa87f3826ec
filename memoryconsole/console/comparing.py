"""Two revisions side by side, of a memory or of a rule. Revisions are named r1, r2 … from the
oldest."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol, TypeVar

from banks import errors
from banks.revisions import Revision
from memoryconsole.console.diff import Line, lines
from memoryconsole.console.timeline import Change, changes, states

T = TypeVar("T")

_NAME = re.compile(r"r([1-9][0-9]{0,8})")


class Made(Protocol):
    """How a revision came about. `at` is in milliseconds, None when nobody knows."""

    @property
    def at(self) -> int | None:
        """When."""

    @property
    def actor(self) -> str:
        """Who, as a handle."""

    @property
    def act(self) -> str:
        """What was done."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Two revisions, the older one first. `lines` is empty when the text is the same in both."""

    before: int
    after: int
    made_before: Made
    made_after: Made
    lines: list[Line]
    changes: list[Change]


def last_changed(states: Sequence[T], differ: Callable[[T, T], bool]) -> int:
    """The number of the last state, out of all, newest first, that differs from the one before
    it; that of the newest when none does."""
    pairs = enumerate(pairwise(states))
    return len(states) - next((n for n, (new, old) in pairs if differ(old, new)), 0)


def are_reworded(before: Revision, after: Revision) -> bool:
    """Whether two revisions of a memory differ in text or fields: a pin or a sighting is none."""
    old, new = before.memory, after.memory
    return old.text != new.text or bool(changes(old, new))


def chosen(first: str, second: str, count: int, last: int) -> tuple[int, int]:
    """The numbers of two revisions of `count`, the older one first. Unnamed ones are `last` and
    the one before it. Raises NotFound for what is no revision."""
    after = _number(second or f"r{last}", count)
    before = _number(first or f"r{max(1, after - 1)}", count)
    return min(before, after), max(before, after)


def _number(name: str, count: int) -> int:
    named = _NAME.fullmatch(name)
    if named is None or int(named[1]) > count:
        raise errors.NotFound("There is no such revision.")
    return int(named[1])


def compared(revisions: list[Revision], first: str, second: str) -> Compared:
    """Two revisions of a memory out of all, newest first. Raises NotFound."""
    last = last_changed(revisions, are_reworded)
    before, after = chosen(first, second, len(revisions), last)
    old, new = revisions[-before], revisions[-after]
    return Compared(
        before,
        after,
        old,
        new,
        lines(old.memory.text, new.memory.text) if old.memory.text != new.memory.text else [],
        changes(old.memory, new.memory) + states(old.memory, new.memory),
    )
