"""One change of many memories: one lock, one operation, one undo; all of it or nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from banks import errors
from banks.access import Principal
from banks.errors import Detail
from banks.models import Bank
from banks.operations import Idempotency, Plan
from banks.queries import Memory
from banks.services import drafts, saving
from banks.services.batch import Batch, Item
from banks.services.commit import Desk, run
from banks.services.entries import memory_from

ITEMS_MOST = 500


@dataclass(frozen=True, slots=True)
class Many:
    """The memories as they are now, in the order asked for, and the ids that were changed."""

    memories: list[Memory]
    changed: list[str]


def pin_many(
    principal: Principal,
    bank: Bank,
    items: Sequence[tuple[str, str]],
    *,
    pinned: bool,
    idempotency: Idempotency | None = None,
) -> Many:
    """Pin or unpin up to 500 live memories, each given as its id and the version that was seen.

    What is so already stays. Raises Invalid for more; BulkRefused, with a detail for each memory
    that is unknown, stale, dead or protected, and then nothing is changed.
    """

    def change(batch: Batch, item: Item) -> None:
        saving.check_live(batch, item)
        saving.pin(batch, principal, item, pinned=pinned)

    return _many(principal, bank, "pin many", items, change, idempotency)


def delete_many(
    principal: Principal,
    bank: Bank,
    items: Sequence[tuple[str, str]],
    *,
    reason: str | None = None,
    idempotency: Idempotency | None = None,
) -> Many:
    """Retire up to 500 memories, each given as its id and the version that was seen.

    What is dead already at that version stays. Raises like `pin_many`.
    """
    told = drafts.clean_reason(reason)

    def change(batch: Batch, item: Item) -> None:
        if batch.is_live(item):
            saving.retire(batch, principal, item, reason=told)

    return _many(principal, bank, "delete many", items, change, idempotency)


def _many(
    principal: Principal,
    bank: Bank,
    act: str,
    items: Sequence[tuple[str, str]],
    change: Callable[[Batch, Item], None],
    idempotency: Idempotency | None,
) -> Many:
    if len(items) > ITEMS_MOST:
        raise errors.Invalid(
            f"These are {len(items)} memories; {ITEMS_MOST} are allowed at once.", loc="items"
        )

    def planner(desk: Desk) -> Plan:
        batch = Batch(desk)
        found: list[Item] = []
        refused: list[Detail] = []
        for key, version in items:
            try:
                item = batch.find(key)
                if item.row is not None and item.row.version != version:
                    raise errors.StaleRevision
                change(batch, item)
            except (errors.NotFound, errors.Conflict, errors.Forbidden) as error:
                refused.append(Detail(key, error.message))
            else:
                found.append(item)
        if refused:
            raise errors.BulkRefused(details=tuple(refused))
        changed = list(batch.items)
        return batch.plan(act, {"memories": [batch.told(i) for i in found], "changed": changed})

    answer = run(bank, principal, planner, idempotency=idempotency)
    return Many([memory_from(each) for each in answer["memories"]], answer["changed"])
