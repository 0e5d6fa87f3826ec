"""Where a memory stands in a list."""

from django.db.models import Q

from banks.models import Bank, Entry
from banks.queries import Filters, narrowed


def place_of(bank: Bank, filters: Filters, key: str) -> int:
    """The place, from 1, of an entry among those that the filters let through, newest first: by
    time, and of equal times by id. 1 for one that is not there."""
    created = Entry.objects.filter(bank=bank, entry_id=key).values_list("created_at", flat=True)
    at = created.first()
    if at is None:
        return 1
    before = Q(created_at__gt=at) | Q(created_at=at, entry_id__gt=key)
    return narrowed(bank, filters).filter(before).count() + 1
