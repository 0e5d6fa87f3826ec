"""Server-sent events under WSGI: how they are framed, and the line that they go out on."""

import select
import socket
from collections.abc import Callable, Iterator

from django.http import HttpRequest, StreamingHttpResponse

PING = ": ping\n\n"
PING_EVERY_S = 15.0
_SEND_WITHIN_S = 20.0


def opening(*, retry_ms: int) -> str:
    """What is sent first, so that the browser knows at once that it is connected."""
    return f"retry: {retry_ms}\n\n"


def event(name: str, line: str, *, event_id: str) -> str:
    """One event. `line` is JSON in one line: it escapes line breaks, so no text begins one."""
    return f"id: {event_id}\nevent: {name}\ndata: {line}\n\n"


def mark(event_id: str) -> str:
    """No event, but the id that a client names when it comes back."""
    return f"id: {event_id}\n\n"


class _Closing:
    """An iterator with an end of its own: a generator that was never begun has none."""

    def __init__(self, events: Iterator[str], close: Callable[[], None]) -> None:
        self._events = events
        self.close = close

    def __iter__(self) -> Iterator[str]:
        return self._events


def response(events: Iterator[str], *, close: Callable[[], None]) -> StreamingHttpResponse:
    """The answer that sends the events as they come; `close` is called at its end, begun or not."""
    answer = StreamingHttpResponse(_Closing(events, close), content_type="text/event-stream")
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["X-Accel-Buffering"] = "no"
    return answer


class Line:
    """The connection of a request, where the server shows it; nothing is known of any other."""

    def __init__(self, request: HttpRequest) -> None:
        shown = request.META.get("gunicorn.socket")
        self._socket: socket.socket | None = shown if isinstance(shown, socket.socket) else None
        if self._socket is not None:
            # A client that stopped reading would else hold its thread for ever.
            self._socket.settimeout(_SEND_WITHIN_S)

    def is_gone(self) -> bool:
        """Whether the client has hung up. Writing would tell only at the second ping."""
        if self._socket is None:
            return False
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        if not waiting.poll(0):
            return False
        try:
            return not self._socket.recv(1, socket.MSG_PEEK)
        except OSError:
            return True
