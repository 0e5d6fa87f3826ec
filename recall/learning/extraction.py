"""Turns that have ended are read by a model, and what it finds is kept: window by window.

What was read counts as read only when all that came of it is written. Each window's writes are one
operation under a key of its own, so that a job which runs twice, or dies at any point and runs
again, leaves what once would have.
"""

import logging
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from banks import auth, errors, jobs, seams
from banks.access import Principal, Role, Scope, require_admin
from banks.jobs import PermanentFault, Running
from banks.models import Bank
from banks.services import Idempotency, learning, open_bank, opening, sessions
from banks.services.drafts import Draft
from recall.engine.packing import LEARNED
from recall.learning import bounds, llm, proposals, transcript
from recall.learning.bounds import Bounds, RuleMode
from recall.learning.judging import Judged, judged
from recall.learning.llm import prompts, replies
from recall.learning.turns import KIND, NOTHING, WITHOUT_MEMORY
from recall.models import Turn

logger = logging.getLogger(__name__)

TRIES = 3
DONE = "done"
NOT_ALLOWED = "skipped: its token or person may not any more"

_STEP_S = 60.0
"""The lease of a job beside the time that the model may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of a reading: its state in a few words, and how many of each."""

    state: str
    created: int = 0
    reinforced: int = 0
    left: int = 0
    rules: int = 0
    proposed: int = 0

    def __add__(self, other: "Told") -> "Told":
        is_more = other.state == DONE or self.state == NOTHING
        return Told(
            state=other.state if is_more else self.state,
            created=self.created + other.created,
            reinforced=self.reinforced + other.reinforced,
            left=self.left + other.left,
            rules=self.rules + other.rules,
            proposed=self.proposed + other.proposed,
        )


_NOTHING = Told(state=NOTHING)


def register() -> None:
    """Let the worker run these jobs."""
    jobs.handler(KIND, limit_s=_STEP_S, tries=TRIES, is_outside=True)(_work)


def _work(running: Running) -> datetime | str:
    """Read one turn, on behalf of whoever told of it, if that may be still."""
    turn = _waiting().filter(pk=running.payload["turn"]).first()
    if turn is None:
        return NOTHING
    try:
        principal = auth.principal_again(token_id=turn.token, user_id=turn.user)
    except errors.Unauthenticated:
        turn.delete()
        return NOT_ALLOWED

    def before(seconds: float) -> bool:
        running.extend(seconds + _STEP_S)
        return not running.stopping

    try:
        told = _read(principal, turn, Scope.HOOKS, before=before)
    except errors.ModelRefused as error:
        raise PermanentFault(error.message) from error
    return seams.now() if told is None else told.state


def run_now(
    principal: Principal,
    session_id: str,
    *,
    bank: str | None = None,
    until: str | None = None,
    skip: bool = False,
) -> Told:
    """Read the turns of a session of the caller's that have ended, in this process.

    In this bank instead of theirs; no further than the message `until`; with `skip` they are passed
    over. Raises Forbidden, ScopeMissing, Invalid, BankNotFound, ModelUnavailable, ModelRefused,
    ReplyUnusable, and what `commit.run` raises: what was not read then is there still.
    """
    require_admin(principal, Scope.RUNS_RUN)
    key = sessions.key_of(principal, session_id)
    told = _NOTHING
    for turn, end in _up_to(list(_waiting().filter(session__key=key).order_by("pk")), until):
        if skip:
            _advance(turn, end, taught=0)
            told += Told(state="skipped")
            continue
        chosen = opening.to_write(principal, bank, Role.EDITOR, Scope.RUNS_RUN) if bank else None
        told += _read(principal, turn, Scope.RUNS_RUN, bank=chosen, end=end) or _NOTHING
    return told


def _waiting() -> QuerySet[Turn]:
    return Turn.objects.select_related("session__bank", "bank")


def _up_to(turns: list[Turn], until: str | None) -> list[tuple[Turn, int]]:
    """Each turn with the number of its messages that may be read; none for an unknown `until`."""
    if until is None:
        return [(turn, len(turn.messages)) for turn in turns]
    found: list[tuple[Turn, int]] = []
    for turn in turns:
        places = [n for n, each in enumerate(turn.messages, start=1) if each["id"] == until]
        found.append((turn, places[-1] if places else len(turn.messages)))
        if places:
            return found
    return []


def _read(
    principal: Principal,
    turn: Turn,
    scope: Scope,
    *,
    bank: Bank | None = None,
    end: int | None = None,
    before: llm.Before = lambda _: True,
) -> Told | None:
    """Read what is left of a turn, up to the message number `end`; None when it has to go on later.

    Raises as `run_now` does.
    """
    try:
        bank = bank or _bank_of(principal, turn, scope)
    except (errors.BankNotFound, errors.Forbidden):
        turn.delete()
        return Told(state=WITHOUT_MEMORY)
    reason = bounds.why_not(bank)
    if reason:
        turn.delete()
        return Told(state=reason)
    bound = bounds.of(bank)
    told = _NOTHING
    while turn.read < (len(turn.messages) if end is None else end):
        if turn.taught >= bound.most:
            # It may teach nothing more: what is left of it counts as read.
            _advance(turn, len(turn.messages), taught=0)
            break
        if not before(bound.timeout_s):
            return None
        told += _read_window(principal, bank, turn, bound, end=end)
    _advance(turn, turn.read, taught=0)
    return told


def _bank_of(principal: Principal, turn: Turn, scope: Scope) -> Bank:
    """The bank of a turn as the caller may write it now: its own, that of its session, the default.

    Raises BankNotFound, also for another bank of that name, and Forbidden.
    """
    named = turn.bank or turn.session.bank
    if named is None:
        return opening.to_save(principal, None, Role.EDITOR, scope)
    bank = open_bank(principal, named.name, Role.EDITOR, scope)
    if bank.pk != named.pk:
        raise errors.BankNotFound
    return bank


def _read_window(
    principal: Principal, bank: Bank, turn: Turn, bound: Bounds, *, end: int | None
) -> Told:
    """Ask about the next messages, write what comes of them, then count them as read."""
    last = min(turn.read + bound.window, len(turn.messages) if end is None else end)
    window = transcript.stored(turn.messages[turn.read : last], is_spawned=turn.is_spawned)
    model = llm.current()
    answer = model.complete(
        prompts.EXTRACTION, prompts.transcript(window), timeout_s=bound.timeout_s
    )
    reading = replies.read(answer.text)
    found = list(judged(reading.elements, window))[: bound.most - turn.taught]
    told = _write(principal, bank, turn, found, bound.rules, last=last)
    told = replace(told, left=told.left + len(reading.rejected))
    why = Counter(sorted(reading.rejected, reverse=True))
    logger.info(
        "turn read bank=%s messages=%d found=%d rejected=%s created=%d reinforced=%d proposed=%d "
        "tokens=%d",
        bank.name, len(window), len(found),
        ", ".join(f"{count} {each}" for each, count in why.items()) or 0,
        told.created, told.reinforced, told.proposed, answer.tokens,
    )  # fmt: skip
    _advance(turn, last, taught=len(found))
    return told


def _write(
    principal: Principal, bank: Bank, turn: Turn, found: list[Judged], mode: RuleMode, *, last: int
) -> Told:
    """Keep what was found as one operation; another answer to the same window changes nothing."""
    rules = [each.rule for each in found if each.rule and mode is not RuleMode.OFF]
    memories = [each for each in found if not each.rule or mode is RuleMode.OFF]
    key = f"{turn.pk}-{turn.read}-{last}"
    learned = learning.learn(
        principal,
        bank,
        [_draft(each, turn) for each in memories],
        rule=LEARNED,
        lines=rules if mode is RuleMode.AUTO else (),
        kept=rules if mode is RuleMode.REVIEW else (),
        idempotency=Idempotency(KIND, f"{KIND}-{key}", key),
    )
    proposed = proposals.propose(bank, learned.kept, session=turn.name, by=principal.handle)
    return Told(
        state=DONE,
        created=len(learned.created),
        reinforced=len(learned.reinforced),
        left=learned.left,
        rules=len(learned.lines),
        proposed=proposed,
    )


def _draft(found: Judged, turn: Turn) -> Draft:
    return Draft(
        text=found.text,
        category=found.category,
        tags=found.tags,
        entities=found.entities,
        origin=found.origin,
        trust=found.trust,
        session=turn.name,
        source_entry=found.message or None,
    )


def _advance(turn: Turn, until: int, *, taught: int) -> None:
    """Count the messages before this number as read, unless somebody else did: never fewer than
    before. A turn that is read whole goes."""
    with transaction.atomic():
        row = Turn.objects.select_for_update().filter(pk=turn.pk).first()
        if row is None:
            turn.read = len(turn.messages)
            return
        if row.read == turn.read < until:
            row.read, row.taught = until, row.taught + taught
            row.save(update_fields=["read", "taught"])
        turn.read, turn.taught, turn.messages = row.read, row.taught, row.messages
        if row.read >= len(row.messages):
            row.delete()
