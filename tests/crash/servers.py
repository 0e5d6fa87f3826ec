"""A real server with folders of its own, that can be killed with all that it started."""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[2]
START_S = 60.0
STOP_S = 40.0
NAP_S = 0.05


def free_port() -> int:
    """A port of the loopback interface that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _postgres(address: str, statement: str) -> None:
    import psycopg  # only where the tests run on PostgreSQL

    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(statement)


@dataclass
class Server:
    """`manage.py up`. `data` may be shared with another server; `state` and database are its own,
    unless both are those of another one on this machine."""

    data: Path
    state: Path
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    database: str = ""

    def __post_init__(self) -> None:
        """Where the tests run on PostgreSQL, so does the server, in a database of its own."""
        maintenance = os.environ.get("MEMORYCONSOLE_TEST_DATABASE_URL")
        if maintenance and not self.database:
            name = f"server_{uuid.uuid4().hex}"
            _postgres(maintenance, f"CREATE DATABASE {name}")
            self.database = maintenance.rpartition("/")[0] + f"/{name}"

    @property
    def environment(self) -> dict[str, str]:
        own = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        own["MEMORYCONSOLE_DATA_DIR"] = str(self.data)
        own["MEMORYCONSOLE_STATE_DIR"] = str(self.state)
        if self.database:
            own["MEMORYCONSOLE_DATABASE_URL"] = self.database
        return own

    def manage(self, *words: str) -> str:
        """Run a command of the project on the same folders; what it printed."""
        return subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *words],
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.state.mkdir(parents=True, exist_ok=True)
        log = (self.state / "server.log").open("ab")
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "up", "--port", str(self.port)],
            env=self.environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        log.close()
        deadline = time.monotonic() + START_S
        while not self._answers():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            time.sleep(NAP_S)

    def log(self) -> str:
        """What it printed."""
        return (self.state / "server.log").read_text()

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with contextlib.closing(connection):
            try:
                connection.request("GET", "/healthz")
                return connection.getresponse().status == 200
            except (OSError, http.client.HTTPException):
                return False

    def kill(self) -> None:
        """SIGKILL for the master, its workers and the background worker."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(STOP_S)

    def stop(self) -> None:
        """An orderly end."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(STOP_S)

    def drop(self) -> None:
        """Remove its database, if it has one of its own on a server."""
        if self.database:
            address, _, name = self.database.rpartition("/")
            _postgres(f"{address}/postgres", f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def token(self) -> str:
        """The secret of a token that may do everything."""
        scopes = "memory:read,memory:write,memory:curate,rules:read,rules:write,banks:create,admin"
        return self.manage("token", "tests", "--scopes", scopes).strip()


@dataclass
class Client:
    """One connection to a server's API; it opens a new one after a fault."""

    port: int
    token: str
    connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def call(
        self, method: str, path: str, body: Any = None, key: str = ""
    ) -> tuple[int, dict[str, Any]]:
        """Status and JSON. Raises OSError or HTTPException when the server goes away."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if key:
            headers["Idempotency-Key"] = key
        try:
            data = None if body is None else json.dumps(body).encode()
            self.connection.request(method, "/api/v1" + path, data, headers)
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException):
            self.close()
            raise
