"""What is kept of a conversation until it is read: masked, bounded, and gone afterwards.

Each step of a turn shows what has been said; what no turn has taken yet is kept. A turn that has
ended takes it, and a job is put in for it. Where nothing is learned, no text is kept at all.
"""

import hashlib
import json
from dataclasses import dataclass

from django.db import transaction

from banks import jobs, seams
from banks.access import Principal, Scope, require
from banks.models import Bank, Session
from banks.services import sessions
from banks.store.redact import mask
from recall.learning import bounds, transcript
from recall.learning.transcript import Said
from recall.models import Listening, Turn

KIND = "extraction"
"""The kind of the jobs that read turns."""

QUEUED = "queued"
NOTHING = "nothing new"
WITHOUT_MEMORY = "skipped: no bank"

_NAME_LENGTH = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A turn that has ended, as a harness describes it; ids, parent and messages are its own JSON.

    With a parent it is the turn of a sub-agent. Without messages counts what its steps have shown.
    """

    session_id: str | None = None
    turn_id: object = None
    parent: object = None
    parent_session_id: str | None = None
    messages: object = None


def seen(
    principal: Principal,
    session_id: str,
    turn_id: object,
    messages: object,
    bank: Bank | None,
    *,
    without_memory: bool,
) -> None:
    """Keep what a step of a turn shows, and its bank; None for a default one that is not there yet.

    `without_memory`: it named a bank that is none for it. Raises Invalid.
    """
    if bounds.why_not(bank):
        return
    session = sessions.opened(principal, session_id)
    row, _ = Listening.objects.get_or_create(session=session)
    fresh = transcript.after(transcript.read(messages), row.cursor)
    turn, pieces = _digest(turn_id), transcript.kept(fresh)
    bank_id = bank.pk if bank else None
    if (row.turn, row.bank_id, row.without_memory, row.messages) == (
        turn, bank_id, without_memory, pieces,
    ):  # fmt: skip
        return
    # Not when a turn took messages just now: the next step shows what is left.
    Listening.objects.filter(pk=row.pk, cursor=row.cursor).update(
        turn=turn, bank=bank_id, without_memory=without_memory, messages=pieces
    )


def completed(principal: Principal, ended: Ended) -> str:
    """Have a turn read by a job, one for each turn; in a few words, what becomes of it.

    Raises ScopeMissing, Invalid.
    """
    require(principal, Scope.HOOKS)
    if not ended.session_id:
        return NOTHING
    session = sessions.opened(principal, ended.session_id)
    with transaction.atomic():
        row, _ = Listening.objects.select_for_update().get_or_create(session=session)
        return _take(principal, session, row, ended)


def _take(principal: Principal, session: Session, row: Listening, ended: Ended) -> str:
    bank, without_memory = _bank(principal, row, ended)
    said = transcript.after(transcript.read(ended.messages), row.cursor)
    pieces = transcript.kept(said) if ended.messages is not None else list(row.messages)
    reason = bounds.why_not(bank)
    row.cursor = _last(said, pieces) or row.cursor
    row.bank, row.without_memory, row.messages = bank, without_memory, []
    row.save()
    if without_memory:
        return WITHOUT_MEMORY
    if not pieces and not reason:
        return NOTHING
    turn, is_new = Turn.objects.get_or_create(
        session=session,
        turn=_digest(row.cursor if ended.turn_id is None else ended.turn_id),
        defaults={
            "name": _name(session, ended.session_id or ""),
            "bank": bank,
            "is_spawned": _parent(ended) is not None,
            "messages": [] if reason else pieces,
            "token": principal.token_id,
            "user": principal.user_id,
            "at": seams.now(),
        },
    )
    if not is_new and not reason:
        turn.messages += pieces
        turn.save(update_fields=["messages"])
    jobs.enqueue(KIND, {"turn": turn.pk}, dedup=str(turn.pk))
    return reason or QUEUED


def _last(said: list[Said], pieces: list[dict[str, str]]) -> str:
    """The id of the newest message, "" without any."""
    if said:
        return said[-1].id
    return pieces[-1]["id"] if pieces else ""


def _bank(principal: Principal, row: Listening, ended: Ended) -> tuple[Bank | None, bool]:
    """The bank of a turn, None when it is found out later, and whether it runs without memory.

    A sub-agent's is that of its parent.
    """
    parent = _parent(ended)
    if parent is None:
        is_known = row.turn == _digest(ended.turn_id)
        return (row.bank, row.without_memory) if is_known else (None, False)
    key = sessions.key_of(principal, parent)
    above = Listening.objects.filter(session__key=key).select_related("bank").first()
    if above is not None and (above.bank is not None or above.without_memory):
        return above.bank, above.without_memory
    session = Session.objects.filter(key=key).select_related("bank").first()
    return (session.bank if session else None), False


def _parent(ended: Ended) -> str | None:
    """The id of the session above; "" would be none."""
    parent = ended.parent
    if isinstance(parent, dict):
        parent = parent.get("session_id")
    named = ended.parent_session_id or (parent if isinstance(parent, str) else None)
    if named:
        return named
    # A link that cannot be read is one all the same: what its user says is an agent's word.
    return ended.session_id if ended.parent else None


def _digest(value: object) -> str:
    """What a turn is known by; "" for none."""
    if value is None or value == "":
        return ""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _name(session: Session, session_id: str) -> str:
    """The id of a session as it may stand beside a memory: plain, masked, not too long."""
    plain = mask(session_id).text
    return plain if plain.isprintable() and len(plain) <= _NAME_LENGTH else session.key
