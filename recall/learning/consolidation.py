"""One pass over a bank: what says the same is merged, what episodes show becomes knowledge.

First everything is found out, which may take long and holds no lock; then what may be done by
itself is done as one operation, each change only if its memories are still what it was made from;
the rest becomes proposals; and last the episodes count as read.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from banks import config, errors
from banks.access import Principal
from banks.models import Bank, Entry
from banks.services import consolidating, drafts
from banks.services.consolidating import (
    Consolidated,
    Outcome,
    Promote,
    Wanted,
    ids_of,
    kind_of,
)
from banks.services.drafts import Draft
from banks.store import names
from recall.learning import asking, changes, episodes, llm, promotion, tidying
from recall.learning.changes import Asked
from recall.learning.llm import prompts
from recall.learning.promotion import Episode, Reading, Wish
from recall.models import ConsolidationRun, Proposal

APPLY = "apply"
NO_MODEL = "No model: episodes were not read."

CHANGES_MOST = 200
"""So many memories a run makes or retires by itself, beside exact duplicates."""

SHARE = 10
"""And no more than one of so many live ones, or `FEW` of a small bank."""

FEW = 10
MERGES_MOST = 500
"""Exact duplicates of one run; the next one goes on."""

PROPOSALS_MOST = 200

Progress = Callable[[str, int, int], None]
"""What is done, how much of it, of how much."""


@dataclass(slots=True)
class _Learnt:
    """What was read, and what came of it. `fault`: why it ended early, if it did."""

    read: list[Episode] = field(default_factory=list)
    wishes: list[Wish] = field(default_factory=list)
    rejected: int = 0
    pinned: list[Promote] = field(default_factory=list)
    tokens: int = 0
    is_all: bool = True
    fault: errors.DomainError | None = None


def mode_of(bank: Bank) -> str:
    """What becomes of what a run finds: `apply`, or `review` by a person."""
    wanted = str(bank.settings.get("consolidation_mode", "")).strip().lower()
    return APPLY if wanted == APPLY else "review"


def carry_out(
    row: ConsolidationRun,
    principal: Principal,
    bank: Bank,
    *,
    before: llm.Before,
    progress: Progress,
) -> errors.DomainError | None:
    """Go over the bank once and count in the row, which the caller saves; what the model failed
    with, None when it did not. What was found until then is kept.

    Raises what `commit.run` raises.
    """
    row.read = row.kept
    if not row.dry_run:
        _catch_up(row, principal, bank)
        row.stale += asking.settle(bank)
    progress("looking for duplicates", 0, 1)
    found = tidying.tidied(bank)
    learnt = _learn(row, principal, bank, before, progress)
    by_itself, asked = _divided(bank, learnt.wishes)
    merges, later = found.merges[:MERGES_MOST], found.merges[MERGES_MOST:]
    pinned = [*found.pinned, *learnt.pinned]
    row.pinned += len(pinned)
    row.changes = [*row.changes, *(_told(each, Outcome.PINNED.value) for each in pinned)]
    row.rejected += learnt.rejected
    row.capped += len(later) + sum(each.because == _CAPPED for each in asked)
    row.tokens += learnt.tokens
    # Before the bound: what was decided about takes no place of what is new.
    asked = asking.unasked(bank, [*asked, *found.asked])
    row.capped += len(asked[PROPOSALS_MOST:])
    asked = asked[:PROPOSALS_MOST]
    if row.dry_run:
        _plan(row, [*merges, *by_itself], asked)
        return learnt.fault
    stale = _apply(row, principal, bank, [*merges, *by_itself])
    _ask(row, bank, asked)
    episodes.advance(bank, learnt.read, is_all=learnt.is_all)
    row.kept = row.read
    episodes.read_again(bank, stale)
    # What somebody changed while the model was thinking is stale from the start, and says so.
    row.stale += asking.settle(bank)
    return learnt.fault


def _learn(
    row: ConsolidationRun, principal: Principal, bank: Bank, before: llm.Before, progress: Progress
) -> _Learnt:
    """Have the model read what no run has read, window by window, up to the end or a fault."""
    learnt, model = _Learnt(), llm.current()
    unread = episodes.unread(bank, episodes.checkpoint(bank))
    if not model.name:
        row.note = NO_MODEL if unread else ""
        learnt.is_all = False
        return learnt
    row.model = model.name
    timeout_s = config.current().extraction_timeout_ms / 1_000
    for window in episodes.windows(unread):
        progress("reading episodes", len(learnt.read), len(unread))
        if not before(timeout_s):
            learnt.is_all = False
            break
        known = episodes.related(bank, window)
        try:
            shown = promotion.shown(window, known)
            answer = model.complete(prompts.CONSOLIDATION, shown, timeout_s=timeout_s)
            reading = promotion.read(answer.text, window, known)
        except (errors.ModelFault, errors.ModelUnavailable) as fault:
            learnt.fault, learnt.is_all = fault, False
            break
        _take(learnt, principal, bank, reading)
        learnt.tokens += answer.tokens
        learnt.read += window
        row.read += len(window)
    progress("reading episodes", len(learnt.read), len(unread))
    return learnt


def _take(learnt: _Learnt, principal: Principal, bank: Bank, reading: Reading) -> None:
    """Keep of a reading what can be written and is new."""
    learnt.rejected += reading.rejected
    learnt.pinned += reading.pinned
    for wish in reading.wishes:
        draft = drafts.usable(principal, wish.change.draft)
        if draft is None:
            learnt.rejected += 1
        elif not _is_known(bank, draft):
            learnt.wishes.append(replace(wish, change=replace(wish.change, draft=draft)))


def _is_known(bank: Bank, draft: Draft) -> bool:
    """Whether an entry has this text, a dead one too: what a person deleted stays so."""
    rows = Entry.objects.filter(bank=bank, fingerprint=names.fingerprint(draft.text))
    return rows.filter(category=draft.category).exists()


_ASKS = "The bank asks before anything is promoted."
_CAPPED = "More than a run does by itself."


def _divided(bank: Bank, wishes: Sequence[Wish]) -> tuple[list[Promote], list[Asked]]:
    """What the bank lets a run do by itself, and what a person is asked about."""
    live = Entry.objects.filter(bank=bank, live=True).count()
    left = min(CHANGES_MOST, max(FEW, live // SHARE)) if mode_of(bank) == APPLY else 0
    by_itself: list[Promote] = []
    asked: list[Asked] = []
    for wish in wishes:
        size = 1 + len(wish.change.retires)
        because = wish.waits or (_ASKS if mode_of(bank) != APPLY else "")
        if not because and size > left:
            because = _CAPPED
        if because:
            asked.append(_asked(wish.change, because))
        else:
            left -= size
            by_itself.append(wish.change)
    return by_itself, asked


def _asked(change: Promote, because: str) -> Asked:
    draft = change.draft
    about = f"{draft.category}\0{names.normalise(draft.text)}"
    return Asked(change=change, about=about, text=draft.text, because=because)


def _told(wanted: Wanted, outcome: str) -> dict[str, Any]:
    return {"kind": kind_of(wanted), "outcome": outcome, "memories": list(ids_of(wanted))}


def _plan(row: ConsolidationRun, by_itself: Sequence[Wanted], asked: Sequence[Asked]) -> None:
    """Tell what would be done."""
    told = [_told(each, "planned") for each in by_itself]
    told += [_told(each.change, "to be proposed") for each in asked]
    row.changes = [*row.changes, *told]


def _apply(
    row: ConsolidationRun, principal: Principal, bank: Bank, wanted: Sequence[Wanted]
) -> list[str]:
    """Do what may be done, as one operation of this try; the ids of what fits no longer."""
    if not wanted:
        return []
    return _count(row, consolidating.consolidate(principal, bank, wanted, key=_key(row)))


def _key(row: ConsolidationRun) -> str:
    return f"{row.uid}-{row.tries}"


def _catch_up(row: ConsolidationRun, principal: Principal, bank: Bank) -> None:
    """Count what a try did whose process died before it was written down."""
    done = consolidating.begun(principal, bank, key=_key(row))
    if done is not None:
        stale = set(_count(row, done))
        about = {key for each in done.results for key in each.memories} - stale
        read = [
            each for each in episodes.unread(bank, episodes.checkpoint(bank)) if each.id in about
        ]
        episodes.advance(bank, read, is_all=False)
        episodes.read_again(bank, stale)
        row.read += len(read)
        row.kept, row.tries = row.read, row.tries + 1
    asked = Proposal.objects.filter(run=row).order_by("pk")[row.proposed :]
    told = [_told(changes.load(each.kind, each.payload), "proposed") for each in asked]
    row.changes, row.proposed = [*row.changes, *told], row.proposed + len(told)
    row.save()


def _count(row: ConsolidationRun, done: Consolidated) -> list[str]:
    """Write an operation down in its run; the ids of what fits no longer."""
    if done.operation:
        row.operations = [*row.operations, done.operation]
    stale: list[str] = []
    for each in done.results:
        told = {"kind": each.kind, "outcome": each.outcome.value, "memories": list(each.memories)}
        row.changes = [*row.changes, told]
        stale += each.memories if each.outcome is Outcome.STALE else ()
    counted = Counter(each.outcome for each in done.results)
    row.applied += counted[Outcome.APPLIED]
    row.stale += counted[Outcome.STALE]
    row.pinned += counted[Outcome.PINNED]
    row.rejected += counted[Outcome.REFUSED]
    return stale


def _ask(row: ConsolidationRun, bank: Bank, asked: Sequence[Asked]) -> None:
    """Put questions to a person."""
    new = asking.suggest(bank, asked, run=row)
    row.proposed += len(new)
    row.changes = [*row.changes, *(_told(each.change, "proposed") for each in new)]
