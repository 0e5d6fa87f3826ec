"""What the page of a bank's memories shows: newest first, or the best matches of a search."""

from dataclasses import dataclass, replace

from banks import queries
from banks.access import Principal, Role, Scope
from banks.queries import Memory
from banks.services import open_bank
from memoryconsole.console.context import Place, place
from memoryconsole.console.filters import RETIRED, Chip, Wanted, chips
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
    shown); `notice` says what is not as usual with the search."""

    place: Place
    wanted: Wanted
    rows: list[Row]
    total: int
    chips: list[Chip]
    next_query: str = ""
    notice: str = ""
    is_ranked: bool = False

    @property
    def first_query(self) -> str:
        """The address of the first page."""
        return self.wanted.following("").query_string

    @property
    def shows_list(self) -> bool:
        """Whether there is anything to list or to filter; else the bank is new."""
        return bool(self.rows or self.place.summary.memories or self.wanted != Wanted())


def listing(principal: Principal, name: str, wanted: Wanted) -> Listing:
    """The page of this bank that is wanted. Raises what `open_bank` raises, and Invalid for a
    cursor that is not one."""
    bank = open_bank(principal, name, Role.VIEWER, Scope.MEMORY_READ)
    shown = place(principal, name)
    offered = chips(wanted, queries.tags(bank))
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
            )
        notice = NOT_RANKED[found.retrieval]
    filters = replace(wanted.filters, text=wanted.q)
    page = queries.list_memories(bank, filters, limit=PAGE, cursor=wanted.after or None)
    following = wanted.following(page.next_cursor).query_string if page.next_cursor else ""
    return Listing(
        place=shown,
        wanted=wanted,
        rows=[Row(memory) for memory in page.memories],
        total=page.total,
        chips=offered,
        next_query=following,
        notice=notice,
    )


def _behind(lag: int) -> str:
    """That the index has not seen the newest changes; `""` when it has."""
    if not lag:
        return ""
    return f"The search has not seen the newest change{'s' if lag > 1 else ''} yet: {lag} to go."
