"""A database that somebody else holds for longer than anybody likes."""

import sqlite3
import time
from collections.abc import Callable

import pytest

from tests.crash.servers import Client, Server

PATIENCE_S = 6.0  # what is promised is a second; the usual wait is 20


def test_the_hook_answers_in_time_with_what_needs_no_write(serve: Callable[..., Server]) -> None:
    server = serve()
    if server.database:
        pytest.skip("PostgreSQL locks rows, not the whole database")
    scopes = "memory:read,memory:write,rules:write,banks:create,hooks"
    secret = server.manage("token", "harness", "--scopes", scopes).strip()
    turn = {
        "step": 0,
        "metadata": {"memory_bank": "kilns"},
        "generate": {"messages": [{"role": "user", "content": "Is kiln 1 cold?"}]},
    }
    with Client(server.port, secret) as client:
        text = {"bank": "kilns", "text": "Kiln 1 is cold."}
        assert client.call("POST", "/memories", text)[0] == 200
        rule = {"bank": "kilns", "content": "Be brief."}
        assert client.call("PUT", "/rules/style", rule)[0] == 200
        holder = sqlite3.connect(server.state / "db.sqlite3", isolation_level=None)
        holder.execute("BEGIN IMMEDIATE")
        try:
            began = time.monotonic()
            status, told = client.call("POST", "/hooks/pre-generate", {"session_id": "x", **turn})
            took = time.monotonic() - began
        finally:
            holder.execute("ROLLBACK")
            holder.close()
    assert took < PATIENCE_S
    # It says that something could not be kept.
    assert (status, told["decision"]) == (200, "continue")
    assert told["annotations"]["fault"] == "unavailable"
    assert "Be brief." in told["mutations"]["system_prompt"]
    assert "Kiln 1 is cold." in told["mutations"]["append_messages"][0]["content"]
