"""The pool of a web process: threads come with the work and go with it."""

import threading
from concurrent import futures

import pytest

from memoryconsole.threads import Pool

SOON_S = 5


def pool_threads() -> int:
    return sum(thread.name == "web" for thread in threading.enumerate())


def test_long_work_takes_threads_of_its_own_and_gives_them_back() -> None:
    ended = threading.Semaphore(0)
    pool, release = Pool(most=6, spare=2, at_end=ended.release), threading.Event()
    long = [pool.submit(release.wait, SOON_S) for _ in range(5)]
    assert pool.submit(lambda: "served").result(SOON_S) == "served"
    waiting = [pool.submit(release.wait, SOON_S) for _ in range(4)]
    assert pool_threads() <= 6
    release.set()
    assert all(each.result(SOON_S) for each in [*long, *waiting])
    assert all(ended.acquire(timeout=SOON_S) for _ in range(4))
    assert not ended.acquire(blocking=False)
    assert pool.submit(lambda: "again").result(SOON_S) == "again"
    pool.shutdown()
    assert all(ended.acquire(timeout=SOON_S) for _ in range(2))
    with pytest.raises(RuntimeError):
        pool.submit(release.wait)


def test_work_that_raises_or_was_cancelled_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: told.append(args.exc_type))
    ended = threading.Semaphore(0)
    pool, release = Pool(most=1, spare=1, at_end=ended.release), threading.Event()

    def broken() -> None:
        assert release.wait(SOON_S)
        raise SystemExit

    first, second = pool.submit(broken), pool.submit(release.wait)
    third = pool.submit(lambda: "served")
    assert second.cancel()
    release.set()
    assert first.result(SOON_S) is None
    assert third.result(SOON_S) == "served"
    assert not futures.wait([second], SOON_S).not_done
    assert told == [SystemExit]
    pool.shutdown()
