"""What the page of a bank's memories shows: newest first, or the best matches of a search."""

from dataclasses import dataclass, field, replace

from banks import findings, queries
from banks.access import Principal, Role, Scope
from banks.queries import Memory
from banks.services import open_bank
from memoryconsole.console.context import Place, place
from memoryconsole.console.damage import Damage, damages
from memoryconsole.console.filters import RETIRED, Chips, Wanted, chips
from recall import services as recall_services

PAGE = 50
NOT_RANKED = {
    "lexical": "Search is off while its index is being built. These memories hold exactly what you "
    "typed, newest first.",
    "none": "Those words are too common to rank by. These memories hold exactly what you typed, "
    "newest first.",
}
"""What is said when a search gave no ranking, by what ran instead."""


@dataclass(frozen=True, slots=True)
class Row:
    """A memory in a list; `score` only when the list is ranked."""

    memory: Memory
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page of rows. `total` counts all that the filters let through (of a ranked list: what is
    shown), `first` is the place of the first row among them, from 1; `notice` says what is not as
    usual with the search, `damages` what the files hide."""

    place: Place
    wanted: Wanted
    rows: list[Row]
    total: int
    chips: Chips
    first: int = 1
    next_query: str = ""
    notice: str = ""
    is_ranked: bool = False
    damages: list[Damage] = field(default_factory=list)

    @property
    def first_query(self) -> str:
        """The address of the first page."""
        return self.wanted.following("").query_string

    @property
    def shows_list(self) -> bool:
        """Whether there is anything to list or to filter; else the bank is new."""
        return bool(self.rows or self.place.summary.memories or not self.wanted.is_whole)

    @property
    def is_part(self) -> bool:
        """Whether there are pages before or behind this one."""
        return bool(self.next_query) or self.first > 1

    @property
    def last(self) -> int:
        """The place of the last row."""
        return self.first + len(self.rows) - 1

    @property
    def following(self) -> int:
        """How many rows the next page has."""
        return min(PAGE, self.total - self.last)

    @property
    def headline(self) -> str:
        """What is shown, of how many, in which order."""
        if self.is_ranked:
            if self.total == PAGE:
                return f"The {PAGE} best matches, best first"
            return "1 match" if self.total == 1 else f"{self.total} matches, best first"
        shown, whole = "", self.total
        if self.first > 1:
            shown = f"{self.first:,} to {self.last:,} of "
        elif self.wanted.is_narrowed and RETIRED not in self.wanted.marks:
            shown, whole = f"{self.total:,} of ", self.place.summary.memories
        noun = "memory" if whole == 1 else "memories"
        return f"{shown}{whole:,} {noun}" + (", newest first" if self.total > 1 else "")


def listing(principal: Principal, name: str, wanted: Wanted) -> Listing:
    """The page of this bank that is wanted. Raises what `open_bank` raises, and Invalid for a
    cursor that is not one."""
    bank = open_bank(principal, name, Role.VIEWER, Scope.MEMORY_READ)
    shown = place(principal, name)
    offered = chips(wanted, queries.tags(bank))
    damaged = damages(findings.unreadable(bank))
    notice = ""
    if wanted.q:
        found = recall_services.recall(
            principal,
            bank,
            wanted.q,
            limit=PAGE,
            filters=wanted.filters,
            include_superseded=RETIRED in wanted.marks,
        )
        if found.retrieval not in NOT_RANKED:
            rows = [Row(hit.memory, hit.score) for hit in found.memories]
            return Listing(
                place=shown,
                wanted=wanted,
                rows=rows,
                total=len(rows),
                chips=offered,
                notice=_behind(found.index.lag),
                is_ranked=True,
                damages=damaged,
            )
        notice = NOT_RANKED[found.retrieval]
    filters = replace(wanted.filters, text=wanted.q)
    page = queries.list_memories(bank, filters, limit=PAGE, cursor=wanted.after or None)
    first = 1
    if wanted.after and page.memories:
        # Counted, since memories came and went after the page before was read.
        time = page.memories[0].created_at
        since = replace(filters, since=queries.from_milliseconds(time))
        up_to_here = queries.list_memories(bank, since, limit=0).total
        first = up_to_here - sum(each.created_at == time for each in page.memories[1:])
    following = wanted.following(page.next_cursor).query_string if page.next_cursor else ""
    return Listing(
        place=shown,
        wanted=wanted,
        rows=[Row(memory) for memory in page.memories],
        total=page.total,
        chips=offered,
        first=first,
        next_query=following,
        notice=notice,
        damages=damaged,
    )


def _behind(lag: int) -> str:
    """That the index has not seen the newest changes; `""` when it has."""
    if not lag:
        return ""
    return f"The search has not seen the newest change{'s' if lag > 1 else ''} yet: {lag} to go."
