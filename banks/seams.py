"""What comes from outside: the clock, chance, and the disk. Tests replace it here and only here."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from django.conf import settings

from banks.store.files import DataFolder, Disk


def _now() -> datetime:
    return datetime.now(UTC)


def _suffix() -> str:
    return secrets.token_hex(3)


@dataclass(frozen=True, slots=True)
class _Seams:
    now: Callable[[], datetime] = _now
    suffix: Callable[[], str] = _suffix
    disk: Disk | None = None


_current = _Seams()


def now() -> datetime:
    """The time in UTC, cut to milliseconds: what is answered is what a re-read gives."""
    time = _current.now()
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def suffix() -> str:
    """Six hex digits for a new id."""
    return _current.suffix()


def data_folder() -> DataFolder:
    """The folder of all banks, as configured now."""
    return DataFolder(settings.DATA_DIR, _current.disk)


@contextmanager
def replaced(
    *,
    now: Callable[[], datetime] | None = None,
    suffix: Callable[[], str] | None = None,
    disk: Disk | None = None,
) -> Iterator[None]:
    """Use another clock, id source or disk within the block; for tests."""
    global _current  # noqa: PLW0603
    before = _current
    _current = replace(
        before,
        now=now or before.now,
        suffix=suffix or before.suffix,
        disk=disk or before.disk,
    )
    try:
        yield
    finally:
        _current = before
