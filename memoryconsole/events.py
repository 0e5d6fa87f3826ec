"""The stream of events for programs: every change of some banks, in order, from where they left."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from ninja import Query, Router
from pydantic import Field

from banks import access, auth, errors, events, positions, stream
from banks.access import Principal, Role, Scope
from banks.api import Request
from banks.models import Bank
from banks.positions import Position
from banks.schemas import events as shapes
from banks.schemas.common import Params, answers
from memoryconsole import sse
from memoryconsole.admission import session_again

BANKS_MOST = 200
"""Positions of so many banks fit into a header."""

EVENTS_AT_ONCE = 100

router = Router(tags=["events"])


class EventParams(Params):
    """Which events a stream tells."""

    bank: Annotated[
        list[str],
        Field(
            default_factory=list,
            max_length=BANKS_MOST,
            description="These banks; left out: all that the caller may see.",
        ),
    ]
    type: Annotated[
        list[str],
        Field(
            default_factory=list,
            max_length=len(events.NAMES),
            description="`item-changed`, `bank-changed`, or one kind: `item-changed.created`.",
        ),
    ]


@router.get("/events", response=answers(shapes.EventOut))
def stream_events(request: Request, params: Query[EventParams]) -> HttpResponseBase:
    """Server-sent events: each has this answer as its `data`, and an `id` to go on from, sent back
    as Last-Event-ID. An id that does not fit gets the event `reset`: read everything anew."""
    access.require(request.auth, Scope.MEMORY_READ)
    unknown = [each for each in params.type if each not in events.NAMES]
    if unknown:
        names = ", ".join(events.NAMES)
        raise errors.Invalid(f"There is no such type of events: use {names}.", loc="type")
    chosen = [access.bank_for(request.auth, name, Role.VIEWER).pk for name in params.bank]
    visible = chosen or list(access.visible_banks(request.auth).values_list("pk", flat=True))
    if len(visible) > BANKS_MOST:
        raise errors.Invalid(f"Name the banks, {BANKS_MOST} at most.", loc="bank")
    is_reset, at = _begin(request.headers.get("Last-Event-ID", ""), visible)
    known = {bank: each.seq for bank, each in at.items()}
    if not chosen:
        known = positions.heads() | known
    listener = stream.hub.listen(known, person=request.auth.key, every=not chosen)
    reader = _Reader(request, listener, frozenset(chosen), frozenset(params.type), at)
    opening = [sse.OPENING + sse.mark(reader.cursor)]
    if is_reset:
        opening.append(sse.event("reset", '{"event_type":"reset"}', event_id=reader.cursor))
    return sse.response(sse.follow(request, listener, opening, reader.say), close=listener.close)


def _begin(cursor: str, visible: list[int]) -> tuple[bool, dict[int, Position]]:
    """Whether the client has to begin anew, and the positions to go on from.

    A bank that the cursor does not name was not there, or not visible: it is told from its start.
    """
    if not cursor:
        return False, positions.now(visible)
    try:
        known = positions.read(cursor)
    except positions.ForeignCursorError:
        return True, positions.now(visible)
    return False, {bank: known.get(bank, Position(0)) for bank in visible}


def _again(request: HttpRequest) -> Principal:
    """Who asks, as of now. Raises Unauthenticated and ScopeMissing."""
    given = request.headers.get("Authorization")
    if given is None:
        principal = session_again(request)
    else:
        principal = auth.principal_of_token(given.partition(" ")[2].strip())
    access.require(principal, Scope.MEMORY_READ)
    return principal


@dataclass(slots=True)
class _Reader:
    """What one stream tells, and up to where it has. Without `chosen` banks it tells all."""

    request: Request
    listener: stream.Listener
    chosen: frozenset[int]
    types: frozenset[str]
    at: dict[int, Position]
    passed: dict[int, int] = field(default_factory=dict)

    @property
    def cursor(self) -> str:
        """All positions."""
        return positions.cursor(self.at)

    def say(self, moved: Mapping[int, int]) -> list[str]:
        """The next events of these banks; of none, a ping.

        Raises Unauthenticated, ScopeMissing, and BankNotFound for a chosen bank out of sight.
        """
        principal = _again(self.request)
        asked = self.chosen | moved.keys()
        rows = Bank.objects.exclude(state=Bank.State.HIDDEN).in_bulk(asked)
        seen = {pk for pk, bank in rows.items() if access.role_in(principal, bank) is not None}
        if not self.chosen <= seen:
            raise errors.BankNotFound
        told, known = [], {}
        for pk, head in moved.items():
            if pk in seen:
                told += self._of_bank(rows[pk])
                known[pk] = self.at[pk].seq
            else:
                # Nothing that happens while a bank is out of sight is told later.
                self.at.pop(pk, None)
                self.passed[pk] = known[pk] = head
        for pk, head in known.items():
            self.listener.know(pk, head)
        return told if moved else [sse.PING + sse.mark(self.cursor)]

    def _of_bank(self, bank: Bank) -> list[str]:
        here = self.at.setdefault(bank.pk, Position(self.passed.pop(bank.pk, 0)))
        told = []
        key = ("events", bank.pk, here, bank.head)
        for each in stream.hub.shared.once(key, lambda: _after(bank, here.seq)):
            self.at[bank.pk] = each.position
            if not self.types or self.types & {each.name, each.trigger}:
                told.append(sse.event(each.trigger, each.line, event_id=self.cursor))
        return told


@dataclass(frozen=True, slots=True)
class _Told:
    """An event as every stream tells it."""

    position: Position
    name: str
    trigger: str
    line: str


def _after(bank: Bank, seq: int) -> list[_Told]:
    """The next events of the bank behind this number."""
    return [
        _Told(Position.of(each.seq, each.uid), each.name, each.trigger.value, shapes.line(each))
        for each in events.after(bank, seq, limit=EVENTS_AT_ONCE)
    ]
