"""Changes of the journal as events: what event streams and webhooks tell, and in which order.

A reader keeps its own position. An event shows a memory as it is now, so one that is read late may
show more than its own change; read to the end, every reader has the same state.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from banks import queries
from banks.models import Bank, Change
from banks.queries import Memory, Source
from banks.store.redact import mask


class Trigger(StrEnum):
    """What an event is about."""

    ITEM_CHANGED = "item-changed"
    BANK_CHANGED = "bank-changed"


ITEM_TYPES = ("created", "updated", "superseded", "deleted", "restored")
BANK_TYPES = ("created", "updated", "trashed", "restored", "renamed", "rules-changed")
NAMES = (
    *Trigger,
    *(f"{Trigger.ITEM_CHANGED.value}.{each}" for each in ITEM_TYPES),
    *(f"{Trigger.BANK_CHANGED.value}.{each}" for each in BANK_TYPES),
)
"""What a filter takes: all events of a trigger, or one kind of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change. `uid` never comes twice; `seq` counts the changes of the bank without a gap.

    `memory` is None for changes of the bank and its rules, and for a memory that is in no file any
    more.
    """

    uid: str
    trigger: Trigger
    event_type: str
    bank: str
    seq: int
    memory: Memory | None = None
    reason: str | None = None

    @property
    def name(self) -> str:
        """How a filter names it: `item-changed.created`."""
        return f"{self.trigger.value}.{self.event_type}"


def after(bank: Bank, seq: int, *, limit: int) -> list[Event]:
    """The next events of a bank behind this number, in order, at most so many."""
    changes = Change.objects.filter(bank=bank, seq__gt=seq).order_by("seq")[:limit]
    return of_changes(bank, list(changes))


def of_changes(bank: Bank, changes: Iterable[Change]) -> list[Event]:
    """These changes of one bank as events, in their order."""
    changes = list(changes)
    keys = {each.key for each in changes if each.target == Change.Target.ENTRY}
    rows = queries.rows_by_ids(bank, keys)
    memories = {each.id: _masked(each) for each in queries.memories(bank, list(rows.values()))}
    return [_event(bank, each, memories) for each in changes]


def _event(bank: Bank, change: Change, memories: dict[str, Memory]) -> Event:
    is_item = change.target == Change.Target.ENTRY
    return Event(
        uid=change.uid,
        trigger=Trigger.ITEM_CHANGED if is_item else Trigger.BANK_CHANGED,
        event_type=change.action,
        bank=bank.name,
        seq=change.seq,
        memory=memories.get(change.key) if is_item else None,
        reason=_quiet(change.reason or None),
    )


def _masked(memory: Memory) -> Memory:
    """The memory without secrets that somebody wrote into a file by hand: they must not leave.

    Ids, hashes and words of a fixed list stay: a reader finds the memory by them.
    """
    source = memory.source
    return replace(
        memory,
        text=mask(memory.text).text,
        summary=mask(memory.summary).text,
        title=_quiet(memory.title),
        tags=[mask(each).text for each in memory.tags],
        entities=[mask(each).text for each in memory.entities],
        path=mask(memory.path).text,
        source=source
        and Source(
            session_id=_quiet(source.session_id),
            entry_id=_quiet(source.entry_id),
            agent=_quiet(source.agent),
        ),
    )


def _quiet(text: str | None) -> str | None:
    return None if text is None else mask(text).text
