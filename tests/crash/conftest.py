"""Servers that are stopped when the test ends."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.crash.servers import Server


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start a server; `state` names its own folder, the data folder is one for all."""
    servers: list[Server] = []

    def start(state: str = "state") -> Server:
        server = Server(tmp_path / "memory", tmp_path / state)
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.stop()
        server.drop()
