"""What keeps a page live: a stream of counters for one bank. No text of a memory goes out here."""

import json
import logging
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from django.db import Error
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from banks import access, errors, stream
from banks.access import Role
from memoryconsole import sse
from memoryconsole.admission import session_again
from memoryconsole.console.context import person
from memoryconsole.errors import answer, translated

logger = logging.getLogger(__name__)

EVENT_EVERY_S = 1.0
LOOK_EVERY_S = 1.0
RETRY_MS = 3_000
_NUMBER_DIGITS = 18


@require_GET
def events(request: HttpRequest) -> HttpResponseBase:
    """Counters of the bank named `bank`, as they change: first `head`, then `bank` events.

    From the head that `since` or Last-Event-ID names, else from now. For a signed-in person: 401
    without a session, 404 for a bank that is not theirs, 503 when too many streams are open.
    """
    try:
        principal, since = person(request), _since(request)
        name = request.GET.get("bank", "")
        if not name.isprintable():
            raise errors.BankNotFound
        bank = access.bank_for(principal, name, Role.VIEWER)
        known = bank.head if since is None else since
        listener = stream.hub.listen({bank.pk: known}, person=principal.handle)
    except errors.Unauthenticated:
        return answer(errors.Unauthenticated("Sign in to the console first."))
    except (errors.DomainError, Error) as error:
        return answer(translated(error))
    watch = _Watch(request, name, bank.pk, known)
    return sse.response(_events(watch, listener), close=listener.close)


def _since(request: HttpRequest) -> int | None:
    """The head that the client knows. The header is newer: browsers send it when they reconnect."""
    value = request.headers.get("Last-Event-ID") or request.GET.get("since")
    if not value:
        return None
    if not (value.isascii() and value.isdecimal() and len(value) <= _NUMBER_DIGITS):
        raise errors.Invalid("Send the number of a change that an event named.", loc="since")
    return int(value)


@dataclass(slots=True)
class _Watch:
    """What one stream watches, and the head up to which it has told everything."""

    request: HttpRequest
    name: str
    bank_id: int
    known: int

    def counters(self) -> dict[str, object]:
        """What changed since the last time.

        Raises Unauthenticated or BankNotFound when this person may not see the bank any more.
        """
        bank = access.bank_for(session_again(self.request), self.name, Role.VIEWER)
        if bank.pk != self.bank_id:
            raise errors.BankNotFound
        tally = stream.tally(bank, after=self.known, until=bank.head)
        self.known = bank.head
        return {"bank": bank.name, **asdict(tally), "rev": bank.head}


def _events(watch: _Watch, listener: stream.Listener) -> Iterator[str]:
    """The stream: an event when the head moved, at most one a second, else now and then a ping."""
    stream.release_connections()
    line = sse.Line(watch.request)
    # With the head, so that a tab that is hidden before anything changed knows from where to go on.
    head = sse.event("head", json.dumps({"rev": watch.known}), event_id=str(watch.known))
    yield sse.opening(retry_ms=RETRY_MS) + head
    spoke_at = listener.clock()
    while not (listener.ended or line.is_gone()):
        moved = listener.wait(LOOK_EVERY_S)
        if not moved and listener.clock() - spoke_at < sse.PING_EVERY_S:
            continue
        word = _word(watch, is_ping=not moved)
        if word is None:
            return
        listener.know(watch.bank_id, watch.known)
        if not word:
            continue
        yield word
        spoke_at = listener.clock()
        if moved:
            listener.rest(EVENT_EVERY_S)


def _word(watch: _Watch, *, is_ping: bool) -> str | None:
    """What to send, perhaps nothing; None at the stream's end. The right to it is checked here."""
    known = watch.known
    try:
        counters = watch.counters()
    except errors.DomainError:
        return None
    except Error as error:
        # The browser comes back by itself, with the head that it knows.
        logger.warning("stream without database", exc_info=error)
        return None
    finally:
        stream.release_connections()
    if watch.known == known:
        return sse.PING if is_ping else ""
    return sse.event("bank", json.dumps(counters), event_id=str(watch.known))
