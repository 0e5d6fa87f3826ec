"""Gunicorn inside our own process: web workers, and one background worker beside them."""

import logging
import selectors
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from gunicorn.app.base import BaseApplication
from gunicorn.arbiter import Arbiter
from gunicorn.glogging import Logger
from gunicorn.workers.gthread import ThreadWorker

from banks import stream
from memoryconsole.threads import Pool

logger = logging.getLogger(__name__)

STOP_WITHIN_S = 25
REQUESTS_AT_ONCE = 8
SILENCE_S = 10
"""How long a client may send nothing in the middle of a request."""
LINGER_S = 2.0
"""How long a client is heard out behind the last answer: cut off at once, it might lose that."""
_IN_MEMORY_BYTES = 256 * 1024
_PIECE_BYTES = 64 * 1024
_RESTART_AFTER_S = 2.0


class ProjectLogger(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Gunicorn's warnings in the project's format; no access log, it would hold query strings."""

    def setup(self, cfg: Any) -> None:
        self.cfg = cfg
        self._access_log_enabled = False
        self.loglevel = logging.WARNING
        self.error_log.propagate = True
        self.error_log.setLevel(logging.WARNING)


class BackgroundWorker:
    """The `worker` command as a child of this process, started again when it dies."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0

    def start(self) -> None:
        """Start it, in our process group, so that a signal to the group reaches it too."""
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)  # noqa: S603
        self._started_at = time.monotonic()

    def keep(self) -> None:
        """Start it again when it is gone; called about once a second."""
        if self._process is None or self._process.poll() is None:
            return
        if time.monotonic() - self._started_at >= _RESTART_AFTER_S:
            logger.error("background worker ended unexpectedly, starting it again")
            self.start()

    def stop(self, *, within_s: float) -> None:
        """Ask it to finish; after `within_s` seconds it is killed."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(timeout=within_s)
        except subprocess.TimeoutExpired:
            logger.error("background worker did not finish in %s s, killing it", within_s)
            process.kill()
            process.wait()


class _WatchfulArbiter(Arbiter):  # type: ignore[misc]  # gunicorn has no types
    """Looks after the background worker in each round of its main loop."""

    def __init__(self, app: "Server") -> None:
        self._background = app.background
        super().__init__(app)

    def manage_workers(self) -> None:
        super().manage_workers()
        self._background.keep()


class WebWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """A web process. Asked to stop, it ends its event streams: they would outlast its patience."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._leaving: deque[Any] = deque()

    def get_thread_pool(self) -> Pool:
        return Pool(
            most=self.cfg.threads, spare=REQUESTS_AT_ONCE, at_end=stream.release_connections
        )

    def handle(self, conn: Any) -> Any:
        # The kernel's own limit: the socket itself has to stay a blocking one.
        limit = struct.pack("ll", SILENCE_S, 0)
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        return super().handle(conn)

    def finish_request(self, conn: Any, fs: Any) -> None:
        # The library waits here for a client that stays: in the loop that all others need.
        if fs.cancelled() or fs.result():
            super().finish_request(conn, fs)
            return
        conn.timeout = time.monotonic() + LINGER_S
        self._leaving.append(conn)
        try:
            conn.sock.shutdown(socket.SHUT_WR)
            conn.sock.settimeout(0)
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._hear_out, conn))
        except (OSError, ValueError):  # it is gone already
            self._let_go(conn)

    def _hear_out(self, conn: Any, sock: socket.socket) -> None:
        """Drop what a client still sends, until it hangs up too."""
        try:
            if sock.recv(_PIECE_BYTES):
                return
        except BlockingIOError:
            return
        except OSError:
            logger.debug("client hung up before it read all")
        self.poller.unregister(sock)
        self._let_go(conn)

    def _let_go(self, conn: Any) -> None:
        self._leaving.remove(conn)
        self.nr_conns -= 1
        conn.close()

    def murder_pending(self) -> None:
        super().murder_pending()
        while self._leaving and self._leaving[0].timeout <= time.monotonic():
            self.poller.unregister(self._leaving[0].sock)
            self._let_go(self._leaving[0])

    def handle_exit(self, sig: Any, frame: Any) -> None:
        # Not here: this is a signal handler, and ending them takes a lock.
        self.method_queue.defer(_end_streams, self)
        super().handle_exit(sig, frame)


def _end_streams(worker: Any) -> None:
    stream.hub.stop()


class Gate:
    """At most so many requests are worked on at once; a stream, once it is open, does not count.

    Every stream has a thread. Without streams the same threads would all take requests, and more
    than a few at once only wait for each other. A body is read before that: who sends half of one
    keeps a thread for a while, and no place.
    """

    def __init__(self, application: Any, *, at_once: int) -> None:
        self._application = application
        self._free = threading.BoundedSemaphore(at_once)

    def __call__(self, environ: Any, start_response: Any) -> Any:
        size = environ.get("CONTENT_LENGTH") or ""
        if not size.isdecimal() or not 0 < int(size) <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            return self._answer(environ, start_response)  # none, or one that no call takes
        with tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES) as body:
            try:
                _copy(environ["wsgi.input"], body, int(size))
            except OSError:  # nothing came for SILENCE_S, or the client is gone
                headers = [("Content-Length", "0"), ("Connection", "close")]
                start_response("408 Request Timeout", headers)
                return []
            return self._answer(environ | {"wsgi.input": body}, start_response)

    def _answer(self, environ: Any, start_response: Any) -> Any:
        with self._free:
            return self._application(environ, start_response)


def _copy(source: IO[bytes], body: IO[bytes], size: int) -> None:
    """Read the whole body, from its beginning on. Raises OSError when the client stops sending."""
    while size and (piece := source.read(min(size, _PIECE_BYTES))):
        body.write(piece)
        size -= len(piece)
    body.seek(0)


class Server(BaseApplication):  # type: ignore[misc]  # gunicorn has no types
    """The whole service on one address; `run` returns by SystemExit when it was stopped."""

    def __init__(self, *, host: str, port: int, parent: int, announce: Callable[[], None]) -> None:
        self._bind = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._announce = announce
        manage = str(Path(settings.BASE_DIR) / "manage.py")
        self.background = BackgroundWorker([sys.executable, manage, "worker", f"--parent={parent}"])
        super().__init__()

    def load_config(self) -> None:
        """Fixed choices: docs/operations.md says why."""
        for key, value in {
            "bind": [self._bind],
            "worker_class": WebWorker,
            "workers": 2,
            "threads": REQUESTS_AT_ONCE + settings.STREAMS,
            "graceful_timeout": STOP_WITHIN_S,
            "keepalive": 5,
            "logger_class": ProjectLogger,
            # It would lie in the home folder of whoever starts us; nobody uses it.
            "control_socket_disable": True,
            "proc_name": "memoryconsole",
            "when_ready": self._when_ready,
            "on_exit": self._on_exit,
            "worker_int": _end_streams,
        }.items():
            self.cfg.set(key, value)

    def load(self) -> Any:
        """The application for a web worker, which is a fork of this process."""
        return Gate(self._application, at_once=REQUESTS_AT_ONCE)

    def run(self) -> None:
        """Serve until SIGTERM, SIGINT or SIGQUIT."""
        # Once, before the fork: the workers share what it takes, and answer sooner.
        self._application = get_wsgi_application()
        import_module(settings.ROOT_URLCONF)
        _WatchfulArbiter(self).run()

    def _when_ready(self, arbiter: Any) -> None:
        self.background.start()
        self._announce()

    def _on_exit(self, arbiter: Any) -> None:
        self.background.stop(within_s=STOP_WITHIN_S)
