"""Undo: a new operation that brings back what stood before an old one.

Nothing is rolled back: each entry gets the state it had, out of its history, under a new revision.
What has moved on since is not touched, and then nothing else is either.
"""

from dataclasses import replace

from banks import access, errors
from banks.access import Principal, Role, Scope
from banks.models import Bank, Change, Operation
from banks.operations import Idempotency, Plan
from banks.services import rules
from banks.services.batch import Batch, Item
from banks.services.commit import Desk, run
from banks.services.entries import may_touch, touched
from banks.store import history, parse, tree
from banks.store.files import BankFolder
from banks.store.types import Entry as Block


def undo(
    principal: Principal, bank: Bank, uid: str, *, idempotency: Idempotency | None = None
) -> list[str]:
    """Undo one operation of the bank; the keys of the entries and rules that it changed.

    An undo can be undone. Raises NotFound for an unknown operation, Conflict for one that cannot be
    undone (a bank's), StaleRevision when something has moved on since, Forbidden, PinnedProtected.
    """
    changes = _changes(bank, uid)
    if changes[0].target == Change.Target.RULE:
        return [_undo_rule(principal, bank, changes[0], idempotency)]

    def planner(desk: Desk) -> Plan:
        batch = Batch(desk)
        for change in changes:
            _undo_entry(batch, principal, change)
        return batch.plan("undo", {"keys": list(batch.items)})

    keys: list[str] = run(bank, principal, planner, idempotency=idempotency)["keys"]
    return keys


def _changes(bank: Bank, uid: str) -> list[Change]:
    operation = Operation.objects.filter(bank=bank, uid=uid, state=Operation.State.DONE).first()
    if operation is None:
        raise errors.NotFound("There is no such operation in this bank.")
    changes = list(Change.objects.filter(operation=operation).order_by("seq"))
    if not changes or any(change.target == Change.Target.BANK for change in changes):
        raise errors.Conflict("This operation cannot be undone.")
    return changes


def _undo_entry(batch: Batch, principal: Principal, change: Change) -> None:
    item = batch.find(change.key)
    if item.row is None or item.row.version != change.version_after:
        raise errors.StaleRevision(current=batch.memory(item))
    may_touch(principal, item.after)
    now = batch.desk.now
    if not change.version_before:
        gone = touched(replace(item.after, invalidated=now), now)
        batch.change(item, gone, act="undone", action=Change.Action.DELETED)
        return
    before = _earlier(batch.desk.locked, change)
    after = replace(before, revision=item.after.revision + 1, updated=now)
    batch.change(item, after, act="undone", action=_action(item, after))


def _earlier(folder: BankFolder, change: Change) -> Block:
    """The entry as it was, out of its history. Raises Conflict when that is damaged."""
    records, _ = history.decode(folder.history(tree.history_path(change.key)))
    for record in reversed(records):
        entry = parse.block(record.data).entry
        if entry is not None and parse.version(record.data) == change.version_before:
            return entry
    raise errors.Conflict("The history does not hold the earlier state any more.")


def _action(item: Item, after: Block) -> str:
    was_live = item.after.invalidated is None
    is_live = after.invalidated is None
    if was_live == is_live:
        return Change.Action.UPDATED
    return Change.Action.RESTORED if is_live else Change.Action.DELETED


def _undo_rule(
    principal: Principal, bank: Bank, change: Change, idempotency: Idempotency | None
) -> str:
    if not access.can(principal, bank, Role.MAINTAINER, Scope.RULES_WRITE):
        raise errors.Forbidden("Changing rules needs the role maintainer in this bank.")
    content = rules.earlier(bank, change.key, change.version_before)
    rules.set_rule(
        principal, bank, change.key, content, version=change.version_after, idempotency=idempotency
    )
    return change.key
