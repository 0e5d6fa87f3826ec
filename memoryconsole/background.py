"""The worker's loop: what runs beside the web processes, until told to stop or left alone."""

import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from django.db import close_old_connections

from banks import config

logger = logging.getLogger(__name__)

_LONGEST_PAUSE_S = 60.0


@dataclass(slots=True)
class _Task:
    run: Callable[[], object]
    faults: int = 0
    not_before: float = 0.0


@dataclass(slots=True)
class Loop:
    """Runs every task once a round. A task that fails is logged and paused, the others go on.

    The pause doubles from `every_s` up to a minute and ends with the first success. `parent` is
    the process that must be our parent; when it is gone the loop ends by itself.
    """

    tasks: Mapping[str, Callable[[], object]]
    every_s: float = 1.0
    parent: int | None = None
    stopping: threading.Event = field(default_factory=threading.Event)

    def stop(self) -> None:
        """End after the task at hand. May be called from a signal handler."""
        self.stopping.set()

    def run(self) -> None:
        """Return when stopped, or when the parent is gone."""
        states = {name: _Task(task) for name, task in self.tasks.items()}
        while not self.stopping.is_set() and not self._orphaned():
            for name, state in states.items():
                if self.stopping.is_set():
                    break
                if time.monotonic() >= state.not_before:
                    self._attempt(name, state)
            self.stopping.wait(self.every_s)

    def _orphaned(self) -> bool:
        gone = self.parent is not None and os.getppid() != self.parent
        if gone:
            logger.warning("worker ends: its parent is gone")
        return gone

    def _attempt(self, name: str, state: _Task) -> None:
        close_old_connections()
        try:
            with config.once():
                state.run()
        except Exception:
            # One task's fault must not stop the others.
            state.faults += 1
            pause_s = min(self.every_s * 2**state.faults, _LONGEST_PAUSE_S)
            state.not_before = time.monotonic() + pause_s
            logger.exception("worker task failed name=%s pause_s=%.1f", name, pause_s)
        else:
            state.faults = 0
        finally:
            close_old_connections()
