"""Every read of rows. Faces get values from here, never rows."""

import base64
import binascii
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from django.db.models import Count, Q, QuerySet

from banks import errors, links
from banks.access import Principal, visible_banks
from banks.models import Bank, Change, Entry, EntryTag, Rule
from banks.rows import ASIDE, fold
from banks.store import names
from banks.store.types import Category, Kind, Origin, Trust

LIST_LIMIT = 50
LIST_MOST = 500

_CONFIDENCE = {
    Trust.HIGH.value: "stated",
    Trust.MEDIUM.value: "extracted",
    Trust.LOW.value: "inferred",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(time: datetime) -> int:
    """Milliseconds since the epoch, rounded down."""
    return (time - _EPOCH) // timedelta(milliseconds=1)


def from_milliseconds(value: int) -> datetime:
    """The aware UTC time of milliseconds since the epoch. Raises Invalid beyond year 9999."""
    try:
        return _EPOCH + timedelta(milliseconds=value)
    except OverflowError as error:
        raise errors.Invalid("That is no time in milliseconds.", loc="time") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a memory was learned; handles as the caller gave them."""

    session_id: str | None
    entry_id: str | None
    agent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory as people and agents see it. Times are milliseconds since the epoch."""

    id: str
    bank: str
    text: str
    summary: str
    title: str | None
    category: str
    kind: str
    origin: str
    trust: str
    confidence: str
    tags: list[str]
    entities: list[str]
    pinned: bool
    corroboration: int
    revision: int
    created_at: int
    updated_at: int
    stated_at: int
    invalid_at: int | None
    superseded_by: str | None
    supersedes: str | None
    replaces: list[str]
    former_id: str | None
    fingerprint: str
    version: str
    path: str
    source: Source | None


def memories(bank: Bank, rows: Sequence[Entry]) -> list[Memory]:
    """Values of these rows, in their order, each with the entries it replaces."""
    replaced: dict[str, list[str]] = defaultdict(list)
    for part in links.chunks(row.entry_id for row in rows):
        # Sorted and sifted here: an order or one more condition tempts SQLite to another index,
        # which holds nearly all rows of the bank.
        pointing = Entry.objects.filter(bank=bank, superseded_by__in=part).order_by()
        pairs = pointing.values_list("superseded_by", "entry_id", "link_problem")
        for survivor, loser, problem in sorted(pairs):
            if not problem:
                replaced[survivor].append(loser)
    return [memory_of(bank, row, replaced[row.entry_id]) for row in rows]


def memory_of(bank: Bank, row: Entry, replaces: list[str]) -> Memory:
    """The value of one row (saved or planned)."""
    known = row.session or row.source_entry or row.agent
    source = Source(
        session_id=row.session or None,
        entry_id=row.source_entry or None,
        agent=row.agent or None,
    )
    return Memory(
        id=row.entry_id,
        bank=bank.name,
        text=row.text,
        summary=row.summary,
        title=(row.title or row.summary) if row.kind == Kind.PROCEDURAL else None,
        category=row.category,
        kind=row.kind,
        origin=row.origin,
        trust=row.trust,
        confidence=_CONFIDENCE[row.trust],
        tags=list(row.tags),
        entities=list(row.entities),
        pinned=row.pinned,
        corroboration=row.corroboration,
        revision=row.revision,
        created_at=milliseconds(row.created_at),
        updated_at=milliseconds(row.updated_at),
        stated_at=milliseconds(row.stated_at),
        invalid_at=milliseconds(row.invalid_at) if row.invalid_at else None,
        superseded_by=row.superseded_by or None,
        supersedes=row.supersedes or None,
        replaces=replaces,
        former_id=row.former_id or None,
        fingerprint=row.fingerprint,
        version=row.version,
        path=row.file.path,
        source=source if known else None,
    )


def memory(bank: Bank, key: str) -> Memory:
    """One memory by id, former id or fingerprint. Raises MemoryNotFound, AmbiguousId."""
    return memories(bank, [find(bank, key)])[0]


def find(bank: Bank, key: str) -> Entry:
    """The row of an id, else of a former id, else of a fingerprint: the live one, else the newest
    dead one. Raises MemoryNotFound; AmbiguousId when two live ones share the fingerprint."""
    if not names.is_entry_id(key):
        raise errors.MemoryNotFound
    # No order: with one, SQLite would walk the rows in it instead of asking the index.
    rows = Entry.objects.filter(bank=bank).select_related("file").order_by()
    for named in (rows.filter(entry_id=key), rows.filter(former_id=key)):
        for found in named[:1]:
            return found
    alike = list(rows.filter(fingerprint=key))
    live = sorted(row.entry_id for row in alike if row.live)
    if len(live) > 1:
        raise errors.AmbiguousId(tuple(live))
    if not alike:
        raise errors.MemoryNotFound
    return max(alike, key=lambda row: (row.live, row.stated_at, row.entry_id))


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a list or recall is narrowed to. `tags`: all of them, or any; `until` is exclusive."""

    kind: Kind | None = None
    category: Category | None = None
    tags: tuple[str, ...] = ()
    any_tag: bool = False
    origin: Origin | None = None
    since: datetime | None = None
    until: datetime | None = None
    pinned: bool | None = None
    text: str = ""
    include_superseded: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page of memories, how many match in all, and where the next page begins (None: none)."""

    memories: list[Memory] = field(default_factory=list)
    total: int = 0
    next_cursor: str | None = None


def narrowed(bank: Bank, filters: Filters) -> QuerySet[Entry]:
    """The rows of a bank that pass the filters, in no order."""
    rows = Entry.objects.filter(bank=bank)
    if not filters.include_superseded:
        rows = rows.filter(live=True)
    if filters.kind is not None:
        rows = rows.filter(kind=filters.kind.value)
    if filters.category is not None:
        rows = rows.filter(category=filters.category.value)
    if filters.origin is not None:
        rows = rows.filter(origin=filters.origin.value)
    if filters.pinned is not None:
        rows = rows.filter(pinned=filters.pinned)
    if filters.since is not None:
        rows = rows.filter(created_at__gte=filters.since)
    if filters.until is not None:
        rows = rows.filter(created_at__lt=filters.until)
    wanted = [filters.tags] if filters.any_tag else [(tag,) for tag in filters.tags]
    for tags_of_one in filter(None, wanted):
        tagged = EntryTag.objects.filter(bank=bank, tag__in=tags_of_one)
        rows = rows.filter(pk__in=tagged.values("entry"))
    if filters.text.strip():
        rows = rows.filter(folded__contains=fold(filters.text.strip()))
    return rows


def list_memories(
    bank: Bank,
    filters: Filters,
    *,
    limit: int = LIST_LIMIT,
    offset: int = 0,
    cursor: str | None = None,
) -> Page:
    """A page of memories, newest first (`created_at`, then id, both descending).

    `cursor` (from the page before) goes before `offset`. Raises Invalid for a broken cursor.
    """
    rows = narrowed(bank, filters)
    after = _read_cursor(cursor) if cursor else None
    total = rows.count()
    if not total:
        return Page()
    if after is not None:
        created, key = after
        rows = rows.filter(Q(created_at__lt=created) | Q(created_at=created, entry_id__lt=key))
        offset = 0
    ordered = rows.select_related("file").defer(*ASIDE)
    page = list(ordered.order_by("-created_at", "-entry_id")[offset : offset + limit + 1])
    more = len(page) > limit > 0
    page = page[:limit]
    following = _cursor(page[-1]) if more else None
    return Page(memories(bank, page), total, following)


def _cursor(row: Entry) -> str:
    plain = f"{row.created_at.isoformat()} {row.entry_id}"
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def _read_cursor(cursor: str) -> tuple[datetime, str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        created, key = base64.urlsafe_b64decode(padded).decode().split(" ")
        time = datetime.fromisoformat(created)
        if time.tzinfo is None or not names.is_entry_id(key):
            raise ValueError("not made here")
        time = time.astimezone(UTC)
    except (ValueError, OverflowError, binascii.Error) as error:
        raise errors.Invalid(
            "That cursor is not one of ours: start from the first page.", loc="cursor"
        ) from error
    return time, key


def rows_by_ids(bank: Bank, ids: Iterable[str]) -> dict[str, Entry]:
    """Rows by entry id, for a reader of the journal or an index; unknown ids are left out."""
    found: dict[str, Entry] = {}
    for part in links.chunks(ids):
        rows = Entry.objects.filter(bank=bank, entry_id__in=part).select_related("file")
        found |= {row.entry_id: row for row in rows.defer(*ASIDE)}
    return found


def has_memories(bank: Bank) -> bool:
    """Whether any memory of the bank is live."""
    return Entry.objects.filter(bank=bank, live=True).exists()


def strongest(bank: Bank, count: int, *, without: Iterable[str] = ()) -> list[Memory]:
    """Live memories but for those ids, strongest first: pinned, then by how often they were
    observed, then newest statement, then id."""
    rows = Entry.objects.filter(bank=bank, live=True).exclude(entry_id__in=list(without))
    ordered = rows.order_by("-pinned", "-corroboration", "-stated_at", "entry_id")
    plain = ordered.select_related("file").defer(*ASIDE)
    return memories(bank, list(plain[:count]))


def tags(bank: Bank) -> list[tuple[str, int]]:
    """Tags of live memories with their counts, most used first, then by name.

    All are counted from the index alone, then the few dead ones taken off: a join over every tag
    of a large bank costs twice that.
    """
    rows = EntryTag.objects.filter(bank=bank).order_by()
    dead = Counter(rows.filter(entry__in=_dead(bank)).values_list("tag", flat=True))
    counted = rows.values_list("tag").annotate(count=Count("pk"))
    live = [(tag, count - dead[tag]) for tag, count in counted if count > dead[tag]]
    return sorted(live, key=lambda each: (-each[1], each[0]))


def _dead(bank: Bank) -> QuerySet[Entry]:
    return Entry.objects.filter(bank=bank, live=False)


@dataclass(frozen=True, slots=True)
class RuleText:
    """One injected rule of a bank; `updated_at` is the file's time in milliseconds."""

    name: str
    content: str
    version: str
    updated_at: int


def rules(bank: Bank) -> list[RuleText]:
    """The injected rules of a bank, by name."""
    return [
        RuleText(
            row.name,
            plain(row.content),
            row.version,
            milliseconds(row.updated_at),
        )
        for row in Rule.objects.filter(bank=bank).order_by("name")
    ]


def plain(content: str) -> str:
    """A rule as people and agents read it: without a mark of byte order, with plain line ends."""
    return content.removeprefix("\ufeff").replace("\r\n", "\n")


def rule(bank: Bank, name: str) -> RuleText:
    """One injected rule. Raises RuleNotFound."""
    for each in rules(bank):
        if each.name == name:
            return each
    raise errors.RuleNotFound


@dataclass(frozen=True, slots=True)
class LastChange:
    """Who brought something to what it is now, and when, in milliseconds."""

    at: int
    actor: str


def last_rule_changes(bank: Bank, keys: Iterable[str]) -> dict[str, LastChange]:
    """The last change of each of these rules (by name) that the journal knows."""
    # No order: with one, SQLite would walk the whole journal in it.
    rows = Change.objects.filter(bank=bank, target=Change.Target.RULE, key__in=list(keys))
    newest = sorted(rows.order_by().values_list("seq", "key", "at", "actor"))
    return {key: LastChange(milliseconds(at), actor) for _, key, at, actor in newest}


@dataclass(frozen=True, slots=True)
class Summary:
    """A bank as listings show it: counts of live memories, pinned ones and rules. `head` is the
    number of its last change."""

    name: str
    description: str
    memories: int
    pinned: int
    rules: int
    hold: str
    head: int


def summaries(principal: Principal) -> list[Summary]:
    """Every bank that the caller may see, by name."""
    return _summaries(visible_banks(principal))


def summary(bank: Bank) -> Summary:
    """One bank."""
    return _summaries(Bank.objects.filter(pk=bank.pk))[0]


def _summaries(banks: QuerySet[Bank]) -> list[Summary]:
    found = list(banks)
    live = Entry.objects.filter(bank__in=found, live=True).values("bank")
    counts = dict(live.annotate(n=Count("pk")).values_list("bank", "n"))
    pinned = dict(live.filter(pinned=True).annotate(n=Count("pk")).values_list("bank", "n"))
    ruled = dict(
        Rule.objects.filter(bank__in=found)
        .values("bank")
        .annotate(n=Count("pk"))
        .values_list("bank", "n")
    )
    return [
        Summary(
            bank.name,
            bank.description,
            counts.get(bank.pk, 0),
            pinned.get(bank.pk, 0),
            ruled.get(bank.pk, 0),
            bank.hold,
            bank.head,
        )
        for bank in found
    ]
