"""What keeps a page live: a stream of counters for one bank. No text of a memory goes out here."""

import json
from collections.abc import Mapping
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

EVENT_EVERY_S = 1.0
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
    watch = _Watch(request, listener, name, bank.pk, known)
    # With the head, so that a tab that is hidden before anything changed knows from where to go on.
    head = sse.event("head", json.dumps({"rev": known}), event_id=str(known))
    told = sse.follow(request, listener, [sse.OPENING + head], watch.say, rest_s=EVENT_EVERY_S)
    return sse.response(told, close=listener.close)


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
    listener: stream.Listener
    name: str
    bank_id: int
    known: int

    def say(self, moved: Mapping[int, int]) -> list[str]:
        """What changed since the last time, at most one event a second; a ping when it is due.

        Raises Unauthenticated or BankNotFound when this person may not see the bank any more.
        """
        known, counters = self.known, self._counters()
        self.listener.know(self.bank_id, self.known)
        if self.known != known:
            return [sse.event("bank", json.dumps(counters), event_id=str(self.known))]
        return [] if moved else [sse.PING]

    def _counters(self) -> dict[str, object]:
        bank = access.bank_for(session_again(self.request), self.name, Role.VIEWER)
        if bank.pk != self.bank_id:
            raise errors.BankNotFound
        tally = stream.tally(bank, after=self.known, until=bank.head)
        self.known = bank.head
        return {"bank": bank.name, **asdict(tally), "rev": bank.head}
