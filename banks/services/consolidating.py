"""What consolidation found is written: as one operation, whole or absent, undone as one.

Each change names the versions it was made from. One that does not fit any more is left out, and
nothing else is: not even by its own fault does it stand in the way of the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from django.db.models import QuerySet

from banks import errors, links
from banks.access import Principal
from banks.models import Bank, Operation
from banks.operations import Idempotency, Plan
from banks.services import drafts, saving
from banks.services.batch import Batch, Item
from banks.services.commit import Desk, run
from banks.services.drafts import Draft
from banks.store import names, procedure, redact
from banks.store.errors import InvalidContent

_OWNER = "consolidation"


@dataclass(frozen=True, slots=True)
class Seen:
    """A memory as it was when a change was made from it. `mark`: the version of one that would be
    changed; of one that was only read, the fingerprint of its text."""

    id: str
    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """The loser is superseded by the survivor, which takes over its observations."""

    loser: Seen
    survivor: Seen
    reason: str = "the same text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promote:
    """A new memory, made from episodes, in the place of those that it retires."""

    draft: Draft
    sources: tuple[Seen, ...]
    retires: tuple[Seen, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Extend:
    """One more item under the known failures of a procedure."""

    procedure: Seen
    item: str
    sources: tuple[Seen, ...] = ()


Wanted = Merge | Promote | Extend


class Outcome(StrEnum):
    """What became of a change. Known: the bank says that already, or said it once."""

    APPLIED = "applied"
    STALE = "stale"
    PINNED = "pinned"
    KNOWN = "known"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of one change, and the ids of the memories that it is about, the new one last."""

    kind: str
    outcome: Outcome
    memories: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Consolidated:
    """Results in the order of the changes; the operation's uid, "" when nothing was written."""

    results: tuple[Result, ...]
    operation: str


class _LeftOutError(Exception):
    """This change is not made."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


def consolidate(
    principal: Principal, bank: Bank, wanted: Sequence[Wanted], *, key: str
) -> Consolidated:
    """Make these changes; the same `key` again gives the first answer and changes nothing.

    No memory is lost: what is not live any more was superseded by one that is. Raises as
    `commit.run`.
    """
    cleaned = [_clean(principal, each) for each in wanted]

    def planner(desk: Desk) -> Plan:
        batch = Batch(desk)
        results = []
        for each, draft in zip(wanted, cleaned, strict=True):
            try:
                memories, outcome = _make(batch, principal, each, draft), Outcome.APPLIED
            except _LeftOutError as left_out:
                memories, outcome = ids_of(each), left_out.outcome
            results.append({"kind": kind_of(each), "outcome": outcome, "memories": memories})
        check_nothing_lost(batch)
        return batch.plan("consolidate", {"results": results})

    answer = run(bank, principal, planner, idempotency=Idempotency(_OWNER, key, key))
    results = tuple(
        Result(each["kind"], Outcome(each["outcome"]), tuple(each["memories"]))
        for each in answer["results"]
    )
    has_changed = any(each.outcome is Outcome.APPLIED for each in results)
    return Consolidated(results, _operations(key).get().uid if has_changed else "")


def begun(principal: Principal, bank: Bank, *, key: str) -> Consolidated | None:
    """What became of the changes with this key, if somebody began to make them.

    What a dead process left half done is ended first. Raises as `commit.run`.
    """
    return consolidate(principal, bank, [], key=key) if _operations(key).exists() else None


def _operations(key: str) -> QuerySet[Operation]:
    kept = Idempotency(_OWNER, key, key).kept
    return Operation.objects.filter(owner=_OWNER, idempotency_key=kept)


def kind_of(wanted: Wanted) -> str:
    """The word for a change in records."""
    match wanted:
        case Merge():
            return "merge"
        case Promote():
            return "promotion"
        case Extend():
            return "known_failure"


def ids_of(wanted: Wanted) -> tuple[str, ...]:
    """The memories that a change is about."""
    match wanted:
        case Merge():
            return wanted.loser.id, wanted.survivor.id
        case Promote():
            return tuple(each.id for each in (*wanted.sources, *wanted.retires))
        case Extend():
            return (*(each.id for each in wanted.sources), wanted.procedure.id)


def stale(bank: Bank, wanted: Sequence[Wanted]) -> list[bool]:
    """Of each change whether its memories, as rows have them, are others than it was made from.

    What is pinned keeps a change waiting: it may be what it was when the pin is gone.
    """
    rows: dict[str, tuple[str, str, bool]] = {}
    for part in links.chunks({key for each in wanted for key in ids_of(each)}):
        found = bank.entries.filter(entry_id__in=part, live=True)
        rows |= {
            key: (version, text, pinned)
            for key, version, text, pinned in found.values_list(
                "entry_id", "version", "fingerprint", "pinned"
            )
        }

    def is_as_seen(seen: Seen, *, whole: bool) -> bool:
        version, text, pinned = rows.get(seen.id, ("", "", False))
        return pinned or version == seen.mark if whole else text == seen.mark

    return [
        not all(is_as_seen(seen, whole=True) for seen in _changed(each))
        or not all(is_as_seen(seen, whole=False) for seen in _read(each))
        for each in wanted
    ]


def check_nothing_lost(batch: Batch) -> None:
    """Raise RuntimeError unless every entry that the batch ends was superseded by one that the
    batch leaves live: it is a fault of ours then, and nothing may be written."""
    for each in batch.items.values():
        item = each
        while not batch.is_live(item):
            successor = item.after.superseded_by
            if successor is None:
                raise RuntimeError("consolidation would lose a memory")
            item = batch.items.get(successor) or batch.find(successor)


def _changed(wanted: Wanted) -> tuple[Seen, ...]:
    match wanted:
        case Merge():
            return wanted.loser, wanted.survivor
        case Promote():
            return wanted.retires
        case Extend():
            return (wanted.procedure,)


def _read(wanted: Wanted) -> tuple[Seen, ...]:
    return () if isinstance(wanted, Merge) else wanted.sources


def _clean(principal: Principal, wanted: Wanted) -> Draft | None:
    """The draft of a promotion, fit to be written; None when it cannot be."""
    return drafts.usable(principal, wanted.draft) if isinstance(wanted, Promote) else None


def _make(
    batch: Batch, principal: Principal, wanted: Wanted, draft: Draft | None
) -> tuple[str, ...]:
    """Put one change into the batch; the ids that it is about. Raises _LeftOutError."""
    _check_sources(batch, wanted)
    match wanted:
        case Merge():
            return _merge(batch, wanted)
        case Extend():
            return _extend(batch, wanted)
        case Promote() if draft is not None:
            return _promote(batch, principal, wanted, draft)
        case _:
            raise _LeftOutError(Outcome.REFUSED)


def _check_sources(batch: Batch, wanted: Wanted) -> None:
    seen = _read(wanted)
    live = batch.desk.bank.entries.filter(entry_id__in=[each.id for each in seen], live=True)
    texts = dict(live.values_list("entry_id", "fingerprint"))
    if any(texts.get(each.id) != each.mark for each in seen):
        raise _LeftOutError(Outcome.STALE)


def _find(batch: Batch, seen: Seen) -> Item:
    """A memory that is live and as it was seen, but for what this batch did to it."""
    try:
        item = batch.find(seen.id)
    except errors.MemoryNotFound as error:
        raise _LeftOutError(Outcome.STALE) from error
    if item.row is None or item.row.version != seen.mark or not batch.is_live(item):
        raise _LeftOutError(Outcome.STALE)
    return item


def _merge(batch: Batch, wanted: Merge) -> tuple[str, ...]:
    loser, survivor = _find(batch, wanted.loser), _find(batch, wanted.survivor)
    if loser.after.pinned:
        raise _LeftOutError(Outcome.PINNED)
    try:
        saving.supersede(batch, loser, survivor, reason=wanted.reason, reinforce=True)
    except errors.Conflict as error:
        raise _LeftOutError(Outcome.STALE) from error
    return loser.after.id, survivor.after.id


def _extend(batch: Batch, wanted: Extend) -> tuple[str, ...]:
    item = _find(batch, wanted.procedure)
    entry = item.after
    if entry.pinned:
        raise _LeftOutError(Outcome.PINNED)
    text = procedure.with_item(entry.text, procedure.FAILURES, redact.mask(wanted.item).text)
    try:
        names.check_length(text, entry.category)
    except InvalidContent as error:
        raise _LeftOutError(Outcome.REFUSED) from error
    now = batch.desk.now
    after = saving.touched(replace(entry, text=text, stated=now), now)
    batch.change(item, after, act="updated", reason="a known failure")
    return ids_of(wanted)


def _promote(batch: Batch, principal: Principal, wanted: Promote, draft: Draft) -> tuple[str, ...]:
    losers = [_find(batch, each) for each in wanted.retires]
    if any(each.after.pinned for each in losers):
        raise _LeftOutError(Outcome.PINNED)
    if batch.known(draft.text, draft.category):
        raise _LeftOutError(Outcome.KNOWN)
    try:
        _, item = saving.observe(batch, principal, draft)
    except errors.TitleExists as error:
        raise _LeftOutError(Outcome.REFUSED) from error
    told = f"from {', '.join(each.id for each in wanted.sources)}"
    item.reason = "; ".join(filter(None, (told, item.reason)))[: drafts.REASON_LENGTH]
    for loser in losers:
        saving.supersede(batch, loser, item, reason="consolidated", reinforce=False)
    return (*ids_of(wanted), item.after.id)
