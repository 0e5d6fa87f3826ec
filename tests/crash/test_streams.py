"""Open streams on a real server: they arrive, they leave room, they end with whoever holds them."""

import http.client
import re
import socket
import time
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.servers import Client, Server
from tests.crash.streaming import Crowded, Stream, load

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
    streams = connected(opened(5))
    save(client, "Kiln 3 is cold.")
    assert all(stream.hears(b'"created": 1', SOON_S) for stream in streams)
    for stream in streams:
        stream.close()
    until(lambda: held(server, "fd") <= before, "descriptors given back")
    until(lambda: held(server, "task") <= threads + SPARE, "threads given back")
    assert "Traceback" not in server.log()


@pytest.fixture
def crowded(tmp_path: Path) -> Iterator[tuple[Crowded, str]]:
    """A server with much room and a bank, and a token for it."""
    server = Crowded(tmp_path / "memory", tmp_path / "state")
    server.start()
    token = server.token()
    with Client(server.port, token) as client:
        assert client.call("POST", "/banks", {"name": "kilns"})[0] == 200
    yield server, token
    server.kill()
    server.drop()


# field case A39
def test_a_crowd_of_streams_disturbs_no_call_and_two_thousand_leave_nothing(
    crowded: tuple[Crowded, str],
) -> None:
    server, token = crowded
    bearer = f"Authorization: Bearer {token}"

    def crowd() -> list[Stream]:
        path = "/api/v1/events?bank=kilns"
        return connected([Stream(server.port, bearer, path=path) for _ in range(200)])

    load(server, token, rate=50, for_s=1)  # every thread that calls alone need is there
    before, threads = held(server, "fd"), held(server, "task")
    for number in range(10):
        streams = crowd()
        if not number:
            assert len(load(server, token, rate=50, for_s=5)) == 250
        for each, stream in enumerate(streams):
            stream.close(abruptly=bool(each % 2))
        until(lambda: held(server, "fd") <= before + MANY, "descriptors given back")
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
        # Answered at once, and then nobody hangs up.
        ("GET / HTTP/1.1\r\nNo Name: x\r\n\r\n", 60, SOON_S),
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 60, SOON_S),
    ],
    ids=["body", "head", "malformed", "last"],
)
def test_clients_that_dawdle_hold_nobody_up(
    server: Server, client: Client, half: str, count: int, within_s: float
) -> None:
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(count)]
    try:
        for connection in held:
            connection.sendall(half.encode())
        time.sleep(1)  # until the server has begun with all of them
        client.close()  # the next call is accepted behind them
        started = time.monotonic()
        save(client, "Pump 4 runs although others dawdle.")
        assert time.monotonic() - started < within_s
    finally:
        for connection in held:
            connection.close()
