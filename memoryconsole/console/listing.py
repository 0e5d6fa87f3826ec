"""What the page of a bank's memories shows: newest first, or the best matches of a search."""

from dataclasses import dataclass, replace

from banks import queries
from banks.access import Principal, Role, Scope
from banks.queries import Memory
from banks.services import open_bank
from memoryconsole.console.context import Place, place
from memoryconsole.console.filters import Chip, Wanted, chips

PAGE = 50


@dataclass(frozen=True, slots=True)
class Row:
    """A memory in a list; `score` only when the list is ranked."""

    memory: Memory
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page of rows. `total` counts all that the filters let through; `notice` says what is
    not as usual with the search."""

    place: Place
    wanted: Wanted
    rows: list[Row]
    total: int
    chips: list[Chip]
    next_query: str = ""
    first_query: str = ""
    notice: str = ""
    is_ranked: bool = False

    @property
    def shows_list(self) -> bool:
        """Whether there is anything to list or to filter; else the bank is new."""
        return bool(self.rows or self.place.summary.memories or self.wanted != Wanted())


def listing(principal: Principal, name: str, wanted: Wanted) -> Listing:
    """The page of this bank that is wanted. Raises what `open_bank` raises, and Invalid for a
    cursor that is not one."""
    bank = open_bank(principal, name, Role.VIEWER, Scope.MEMORY_READ)
    filters = replace(wanted.filters, text=wanted.q)
    found = queries.list_memories(bank, filters, limit=PAGE, cursor=wanted.after or None)
    following = wanted.following(found.next_cursor).query_string if found.next_cursor else ""
    return Listing(
        place=place(principal, name),
        wanted=wanted,
        rows=[Row(memory) for memory in found.memories],
        total=found.total,
        chips=chips(wanted, queries.tags(bank)),
        next_query=following,
        first_query=wanted.following("").query_string,
    )
