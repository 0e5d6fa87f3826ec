"""How long a call waits while others write to the database."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

WAIT_S = 1
"""For a call in the middle of an agent's turn: it goes on without what could not be kept."""


@contextmanager
def short() -> Iterator[None]:
    """Within the block no statement waits longer than WAIT_S for SQLite's one lock.

    PostgreSQL locks rows, and nobody holds one of them for long.
    """
    if connection.vendor != "sqlite":
        yield
        return
    connection.ensure_connection()
    usual = connection.connection.execute("PRAGMA busy_timeout").fetchone()[0]
    connection.connection.execute(f"PRAGMA busy_timeout = {WAIT_S * 1000}")
    try:
        yield
    finally:
        connection.connection.execute(f"PRAGMA busy_timeout = {usual}")
