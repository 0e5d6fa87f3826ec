"""What can be tidied without a model: what says the same, and errors that keep coming back."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from banks import links, queries
from banks.models import Bank, Change, Entry
from banks.services.consolidating import Extend, Merge, Seen
from banks.store import redact
from banks.store.types import Category
from recall import indexer
from recall.engine.query import query_terms
from recall.learning import duplicates, failures
from recall.learning.changes import Asked
from recall.learning.duplicates import Pair, Said
from recall.learning.failures import Recurring
from recall.services.recalling import found

MERGED = (Category.FACTS, Category.RULES, Category.PREFERENCES)
"""Episodes and procedures are never merged."""

_PROCEDURES_LOOKED_AT = 5


@dataclass(frozen=True, slots=True)
class Tidied:
    """Exact duplicates, what a person is asked about, and what met a pinned memory."""

    merges: tuple[Merge, ...]
    asked: tuple[Asked, ...]
    pinned: tuple[Merge | Extend, ...]


def tidied(bank: Bank) -> Tidied:
    """What is to be tidied in a bank as its rows are now. Nothing is changed."""
    merges: list[Merge] = []
    asked: list[Asked] = []
    pinned: list[Merge | Extend] = []
    for memories in _by_category(bank).values():
        pairs = list(duplicates.exact(memories))
        wanted = _brought_back(bank, [pair.loser.id for pair in pairs])
        for pair in pairs:
            if pair.loser.pinned:
                pinned.append(_merge(pair, "the same text"))
            elif pair.loser.id in wanted:
                asked.append(_asked(pair, "the same words", "It was brought back before."))
            else:
                merges.append(_merge(pair, "the same text"))
        gone = {pair.loser.id for pair in pairs}
        left = [each for each in memories if each.id not in gone]
        near = [pair for pair in duplicates.near(left) if not pair.loser.pinned]
        asked += [_alike(pair) for pair in near]
    recurring, untouchable = _failures(bank)
    return Tidied(tuple(merges), (*recurring, *asked), (*pinned, *untouchable))


def _by_category(bank: Bank) -> Mapping[str, list[Said]]:
    rows = Entry.objects.filter(bank=bank, live=True, category__in=[each.value for each in MERGED])
    values = rows.order_by("category", "created_at", "entry_id").values_list(
        "category", "entry_id", "version", "text", "pinned", "corroboration", "created_at"
    )
    memories: dict[str, list[Said]] = defaultdict(list)
    for category, key, version, text, pinned, corroboration, created in values:
        memories[category].append(Said(key, version, text, pinned, corroboration, created))
    return memories


def _merge(pair: Pair, reason: str) -> Merge:
    return Merge(
        loser=Seen(pair.loser.id, pair.loser.version),
        survivor=Seen(pair.survivor.id, pair.survivor.version),
        reason=reason,
    )


def _brought_back(bank: Bank, ids: list[str]) -> set[str]:
    """Those that somebody once restored, by an undo too: they are wanted beside the other one."""
    found: set[str] = set()
    for part in links.chunks(ids):
        rows = Change.objects.filter(bank=bank, key__in=part, action=Change.Action.RESTORED)
        found |= set(rows.values_list("key", flat=True))
    return found


def _alike(pair: Pair) -> Asked:
    reason = "the same words in another order" if pair.alike == 1.0 else "nearly the same words"
    return _asked(pair, reason, f"The other one says {reason}.")


def _asked(pair: Pair, reason: str, because: str) -> Asked:
    texts = sorted(duplicates.folded(each.text) for each in (pair.loser, pair.survivor))
    return Asked(
        change=_merge(pair, reason),
        about="\0".join(texts),
        text=pair.loser.text,
        because=because,
    )


def _failures(bank: Bank) -> tuple[list[Asked], list[Extend]]:
    """Errors that keep coming back and that their procedure does not name; and those of pinned
    procedures."""
    asked: list[Asked] = []
    pinned: list[Extend] = []
    for error in failures.recurring(_errors(bank)):
        row = _procedure_of(bank, error)
        if row is None or failures.is_named(error, row.text):
            continue
        change = Extend(
            procedure=Seen(row.entry_id, row.version),
            item=redact.mask(error.item).text,
            sources=tuple(Seen(each.id, each.fingerprint) for each in error.entries),
        )
        if row.pinned:
            pinned.append(change)
            continue
        asked.append(
            Asked(
                change=change,
                about=f"{row.entry_id}\0{error.about}",
                text=error.item,
                because=f"It happened {error.times} times.",
            )
        )
    return asked, pinned


def _errors(bank: Bank) -> Iterator[failures.Seen]:
    rows = Entry.objects.filter(bank=bank, live=True, category=Category.ERRORS.value)
    values = rows.values_list(
        "entry_id", "fingerprint", "summary", "text", "corroboration", "created_at"
    )
    for key, mark, summary, text, corroboration, created in values:
        yield failures.Seen(key, mark, summary, text, corroboration + 1, created)


def _procedure_of(bank: Bank, error: Recurring) -> Entry | None:
    """The procedure that the error belongs to: recall finds it, and its title has a word of the
    error. What procedures share, like a tool, says nothing."""
    hits = found(
        bank,
        error.words,
        limit=_PROCEDURES_LOOKED_AT,
        filters=queries.Filters(category=Category.PROCEDURE),
    )
    analyzer = indexer.analyzer_of(bank)
    words = set(query_terms(error.words, analyzer))
    ids = [
        hit.memory.id
        for hit in hits.memories
        if words & set(query_terms(hit.memory.title or "", analyzer))
    ]
    return queries.rows_by_ids(bank, ids[:1]).get(ids[0]) if ids else None
