"""Server-sent events under WSGI: how they are framed, how a stream goes on, and the line that it
goes out on."""

import logging
import select
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

from django.db import Error
from django.http import HttpRequest, StreamingHttpResponse

from banks import errors, stream

logger = logging.getLogger(__name__)

PING = ": ping\n\n"
PING_EVERY_S = 15.0
RETRY_MS = 3_000
_LOOK_EVERY_S = 1.0
_SEND_WITHIN_S = 20.0
_READING = threading.BoundedSemaphore(4)
"""So many streams of a process use the database at once: a change wakes all of them, and each of
them would take a connection."""

OPENING = f"retry: {RETRY_MS}\n\n"
"""What is sent first, so that the client knows at once that it is connected."""


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


Say = Callable[[Mapping[int, int]], list[str]]
"""What to send, given the new heads of the banks that moved; given none, a ping is due. The right
to it is looked at in each call: a DomainError ends the stream."""


def follow(
    request: HttpRequest,
    listener: stream.Listener,
    opening: Iterable[str],
    say: Say,
    *,
    rest_s: float = 0.0,
) -> Iterator[str]:
    """The stream: the opening, what there is to say whenever a bank moved, and now and then a ping,
    until the client hangs up, the listener ends or the right to it does. After what was said of a
    move the listener rests for `rest_s` seconds. No database connection is held in between."""
    stream.release_connections()
    line = Line(request)
    yield from opening
    spoke_at = listener.clock()
    while not (listener.ended or line.is_gone()):
        moved = listener.wait(_LOOK_EVERY_S)
        if not moved and listener.clock() - spoke_at < PING_EVERY_S:
            continue
        with _READING:
            words = _said(say, moved)
        if words is None:
            return
        if not words:
            continue
        yield from words
        spoke_at = listener.clock()
        if moved and rest_s:
            listener.rest(rest_s)


def _said(say: Say, moved: Mapping[int, int]) -> list[str] | None:
    """What is said; None at the stream's end."""
    try:
        return say(moved)
    except errors.DomainError:
        return None
    except Error as error:
        # The client comes back by itself, with what it knows.
        logger.warning("stream without database", exc_info=error)
        return None
    finally:
        stream.release_connections()
