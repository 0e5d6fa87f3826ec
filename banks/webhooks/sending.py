"""One call of a webhook: to the address that was checked, bounded in time and in bytes.

Written on sockets because the address must be ours to choose: clients that take a name look it up
themselves. No proxy, no redirect, no cookie.
"""

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from banks import errors
from banks.retrying import retry_after_s
from banks.store.redact import mask
from banks.webhooks import address
from banks.webhooks.address import RefusedError, Target

CONNECT_S = 5.0
TOTAL_S = 15.0
READ_BYTES = 64 * 1024
KEPT_CHARACTERS = 4 * 1024
USER_AGENT = "memory-console"
MASKED = "[masked]"

MOST_RETRY_AFTER_S = 24 * 3_600.0
_KEPT_HEADERS = 40
_HEADER_LENGTH = 256
_READ_BODY = 2 * KEPT_CHARACTERS
_SEND_BYTES = 16 * 1024
_OPEN_HEADERS = frozenset(
    {
        "age", "allow", "cache-control", "connection", "content-encoding", "content-length",
        "content-type", "date", "retry-after", "server", "transfer-encoding", "via",
        "x-request-id",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of a call. `status` 0 = none came, `error` says why; texts are masked and cut."""

    status: int = 0
    error: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    retry_after_s: float | None = None
    duration_ms: int = 0

    @property
    def ok(self) -> bool:
        """Whether the receiver took the event."""
        return 200 <= self.status < 300


def post(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Call the address. Whatever the network does is an answer, nothing is raised for it."""
    started = time.monotonic()
    try:
        where = address.target(url)
        with _connected(where, deadline=started + TOTAL_S) as line:
            answer = _exchange(line, where, body, headers)
    except errors.AddressRefused as error:
        answer = Answer(error=error.message)
    except RefusedError as error:
        answer = Answer(error=str(error))
    except (OSError, UnicodeError, http.client.HTTPException) as error:
        answer = Answer(error=_why(error))
    return replace(answer, duration_ms=int(1_000 * (time.monotonic() - started)))


def _why(error: Exception) -> str:
    """What the network did, in words that show no address."""
    match error:
        case TimeoutError():
            said = "It took too long."
        case ssl.SSLCertVerificationError():
            said = f"Its certificate is not accepted: {error.verify_message}."
        case ssl.SSLError():
            said = "No secure connection could be made."
        case socket.gaierror() | UnicodeError():
            said = "The name of the host cannot be resolved."
        case ConnectionRefusedError():
            said = "Nobody listens there."
        case OSError():
            said = f"The connection failed: {error.strerror or type(error).__name__}."
        case _:
            said = "The answer is not HTTP."
    return said


class _Line(io.RawIOBase):
    """A connection with an end: so many seconds for all of it, so many bytes to be read."""

    def __init__(self, connection: socket.socket, deadline: float) -> None:
        self._connection = connection
        self._deadline = deadline
        self._left = READ_BYTES

    def makefile(self, mode: str) -> io.BufferedReader:
        """What http.client reads from."""
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there; an end of file once the limit is reached."""
        if not self._left:
            return 0
        self._in_time()
        count = self._connection.recv_into(memoryview(buffer)[: self._left])
        self._left -= count
        return count

    def send(self, data: bytes) -> None:
        """Send all of it, in parts: a receiver that reads slowly gets no time of its own."""
        for start in range(0, len(data), _SEND_BYTES):
            self._in_time()
            self._connection.sendall(data[start : start + _SEND_BYTES])

    def secure(self, host: str) -> None:
        """Go on under TLS: the certificate must be that of the name, whatever address it has."""
        self._in_time()
        context = ssl.create_default_context()
        self._connection = context.wrap_socket(self._connection, server_hostname=host)

    def _in_time(self) -> None:
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._connection.settimeout(left_s)

    def close(self) -> None:
        self._connection.close()
        super().close()


def _connected(where: Target, *, deadline: float) -> _Line:
    """A connection to one of the addresses that were checked, the first that answers."""
    connect_until = time.monotonic() + CONNECT_S
    failed: OSError = ConnectionRefusedError()
    for each in address.checked(where):
        left_s = connect_until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        try:
            line = _Line(socket.create_connection((each, where.port), left_s), deadline)
        except OSError as error:
            failed = error
            continue
        try:
            if where.scheme == "https":
                line.secure(where.host)
        except BaseException:
            line.close()
            raise
        return line
    raise failed


def _exchange(line: _Line, where: Target, body: bytes, headers: Mapping[str, str]) -> Answer:
    lines = {
        "Host": where.host_header,
        "User-Agent": USER_AGENT,
        "Content-Length": str(len(body)),
        "Connection": "close",
        **headers,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    line.send(f"POST {where.path} HTTP/1.1\r\n{head}\r\n".encode("ascii") + body)
    response = http.client.HTTPResponse(line, method="POST")  # type: ignore[arg-type]  # a file suffices
    response.begin()
    shown = {name.lower(): value for name, value in response.getheaders()}
    try:
        raw = response.read(_READ_BODY)
    except (OSError, http.client.HTTPException):
        raw = b""  # the status has come, and that decides
    is_redirect = 300 <= response.status < 400
    return Answer(
        status=response.status,
        error="" if 200 <= response.status < 300 else _refusal(is_redirect=is_redirect),
        headers=_quiet_headers(shown),
        body=quiet(raw.decode("utf-8", "replace")),
        retry_after_s=retry_after_s(shown.get("retry-after", ""), most_s=MOST_RETRY_AFTER_S),
    )


def _refusal(*, is_redirect: bool) -> str:
    return "It redirects, which is not followed." if is_redirect else "It did not take the event."


def quiet(text: str) -> str:
    """A text of a foreign program: masked, cut, without characters that a database refuses."""
    plain = "".join(each if each.isprintable() or each in "\n\t" else "\ufffd" for each in text)
    return mask(plain).text[:KEPT_CHARACTERS]


def _quiet_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that say how it went; of all others only that they were there."""
    kept = list(headers.items())[:_KEPT_HEADERS]
    return {
        quiet(name)[:_HEADER_LENGTH]: (
            quiet(value)[:_HEADER_LENGTH] if name in _OPEN_HEADERS else MASKED
        )
        for name, value in kept
    }
