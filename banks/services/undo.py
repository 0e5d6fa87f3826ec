"""Undo: a new operation that brings back what stood before an old one.

Nothing is rolled back: each entry and rule gets the state it had, out of its history, as a change
of its own. What has moved on since is not touched, and then nothing else is either.
"""

from dataclasses import replace

from banks import access, errors
from banks.access import Principal, Role, Scope
from banks.models import Bank, Change, Operation
from banks.operations import Idempotency, Plan
from banks.outbox import is_uid
from banks.services import past, rules, saving
from banks.services.batch import Batch, Item
from banks.services.commit import Desk, run
from banks.store.types import Category
from banks.store.types import Entry as Block


def undo(
    principal: Principal, bank: Bank, uid: str, *, idempotency: Idempotency | None = None
) -> list[str]:
    """Undo one operation of the bank; the keys of the entries and rules that it changed.

    All of it or nothing. An undo can be undone. Raises NotFound for an unknown operation, Conflict
    for one that cannot be undone (a bank's), StaleRevision when something has moved on since,
    TextExists or TitleExists when another memory has taken the place, Forbidden, PinnedProtected.
    """
    done = Operation.objects.filter(bank=bank, uid=uid, state=Operation.State.DONE)
    operation = done.first() if is_uid(uid) else None
    if operation is None:
        raise errors.NotFound("There is no such operation in this bank.")
    changes = _changes(operation)
    ruled = [change for change in changes if change.target == Change.Target.RULE]
    if ruled and not access.can(principal, bank, Role.MAINTAINER, Scope.RULES_WRITE):
        raise errors.Forbidden("Changing rules needs the role maintainer in this bank.")

    def planner(desk: Desk) -> Plan:
        batch = Batch(desk)
        for change in changes:
            if change.target == Change.Target.ENTRY:
                bring_back(
                    batch, principal, change.key, change.version_after, change.version_before
                )
        check_places(batch)
        plan = batch.plan("undo", {"keys": [change.key for change in changes]})
        plan.undoes = operation.pk
        for change in ruled:
            content = past.rule(desk.locked, change.key, change.version_before)
            wanted = rules.wish(change.key, content, seen=change.version_after, act="undone")
            rules.put(plan, desk, wanted)
        return plan

    keys: list[str] = run(bank, principal, planner, idempotency=idempotency)["keys"]
    return keys


def _changes(operation: Operation) -> list[Change]:
    changes = list(Change.objects.filter(operation=operation).order_by("seq"))
    if not changes or any(change.target == Change.Target.BANK for change in changes):
        raise errors.Conflict("This operation cannot be undone.")
    return changes


def bring_back(batch: Batch, principal: Principal, key: str, version: str, before: str) -> None:
    """Give an entry that has this version the earlier one, "" for none: then it is retired.

    Raises MemoryNotFound, StaleRevision, PinnedProtected, and Conflict when the history does not
    hold it.
    """
    item = batch.find(key)
    if item.row is None or item.row.version != version:
        raise errors.StaleRevision(current=batch.memory(item))
    saving.may_touch(principal, item.after)
    now = batch.desk.now
    if not before:
        gone = saving.touched(replace(item.after, invalidated=now), now)
        batch.change(item, gone, act="undone", action=Change.Action.DELETED)
        return
    _, earlier = past.entry(batch.desk.locked, key, before)
    after = replace(earlier, revision=item.after.revision + 1, updated=now)
    batch.change(item, after, act="undone", action=_action(item, after))


def check_places(batch: Batch) -> None:
    """Raise TextExists or TitleExists when somebody else has the text or title that comes back."""
    for item in list(batch.items.values()):
        before, after = item.before, item.after
        if before is None or after.invalidated is not None or after.superseded_by is not None:
            continue
        saving.check_unique(batch, before, after)
        if not _is_live(before):
            saving.check_no_live_twin(batch, after)
            if after.category is Category.PROCEDURE:
                saving.check_title(batch, after)


def _is_live(entry: Block) -> bool:
    return entry.invalidated is None and entry.superseded_by is None


def _action(item: Item, after: Block) -> str:
    was_live = item.after.invalidated is None
    is_live = after.invalidated is None
    if was_live == is_live:
        return Change.Action.UPDATED
    return Change.Action.RESTORED if is_live else Change.Action.DELETED
