"""What a kind of job does, how it says that it failed, and when it is tried again."""

import errno
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from django.db import InterfaceError, OperationalError

from banks import errors, seams
from banks.store.redact import mask

FIRST_PAUSE_S = 10.0
LONGEST_PAUSE_S = 3_600.0
PATIENCE = timedelta(hours=24)
"""For so long a fault that may pass spends no try: a long outage buries nothing."""

_ERROR_LENGTH = 500
_OWN = Path(__file__).resolve().parents[2]
_PASSING = frozenset({errno.ENOSPC, errno.EDQUOT, errno.ETIMEDOUT, errno.ECONNREFUSED})


class RetryableFault(Exception):
    """It may work later: the other side is down, slow or busy. The message is kept and shown."""

    def __init__(self, message: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class PermanentFault(Exception):
    """Another try would end the same: the job is dead at once. The message is kept and shown."""


class Running(Protocol):
    """What a handler sees of the job that it runs."""

    @property
    def payload(self) -> dict[str, Any]:
        """What was put in with it."""

    @property
    def stopping(self) -> bool:
        """Whether the worker is about to end: return soon, with a time to go on at."""

    def extend(self, limit_s: float | None = None) -> None:
        """Take the whole limit again, or so many seconds, between two steps. Raises LeaseLost:
        stop at once."""


Work = Callable[[Running], datetime | str | None]
"""Gives a time at which the same job goes on; else it is done. A text says what it came to."""


@dataclass(frozen=True, slots=True)
class Handler:
    """`limit_s` seconds are the lease of one step; after `tries` failed ones the job is dead.

    `is_outside`: it waits for programs of others, which may be slow on purpose. All such jobs
    together leave one thread of a crew to the rest.
    """

    work: Work
    limit_s: float
    tries: int
    is_outside: bool = False


_handlers: dict[str, Handler] = {}


def handler(
    kind: str, *, limit_s: float, tries: int, is_outside: bool = False
) -> Callable[[Work], Work]:
    """Register the decorated function for jobs of this kind; the last one of a kind counts.

    Running a job twice must leave what running it once does: its worker may die at any point.
    """

    def register(work: Work) -> Work:
        _handlers[kind] = Handler(work, limit_s, tries, is_outside)
        return work

    return register


def of(kind: str) -> Handler:
    """The handler of a kind. Raises KeyError."""
    return _handlers[kind]


def kinds(*, outside: bool = True) -> tuple[str, ...]:
    """The kinds that this process can run; without those that wait for others if so asked."""
    return tuple(kind for kind, each in _handlers.items() if outside or not each.is_outside)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a fault means for its job."""

    error: str
    passing: bool = False
    permanent: bool = False
    retry_after_s: float | None = None


def judged(error: Exception) -> Verdict:
    """Whether this fault may pass by itself, and what is kept of it: no memory text, no secret."""
    after_s: float | None = None
    passing = permanent = False
    match error:
        case RetryableFault():
            passing, message, after_s = True, str(error), error.retry_after_s
        case PermanentFault():
            permanent, message = True, str(error)
        case errors.Unavailable() | errors.TooMany():
            passing, message, after_s = True, error.message, error.retry_after_s
        case errors.DomainError():
            message = error.message
        case OSError() if isinstance(error, TimeoutError) or error.errno in _PASSING:
            passing, message = True, error.strerror or "took too long"
        case OperationalError() | InterfaceError():
            passing, message = True, "the database did not answer"
        case _:
            # The message of any other may quote what was refused, perhaps the text of a memory.
            message = _place(error)
    return Verdict(
        error=_shown(error, message), passing=passing, permanent=permanent, retry_after_s=after_s
    )


def _shown(error: Exception, message: str) -> str:
    name = "" if isinstance(error, RetryableFault | PermanentFault) else f"{type(error).__name__}: "
    return mask(f"{name}{message}").text[:_ERROR_LENGTH]


def _place(error: Exception) -> str:
    """Where in our own code it came up: file and line, relative to the project."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_relative_to(_OWN) and "site-packages" not in path.parts:
            return f"at {path.relative_to(_OWN)}:{frame.lineno}"
    return "elsewhere"


def pause_s(faults: int) -> float:
    """Seconds to wait after so many faults in a row: doubled each time, up to an hour, by chance a
    quarter less or more, so that what failed together does not come back together."""
    plain = min(FIRST_PAUSE_S * 2.0 ** min(faults - 1, 30), LONGEST_PAUSE_S)
    return plain * (0.75 + 0.5 * seams.chance())
