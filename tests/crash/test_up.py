"""`manage.py up` as a process: it serves, it says how to begin, it stops whole."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
DEADLINE_S = 40

pytestmark = pytest.mark.slow  # a real server starts and stops


def until(claim: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not claim():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def environment(folder: Path, **more: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    own = {
        "MEMORYCONSOLE_DATA_DIR": str(folder / "served" / "memory"),
        "MEMORYCONSOLE_STATE_DIR": str(folder / "served" / "state"),
    }
    return kept | own | more


def command(*args: str) -> list[str]:
    return [sys.executable, str(ROOT / "manage.py"), *args]


def session_members(leader: int) -> set[int]:
    """The living processes of the session that `leader` began."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(") ")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == leader and fields[0] != "Z":
            found.add(int(entry.name))
    return found


def workers(leader: int) -> list[int]:
    """Those members that run the `worker` command."""
    found = []
    for pid in session_members(leader):
        try:
            words = (Path("/proc") / str(pid) / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"worker" in words:
            found.append(pid)
    return found


@dataclass
class Running:
    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def get(self, path: str) -> int:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                status: int = answer.status
                return status
        except urllib.error.HTTPError as error:
            with error:
                return error.code
        except (urllib.error.URLError, ConnectionError):
            return 0


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    log, port = tmp_path / "log", free_port()
    with log.open("wb") as out:
        process = subprocess.Popen(
            command("up", "--port", str(port)),
            env=environment(tmp_path),
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    running = Running(process, port, log)
    try:
        until(lambda: running.get("/healthz") == 200 or process.poll() is not None, "an answer")
        assert process.poll() is None, log.read_text()
        yield running
    finally:
        for pid in session_members(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.wait()


def test_up_serves_and_says_how_to_begin(server: Running) -> None:
    said = server.log.read_text()
    assert f"http://127.0.0.1:{server.port}/" in said
    assert re.search(rf"http://127\.0\.0\.1:{server.port}/setup/\S{{20,}}", said)
    assert server.get("/readyz") == 200
    assert server.get("/nothing") == 404
    until(lambda: len(workers(server.pid)) == 1, "one background worker")


def test_a_stop_ends_every_process(server: Running) -> None:
    until(lambda: len(workers(server.pid)) == 1, "the background worker")
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(timeout=DEADLINE_S) == 0, server.log.read_text()
    # At once: the server waits for its worker, and does not leave it to notice by itself.
    assert not session_members(server.pid)
    assert "Traceback" not in server.log.read_text()


def test_a_killed_server_leaves_no_process_behind(server: Running) -> None:
    until(lambda: len(workers(server.pid)) == 1, "the background worker")
    server.process.kill()
    server.process.wait()
    until(lambda: not session_members(server.pid), "no process left")


def test_a_killed_worker_is_started_again(server: Running) -> None:
    until(lambda: len(workers(server.pid)) == 1, "the background worker")
    (first,) = workers(server.pid)
    os.kill(first, signal.SIGKILL)
    until(lambda: len(workers(server.pid)) == 1 and workers(server.pid) != [first], "another one")
    assert server.get("/healthz") == 200


def refusal(folder: Path, *args: str, **more: str) -> str:
    done = subprocess.run(
        command("up", *args),
        env=environment(folder, **more),
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert done.returncode != 0
    return done.stderr


def test_plain_http_is_not_served_to_other_machines(tmp_path: Path) -> None:
    assert "MEMORYCONSOLE_ALLOW_HTTP" in refusal(tmp_path, "--host", "0.0.0.0")  # noqa: S104


def test_an_exposure_without_a_secret_is_refused(tmp_path: Path) -> None:
    said = refusal(tmp_path, MEMORYCONSOLE_ALLOWED_HOSTS="memory.example", MEMORYCONSOLE_HTTPS="1")
    assert "memoryconsole.E001" in said


def test_a_port_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    assert "no port 99999" in refusal(tmp_path, "--port", "99999")


def test_a_port_in_use_is_said_and_nothing_is_left_running(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        said = refusal(tmp_path, "--port", str(holder.getsockname()[1]))
    assert "in use" in said
    assert "Traceback" not in said
    assert not (tmp_path / "served" / "memory").exists()
