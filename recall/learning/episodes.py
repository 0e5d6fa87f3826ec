"""Which episodes of a bank are still to be read, and how far that has come."""

from collections.abc import Iterable, Iterator, Sequence

from django.db import transaction
from django.db.models import Q

from banks import queries
from banks.models import Bank, Entry
from banks.store.types import Category, Kind, Trust
from recall.learning.promotion import Episode, Known
from recall.models import Checkpoint
from recall.services.recalling import found

WINDOW = 20
"""Episodes that are read at once."""

WINDOW_CHARACTERS = 24_000
KNOWN_EACH = 3
"""Memories of each kind that are looked up for one episode."""

KNOWN_MOST = 40


def checkpoint(bank: Bank) -> Checkpoint:
    """How far the bank was read; a row that may not be saved yet."""
    return Checkpoint.objects.filter(bank=bank).first() or Checkpoint(bank=bank)


def unread(bank: Bank, since: Checkpoint) -> list[Episode]:
    """Live episodes that no run has read, oldest first."""
    rows = Entry.objects.filter(bank=bank, kind=Kind.EPISODIC.value, live=True)
    rows = rows.filter(Q(pk__gt=since.seen) | Q(entry_id__in=since.again)).order_by(
        "created_at", "entry_id"
    )
    read = set(since.read) - set(since.again)
    values = rows.values_list(
        "entry_id", "pk", "category", "created_at", "text", "trust", "fingerprint"
    )
    return [
        Episode(key, row, category, created, text, Trust(trust), fingerprint)
        for key, row, category, created, text, trust, fingerprint in values
        if key not in read
    ]


def windows(episodes: Sequence[Episode]) -> Iterator[list[Episode]]:
    """All of them in their order, as many at once as a model can be shown."""
    window: list[Episode] = []
    size = 0
    for each in episodes:
        if window and (len(window) == WINDOW or size + len(each.text) > WINDOW_CHARACTERS):
            yield window
            window, size = [], 0
        window.append(each)
        size += len(each.text)
    if window:
        yield window


def related(bank: Bank, window: Iterable[Episode]) -> list[Known]:
    """Lasting knowledge that these episodes may touch: what recall finds for each of them."""
    ids: dict[str, None] = {}
    for each in window:
        for kind in (Kind.SEMANTIC, Kind.PROCEDURAL):
            hits = found(bank, each.text, limit=KNOWN_EACH, filters=queries.Filters(kind=kind))
            ids |= dict.fromkeys(hit.memory.id for hit in hits.memories)
    rows = queries.rows_by_ids(bank, list(ids)[:KNOWN_MOST])
    return [_known(rows[key]) for key in ids if key in rows]


def _known(row: Entry) -> Known:
    category = Category(row.category)
    title = (row.title or row.summary) if category is Category.PROCEDURE else ""
    return Known(row.entry_id, category, row.version, title, row.text, Trust(row.trust), row.pinned)


def advance(bank: Bank, read: Sequence[Episode], *, is_all: bool) -> None:
    """Count these as read. `is_all`: with them every episode is read that there was."""
    ids = {each.id for each in read}
    with transaction.atomic():
        row = _locked(bank)
        row.again = [key for key in row.again if key not in ids]
        if is_all:
            seen = max([row.seen, *(each.row for each in read)])
            row.again = sorted({*row.again, *_deleted(bank, row, seen)})
            row.seen, row.read = seen, []
        else:
            row.read = sorted({*row.read, *(each.id for each in read if each.row > row.seen)})
        row.save(update_fields=["seen", "read", "again"])


def _deleted(bank: Bank, before: Checkpoint, seen: int) -> set[str]:
    """Episodes that are passed over unread, being deleted: they may come back."""
    rows = Entry.objects.filter(bank=bank, kind=Kind.EPISODIC.value, live=False, superseded_by="")
    rows = rows.filter(pk__gt=before.seen, pk__lte=seen)
    return set(rows.values_list("entry_id", flat=True)) - set(before.read)


def read_again(bank: Bank, ids: Iterable[str]) -> None:
    """Let a later run read the episodes among these once more: what was made of them is stale."""
    rows = Entry.objects.filter(bank=bank, kind=Kind.EPISODIC.value, entry_id__in=list(ids))
    keys = set(rows.values_list("entry_id", flat=True))
    if not keys:
        return
    with transaction.atomic():
        row = _locked(bank)
        row.again = sorted({*row.again, *keys})
        row.save(update_fields=["again"])


def _locked(bank: Bank) -> Checkpoint:
    Checkpoint.objects.get_or_create(bank=bank)
    return Checkpoint.objects.select_for_update().get(bank=bank)
