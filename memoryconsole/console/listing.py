"""What the page of a bank's memories shows: newest first, or the best matches of a search."""

from dataclasses import dataclass, field, replace

from banks import errors, findings, news, queries
from banks.access import Principal, Role, Scope
from banks.queries import Memory
from banks.services import Bank, open_bank
from memoryconsole.console.context import Place, place
from memoryconsole.console.damage import Damage, damages
from memoryconsole.console.filters import RETIRED, Chips, Wanted, chips
from recall import services as recall_services

PAGE = 50
_DIGITS = 18
NOT_RANKED = {
    "lexical": "Search is off while its index is being built. These memories hold exactly what you "
    "typed, newest first.",
    "none": "Those words are too common to rank by. These memories hold exactly what you typed, "
    "newest first.",
}
"""What is said when a search gave no ranking, by what ran instead."""


@dataclass(frozen=True, slots=True)
class Row:
    """A memory in a list; `score` only when the list is ranked. `address` is that of the list with
    this memory in the drawer; `is_open`: it is there now."""

    memory: Memory
    address: str
    score: float | None = None
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Pill:
    """What came since a list was read at the bank's change number `since`: how many memories
    others made or changed, `is_more` when there are more. `address` shows them."""

    since: int
    address: str
    count: int = 0
    is_more: bool = False

    @property
    def words(self) -> str:
        """How many in words; `""` for none."""
        return f"{self.count:,}{'+' if self.is_more else ''} new or changed" if self.count else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page of rows. `total` counts all that the filters let through (of a ranked list: what is
    shown), `first` is the place of the first row among them, from 1; `notice` says what is not as
    usual with the search, `retired` counts what would match besides when nothing does, `damages`
    is what the files hide."""

    place: Place
    wanted: Wanted
    rows: list[Row]
    total: int
    pill: Pill
    chips: Chips | None = None
    first: int = 1
    next_query: str = ""
    notice: str = ""
    is_ranked: bool = False
    retired: int = 0
    damages: list[Damage] = field(default_factory=list)

    @property
    def first_query(self) -> str:
        """The address of the first page."""
        return self.wanted.following("").query_string

    @property
    def with_retired(self) -> str:
        """The address of the same list with retired memories in it."""
        return self.wanted.toggled_mark(RETIRED).query_string

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
        return headline(self.place, self.wanted, self.total, first=self.first, last=self.last)

    @property
    def said(self) -> str:
        """The same for ears: what a filter did."""
        if not self.wanted.is_narrowed:
            return self.headline
        return f"{self.total:,} match{'' if self.total == 1 else 'es'}"


def headline(here: Place, wanted: Wanted, total: int, *, first: int = 1, last: int = 0) -> str:
    """What a list that is not ranked shows, of how many, in which order."""
    shown, whole = "", total
    if first > 1:
        shown = f"{first:,} to {last:,} of "
    elif wanted.is_narrowed and RETIRED not in wanted.marks:
        shown, whole = f"{total:,} of ", here.summary.memories
    noun = "memory" if whole == 1 else "memories"
    return f"{shown}{whole:,} {noun}" + (", newest first" if total > 1 else "")


def listing(principal: Principal, name: str, wanted: Wanted, *, of: str = "page") -> Listing:
    """The page of this bank that is wanted; `of` the part `found` or `more` only what that shows.

    Raises what `open_bank` raises, and Invalid for a cursor that is not one.
    """
    bank = open_bank(principal, name, Role.VIEWER, Scope.MEMORY_READ)
    # Before the rows: what comes in between is told by the pill rather than lost.
    since = Pill(bank.head, wanted.following("").query_string)
    shown = place(principal, name)
    found = _ranked(principal, bank, wanted) if wanted.q else _Found()
    if not found.is_ranked:
        found = _newest_first(bank, wanted, found.notice)
    return Listing(
        place=shown,
        wanted=wanted,
        rows=[_row(memory, wanted, score) for memory, score in found.memories],
        total=found.total,
        pill=since,
        chips=None if of == "more" else chips(wanted, queries.tags(bank)),
        first=found.first,
        next_query=wanted.following(found.cursor).query_string if found.cursor else "",
        notice=found.notice,
        is_ranked=found.is_ranked,
        retired=0 if found.total else _retired(principal, bank, wanted),
        damages=damages(findings.unreadable(bank)) if of == "page" else [],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """Memories with their scores, how many there are in all, and where the list goes on."""

    memories: list[tuple[Memory, float | None]] = field(default_factory=list)
    total: int = 0
    first: int = 1
    cursor: str = ""
    notice: str = ""
    is_ranked: bool = False


def _ranked(principal: Principal, bank: Bank, wanted: Wanted) -> _Found:
    """The best matches, or why there is no ranking."""
    found = recall_services.recall(
        principal,
        bank,
        wanted.q,
        limit=PAGE,
        filters=wanted.filters,
        include_superseded=RETIRED in wanted.marks,
    )
    if found.retrieval in NOT_RANKED:
        return _Found(notice=NOT_RANKED[found.retrieval])
    return _Found(
        memories=[(hit.memory, hit.score) for hit in found.memories],
        total=len(found.memories),
        notice=_behind(found.index.lag),
        is_ranked=True,
    )


def _newest_first(bank: Bank, wanted: Wanted, notice: str) -> _Found:
    """A page of all that the filters let through; words are looked for as they are."""
    filters = replace(wanted.filters, text=wanted.q)
    page = queries.list_memories(bank, filters, limit=PAGE, cursor=wanted.after or None)
    first = 1
    if wanted.after and page.memories:
        # Counted, since memories came and went after the page before was read.
        time = page.memories[0].created_at
        since = replace(filters, since=queries.from_milliseconds(time))
        up_to_here = queries.list_memories(bank, since, limit=0).total
        first = up_to_here - sum(each.created_at == time for each in page.memories[1:])
    return _Found(
        memories=[(memory, None) for memory in page.memories],
        total=page.total,
        first=first,
        cursor=page.next_cursor or "",
        notice=notice,
    )


def _retired(principal: Principal, bank: Bank, wanted: Wanted) -> int:
    """How many retired memories match where no live one does."""
    if not wanted.is_narrowed or RETIRED in wanted.marks:
        return 0
    too = wanted.toggled_mark(RETIRED)
    found = _ranked(principal, bank, too) if wanted.q else _Found()
    if found.is_ranked:
        return found.total
    filters = replace(too.filters, text=wanted.q)
    return queries.list_memories(bank, filters, limit=0).total


def _row(memory: Memory, wanted: Wanted, score: float | None = None) -> Row:
    selected = wanted.selecting(memory.id)
    return Row(memory, selected.query_string, score, is_open=wanted == selected)


def _behind(lag: int) -> str:
    """That the index has not seen the newest changes; `""` when it has."""
    if not lag:
        return ""
    return f"The search has not seen the newest change{'s' if lag > 1 else ''} yet: {lag} to go."


@dataclass(frozen=True, slots=True)
class Alone:
    """One row of a list after a change: None when the list does not show it any more. `headline`
    is that of the list now, `""` when it cannot be told without making the list."""

    place: Place
    row: Row | None
    headline: str


def alone(principal: Principal, name: str, key: str, wanted: Wanted) -> Alone:
    """The row of this memory in the list that somebody looks at. Raises what `open_bank` raises."""
    bank = open_bank(principal, name, Role.VIEWER, Scope.MEMORY_READ)
    here = place(principal, name)
    row = _memory(bank, key)
    is_shown = row is not None and (row.invalid_at is None or RETIRED in wanted.marks)
    line = ""
    if not wanted.q and not wanted.after:
        whole = wanted.is_whole
        total = (
            here.summary.memories
            if whole
            else queries.list_memories(bank, wanted.filters, limit=0).total
        )
        line = headline(here, wanted, total)
    return Alone(here, _row(row, wanted) if row is not None and is_shown else None, line)


def _memory(bank: Bank, key: str) -> Memory | None:
    """The memory with exactly this id, if it is in the bank."""
    row = queries.rows_by_ids(bank, [key]).get(key)
    return queries.memories(bank, [row])[0] if row else None


def pill(principal: Principal, name: str, since: str, seen: Wanted) -> Pill:
    """What others made or changed after the list was read. Raises what `open_bank` raises, and
    Invalid for a `since` that is no number.

    One's own changes are no news: this page shows them, or the other window where they were made.
    """
    bank = open_bank(principal, name, Role.VIEWER, Scope.MEMORY_READ)
    if not (since.isascii() and since.isdecimal() and len(since) <= _DIGITS):
        raise errors.Invalid("Send the number of a change.", loc="since")
    head = int(since)
    count, is_more = news.count(bank, after=head, without=principal.handle)
    return Pill(head, seen.following("").selecting(seen.sel).query_string, count, is_more)
