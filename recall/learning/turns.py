"""What is kept of a conversation until it is read: masked, bounded, and gone afterwards.

Each step of a turn shows what has been said; what no turn has taken yet is kept, with the bank of
that step. A turn that has ended takes it, and a job is put in for each bank. Where nothing is
learned, no text is kept at all.
"""

import hashlib
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from banks import config, jobs, seams
from banks.access import Principal, Scope, require
from banks.models import Bank, Session
from banks.services import sessions
from banks.store.redact import mask
from recall.engine.injection import whole
from recall.learning import bounds, transcript
from recall.learning.transcript import Said
from recall.models import Listening, Turn

KIND = "extraction"
"""The kind of the jobs that read turns."""

QUEUED = "queued"
NOTHING = "nothing new"
WITHOUT_MEMORY = "skipped: no bank"

_NAME_LENGTH = 255
_OVER = "over:"
"""What stands before the last turn of a session once that has ended."""

_READ = ("id", "role", "text", "is_part")
"""What a job needs of a piece."""

Piece = dict[str, Any]
"""A piece of a message as `transcript.kept` makes it, with the place where it was said."""


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


@dataclass(frozen=True, slots=True)
class _Place:
    """Which turn, by its hash, and where it ran. `bank`: a key, None for a default one that was
    not there yet. `is_mute`: nothing is learned from it."""

    turn: str
    bank: int | None
    is_mute: bool = False


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
    reason = bounds.why_not(bank)
    if reason == bounds.NO_MODEL:
        return
    session = sessions.opened(principal, session_id)
    row, _ = Listening.objects.get_or_create(session=session)
    said = transcript.read(messages)
    here = _Place(_digest(turn_id), bank.pk if bank else None, without_memory or bool(reason))
    if row.turn == here.turn and _last(row) == here and not _fresh(row, said):
        return
    with transaction.atomic():
        locked = Listening.objects.select_for_update().filter(pk=row.pk).first()
        if locked is None:
            return  # the session was forgotten just now
        # What was said before its first step is the end of the turn before.
        pieces = transcript.kept(_fresh(locked, said))
        shown = _placed(pieces, here, before=_last(locked) or here)
        locked.messages = [*locked.messages, *shown][-transcript.PIECES_MOST :]
        locked.turn, locked.bank, locked.without_memory = here.turn, bank, without_memory
        locked.save()


def completed(principal: Principal, ended: Ended) -> str:
    """Have a turn read by a job, one for each turn; in a few words, what becomes of it.

    Raises ScopeMissing, Invalid.
    """
    require(principal, Scope.HOOKS)
    if not ended.session_id:
        return NOTHING
    session = sessions.opened(principal, ended.session_id)
    told = transcript.read(ended.messages)
    with transaction.atomic():
        row, _ = Listening.objects.select_for_update().get_or_create(session=session)
        return _take(principal, session, row, ended, told)


def _take(
    principal: Principal, session: Session, row: Listening, ended: Ended, told: list[Said]
) -> str:
    steps = _steps(row, ended.turn_id)
    bank, without_memory = _bank(principal, session, ended, steps)
    reason = bounds.why_not(bank)
    turn = steps.turn if steps else _digest(ended.turn_id)
    here = _Place(turn, bank.pk if bank else None, without_memory or bool(reason))
    pieces = _pieces(row, told, here)
    row.cursor = " ".join(_known(row.cursor, pieces))
    row.turn, row.bank, row.without_memory, row.messages = _OVER + turn, bank, without_memory, []
    row.save()
    groups: dict[Bank | None, list[Piece]] = {}
    for place, said in _by_place(pieces):
        if place.is_mute or (without_memory and place.turn == turn):
            continue
        there, is_none = (bank, False) if place == here else _bank(principal, session, ended, place)
        if not (is_none or bounds.why_not(there)):
            groups.setdefault(there, []).extend(said)
    if reason and not without_memory:
        groups[bank] = []
    known_as = _digest(row.cursor) if turn == _UNNAMED else turn
    for there, said in groups.items():
        _queue(principal, session, ended, known_as, there, said)
    if without_memory:
        return WITHOUT_MEMORY
    return reason or (QUEUED if bank in groups else NOTHING)


def _queue(
    principal: Principal,
    session: Session,
    ended: Ended,
    turn: str,
    bank: Bank | None,
    pieces: list[Piece],
) -> None:
    """Have a job read these in this bank. What is told of a turn later joins what still waits."""
    messages = [{key: each[key] for key in _READ if key in each} for each in pieces]
    row, is_new = Turn.objects.get_or_create(
        session=session,
        turn=_digest([turn, bank.pk if bank else None]),
        defaults={
            "name": _name(session, ended.session_id or ""),
            "bank": bank,
            "is_spawned": _is_spawned(ended),
            "messages": messages,
            "token": principal.token_id,
            "user": principal.user_id,
            "at": seams.now(),
        },
    )
    if not is_new and messages:
        row.messages += messages
        row.save(update_fields=["messages"])
    jobs.enqueue(KIND, {"turn": row.pk}, dedup=str(row.pk))


def _pieces(row: Listening, said: list[Said], here: _Place) -> list[Piece]:
    """What the turn takes: its messages, else what its steps have shown, and what no other has."""
    if not said:
        return list(row.messages)
    fresh = transcript.after(said, row.cursor.split())
    told = _placed(transcript.kept(fresh), here, before=here, shown=row.messages)
    words = {transcript.words_of(each["mark"]) for each in told if "mark" in each}
    left: list[Piece] = []
    is_left = False
    for piece in row.messages:
        if "mark" in piece:
            is_told = transcript.words_of(piece["mark"]) in words
            is_left = piece["turn"] != here.turn and not is_told
        if is_left:
            left.append(piece)
    return left + told


def _placed(
    pieces: list[Piece], here: _Place, *, before: _Place, shown: Sequence[Piece] = ()
) -> list[Piece]:
    """Pieces with the place where they were said: what a step has shown keeps its own, and
    otherwise the words of a user begin `here`. Where nothing is learned no words are kept."""
    places: dict[str, list[_Place]] = {}
    for each in reversed(shown):
        if "mark" in each:
            places.setdefault(transcript.words_of(each["mark"]), []).append(_of(each))
    placed: list[Piece] = []
    place = before
    for piece in pieces:
        known = places.get(transcript.words_of(piece["mark"])) if "mark" in piece else None
        if known:
            place = known.pop()
        elif "mark" in piece and piece["role"] == transcript.USER:
            place = here
        said = {"turn": place.turn, "bank": place.bank}
        if not place.is_mute:
            placed.append(piece | said)
        elif "mark" in piece:
            placed.append({"mark": piece["mark"], **said})
    return placed


def _by_place(pieces: list[Piece]) -> Iterator[tuple[_Place, list[Piece]]]:
    return ((place, list(said)) for place, said in itertools.groupby(pieces, _of))


def _of(piece: Piece) -> _Place:
    return _Place(piece["turn"], piece["bank"], "text" not in piece)


def _last(row: Listening) -> _Place | None:
    """Where the last turn runs, or ran; None before the first one."""
    if not row.turn:
        return None
    is_mute = row.without_memory or bool(bounds.why_not(row.bank))
    return _Place(row.turn.removeprefix(_OVER), row.bank_id, is_mute)


def _fresh(row: Listening, said: list[Said]) -> list[Said]:
    """What neither a turn has taken nor a step has shown."""
    return transcript.after(said, _known(row.cursor, row.messages))


def _known(cursor: str, pieces: Sequence[Piece]) -> list[str]:
    """The marks of the newest messages."""
    marks = cursor.split() + [each["mark"] for each in pieces if "mark" in each]
    return marks[-transcript.KNOWN_MOST :]


def _steps(row: Listening, turn_id: object) -> _Place | None:
    """Where the steps of a turn ran, without an id those of the one that runs; None without any."""
    wanted, last = _digest(turn_id), _last(row)
    is_running = not row.turn.startswith(_OVER)
    is_same = last is not None and last.turn == wanted != _UNNAMED
    if is_same or (is_running and last is not None and _UNNAMED in (last.turn, wanted)):
        return last
    return next((_of(each) for each in row.messages if each["turn"] == wanted), None)


def _bank(
    principal: Principal, session: Session, ended: Ended, steps: _Place | None
) -> tuple[Bank | None, bool]:
    """The bank of a turn, None when it is found out later, and whether it runs without memory.

    That of its steps; a sub-agent whose steps named none has that of its parent.
    """
    bank, is_none = _bank_at(steps) if steps else (session.bank, False)
    is_named = steps and bank and bank.name != config.current().default_bank
    if is_none or is_named or not _is_spawned(ended):
        return bank, is_none
    return _bank_above(principal, ended) or (bank, False)


def _bank_above(principal: Principal, ended: Ended) -> tuple[Bank | None, bool] | None:
    """The bank of the parent's turn as for `_bank`; None when nothing is known of it."""
    parent, turn_id = _parent(ended)
    if parent is None:
        return None
    key = sessions.key_of(principal, parent)
    row = Listening.objects.filter(session__key=key).first()
    place = (_steps(row, turn_id) or _last(row)) if row else None
    bank, is_none = _bank_at(place) if place else (None, False)
    if bank or is_none:
        return bank, is_none
    session = Session.objects.filter(key=key).select_related("bank").first()
    return (session.bank, False) if session and session.bank else None


def _bank_at(place: _Place) -> tuple[Bank | None, bool]:
    """A place's bank, and whether it is none; one that is gone for good is none, too."""
    if place.bank is None:
        return None, place.is_mute and not bounds.why_not(None)
    bank = Bank.objects.filter(pk=place.bank).first()
    return bank, bank is None


def _is_spawned(ended: Ended) -> bool:
    """Whether it is a sub-agent's turn. A link that cannot be read is one all the same: what its
    user says is an agent's word."""
    is_none = ended.parent is None or ended.parent is False or ended.parent == ""
    return bool(ended.parent_session_id) or not is_none


def _parent(ended: Ended) -> tuple[str | None, object]:
    """The ids of the session and the turn above, as far as they can be read."""
    link = ended.parent if isinstance(ended.parent, dict) else {"session_id": ended.parent}
    named = ended.parent_session_id or link.get("session_id")
    is_id = isinstance(named, str) and named and whole(named) == named
    return (named if is_id else None), link.get("turn_id")


def _digest(value: object) -> str:
    """What a turn is known by; one hash for all that have no id."""
    try:
        told = json.dumps(None if value == "" else value, sort_keys=True)
    except RecursionError:
        told = "deep"
    return hashlib.sha256(told.encode()).hexdigest()[:32]


_UNNAMED = _digest(None)


def _name(session: Session, session_id: str) -> str:
    """The id of a session as it may stand beside a memory: plain, masked, not too long."""
    plain = mask(session_id).text
    return plain if plain.isprintable() and len(plain) <= _NAME_LENGTH else session.key
