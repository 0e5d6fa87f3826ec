"""The one way to a bank that may be written: its folder's lock, and the database's beside it."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from django.db.models import QuerySet

from banks import seams
from banks.models import Bank
from banks.store.errors import FolderMoved, LockTimeout
from banks.store.files import LockedBank

NAP_S = 0.01


@contextmanager
def locked(bank: Bank, timeout_s: float) -> Iterator[LockedBank]:
    """Holds the bank for writing, across threads, processes and machines; 0 s = one try.

    `bank` is read again: its fields are those of now. Raises LockTimeout; FolderMoved when it was
    trashed or renamed since it was loaded: the folder of its old name may be another bank's by now.
    """
    with (
        seams.data_folder().bank(bank.name).lock(timeout_s) as folder,
        _advisory_lock(bank, timeout_s),
    ):
        try:
            bank.refresh_from_db(from_queryset=_current(bank))
        except Bank.DoesNotExist as error:
            raise FolderMoved("The bank was moved meanwhile.") from error
        yield folder


def is_current(bank: Bank) -> bool:
    """Whether the bank still has the name it was loaded with, and is not in the trash."""
    return _current(bank).exists()


def _current(bank: Bank) -> QuerySet[Bank]:
    return Bank.objects.filter(pk=bank.pk, name=bank.name).exclude(state=Bank.State.TRASHED)


@contextmanager
def _advisory_lock(bank: Bank, timeout_s: float) -> Iterator[None]:
    """On PostgreSQL a session lock beside the folder's lock: a volume that is shared by several
    machines need not carry `flock` between them. On SQLite there is one machine: nothing to do."""
    if connection.vendor != "postgresql":
        yield
        return
    deadline = time.monotonic() + timeout_s
    while not _advisory("pg_try_advisory_lock", bank):
        if time.monotonic() >= deadline:
            raise LockTimeout("Another machine writes this bank.")
        time.sleep(NAP_S)
    try:
        yield
    finally:
        _advisory("pg_advisory_unlock", bank)


def _advisory(function: str, bank: Bank) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(%s)", [bank.pk])
        return bool(cursor.fetchone()[0])
