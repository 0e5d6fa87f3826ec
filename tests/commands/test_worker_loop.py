"""The loop of the background worker."""

import os
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from memoryconsole.background import Loop


def until(condition: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "did not happen in time"
        threading.Event().wait(0.005)


class Running:
    """A loop in a thread, stopped at the end of the block."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.thread = threading.Thread(target=loop.run)

    def __enter__(self) -> "Running":
        self.thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.loop.stop()
        self.thread.join(timeout=5)
        assert not self.thread.is_alive()


def test_every_task_runs_again_and_again_until_stopped() -> None:
    runs: list[str] = []
    tasks = {"a": lambda: runs.append("a"), "b": lambda: runs.append("b")}
    with Running(Loop(tasks=tasks, every_s=0.01)):
        until(lambda: runs.count("b") >= 3)
    assert runs[:6] == ["a", "b"] * 3


def test_a_failing_task_is_paused_and_the_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    failed: list[float] = []
    good: list[int] = []

    def fails() -> None:
        failed.append(time.monotonic())
        raise RuntimeError("broken")

    with Running(Loop(tasks={"bad": fails, "good": lambda: good.append(1)}, every_s=0.02)):
        until(lambda: len(failed) >= 4)
    pauses = [later - earlier for earlier, later in pairwise(failed)]
    assert pauses[1] > pauses[0]
    assert pauses[2] > pauses[1]
    assert len(good) > len(failed)
    assert "name=bad" in caplog.text


def test_a_success_makes_the_next_pause_short_again() -> None:
    calls: list[float] = []

    def fails_but_once() -> None:
        calls.append(time.monotonic())
        if len(calls) != 4:
            raise RuntimeError("broken")

    with Running(Loop(tasks={"x": fails_but_once}, every_s=0.02)):
        until(lambda: len(calls) >= 6)
    after_third_fault, after_success = calls[3] - calls[2], calls[5] - calls[4]
    assert after_success < after_third_fault


def test_the_loop_ends_by_itself_when_its_parent_is_gone() -> None:
    runs: list[int] = []
    Loop(tasks={"x": lambda: runs.append(1)}, parent=os.getpid()).run()
    assert runs == []


def test_the_loop_goes_on_while_its_parent_is_there() -> None:
    runs: list[int] = []
    with Running(Loop(tasks={"x": lambda: runs.append(1)}, every_s=0.01, parent=os.getppid())):
        until(lambda: len(runs) >= 2)
