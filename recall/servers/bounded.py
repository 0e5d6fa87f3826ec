"""A call that ends: in time and in bytes. The client's own time-outs begin anew with each byte."""

import contextlib
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2


class TooLongError(Exception):
    """More bytes than an answer may have."""


class _Limited(httpx2.SyncByteStream):
    def __init__(self, stream: httpx2.SyncByteStream, most: int) -> None:
        self._stream = stream
        self._left = most

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            self._left -= len(piece)
            if self._left < 0:
                raise TooLongError
            yield piece

    def close(self) -> None:
        self._stream.close()


class Bound:
    """The hooks of a client that makes one call: `seconds` and `most` bytes for all of it.

    When the time is over the connection is cut, whatever the server is sending; `is_over` then. An
    answer that ends then may look like a whole one.
    """

    def __init__(self, *, seconds: float, most: int) -> None:
        self.is_over = False
        self._most = most
        self._line: socket.socket | None = None
        self._timer = threading.Timer(seconds, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> "Bound":
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def request(self, request: httpx2.Request) -> None:
        """Have the connection told."""
        request.extensions = {**request.extensions, "trace": self._trace}

    def response(self, response: httpx2.Response) -> None:
        """Let no more than so many bytes through. Raises TooLongError while they are read."""
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _Limited(response.stream, self._most)

    def _trace(self, name: str, info: Mapping[str, Any]) -> None:
        if name in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._line = info["return_value"].get_extra_info("socket")
            if self.is_over:
                self._cut()

    def _cut(self) -> None:
        self.is_over = True
        if self._line is not None:
            with contextlib.suppress(OSError):  # it is closed already
                self._line.shutdown(socket.SHUT_RDWR)
