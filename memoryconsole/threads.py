"""The threads of a web process: as many as there is work, and a few to spare."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent import futures
from functools import partial
from typing import Any


class Pool:
    """At most `most` threads. One that finds nothing to do ends when `spare` others wait already.

    The library's own pool keeps every thread that it ever had, each with a database connection.
    `at_end` is called by each thread when it ends. No thread holds up the end of the process.
    """

    def __init__(self, *, most: int, spare: int, at_end: Callable[[], None]) -> None:
        self._most = most
        self._spare = spare
        self._at_end = at_end
        self._more = threading.Condition()
        self._work: deque[tuple[futures.Future[Any], Callable[[], Any]]] = deque()
        self._threads = 0
        self._idle = 0
        self._ending = False

    def submit(self, call: Callable[..., Any], /, *args: Any, **named: Any) -> futures.Future[Any]:
        """Have it called by a thread. One that raises has None for a result; the log has the rest.

        Raises RuntimeError after `shutdown`.
        """
        future: futures.Future[Any] = futures.Future()
        with self._more:
            if self._ending:
                raise RuntimeError("the pool is shut down")
            self._work.append((future, partial(call, *args, **named)))
            self._find_thread()
        return future

    def shutdown(self, *, wait: bool = False) -> None:
        """Take no more work, and let go of threads without any. Waits for none, even if asked."""
        with self._more:
            self._ending = True
            self._more.notify_all()

    def _find_thread(self) -> None:
        if self._idle < len(self._work) and self._threads < self._most:
            self._threads += 1
            threading.Thread(target=self._serve, name="web", daemon=True).start()
        else:
            self._more.notify()

    def _serve(self) -> None:
        try:
            while (job := self._next()) is not None:
                future, call = job
                if future.set_running_or_notify_cancel():
                    result = None
                    try:
                        result = call()
                    finally:
                        future.set_result(result)
                del job, future, call
        finally:
            self._at_end()
            with self._more:
                self._threads -= 1
                if self._work:
                    self._find_thread()

    def _next(self) -> tuple[futures.Future[Any], Callable[[], Any]] | None:
        with self._more:
            if not self._work and self._idle < self._spare:
                self._idle += 1
                self._more.wait_for(lambda: self._work or self._ending)
                self._idle -= 1
            return self._work.popleft() if self._work else None
