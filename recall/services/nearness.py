"""Rows whose texts mean what a query means, in whatever words."""

from collections.abc import Collection
from itertools import islice

from django.conf import settings

from banks import links, queries
from banks.models import Bank, Entry
from banks.rows import ASIDE
from recall.meaning import Comparison

_WIDER = 4


def nearest(
    bank: Bank,
    comparison: Comparison,
    wanted: queries.Filters,
    *,
    count: int,
    known: Collection[str] = (),
) -> list[tuple[Entry, float]]:
    """Up to `count` rows that fit, with their cosines, nearest first: none that is not near, and
    none with a fingerprint that is `known`."""
    size = count
    while True:
        close = (
            (fingerprint, cosine)
            for fingerprint, cosine in comparison.nearest(size + len(known))
            if is_near(cosine) and fingerprint not in known
        )
        some = dict(islice(close, size))
        rows = _rows(bank, some, wanted)
        if len(rows) >= count or len(some) < size:
            ordered = sorted(rows, key=lambda row: (-some[row.fingerprint], row.entry_id))
            return [(row, some[row.fingerprint]) for row in ordered[:count]]
        size *= _WIDER


def is_near(cosine: float) -> bool:
    """Whether a text with this cosine is about the same thing: it reaches the floor."""
    return cosine >= settings.EMBEDDER_FLOOR / 100


def _rows(bank: Bank, fingerprints: Collection[str], wanted: queries.Filters) -> list[Entry]:
    found: list[Entry] = []
    for part in links.chunks(fingerprints):
        # In two steps: all conditions at once would tempt SQLite to an index of nearly all rows.
        same = Entry.objects.filter(bank=bank, fingerprint__in=part).order_by()
        keys = list(same.values_list("pk", flat=True))
        rows = queries.narrowed(bank, wanted).filter(pk__in=keys).select_related("file")
        found += rows.defer(*ASIDE)
    return found
