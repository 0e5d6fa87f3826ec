"""How long a call waits while others write to the database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import OperationalError, connection

WAIT_S = 1
"""For a call in the middle of an agent's turn: it goes on without what could not be kept."""

HURRIED = frozenset({"pre_generate", "turn_completed"})
"""Calls that an agent waits for."""


@contextmanager
def short() -> Iterator[None]:
    """Within the block the first statement that waits for SQLite's one lock does so for WAIT_S at
    most, and those after one that waited in vain do not wait.

    PostgreSQL locks rows, and nobody holds one of them for long.
    """
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    raw = connection.connection
    usual = raw.execute("PRAGMA busy_timeout").fetchone()[0]

    def impatient(execute: Callable[..., Any], *statement: Any) -> Any:
        try:
            return execute(*statement)
        except OperationalError:
            raw.execute("PRAGMA busy_timeout = 0")
            raise

    raw.execute(f"PRAGMA busy_timeout = {WAIT_S * 1000}")
    try:
        with connection.execute_wrapper(impatient):
            yield
    finally:
        raw.execute(f"PRAGMA busy_timeout = {usual}")
