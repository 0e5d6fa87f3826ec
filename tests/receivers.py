"""A receiver of webhooks on this machine: it keeps what it got and answers as scripted."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Got:
    """One request as it came in."""

    path: str
    headers: dict[str, str]
    body: bytes


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def status(code: int, *lines: str, body: str = "") -> bytes:
    """An answer with this status and these header lines."""
    head = "".join(f"{line}\r\n" for line in (*lines, f"Content-Length: {len(body)}"))
    return f"HTTP/1.1 {code} Scripted\r\n{head}\r\n{body}".encode()


@dataclass
class Receiver:
    """Answers with the next of `script`, then always with `OK`.

    `HANG` reads the request and never answers; `ENDLESS` sends a body without end; `DRIP` sends
    one byte of its headers at a time, `TRICKLE` of its body.
    """

    HANG = b"hang"
    ENDLESS = b"endless"
    DRIP = b"drip"
    TRICKLE = b"trickle"

    script: list[bytes] = field(default_factory=list)
    got: list[Got] = field(default_factory=list)
    sent: int = 0

    def __post_init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.host}/hook?to=pumps"

    def _serve(self) -> None:
        while not self.done.is_set():
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                connection.settimeout(5)
                with self.wrapped(connection) as line:
                    self._answer(line)

    def wrapped(self, connection: socket.socket) -> socket.socket:
        return connection

    def _answer(self, connection: socket.socket) -> None:
        file = connection.makefile("rb")
        first = file.readline().decode()
        if not first:
            return
        headers = {}
        while line := file.readline().decode().strip():
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        body = file.read(int(headers.get("content-length", "0")))
        self.got.append(Got(first.split()[1], headers, body))
        answer = self.script.pop(0) if self.script else OK
        if answer == self.HANG:
            self.done.wait(5)
        elif answer == self.ENDLESS:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while not self.done.is_set():
                self.sent += connection.send(b"x" * 65536)
        elif answer in (self.DRIP, self.TRICKLE):
            after = b"X-Slow: " if answer == self.DRIP else b"\r\n"
            connection.sendall(b"HTTP/1.1 200 OK\r\n" + after)
            while not self.done.is_set():
                self.sent += connection.send(b"x")
                time.sleep(0.02)
        else:
            connection.sendall(answer)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.done.set()
        # Wakes the thread that waits for a connection.
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(5)


@contextlib.contextmanager
def receiving(*script: bytes) -> Iterator[Receiver]:
    """A receiver that listens within the block."""
    receiver = Receiver(list(script))
    receiver.thread.start()
    try:
        yield receiver
    finally:
        receiver.close()
