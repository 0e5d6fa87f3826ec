"""What the page of a bank's memories shows: newest first, or the best matches of a search."""

from dataclasses import dataclass, field, replace

from django.http import HttpRequest

from banks import errors, findings, news, queries
from banks.access import Principal, Role, Scope
from banks.queries import Memory
from banks.services import Bank, open_bank, places
from memoryconsole.console import htmx
from memoryconsole.console.context import Place, person, place
from memoryconsole.console.damage import Damage, damages
from memoryconsole.console.filters import RETIRED, Chips, Wanted, chips
from recall import services as recall_services
from recall.services import LIMIT_MOST

PAGE, MOST = 50, 500
"""How many rows come at once, and how many a list has at most that is shown again."""
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
    """A page of rows, or those that follow on it. `total` counts all that the filters let through
    (of a ranked list the best of them, `is_cut` when there may be more), `first` is the place of
    the first row among them, from 1, and `begin` that of the first row on the page; `notice` says
    what is not as usual with the search, `retired` counts what would match besides when nothing
    does, `damages` is what the files hide.
    """

    place: Place
    wanted: Wanted
    rows: list[Row]
    total: int
    pill: Pill
    chips: Chips | None = None
    first: int = 1
    begin: int = 1
    next_query: str = ""
    notice: str = ""
    is_ranked: bool = False
    is_cut: bool = False
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
        return bool(self.next_query) or self.first > 1 or self.is_cut

    @property
    def is_at_limit(self) -> bool:
        """Whether there may be more matches behind the last row, but a search gives no more."""
        return self.is_cut and not self.next_query

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
            return ranked_headline(self.total, self.begin, self.last, is_cut=self.is_cut)
        return headline(self.place, self.wanted, self.total, begin=self.begin, last=self.last)

    @property
    def extent(self) -> str:
        """Which part of the list is on the page; `""` when that is all of it."""
        if not self.is_part:
            return ""
        return extent(self.begin, self.last, self.total, is_cut=self.is_cut)

    @property
    def said(self) -> str:
        """The same for ears: what a filter did."""
        if not self.wanted.is_narrowed:
            return self.headline
        return f"{_matches(self.total, is_cut=self.is_cut)}"


def headline(here: Place, wanted: Wanted, total: int, *, begin: int = 1, last: int = 0) -> str:
    """What a list that is not ranked shows, of how many, in which order."""
    shown, whole = "", total
    if begin > 1:
        shown = f"{begin:,} to {last:,} of "
    elif wanted.is_narrowed and RETIRED not in wanted.marks:
        shown, whole = f"{total:,} of ", here.summary.memories
    noun = "memory" if whole == 1 else "memories"
    return f"{shown}{whole:,} {noun}" + (", newest first" if total > 1 else "")


def ranked_headline(total: int, begin: int, last: int, *, is_cut: bool) -> str:
    """The same for a list of matches; `is_cut`: there may be more than `total`."""
    shown = (
        f"{begin} to {last} of " if begin > 1 else f"The {last} best of " if last < total else ""
    )
    if is_cut and not shown:
        return f"The {total} best matches, best first"
    told = f"{shown}{_matches(total, is_cut=is_cut)}"
    return told if total == 1 else f"{told}, best first"


def _matches(total: int, *, is_cut: bool) -> str:
    return f"{_at_least(total, is_cut=is_cut)} match{'' if total == 1 else 'es'}"


def _at_least(total: int, *, is_cut: bool) -> str:
    return f"{total:,} or more" if is_cut else f"{total:,}"


def extent(begin: int, last: int, total: int, *, is_cut: bool = False) -> str:
    """Which part of a list is on the page."""
    where = f"{begin:,} to" if begin > 1 else "Showing"
    return f"{where} {last:,} of {_at_least(total, is_cut=is_cut)}"


def listing(
    request: HttpRequest, name: str, wanted: Wanted, seen: Wanted, *, of: str, rows: int
) -> Listing:
    """The page of this bank that is wanted (`of`: "page"), or only what the part `found` or `more`
    shows of it.

    `rows` are on the page already, at the address `seen`: `more` come below them, the others show
    as many again. Raises what `open_bank` raises, and Invalid for a cursor that is not one.
    """
    principal = person(request)
    bank = open_bank(principal, name, Role.VIEWER, Scope.MEMORY_READ)
    # Before the rows: what comes in between is told by the pill rather than lost.
    since = Pill(bank.head, wanted.following("").query_string)
    shown, address = place(request, name), seen if of == "more" else wanted
    limit = PAGE if of == "more" else htmx.whole_pages(rows, PAGE, MOST)
    found = _ranked(principal, bank, wanted, limit) if wanted.q else _Found()
    if not found.is_ranked:
        found = _newest_first(bank, wanted, found.notice, limit)
    return Listing(
        place=shown,
        wanted=wanted,
        rows=[_row(memory, address, score) for memory, score in found.memories],
        total=found.total,
        pill=since,
        chips=None if of == "more" else chips(wanted, queries.tags(bank)),
        first=found.first,
        begin=max(1, found.first - (rows or found.first)) if of == "more" else found.first,
        next_query=wanted.following(found.cursor).query_string if found.cursor else "",
        notice=found.notice,
        is_ranked=found.is_ranked,
        is_cut=found.is_cut,
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

    @property
    def is_cut(self) -> bool:
        """Whether there may be more matches than a search gives."""
        return self.is_ranked and self.total == LIMIT_MOST


def _ranked(principal: Principal, bank: Bank, wanted: Wanted, limit: int = 0) -> _Found:
    """At most `limit` of the best matches, or why there is no ranking."""
    if wanted.after and not _is_place(wanted.after):
        return _Found()  # a page of a list that was not ranked when it began
    found = recall_services.recall(
        principal,
        bank,
        wanted.q,
        limit=LIMIT_MOST,
        filters=wanted.filters,
        include_superseded=RETIRED in wanted.marks,
    )
    if found.retrieval in NOT_RANKED:
        return _Found(notice=NOT_RANKED[found.retrieval])
    start = int(wanted.after or 0)
    end = min(start + limit, len(found.memories))
    return _Found(
        memories=[(hit.memory, hit.score) for hit in found.memories[start:end]],
        total=len(found.memories),
        first=start + 1,
        cursor=str(end) if end < len(found.memories) else "",
        notice=_behind(found.index.lag),
        is_ranked=True,
    )


def _is_place(after: str) -> bool:
    """Whether a cursor is that of a ranked list: how many matches stand before the page."""
    return after.isascii() and after.isdecimal() and len(after) <= len(str(LIMIT_MOST))


def _newest_first(bank: Bank, wanted: Wanted, notice: str, limit: int) -> _Found:
    """A page of all that the filters let through; words are looked for as they are."""
    filters = replace(wanted.filters, text=wanted.q)
    page = queries.list_memories(bank, filters, limit=limit, cursor=wanted.after or None)
    return _Found(
        memories=[(memory, None) for memory in page.memories],
        total=page.total,
        first=_first(bank, wanted, page.memories),
        cursor=page.next_cursor or "",
        notice=notice,
    )


def _first(bank: Bank, wanted: Wanted, memories: list[Memory]) -> int:
    """The place of the first of these rows. Counted, since memories came and went after the page
    before was read."""
    if not (wanted.after and memories):
        return 1
    return places.place_of(bank, replace(wanted.filters, text=wanted.q), memories[0].id)


def _retired(principal: Principal, bank: Bank, wanted: Wanted) -> int:
    """How many retired memories match where no live one does."""
    if not wanted.is_narrowed or RETIRED in wanted.marks:
        return 0
    return _counted(principal, bank, wanted.toggled_mark(RETIRED)).total


def _counted(principal: Principal, bank: Bank, wanted: Wanted) -> _Found:
    """How many there are in all; of what is not ranked no memories."""
    found = _ranked(principal, bank, wanted) if wanted.q else _Found()
    if found.is_ranked:
        return found
    filters = replace(wanted.filters, text=wanted.q)
    return _Found(total=queries.list_memories(bank, filters, limit=0).total)


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
    and `extent` are those of the list now; `""` when they are as they were, or cannot be told."""

    place: Place
    row: Row | None
    headline: str = ""
    extent: str = ""


def alone(request: HttpRequest, name: str, key: str, wanted: Wanted, *, rows: int) -> Alone:
    """The row of this memory in the list that somebody looks at, which had so many `rows` with it.
    Raises what `open_bank` raises."""
    principal = person(request)
    bank = open_bank(principal, name, Role.VIEWER, Scope.MEMORY_READ)
    here, memory = place(request, name), _memory(bank, key)
    if memory is not None and wanted.lets_through(memory):
        return Alone(here, _row(memory, wanted))
    found = _counted(principal, bank, wanted)
    if found.is_ranked:
        last = rows - 1 if rows else found.total
        told = ranked_headline(found.total, 1, min(last, found.total), is_cut=found.is_cut)
        return Alone(here, None, told)
    if not rows:
        return Alone(here, None, "" if wanted.after else headline(here, wanted, found.total))
    above = queries.list_memories(bank, wanted.filters, limit=1, cursor=wanted.after or None)
    begin = _first(bank, wanted, above.memories)
    last = begin + rows - 2
    return Alone(
        here,
        None,
        headline(here, wanted, found.total, begin=begin, last=last),
        extent(begin, last, found.total),
    )


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
