"""Runs jobs: in threads of the worker, so that a slow one holds nobody up."""

import logging
import threading
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import close_old_connections, connections

from banks import journal
from banks.jobs import handlers, queue
from banks.jobs.queue import Claimed, LeaseLostError

logger = logging.getLogger(__name__)

THREADS = 4
PRUNE_EVERY_S = 60.0


@dataclass(slots=True)
class Attempt:
    """A job as its handler sees it."""

    claimed: Claimed
    stop: threading.Event

    @property
    def payload(self) -> dict[str, Any]:
        """What was enqueued."""
        return self.claimed.payload

    @property
    def stopping(self) -> bool:
        """Whether its process is asked to end."""
        return self.stop.is_set()

    def extend(self, limit_s: float | None = None) -> None:
        """Hold the job for so many seconds more."""
        self.claimed.extend(limit_s)


def run(claimed: Claimed, stop: threading.Event) -> None:
    """Run a claimed job to whatever end it comes to; nothing is raised for what the job does."""
    known = journal.request_id.set(f"job-{claimed.pk}")
    started = time.perf_counter()
    try:
        _attempt(claimed, stop)
    except LeaseLostError:
        logger.warning("job lost its lease kind=%s job=%d", claimed.kind, claimed.pk)
    finally:
        journal.request_id.reset(known)
    took_ms = 1_000 * (time.perf_counter() - started)
    logger.info("job ran kind=%s job=%d ms=%.0f", claimed.kind, claimed.pk, took_ms)


def _attempt(claimed: Claimed, stop: threading.Event) -> None:
    try:
        result = claimed.handler.work(Attempt(claimed, stop))
    except LeaseLostError:
        raise
    except Exception as error:
        # Whatever a handler raises ends this try alone. Its row says so, and the log has the rest.
        verdict = handlers.judged(error)
        if not (verdict.passing or verdict.permanent):
            logger.exception("job broke kind=%s job=%d", claimed.kind, claimed.pk)
        claimed.fail(verdict)
    else:
        if isinstance(result, datetime):
            claimed.again(result)
        else:
            claimed.finish(result or "")


def work_off(stop: threading.Event | None = None) -> int:
    """Run what is due in this thread until nothing is; how many jobs."""
    stopping, count = stop or threading.Event(), 0
    while not stopping.is_set():
        claimed = queue.claim()
        if claimed is None:
            break
        run(claimed, stopping)
        count += 1
    return count


class Crew:
    """Some threads that take jobs while there are any. `tick` is called about once a second.

    Jobs that wait for programs of others get all threads but one.
    """

    def __init__(self, threads: int = THREADS) -> None:
        self._free = threads
        self._free_outside = max(1, threads - 1)
        self._stop = threading.Event()
        self._guard = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._running: dict[int, Claimed] = {}
        self._prune_at = 0.0

    def tick(self) -> None:
        """Start as many threads as there are jobs and room for; forget old jobs now and then."""
        if self._stop.is_set():
            return
        if time.monotonic() >= self._prune_at:
            self._prune_at = time.monotonic() + PRUNE_EVERY_S
            queue.prune()
        with self._guard:
            room = self._free - len(self._threads)
            outside = self._free_outside > 0
        wanted = queue.due(outside=outside)[:room].count() if room > 0 else 0
        for _ in range(wanted):
            # Daemons: at a stop their jobs are given back, and the process does not wait for them.
            thread = threading.Thread(target=self._work, name="jobs", daemon=True)
            with self._guard:
                self._threads.add(thread)
            thread.start()

    def stop(self, *, within_s: float) -> int:
        """Claim nothing more, wait so long for what runs, give the rest back; how many that is."""
        self._stop.set()
        deadline = time.monotonic() + within_s
        with self._guard:
            threads = list(self._threads)
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        with self._guard:
            left = list(self._running.values())
        return sum(_given_back(each) for each in left)

    def _work(self) -> None:
        close_old_connections()
        try:
            while not self._stop.is_set():
                if not self._run_one():
                    break
        except Exception:
            # The database failed at a claim or an end: the lease runs out, the next tick goes on.
            logger.exception("a thread for jobs ended early")
        finally:
            with self._guard:
                self._threads.discard(threading.current_thread())
            connections.close_all()

    def _run_one(self) -> bool:
        """Run the job that has waited longest; false when there is none that this thread may."""
        with self._guard:
            outside = self._free_outside > 0
            self._free_outside -= outside
        try:
            claimed = queue.claim(outside=outside)
            if claimed is None:
                return False
            with self._guard:
                self._running[claimed.pk] = claimed
                if outside and not claimed.handler.is_outside:
                    outside = False
                    self._free_outside += 1
            try:
                run(claimed, self._stop)
            finally:
                with self._guard:
                    del self._running[claimed.pk]
        finally:
            with self._guard:
                self._free_outside += outside
        return True


def _given_back(claimed: Claimed) -> bool:
    try:
        claimed.release()
    except LeaseLostError:
        return False  # it ended at the last moment
    logger.warning("job given back kind=%s job=%d", claimed.kind, claimed.pk)
    return True
