"""Save, update, pin, delete, supersede, restore: every change of memories.

Each takes a caller and a bank it was given by `open_bank`, plans under the bank's lock and answers
with a value. Raises the errors of `commit.run` besides its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from banks import access, broken, errors
from banks.access import Principal, Role
from banks.models import Bank, Change
from banks.operations import Idempotency, Plan
from banks.queries import Memory, Source
from banks.services import drafts, past, saving
from banks.services.batch import Batch, Item
from banks.services.commit import Desk, run
from banks.services.drafts import Draft, Patch
from banks.store import names
from banks.store.types import Category
from banks.store.types import Entry as Block


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved memory; `created` is false when it was there and only reinforced."""

    created: bool
    memory: Memory


@dataclass(frozen=True, slots=True)
class Superseded:
    """The retired memory; whether the survivor absorbed its observations."""

    memory: Memory
    reinforced: bool


@dataclass(frozen=True, slots=True)
class Expected:
    """The state that a caller saw; None = whatever it is now."""

    revision: int | None = None
    version: str | None = None


ANY = Expected()


def memory_from(answer: dict[str, Any]) -> Memory:
    """The value of a memory in an operation's answer."""
    source = answer["source"]
    return Memory(**{**answer, "source": Source(**source) if source else None})


def _clean(principal: Principal, bank: Bank, draft: Draft) -> Draft:
    if draft.created is not None and not access.can(principal, bank, Role.MAINTAINER):
        raise errors.Forbidden("Setting created_at needs the role maintainer in this bank.")
    return drafts.clean(principal, draft)


def save(
    principal: Principal, bank: Bank, draft: Draft, *, idempotency: Idempotency | None = None
) -> Saved:
    """Save one memory: a new one, a known one reinforced, a deleted one revived.

    Raises Invalid, TextExists, TitleExists and, with `supersedes`, what `supersede` raises.
    """
    cleaned = _clean(principal, bank, draft)

    def planner(desk: Desk) -> Plan:
        batch = Batch(desk)
        created, item = saving.save(batch, principal, cleaned)
        return batch.plan("save", {"created": created, "memory": batch.told(item)})

    answer = run(bank, principal, planner, idempotency=idempotency)
    return Saved(answer["created"], memory_from(answer["memory"]))


def save_many(
    principal: Principal,
    bank: Bank,
    wanted: list[Draft],
    *,
    idempotency: Idempotency | None = None,
) -> list[Saved | errors.DomainError]:
    """Save up to 500 memories under one lock and in one operation, answers in their order.

    A bad one is refused alone: its place holds the error.
    """
    refused: dict[int, errors.DomainError] = {}
    cleaned: dict[int, Draft] = {}
    for number, draft in enumerate(wanted):
        try:
            cleaned[number] = _clean(principal, bank, draft)
        except errors.DomainError as error:
            refused[number] = error

    def planner(desk: Desk) -> Plan:
        batch = Batch(desk)
        saved: dict[int, tuple[bool, Item]] = {}
        for number, draft in cleaned.items():
            try:
                saved[number] = saving.save(batch, principal, draft)
            except (errors.Conflict, errors.NotFound, errors.Forbidden) as error:
                refused[number] = error
        results = {
            number: {"created": created, "memory": batch.told(item)}
            for number, (created, item) in saved.items()
        }
        failures = {
            number: {"code": error.code, "message": error.message}
            for number, error in refused.items()
        }
        answer = {"results": [results.get(n) or {"error": failures[n]} for n in range(len(wanted))]}
        return batch.plan("save many", answer)

    answer = run(bank, principal, planner, idempotency=idempotency)
    return [_saved_or_error(result) for result in answer["results"]]


def _saved_or_error(result: dict[str, Any]) -> Saved | errors.DomainError:
    if "error" not in result:
        return Saved(result["created"], memory_from(result["memory"]))
    error = errors.DomainError(result["error"]["message"])
    error.code = result["error"]["code"]
    return error


def _one(
    principal: Principal,
    bank: Bank,
    act: str,
    key: str,
    change: Callable[[Batch, Item], Item],
    idempotency: Idempotency | None,
) -> Memory:
    """Run a change of one entry and give its value."""

    def planner(desk: Desk) -> Plan:
        batch = Batch(desk)
        item = change(batch, _find(batch, key))
        return batch.plan(act, {"memory": batch.told(item)})

    return memory_from(run(bank, principal, planner, idempotency=idempotency)["memory"])


def _find(batch: Batch, key: str) -> Item:
    """The entry that is to be changed. Raises MemoryNotFound, AmbiguousId, and BlockBroken for one
    that its rows forgot because its block cannot be read."""
    try:
        return batch.find(key)
    except errors.MemoryNotFound:
        broken.refuse(batch.desk.bank, batch.desk.locked, {key})
        raise


def _check(batch: Batch, item: Item, expected: Expected) -> None:
    """Raise StaleRevision (with the current state) when the caller saw another one."""
    row = item.row
    if row is None:
        return
    stale = expected.revision not in (None, row.revision) or expected.version not in (
        None,
        row.version,
    )
    if stale:
        raise errors.StaleRevision(current=batch.memory(item))


def update(
    principal: Principal,
    bank: Bank,
    key: str,
    patch: Patch,
    *,
    expected: Expected = ANY,
    idempotency: Idempotency | None = None,
) -> Memory:
    """Change fields of a live memory in place. Nothing new changes nothing.

    Raises MemoryNotFound, MemoryDead, StaleRevision, PinnedProtected, EpisodeFixed, TextExists,
    TitleExists, Invalid.
    """

    def change(batch: Batch, item: Item) -> Item:
        saving.check_live(batch, item)
        _check(batch, item, expected)
        return _patch(batch, principal, item, patch, act="updated")

    return _one(principal, bank, "update", key, change, idempotency)


def revert(
    principal: Principal,
    bank: Bank,
    key: str,
    version: str,
    *,
    expected: Expected = ANY,
    idempotency: Idempotency | None = None,
) -> Memory:
    """Give a live memory the words, tags, entities and trust of an earlier version, as a change.

    Pin, counters, pointers and times stay; secrets in the old words are masked. Raises Conflict
    for a version that the history does not hold, and what `update` raises.
    """

    def change(batch: Batch, item: Item) -> Item:
        saving.check_live(batch, item)
        _check(batch, item, expected)
        if item.row is not None and item.row.version == version:
            return item
        revision, old = past.entry(batch.desk.locked, item.after.id, version)
        patch = Patch(
            text=old.text,
            tags=old.tags,
            entities=old.entities,
            summary=old.summary,
            title=old.title or old.summary or None,
            trust=old.trust,
        )
        told = f"as in revision {revision}"
        return _patch(batch, principal, item, patch, act="reverted", reason=told)

    return _one(principal, bank, "revert", key, change, idempotency)


def _patch(
    batch: Batch, principal: Principal, item: Item, patch: Patch, *, act: str, reason: str = ""
) -> Item:
    before = item.after
    cleaned = drafts.clean_patch(patch, before.category)
    follows = cleaned.text is not None and past.summary_was_made(batch.desk.locked, before)
    after = _patched(before, cleaned, batch.desk.now, follows=follows)
    if after == before:
        return item
    if before.pinned:
        saving.may_touch(principal, before)
    saving.check_unique(batch, before, after)
    told = "; ".join(filter(None, (reason, drafts.redaction_reason(cleaned.redacted))))
    return batch.change(item, saving.touched(after, batch.desk.now), act=act, reason=told)


def _patched(entry: Block, patch: Patch, now: datetime, *, follows: bool) -> Block:
    """The entry with the patch's fields; its summary follows a new text if it came from the old."""
    after = entry
    if patch.text is not None and patch.text != entry.text:
        if drafts.is_episode(entry.category):
            raise errors.EpisodeFixed
        summary = names.first_sentence(patch.text) if follows else entry.summary
        after = replace(after, text=patch.text, summary=summary, stated=now)
    if patch.summary is not None:
        after = replace(after, summary=patch.summary or names.first_sentence(after.text))
    if patch.title is not None and entry.category is Category.PROCEDURE:
        after = replace(after, title=None if patch.title == after.summary else patch.title)
    return replace(
        after,
        tags=entry.tags if patch.tags is None else patch.tags,
        entities=entry.entities if patch.entities is None else patch.entities,
        pinned=entry.pinned if patch.pinned is None else patch.pinned,
        trust=entry.trust if patch.trust is None else patch.trust,
    )


def pin(
    principal: Principal,
    bank: Bank,
    key: str,
    *,
    pinned: bool,
    expected: Expected = ANY,
    idempotency: Idempotency | None = None,
) -> Memory:
    """Pin or unpin a live memory. Raises MemoryDead, StaleRevision, PinnedProtected."""

    def change(batch: Batch, item: Item) -> Item:
        saving.check_live(batch, item)
        _check(batch, item, expected)
        return saving.pin(batch, principal, item, pinned=pinned)

    return _one(principal, bank, "pin", key, change, idempotency)


def delete(
    principal: Principal,
    bank: Bank,
    key: str,
    *,
    expected: Expected = ANY,
    reason: str | None = None,
    idempotency: Idempotency | None = None,
) -> Memory:
    """Retire a memory: it leaves recall, its text stays. A dead one is given unchanged."""

    def change(batch: Batch, item: Item) -> Item:
        if not batch.is_live(item):
            return item
        _check(batch, item, expected)
        return saving.retire(batch, principal, item, reason=drafts.clean_reason(reason))

    return _one(principal, bank, "delete", key, change, idempotency)


def supersede(  # noqa: PLR0913  # the contract's fields of this call
    principal: Principal,
    bank: Bank,
    key: str,
    survivor_key: str,
    *,
    reason: str | None = None,
    reinforce: bool = False,
    expected: Expected = ANY,
    idempotency: Idempotency | None = None,
) -> Superseded:
    """Retire a memory in favour of another, which takes over its place.

    `reinforce`: the survivor, unless pinned, absorbs the retired one's observations, tags and
    entities. Raises SupersedeSelf, SurvivorNotFound, MemoryNotFound, SurvivorDead, LoserDead,
    LoserPinned, LoserEpisodic, SupersedeFork, SupersedeCycle, StaleRevision.
    """
    told = drafts.clean_reason(reason)

    def planner(desk: Desk) -> Plan:
        batch = Batch(desk)
        loser = batch.find(key)
        try:
            survivor = batch.find(survivor_key)
        except errors.MemoryNotFound as error:
            raise errors.SurvivorNotFound from error
        _check(batch, loser, expected)
        absorbed = saving.supersede(batch, loser, survivor, reason=told, reinforce=reinforce)
        answer = {"memory": batch.told(loser), "reinforced": absorbed}
        return batch.plan("supersede", answer)

    answer = run(bank, principal, planner, idempotency=idempotency)
    return Superseded(memory_from(answer["memory"]), answer["reinforced"])


def restore(
    principal: Principal,
    bank: Bank,
    key: str,
    *,
    expected: Expected = ANY,
    idempotency: Idempotency | None = None,
) -> Memory:
    """Bring a dead memory back. One whose block is gone from the files comes out of its history.

    Raises MemoryNotFound, MemoryAlive, TextExists, StaleRevision.
    """

    def planner(desk: Desk) -> Plan:
        batch = Batch(desk)
        try:
            item = _revive(batch, batch.find(key), expected)
        except errors.MemoryNotFound:
            item = _from_history(batch, key)
        return batch.plan("restore", {"memory": batch.told(item)})

    return memory_from(run(bank, principal, planner, idempotency=idempotency)["memory"])


def _revive(batch: Batch, item: Item, expected: Expected) -> Item:
    if batch.is_live(item):
        raise errors.MemoryAlive
    _check(batch, item, expected)
    saving.check_no_live_twin(batch, item.after)
    now = batch.desk.now
    successor = item.after.superseded_by
    if successor is not None:
        saving.unlink_survivor(batch, successor, item.after.id)
    after = saving.touched(replace(item.after, invalidated=None, superseded_by=None), now)
    return batch.change(item, after, act="restored", action=Change.Action.RESTORED)


def _from_history(batch: Batch, key: str) -> Item:
    """An entry that vanished from the files, as its history last saw it."""
    if not names.is_entry_id(key):
        raise errors.MemoryNotFound
    entry = past.last_entry(batch.desk.locked, key)
    if entry is None:
        raise errors.MemoryNotFound
    saving.check_no_live_twin(batch, entry)
    after = saving.touched(replace(entry, invalidated=None, superseded_by=None), batch.desk.now)
    added = batch.add(after)
    return batch.put(after, added.path)
