"""Which entries are live: pointers followed over rows, loops and dead ends told.

An entry is dead when its block says `invalidated`, or when its `superseded_by` leads to an entry
of the bank. A pointer to nothing, to itself or into its own loop is a problem; its entry stays
live, so that a slip of the pen hides nothing.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from django.db.models import Q

from banks.models import Bank, Entry

DANGLING = "dangling"
SELF = "self"
LOOP = "loop"

_CHUNK = 400
_FIELDS = (
    "pk", "entry_id", "superseded_by", "created_at", "invalidated_at", "live", "invalid_at",
    "link_problem",
)  # fmt: skip


def chunks(values: Iterable[str]) -> Iterator[list[str]]:
    """Lists of at most 400 values: what one SQL statement takes on every database."""
    ordered = list(values)
    for start in range(0, len(ordered), _CHUNK):
        yield ordered[start : start + _CHUNK]


class _Pointers:
    """Rows by id, fetched as the walk meets them."""

    def __init__(self, bank: Bank) -> None:
        self._bank = bank
        self.rows: dict[str, Entry | None] = {}

    def load(self, ids: Iterable[str]) -> None:
        """Fetch the rows of these ids and all that their pointers lead to."""
        wanted = {key for key in ids if key and key not in self.rows}
        while wanted:
            for part in chunks(wanted):
                found = Entry.objects.filter(bank=self._bank, entry_id__in=part).only(*_FIELDS)
                self.rows |= dict.fromkeys(part)
                self.rows |= {row.entry_id: row for row in found}
            wanted = self._led_to(wanted)

    def load_around(self, ids: list[str]) -> None:
        """The same with the entries that point at these ids and the members of known loops.

        At most as many ids as `chunks` gives at once.
        """
        bank = self._bank
        # The bank stands in each part: so SQLite takes an index for each.
        around = (
            Q(bank=bank, entry_id__in=ids)
            | Q(bank=bank, superseded_by__in=ids)
            | Q(bank=bank, link_problem=LOOP)
        )
        found = {row.entry_id: row for row in Entry.objects.filter(around).only(*_FIELDS)}
        self.rows |= dict.fromkeys(ids) | found
        self.load(self._led_to(found))

    def _led_to(self, ids: Iterable[str]) -> set[str]:
        """Ids that pointers of these entries name and that were not fetched."""
        rows = filter(None, map(self.rows.__getitem__, ids))
        return {row.superseded_by for row in rows} - {"", *self.rows}

    def get(self, key: str) -> Entry | None:
        return self.rows.get(key)


def resolve(bank: Bank, touched: Iterable[str]) -> None:
    """Work out `live`, `invalid_at` and `link_problem` anew wherever these entries matter.

    `touched`: ids that are new, gone, or whose pointer or `invalidated` changed. Affected are they,
    the entries that point at them, whatever their pointers lead to, and members of known loops.
    """
    pointers = _Pointers(bank)
    for part in chunks(sorted(set(touched))):
        pointers.load_around(part)
    if not pointers.rows:
        return
    loops = _loops(pointers)
    changed = [row for row in pointers.rows.values() if row and _settle(row, pointers, loops)]
    Entry.objects.bulk_update(changed, ["live", "invalid_at", "link_problem"], batch_size=400)


def unsettled(bank: Bank) -> list[str]:
    """Sorted ids whose derived fields are not what the pointers say; nothing is written."""
    pointers = _Pointers(bank)
    pointers.load(Entry.objects.filter(bank=bank).values_list("entry_id", flat=True))
    loops = _loops(pointers)
    rows = [row for row in pointers.rows.values() if row]
    return sorted(row.entry_id for row in rows if _settle(row, pointers, loops))


def _loops(pointers: _Pointers) -> set[str]:
    """Ids that lie on a loop: each walk ends at a seen id, so all of it is linear."""
    done: set[str] = set()
    looped: set[str] = set()
    for start in pointers.rows:
        path: dict[str, int] = {}
        key = start
        while key and key not in done and key not in path:
            path[key] = len(path)
            row = pointers.get(key)
            key = row.superseded_by if row else ""
        if key in path:
            looped |= {other for other, place in path.items() if place >= path[key]}
        done.update(path)  # `|=` with a view of keys would copy the whole set each time
    return looped


def _settle(row: Entry, pointers: _Pointers, loops: set[str]) -> bool:
    """Set the three derived fields; whether any of them moved."""
    successor = pointers.get(row.superseded_by) if row.superseded_by else None
    problem = ""
    if row.superseded_by == row.entry_id:
        problem = SELF
    elif row.entry_id in loops:
        problem = LOOP
    elif row.superseded_by and successor is None:
        problem = DANGLING
    invalid_at: datetime | None = row.invalidated_at
    replaced = successor is not None and not problem
    if invalid_at is None and successor is not None and replaced:
        invalid_at = successor.created_at
    before = (row.live, row.invalid_at, row.link_problem)
    row.live = row.invalidated_at is None and not replaced
    row.invalid_at = invalid_at
    row.link_problem = problem
    return before != (row.live, row.invalid_at, row.link_problem)
