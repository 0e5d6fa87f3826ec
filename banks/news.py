"""What others did since somebody looked, and who was the last to do anything."""

from django.db.models import F

from banks import links
from banks.access import Principal, visible_banks
from banks.models import Bank, Change, Entry
from banks.queries import LastChange, milliseconds

NEWS_MOST = 5_000
"""How many of the newest changes are looked at: a page may stand open for weeks."""


def count(bank: Bank, *, after: int, without: str) -> tuple[int, bool]:
    """How many live memories were made or changed by changes with numbers above `after`.

    Changes by the actor `without` do not count. With true: there were more changes than are looked
    at, so there may be more memories.
    """
    oldest = bank.head - NEWS_MOST
    changes = Change.objects.filter(
        bank=bank, seq__gt=max(after, oldest), target=Change.Target.ENTRY
    )
    keys = set(changes.exclude(actor=without).order_by().values_list("key", flat=True))
    found = sum(
        Entry.objects.filter(bank=bank, live=True, entry_id__in=part).count()
        for part in links.chunks(keys)
    )
    return found, after < oldest


def last_changes(principal: Principal) -> dict[str, LastChange]:
    """The newest change of each bank that the caller may see, by the bank's name."""
    heads = Change.objects.filter(bank__in=visible_banks(principal), seq=F("bank__head"))
    rows = heads.values_list("bank__name", "at", "actor")
    return {name: LastChange(milliseconds(at), actor) for name, at, actor in rows}
