"""Readers of the journal that the worker runs: each catches up by itself, as often as it likes."""

import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

Follower = Callable[[], int]
"""Catches up with the journal; gives how many banks it had work for."""

_followers: dict[str, Follower] = {}
_at_stop: dict[str, Follower] = {}


def register(name: str, follower: Follower, *, at_stop: Follower | None = None) -> None:
    """Add a follower under its name; a second call with the name replaces the first.

    `at_stop` is run once when the worker ends in good order.
    """
    _followers[name] = follower
    if at_stop is not None:
        _at_stop[name] = at_stop


def run_all() -> int:
    """Run each follower once. One that fails is logged and does not stop the others."""
    return _run(_followers)


def stop_all() -> int:
    """Let each follower finish what must not be left half done."""
    return _run(_at_stop)


def _run(some: dict[str, Follower]) -> int:
    worked = 0
    for name, follower in some.items():
        try:
            worked += follower()
        except Exception:
            logger.exception("follower failed name=%s", name)
    return worked
