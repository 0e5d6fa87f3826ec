"""What waits for a person, who accepts, edits or rejects it: lines for the rule `learned`, and what
consolidation found and does not do by itself."""

import hashlib
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Q

from banks import errors, seams
from banks.access import Principal
from banks.models import Bank
from banks.outbox import is_uid
from banks.queries import milliseconds
from banks.services import consolidating, drafts, learning
from banks.services.consolidating import Extend, Merge, Outcome, Promote, Wanted
from banks.store import redact
from recall.engine.packing import LEARNED
from recall.learning import asking, changes, claims, reach
from recall.learning.llm.replies import LONGEST, SHORTEST
from recall.models import ConsolidationRun, Proposal

PAGE_MOST = 200
STATES = tuple(Proposal.State.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A proposal as people see it. Times are milliseconds; None = not decided, or of another kind.

    `memories` are what it was made from, `retires` what would give way, `changes` the memory that
    would be changed in place.
    """

    id: str
    bank: str
    kind: str
    rule: str | None
    text: str
    category: str | None
    title: str | None
    memories: list[str]
    retires: list[str]
    changes: str | None
    because: str | None
    run: str | None
    state: str
    session_id: str | None
    proposed_by: str
    proposed_at: int
    decided_by: str | None
    decided_at: int | None
    reason: str | None


def propose(bank: Bank, lines: Sequence[str], *, session: str, by: str) -> int:
    """Ask a person about lines that were not asked about before; how many that is."""
    return sum(_ask(bank, line, session=session, by=by) for line in lines)


def _ask(bank: Bank, line: str, *, session: str, by: str) -> bool:
    if learning.has_line(bank, LEARNED, line):
        return False
    row = Proposal(
        bank=bank, text=line, digest=_digest(line), session=session, proposed_by=by,
        proposed_at=seams.now(),
    )  # fmt: skip
    return asking.put(row)


def _digest(line: str) -> str:
    return hashlib.sha256(learning.folded(line).encode()).hexdigest()


def listed(
    principal: Principal,
    bank: Bank | None = None,
    *,
    state: str = Proposal.State.WAITING,
    kind: str | None = None,
    limit: int = PAGE_MOST,
    after: str | None = None,
) -> tuple[list[Proposed], str | None]:
    """The proposals of a bank, or of all that the caller maintains, oldest first, at most 200; and
    where the next page begins. Those whose memories have changed are stale from now on.

    `after`: the id that the page before ended with, whatever became of it. Raises ScopeMissing,
    Forbidden (a bank that the caller does not maintain), Invalid.
    """
    banks = reach.banks(principal, bank)
    asking.settle_all(banks)
    mine = Proposal.objects.filter(bank__in=banks.order_by())
    rows = mine.filter(state=state).select_related("bank", "run")
    rows = rows.filter(kind=kind) if kind else rows
    if after is not None:
        rows = rows.filter(pk__gt=reach.place(mine, after))
    limit = max(1, min(limit, PAGE_MOST))
    page = list(rows.order_by("pk")[: limit + 1])
    following = page[limit - 1].uid if len(page) > limit else None
    return [_proposed(row) for row in page[:limit]], following


def waiting(principal: Principal) -> dict[str, int]:
    """How many proposals wait in each bank that the caller maintains, by its name; none = 0.

    Raises ScopeMissing.
    """
    waits = Count("proposals", filter=Q(proposals__state=Proposal.State.WAITING))
    return dict(reach.banks(principal).values_list("name").annotate(waits=waits))


def counts(bank: Bank) -> dict[str, int]:
    """How many proposals of a bank there are in each state that one has; no access check."""
    rows = Proposal.objects.filter(bank=bank).values("state").annotate(count=Count("pk"))
    return dict(rows.order_by().values_list("state", "count"))


def of_run(run: ConsolidationRun) -> list[Proposed]:
    """What a run asks a person about, oldest first, whatever became of it."""
    asking.settle(run.bank)
    rows = Proposal.objects.filter(run=run).select_related("bank", "run")
    return [_proposed(row) for row in rows.order_by("pk")]


def one(principal: Principal, key: str) -> Proposed:
    """A proposal, whatever became of it. Raises ProposalNotFound, ScopeMissing."""
    return _proposed(reach.one(principal, Proposal, key, missing=errors.ProposalNotFound)[0])


def accept(principal: Principal, key: str, *, text: str | None = None) -> Proposed:
    """Do what is proposed, in these words if some are given.

    Raises ProposalNotFound, ProposalDecided, ProposalStale, Invalid, Conflict (it cannot be done
    any more), ScopeMissing, and what `commit.run` raises.
    """
    row, bank = _open(principal, key)
    with claims.held([row]):
        if row.kind == Proposal.Kind.LEARNED_RULE:
            line = row.text if text is None else _line(text)
            learning.add_line(principal, bank, LEARNED, line)
            return _accepted(principal, row, line)
        outcomes = _carry_out(principal, bank, [(row, text)])
    _refuse(outcomes[row.uid])
    return _proposed(row)


def decide(
    principal: Principal,
    bank: Bank,
    run: ConsolidationRun,
    accept: Mapping[str, str | None],
    reject: Sequence[str],
) -> dict[str, str]:
    """Decide about proposals of a run by their ids; None = in their own words.

    What is accepted is one operation. What became of each: one that cannot be done is in nobody's
    way, it waits on or is stale. Raises ProposalNotFound, ProposalDecided, Invalid, before anything
    is done, and what `commit.run` raises.
    """
    keys = [*accept, *reject]
    known = [key for key in keys if is_uid(key)]
    rows = {row.uid: row for row in Proposal.objects.filter(run=run, uid__in=known)}
    if len(keys) != len(rows):
        raise errors.ProposalNotFound("Name proposals of this run, each once.")
    if any(row.state != Proposal.State.WAITING for row in rows.values()):
        raise errors.ProposalDecided
    with claims.held(list(rows.values())):
        found = _carry_out(principal, bank, [(rows[key], accept[key]) for key in accept])
        outcomes = {key: outcome.value for key, outcome in found.items()}
        for key in reject:
            _decide(principal, rows[key], Proposal.State.REJECTED)
            outcomes[key] = Proposal.State.REJECTED.value
    return outcomes


def _carry_out(
    principal: Principal, bank: Bank, wanted: Sequence[tuple[Proposal, str | None]]
) -> dict[str, Outcome]:
    """Make the changes of these proposals of a run as one operation of it, and keep what became of
    each."""
    if not wanted:
        return {}
    worded = [_worded(row, text) for row, text in wanted]
    done = consolidating.consolidate(principal, bank, worded, key=uuid.uuid4().hex)
    outcomes: dict[str, Outcome] = {}
    for (row, text), change, result in zip(wanted, worded, done.results, strict=True):
        outcomes[row.uid] = result.outcome
        if result.outcome is Outcome.STALE:
            asking.mark_stale(row)
        elif result.outcome is Outcome.APPLIED:
            _accepted(principal, row, row.text if text is None else _text_of(change, row))
    counted = Counter(outcomes.values())
    with transaction.atomic():
        runs = ConsolidationRun.objects.select_for_update().filter(proposals=wanted[0][0].pk)
        for run in runs:
            run.operations = [*run.operations, *filter(None, [done.operation])]
            run.applied += counted[Outcome.APPLIED]
            run.stale += counted[Outcome.STALE]
            run.save(update_fields=["operations", "applied", "stale"])
    return outcomes


def _refuse(outcome: Outcome) -> None:
    """Raise what keeps a change from being made, if anything does."""
    match outcome:
        case Outcome.STALE:
            raise errors.ProposalStale
        case Outcome.PINNED:
            raise errors.Conflict("A memory that it would change is pinned: unpin it first.")
        case Outcome.KNOWN:
            raise errors.Conflict("The bank has this text already: reject the proposal.")
        case Outcome.REFUSED:
            raise errors.Conflict("It cannot be saved as it is: accept it in other words.")
        case Outcome.APPLIED:
            """Done."""


def _worded(row: Proposal, text: str | None) -> Wanted:
    """The change of a proposal, in these words if some are given. Raises Invalid."""
    change = changes.load(row.kind, row.payload)
    if text is None:
        return change
    match change:
        case Promote():
            return replace(change, draft=replace(change.draft, text=text))
        case Extend():
            return replace(change, item=_line(text))
        case Merge():
            raise errors.Invalid("A merge has no words of its own: leave text out.", loc="text")


def _text_of(change: Wanted, row: Proposal) -> str:
    match change:
        case Promote():
            return redact.mask(change.draft.text).text
        case Extend():
            return change.item
        case Merge():
            return row.text


def reject(principal: Principal, key: str, *, reason: str | None = None) -> Proposed:
    """Leave everything as it is; the same is not proposed again.

    Raises ProposalNotFound, ProposalDecided, ScopeMissing.
    """
    row, _ = _open(principal, key)
    row.reason = drafts.clean_reason(reason)
    with claims.held([row]):
        return _decide(principal, row, Proposal.State.REJECTED)


def _open(principal: Principal, key: str) -> tuple[Proposal, Bank]:
    """A proposal that waits, and its bank, opened."""
    row, bank = reach.one(principal, Proposal, key, missing=errors.ProposalNotFound)
    if row.state == Proposal.State.STALE:
        raise errors.ProposalStale
    if row.state != Proposal.State.WAITING:
        raise errors.ProposalDecided
    return row, bank


def _accepted(principal: Principal, row: Proposal, text: str) -> Proposed:
    is_edited = text != row.text
    row.text = text
    return _decide(principal, row, Proposal.State.EDITED if is_edited else Proposal.State.ACCEPTED)


def _decide(principal: Principal, row: Proposal, state: Proposal.State) -> Proposed:
    row.state, row.decided_by, row.decided_at = state, principal.handle, seams.now()
    waiting = Proposal.objects.filter(pk=row.pk, state=Proposal.State.WAITING)
    decided = waiting.update(
        state=state, text=row.text, reason=row.reason, decided_by=row.decided_by,
        decided_at=row.decided_at,
    )  # fmt: skip
    if not decided:  # the claim has run out meanwhile
        raise errors.ProposalDecided
    if state == Proposal.State.REJECTED:
        ConsolidationRun.objects.filter(proposals=row.pk).update(rejected=F("rejected") + 1)
    return _proposed(row)


def _line(text: str) -> str:
    """Other words, fit for one line of a rule. Raises Invalid."""
    line = redact.mask(" ".join(text.split())).text
    if not SHORTEST <= len(line) <= LONGEST:
        raise errors.Invalid(f"Use {SHORTEST} to {LONGEST} characters.", loc="text")
    return line


def _proposed(row: Proposal) -> Proposed:
    return Proposed(
        id=row.uid,
        bank=row.bank.name,
        kind=row.kind,
        text=row.text,
        state=row.state,
        because=row.because or None,
        run=row.run.uid if row.run else None,
        session_id=row.session or None,
        proposed_by=row.proposed_by,
        proposed_at=milliseconds(row.proposed_at),
        decided_by=row.decided_by or None,
        decided_at=_decided_at(row),
        reason=row.reason or None,
        **_shape(row),
    )


def _decided_at(row: Proposal) -> int | None:
    if row.decided_at is None or row.state == Proposal.State.WAITING:  # then it is a claim
        return None
    return milliseconds(row.decided_at)


def _shape(row: Proposal) -> dict[str, Any]:
    """What the fields say that differ from kind to kind."""
    shape: dict[str, Any] = {
        "rule": None, "category": None, "title": None, "memories": [], "retires": [],
        "changes": None,
    }  # fmt: skip
    if row.kind == Proposal.Kind.LEARNED_RULE:
        return shape | {"rule": LEARNED}
    change = changes.load(row.kind, row.payload)
    match change:
        case Merge():
            return shape | {"retires": [change.loser.id], "changes": change.survivor.id}
        case Promote():
            return shape | {
                "category": change.draft.category,
                "title": change.draft.title,
                "memories": [each.id for each in change.sources],
                "retires": [each.id for each in change.retires],
            }
        case Extend():
            memories = [each.id for each in change.sources]
            return shape | {"memories": memories, "changes": change.procedure.id}
