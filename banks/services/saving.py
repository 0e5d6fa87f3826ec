"""The rules of saving: what is known is reinforced, what was deleted revives, what changed is new.

Works on a batch; used by single and bulk saves, and by `supersede`.
"""

from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum

from banks import errors, queries
from banks.access import Principal, Scope
from banks.models import Change, Entry
from banks.services import drafts
from banks.services.batch import Batch, Item
from banks.services.drafts import Draft
from banks.store import names
from banks.store.types import Category, Origin, Trust
from banks.store.types import Entry as Block


class Outcome(StrEnum):
    """What became of something that was observed."""

    CREATED = "created"
    REINFORCED = "reinforced"
    LEFT = "left"


_SPOKEN = (Origin.USER_MESSAGE, Origin.USER_FEEDBACK)


def save(batch: Batch, principal: Principal, draft: Draft) -> tuple[bool, Item]:
    """Whether a memory was created or revived, and the memory. Raises TextExists, TitleExists."""
    known = _known(batch, draft)
    if known is not None and draft.supersedes:
        raise errors.TextExists(known.after.id)
    if known is not None and batch.is_live(known):
        return False, _reinforce(batch, principal, known, draft)
    if known is not None:
        return True, _revive(batch, known, draft)
    return True, _create(batch, draft)


def observe(batch: Batch, principal: Principal, draft: Draft) -> tuple[Outcome, Item]:
    """Save what nobody asked to keep, and what became of it.

    Unlike a save it lets pinned and dead entries be, and makes none more trusted than it is. Only a
    user reinforces: an agent repeats what it was given.
    """
    found = _with_text(batch, draft)
    if not found:
        return Outcome.CREATED, _create(batch, draft)
    live = [item for item in found if batch.is_live(item)]
    is_pinned = any(item.after.pinned for item in live)
    if not live or is_pinned or draft.origin not in _SPOKEN:
        return Outcome.LEFT, found[0]
    best = _newest(live)
    before = best.after
    _reinforce(batch, principal, best, replace(draft, origin=None))
    return Outcome.LEFT if best.after is before else Outcome.REINFORCED, best


def _known(batch: Batch, draft: Draft) -> Item | None:
    """The entry that has this text: a live one, else the newest deleted one.

    A superseded one does not count: a fact may change back.
    """
    found = _with_text(batch, draft)
    live = [item for item in found if batch.is_live(item)]
    deleted = [item for item in found if item.after.superseded_by is None]
    best = live or deleted
    return _newest(best) if best else None


def _with_text(batch: Batch, draft: Draft) -> list[Item]:
    """Entries that have this text. An episode is the same one only on the same UTC day."""
    day = (draft.created or batch.desk.now).astimezone(UTC).date()
    return [
        item
        for item in batch.known(draft.text, draft.category)
        if not drafts.is_episode(item.after.category)
        or item.after.created.astimezone(UTC).date() == day
    ]


def _newest(items: list[Item]) -> Item:
    return max(items, key=lambda item: (item.after.stated_at, item.after.id))


def _reinforce(batch: Batch, principal: Principal, item: Item, draft: Draft) -> Item:
    """One more observation; the very same one (session and entry) again counts nothing."""
    before, now = item.after, batch.desk.now
    observation = drafts.observation(draft.session, draft.source_entry)
    if observation and _observed(batch, item, observation):
        return item
    after = replace(
        before,
        corroboration=before.corroboration + 1,
        revision=before.revision + 1,
        updated=now,
        stated=now,
    )
    if not before.pinned or principal.has(Scope.MEMORY_CURATE):
        after = replace(
            after,
            tags=_joined(before.tags, draft.tags),
            entities=_joined(before.entities, draft.entities),
            pinned=before.pinned or draft.pinned,
            trust=Trust.HIGH if draft.origin in _SPOKEN else before.trust,
        )
    return batch.change(
        item,
        after,
        act="reinforced",
        observation=observation,
        reason=drafts.redaction_reason(draft.redacted),
    )


def _observed(batch: Batch, item: Item, observation: str) -> bool:
    entry = item.after
    own = drafts.observation(entry.session, entry.entry)
    return (
        observation in (own, item.observation)
        or Change.objects.filter(
            bank=batch.desk.bank, key=entry.id, observation=observation
        ).exists()
    )


def _joined(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[str, ...]:
    """Both, without doubles; what goes beyond the limit is left out, never what was there."""
    both = tuple(dict.fromkeys(old + new))
    return both[: max(names.LABEL_COUNT, len(old))]


def _revive(batch: Batch, item: Item, draft: Draft) -> Item:
    now = batch.desk.now
    after = replace(
        item.after,
        invalidated=None,
        revision=item.after.revision + 1,
        updated=now,
        stated=now,
        tags=_joined(item.after.tags, draft.tags),
        entities=_joined(item.after.entities, draft.entities),
        pinned=item.after.pinned or draft.pinned,
    )
    return batch.change(item, after, act="restored", action=Change.Action.RESTORED)


def _create(batch: Batch, draft: Draft) -> Item:
    created = draft.created or batch.desk.now
    category = draft.category or Category.FACTS
    origin = draft.origin or Origin.AGENT
    summary = draft.summary or _default_summary(draft, category)
    entry = Block(
        id=batch.desk.mint(created),
        created=created,
        category=category,
        origin=origin,
        trust=draft.trust or drafts.default_trust(origin),
        tags=draft.tags,
        summary=summary,
        title=draft.title if draft.title != summary else None,
        entities=draft.entities,
        pinned=draft.pinned,
        session=draft.session,
        entry=draft.source_entry,
        agent=draft.agent,
        text=draft.text,
    )
    if category is Category.PROCEDURE:
        check_title(batch, entry)
    loser = batch.find(draft.supersedes) if draft.supersedes else None
    item = batch.add(
        entry,
        reason=drafts.redaction_reason(draft.redacted),
        observation=drafts.observation(draft.session, draft.source_entry),
    )
    if loser is not None:
        try:
            supersede(batch, loser, item, reason="", reinforce=False)
        except errors.DomainError:
            del batch.items[entry.id]
            raise
    return item


def may_touch(principal: Principal, entry: Block) -> None:
    """Raise PinnedProtected when the entry is pinned and the caller may not curate."""
    if entry.pinned and not principal.has(Scope.MEMORY_CURATE):
        raise errors.PinnedProtected


def touched(entry: Block, now: datetime) -> Block:
    """The entry with its next revision, changed now."""
    return replace(entry, revision=entry.revision + 1, updated=now)


def check_live(batch: Batch, item: Item) -> None:
    """Raise MemoryDead when the entry is deleted or superseded."""
    if not batch.is_live(item):
        raise errors.MemoryDead


def pin(batch: Batch, principal: Principal, item: Item, *, pinned: bool) -> Item:
    """Pin or unpin a live entry; one that is so already stays. Raises PinnedProtected."""
    if item.after.pinned == pinned:
        return item
    may_touch(principal, item.after)
    after = touched(replace(item.after, pinned=pinned), batch.desk.now)
    return batch.change(item, after, act="pinned" if pinned else "unpinned")


def retire(batch: Batch, principal: Principal, item: Item, *, reason: str) -> Item:
    """Delete a live entry. Raises PinnedProtected."""
    may_touch(principal, item.after)
    now = batch.desk.now
    after = touched(replace(item.after, invalidated=now), now)
    return batch.change(item, after, act="deleted", action=Change.Action.DELETED, reason=reason)


def check_unique(batch: Batch, before: Block, after: Block) -> None:
    """Raise TextExists or TitleExists when what changed of the entry is another live one's."""
    if names.normalise(after.text) != names.normalise(before.text):
        check_no_live_twin(batch, after)
    if after.title != before.title:
        check_title(batch, after)


def check_no_live_twin(batch: Batch, entry: Block) -> None:
    """Raise TextExists when another live entry of the category has this text."""
    for other in batch.known(entry.text, entry.category):
        if other.after.id != entry.id and batch.is_live(other):
            raise errors.TextExists(other.after.id)


def _default_summary(draft: Draft, category: Category) -> str:
    if category is Category.PROCEDURE and draft.title:
        return draft.title
    return names.first_sentence(draft.text)


def check_title(batch: Batch, entry: Block) -> None:
    """Raise TitleExists when another live procedure has this title, folded."""
    wanted = (entry.title or entry.summary).casefold()
    rows = Entry.objects.filter(
        bank=batch.desk.bank, category=Category.PROCEDURE.value, live=True
    ).values_list("entry_id", "title", "summary")
    for key, title, summary in rows:
        is_other = key != entry.id and key not in batch.items
        if is_other and (title or summary).casefold() == wanted:
            raise errors.TitleExists(key)
    for key, item in batch.items.items():
        other = item.after
        is_other = other.category is Category.PROCEDURE and key != entry.id
        if is_other and batch.is_live(item) and (other.title or other.summary).casefold() == wanted:
            raise errors.TitleExists(key)


def supersede(batch: Batch, loser: Item, survivor: Item, *, reason: str, reinforce: bool) -> bool:
    """Link the two; whether the survivor absorbed the loser's observations.

    Raises the error of the first guard that fails; nothing is changed then.
    """
    _guard(batch, loser, survivor)
    now = batch.desk.now
    old, new = loser.after, survivor.after
    retired = replace(
        old, superseded_by=new.id, invalidated=now, updated=now, revision=old.revision + 1
    )
    batch.change(loser, retired, act="superseded", action=Change.Action.SUPERSEDED, reason=reason)
    if new.pinned and survivor.row is not None:
        return False
    after = replace(new, supersedes=new.supersedes or old.id)
    if reinforce:
        after = replace(
            after,
            corroboration=new.corroboration + old.corroboration + 1,
            tags=_joined(new.tags, old.tags),
            entities=_joined(new.entities, old.entities),
        )
    if after != new:
        if survivor.row is not None:
            after = replace(after, updated=now, revision=new.revision + 1)
        batch.change(survivor, after, act="took over", reason=reason)
    return reinforce


def _guard(batch: Batch, loser: Item, survivor: Item) -> None:
    if loser.after.id == survivor.after.id:
        raise errors.SupersedeSelf
    if drafts.is_episode(loser.after.category):
        raise errors.LoserEpisodic
    if _leads_to(batch, survivor.after, loser.after.id):
        raise errors.SupersedeCycle
    if loser.after.superseded_by is not None:
        raise errors.SupersedeFork
    if not batch.is_live(loser):
        raise errors.LoserDead
    if loser.after.pinned:
        raise errors.LoserPinned
    if not batch.is_live(survivor):
        raise errors.SurvivorDead


def _leads_to(batch: Batch, entry: Block, wanted: str) -> bool:
    """Whether pointers lead from the entry to the wanted one; hand-made loops end the walk."""
    seen: set[str] = set()
    key = entry.superseded_by
    while key is not None and key not in seen:
        if key == wanted:
            return True
        seen.add(key)
        row = queries.rows_by_ids(batch.desk.bank, [key]).get(key)
        key = (row.superseded_by or None) if row else None
    return False


def unlink_survivor(batch: Batch, survivor: str, loser: str) -> None:
    """Take the survivor's pointer back, unless it is pinned or names another entry."""
    try:
        item = batch.find(survivor)
    except errors.MemoryNotFound:
        return
    if item.after.supersedes != loser or item.after.pinned:
        return
    after = replace(
        item.after,
        supersedes=None,
        updated=batch.desk.now,
        revision=item.after.revision + 1,
    )
    batch.change(item, after, act="unlinked")
