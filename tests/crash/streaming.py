"""Open event streams of a real server, as browsers and programs hold them; calls beside them."""

import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from tests.crash.servers import Client, Server

CALLERS = 4


class Crowded(Server):
    """It has room for some hundred streams, all of one program."""

    @property
    def environment(self) -> dict[str, str]:
        room = {"MEMORYCONSOLE_STREAMS": "300", "MEMORYCONSOLE_STREAMS_PER_PERSON": "300"}
        return super().environment | room


class Stream:
    """One open stream of a browser or, with a token, of a program."""

    def __init__(self, port: int, *headers: str, path: str = "/events?bank=kilns") -> None:
        self.connection = socket.create_connection(("127.0.0.1", port), timeout=10)
        lines = [f"GET {path} HTTP/1.1", f"Host: localhost:{port}", *headers, "", ""]
        self.connection.sendall("\r\n".join(lines).encode())
        self.heard = b""

    def hears(self, word: bytes, within_s: float = 10.0) -> bool:
        """Whether this arrives in time; what was heard before it is forgotten."""
        deadline = time.monotonic() + within_s
        while word not in self.heard:
            self.connection.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                more = self.connection.recv(4096)
            except TimeoutError:
                return False
            if not more:
                return False
            self.heard += more
        self.heard = self.heard.partition(word)[2]
        return True

    def next_event(self) -> tuple[str, int]:
        """Where the next event stands, and the number of the change that it tells."""
        assert self.hears(b"\nid: "), "not in time"
        while b"\n" not in self.heard:
            self.heard += self.connection.recv(4096)
        return self.heard.partition(b"\n")[0].decode(), self.next_number()

    def next_number(self) -> int:
        """The number of the next change that is told."""
        assert self.hears(b'"seq":'), "not in time"
        while b"," not in self.heard:
            self.heard += self.connection.recv(4096)
        return int(self.heard.partition(b",")[0])

    def ends(self) -> bool:
        """Whether the server ends it, in good order."""
        return self.hears(b"0\r\n\r\n")

    def close(self, *, abruptly: bool = False) -> None:
        """Hang up; abruptly is a reset."""
        if abruptly:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


def load(server: Server, token: str, *, rate: int, for_s: float, saves: bool = True) -> list[float]:
    """So many calls a second, one of them a save that all streams tell of: how late each answer
    came, in seconds, from the moment when its call was due. Fails for another answer than 200."""
    began, numbers, late = time.monotonic(), count(), []

    def call() -> None:
        with Client(server.port, token) as client:
            while (number := next(numbers)) < rate * for_s:
                due = began + number / rate
                time.sleep(max(0.0, due - time.monotonic()))
                if number % rate or not saves:
                    status, told = client.call("GET", "/memories?bank=kilns&limit=20")
                else:
                    body = {"bank": "kilns", "text": f"Kiln {began} was looked at, {number}."}
                    status, told = client.call("POST", "/memories", body)
                assert status == 200, told
                late.append(time.monotonic() - due)

    with ThreadPoolExecutor(CALLERS) as pool:
        for done in [pool.submit(call) for _ in range(CALLERS)]:
            done.result()
    return late
