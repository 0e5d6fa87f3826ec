"""Readers of the journal that the worker runs: each catches up by itself, as often as it likes."""

import logging
from collections.abc import Callable

logger = logging.getLogger(__name__)

Follower = Callable[[], int]
"""Catches up with the journal; gives how many banks it had work for."""

_followers: dict[str, Follower] = {}


def register(name: str, follower: Follower) -> None:
    """Add a follower under its name; a second call with the name replaces the first."""
    _followers[name] = follower


def run_all() -> int:
    """Run each follower once. One that fails is logged and does not stop the others."""
    worked = 0
    for name, follower in _followers.items():
        try:
            worked += follower()
        except Exception:
            logger.exception("follower failed name=%s", name)
    return worked
