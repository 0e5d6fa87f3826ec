"""What comes from outside: the clock, chance, names of hosts, and the disk.

Tests replace it here and only here.
"""

import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from banks import config
from banks.store.files import DataFolder, Disk


def _now() -> datetime:
    return datetime.now(UTC)


def _suffix() -> str:
    return secrets.token_hex(3)


def _chance() -> float:
    return secrets.randbelow(1 << 20) / (1 << 20)


def _resolve(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(each[4][0]) for each in found))


@dataclass(frozen=True, slots=True)
class _Seams:
    now: Callable[[], datetime] = _now
    suffix: Callable[[], str] = _suffix
    chance: Callable[[], float] = _chance
    resolve: Callable[[str, int], list[str]] = _resolve
    disk: Disk | None = None


_current = _Seams()


def now() -> datetime:
    """The time in UTC, cut to milliseconds: what is answered is what a re-read gives."""
    time = _current.now()
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def suffix() -> str:
    """Six hex digits for a new id."""
    return _current.suffix()


def chance() -> float:
    """A number from 0 to below 1, each as likely."""
    return _current.chance()


def resolve(host: str, port: int) -> list[str]:
    """The addresses that a host name has now, as text, each once. Raises OSError for none."""
    return _current.resolve(host, port)


def disk() -> Disk:
    """The system calls of whoever writes files."""
    return _current.disk or Disk()


def data_folder() -> DataFolder:
    """The folder of all banks, as configured now.

    Where it can be configured, whoever gets one of its locks asks again: what was waited for may
    have been the move to another folder.
    """
    root = config.data_folder()
    if settings.DATA_DIR_GIVEN:
        return DataFolder(root, _current.disk)

    def is_in_use() -> bool:
        config.forget()
        return config.data_folder() == root

    return DataFolder(root, _current.disk, is_in_use)


def data_folder_at(root: Path) -> DataFolder:
    """A folder that might become the one of all banks."""
    return DataFolder(root, _current.disk)


@contextmanager
def replaced(
    *,
    now: Callable[[], datetime] | None = None,
    suffix: Callable[[], str] | None = None,
    chance: Callable[[], float] | None = None,
    resolve: Callable[[str, int], list[str]] | None = None,
    disk: Disk | None = None,
) -> Iterator[None]:
    """Use another clock, chance, resolver or disk within the block; for tests."""
    global _current  # noqa: PLW0603
    before = _current
    _current = replace(
        before,
        now=now or before.now,
        suffix=suffix or before.suffix,
        chance=chance or before.chance,
        resolve=resolve or before.resolve,
        disk=disk or before.disk,
    )
    try:
        yield
    finally:
        _current = before
