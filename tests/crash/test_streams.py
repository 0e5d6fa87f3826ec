"""Open streams on a real server: they arrive, they leave room, they end with whoever holds them."""

import http.client
import re
import socket
import struct
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.servers import Client, Server

MANY = 40
SAVES = 30
# Seconds on a machine with other things to do; the three of a hand edit are measured in a browser.
SOON_S = 10.0
STOP_S = 20.0
SPARE = 2 * 8  # threads that both processes keep for the next requests
PASSWORD = "a kiln full of bricks"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Roomy(Server):
    """One person may hold them all, though both processes share them unevenly."""

    @property
    def environment(self) -> dict[str, str]:
        room = {"MEMORYCONSOLE_STREAMS": "48", "MEMORYCONSOLE_STREAMS_PER_PERSON": "48"}
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


def first_account(server: Server) -> str:
    """Use the printed link; the cookie of the session."""
    link = re.search(r"/setup/\S+", server.log())
    assert link, server.log()
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", link[0])
    answer = connection.getresponse()
    form = answer.read().decode()
    csrf = (answer.getheader("Set-Cookie") or "").partition(";")[0]
    token = re.search(r'csrfmiddlewaretoken" value="([^"]+)"', form)
    assert token
    values = {"username": "ada", "password": PASSWORD, "again": PASSWORD}
    body = urllib.parse.urlencode(values | {"csrfmiddlewaretoken": token[1]})
    connection.request("POST", link[0], body, FORM | {"Cookie": csrf})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    cookies = answer.headers.get_all("Set-Cookie") or []
    (session,) = [each for each in cookies if each.startswith("memoryconsole=")]
    return session.partition(";")[0]


def web_processes(server: Server) -> list[int]:
    """The children of the master that serve."""
    assert server.process is not None
    master = Path("/proc") / str(server.process.pid)
    children = (master / "task" / master.name / "children").read_text().split()
    return [
        int(pid)
        for pid in children
        if b"\0worker\0" not in (Path("/proc") / pid / "cmdline").read_bytes()
    ]


def held(server: Server, what: str) -> int:
    """How many descriptors (`fd`) or threads (`task`) the web processes have."""
    return sum(
        len(list((Path("/proc") / str(pid) / what).iterdir())) for pid in web_processes(server)
    )


def until(claim: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 10
    while not claim():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.05)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Roomy(tmp_path / "memory", tmp_path / "state")
    server.start()
    yield server
    server.kill()
    server.drop()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with Client(server.port, server.token()) as client:
        assert client.call("POST", "/banks", {"name": "kilns"})[0] == 200
        yield client


Open = Callable[[int], list[Stream]]


@pytest.fixture
def opened(server: Server, client: Client) -> Iterator[Open]:
    """Open so many streams of the first account; all are closed at the end."""
    cookie = first_account(server)
    every: list[Stream] = []

    def opened(count: int) -> list[Stream]:
        streams = [Stream(server.port, f"Cookie: {cookie}") for _ in range(count)]
        every.extend(streams)
        return streams

    yield opened
    for stream in every:
        stream.close()


def connected(streams: list[Stream]) -> list[Stream]:
    assert all(stream.hears(b"retry: 3000") for stream in streams)
    return streams


def save(client: Client, text: str) -> None:
    assert client.call("POST", "/memories", {"bank": "kilns", "text": text})[0] == 200


# field case A39
def test_many_streams_leave_room_and_leave_nothing_behind(
    server: Server, client: Client, opened: Open
) -> None:
    save(client, "Kiln 1 is cold.")
    before, threads = held(server, "fd"), held(server, "task")
    streams = connected(opened(MANY))
    slowest = 0.0
    for number in range(50):
        began = time.monotonic()
        assert client.call("GET", f"/memories?bank=kilns&limit={number}")[0] == 200
        slowest = max(slowest, time.monotonic() - began)
    assert slowest < SOON_S
    save(client, "Kiln 2 is cold.")
    assert all(stream.hears(b'"created": 1', SOON_S) for stream in streams)

    facts = server.data / "kilns" / "semantic_memory" / "facts.md"
    facts.write_text(facts.read_text().replace("Kiln 2 is cold.", "Kiln 2 is hot."))
    assert all(stream.hears(b'"changed": 1', SOON_S) for stream in streams)

    for stream in streams:
        stream.close()
    until(lambda: held(server, "fd") <= before, "descriptors given back")
    for _ in range(300):
        opened(1)[0].close(abruptly=True)
    streams = connected(opened(5))
    save(client, "Kiln 3 is cold.")
    assert all(stream.hears(b'"created": 1', SOON_S) for stream in streams)
    for stream in streams:
        stream.close()
    until(lambda: held(server, "fd") <= before, "descriptors given back")
    until(lambda: held(server, "task") <= threads + SPARE, "threads given back")
    assert "Traceback" not in server.log()


def test_every_change_of_both_processes_is_told_once_and_in_order(
    server: Server, client: Client
) -> None:
    bearer = f"Authorization: Bearer {client.token}"
    stream = Stream(server.port, bearer, path="/api/v1/events?bank=kilns")
    try:
        assert stream.hears(b"retry: 3000")
        for number in range(SAVES):
            client.close()  # another connection may reach the other process
            save(client, f"Kiln {number} is cold.")
        numbers = [stream.next_number() for _ in range(SAVES)]
    finally:
        stream.close()
    assert numbers == list(range(numbers[0], numbers[0] + SAVES))


def test_a_stop_ends_open_streams_at_once(server: Server, client: Client, opened: Open) -> None:
    streams = connected(opened(MANY))
    client.close()
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < STOP_S
    assert all(stream.ends() for stream in streams)
    assert "Traceback" not in server.log()


def test_streams_end_with_a_master_that_was_killed(
    server: Server, client: Client, opened: Open
) -> None:
    streams = connected(opened(5))
    client.close()
    processes = web_processes(server)
    assert server.process is not None
    server.process.kill()
    server.process.wait()
    assert all(stream.ends() for stream in streams)
    until(lambda: not any(_lives(pid) for pid in processes), "no process left")


def _lives(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


POST = "POST /sign-in HTTP/1.1\r\nHost: localhost\r\n"
# With a cookie of the kind that the form has: only then is the body looked at.
COOKIE = f"Cookie: memoryconsole_csrf={'a' * 32}\r\n"


@pytest.mark.parametrize(
    ("half", "count", "within_s"),
    [
        (
            f"{POST}{COOKIE}Content-Type: {FORM['Content-Type']}\r\nContent-Length: 1000\r\n\r\na",
            40,
            SOON_S,
        ),
        # More than there are threads: they come free when nothing more was sent for a while.
        (POST, 300, 3 * SOON_S),
    ],
    ids=["body", "head"],
)
def test_half_sent_requests_hold_nobody_up(
    server: Server, client: Client, half: str, count: int, within_s: float
) -> None:
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(count)]
    try:
        for connection in held:
            connection.sendall(half.encode())
        time.sleep(1)  # until the server has begun with all of them
        started = time.monotonic()
        save(client, "Pump 4 runs although others dawdle.")
        assert time.monotonic() - started < within_s
    finally:
        for connection in held:
            connection.close()
