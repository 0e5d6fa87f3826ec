"""What waits for a person: lines for the rule `learned` that somebody accepts, edits or rejects."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from banks import errors, seams
from banks.access import Principal, Role, Scope, require, roles_in, visible_banks
from banks.models import Bank
from banks.queries import milliseconds
from banks.services import drafts, learning, open_bank
from banks.store import redact
from recall.engine.packing import LEARNED
from recall.learning.llm.replies import LONGEST, SHORTEST
from recall.models import Proposal

KIND = "learned_rule"
PAGE_MOST = 200
STATES = tuple(Proposal.State.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A proposal as people see it. Times are milliseconds; None = not decided, no reason given."""

    id: str
    bank: str
    kind: str
    rule: str
    text: str
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
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        return False  # the same waits, or was rejected, or accepted in other words
    return True


def _digest(line: str) -> str:
    return hashlib.sha256(learning.folded(line).encode()).hexdigest()


def listed(
    principal: Principal, bank: Bank | None = None, *, state: str = Proposal.State.WAITING
) -> list[Proposed]:
    """The proposals of a bank, or of all that the caller maintains: oldest first, at most 200.

    Raises ScopeMissing, Forbidden (a bank that the caller does not maintain).
    """
    require(principal, Scope.RUNS_RUN)
    roles = roles_in(principal, [bank] if bank else visible_banks(principal))
    kept = [key for key, role in roles.items() if role >= Role.MAINTAINER]
    if bank is not None and not kept:
        raise errors.Forbidden("That needs the role maintainer in this bank.")
    rows = Proposal.objects.filter(bank__in=kept, state=state).select_related("bank")
    return [_proposed(row) for row in rows.order_by("pk")[:PAGE_MOST]]


def accept(principal: Principal, key: str, *, text: str | None = None) -> Proposed:
    """Put the line into the rule `learned`, in these words if some are given.

    Raises ProposalNotFound, ProposalDecided, Invalid, ScopeMissing, and what `commit.run` raises.
    """
    row, bank = _open(principal, key)
    line = row.text if text is None else _line(text)
    learning.add_line(principal, bank, LEARNED, line)
    is_edited = line != row.text
    row.text = line
    return _decide(principal, row, Proposal.State.EDITED if is_edited else Proposal.State.ACCEPTED)


def reject(principal: Principal, key: str, *, reason: str | None = None) -> Proposed:
    """Leave the rule as it is; the same is not proposed again.

    Raises ProposalNotFound, ProposalDecided, ScopeMissing.
    """
    row, _ = _open(principal, key)
    row.reason = drafts.clean_reason(reason)
    return _decide(principal, row, Proposal.State.REJECTED)


def _open(principal: Principal, key: str) -> tuple[Proposal, Bank]:
    """A proposal that waits, and its bank, opened."""
    require(principal, Scope.RUNS_RUN)
    row = Proposal.objects.filter(uid=key).select_related("bank").first()
    if row is None or row.bank.state != Bank.State.ACTIVE:
        raise errors.ProposalNotFound
    try:
        bank = open_bank(principal, row.bank.name, Role.MAINTAINER, Scope.RUNS_RUN)
    except (errors.BankNotFound, errors.Forbidden) as error:
        raise errors.ProposalNotFound from error
    if row.state != Proposal.State.WAITING:
        raise errors.ProposalDecided
    return row, bank


def _decide(principal: Principal, row: Proposal, state: Proposal.State) -> Proposed:
    row.state, row.decided_by, row.decided_at = state, principal.handle, seams.now()
    waiting = Proposal.objects.filter(pk=row.pk, state=Proposal.State.WAITING)
    decided = waiting.update(
        state=state, text=row.text, reason=row.reason, decided_by=row.decided_by,
        decided_at=row.decided_at,
    )  # fmt: skip
    if not decided:
        raise errors.ProposalDecided
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
        kind=KIND,
        rule=LEARNED,
        text=row.text,
        state=row.state,
        session_id=row.session or None,
        proposed_by=row.proposed_by,
        proposed_at=milliseconds(row.proposed_at),
        decided_by=row.decided_by or None,
        decided_at=milliseconds(row.decided_at) if row.decided_at else None,
        reason=row.reason or None,
    )
