"""Servers that are stopped when the test ends."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.servers import Server


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start a server; `state` names its own folder, the data folder is one for all. One `beside`
    another has its state and database."""
    servers: list[Server] = []

    def start(state: str = "state", beside: Server | None = None) -> Server:
        if beside is None:
            server = Server(tmp_path / "memory", tmp_path / state)
        else:
            server = Server(beside.data, beside.state, database=beside.database)
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.stop()
    for server in servers:
        server.drop()
