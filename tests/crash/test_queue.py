"""kill -9 of workers in the middle of their jobs: none is lost, each takes effect once.

`KILLS` and `JOBS` set how often and how many (10 and 300 unless told otherwise).
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.crash.servers import Server

KILLS = int(os.environ.get("KILLS", "10"))
JOBS = int(os.environ.get("JOBS", "300"))
WORKERS = 3
SCRIPT = str(Path(__file__).with_name("queue_worker.py"))


class Workers:
    """Worker processes on one database and one folder of effects."""

    def __init__(self, folder: Path) -> None:
        self.server = Server(folder / "memory", folder / "state")
        self.effects = folder / "effects"
        for each in (self.server.data, self.server.state, self.effects):
            each.mkdir(exist_ok=True)
        self.log = (folder / "workers.log").open("ab")
        self.processes: list[subprocess.Popen[bytes]] = []
        self.environment = self.server.environment | {"EFFECTS": str(self.effects)}

    def say(self, *words: str) -> str:
        return subprocess.run(
            [sys.executable, SCRIPT, *words],
            env=self.environment, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip

    def start(self) -> None:
        command = [sys.executable, SCRIPT, "work"]
        self.processes.append(
            subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=self.log)
        )

    def kill_one(self) -> None:
        process = self.processes.pop(0)
        process.kill()
        process.wait()

    def done(self) -> set[int]:
        return {int(path.name.removeprefix("done-")) for path in self.effects.glob("done-*")}

    def runs(self) -> list[int]:
        log = self.effects / "runs.log"
        return [int(line) for line in log.read_text().split()] if log.exists() else []

    def until_runs(self, count: int) -> None:
        deadline = time.monotonic() + 60
        while len(self.runs()) < count:
            assert time.monotonic() < deadline, "no job runs"
            time.sleep(0.01)

    def end(self) -> list[int]:
        """Ask all to finish; their exit codes."""
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        return [process.wait(30) for process in self.processes]


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    workers = Workers(tmp_path)
    yield workers
    for process in workers.processes:
        process.kill()
        process.wait()
    workers.log.close()
    workers.server.drop()


def test_no_job_is_lost_and_each_takes_effect_once(workers: Workers) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201  # to repeat a failure
    chance = random.Random(seed)
    assert int(workers.say("put", str(JOBS))) == JOBS
    for _ in range(WORKERS):
        workers.start()
    for kill in range(KILLS):
        # Never before somebody runs one: a kill between jobs would prove little.
        workers.until_runs(len(workers.runs()) + 1 if kill else 1)
        time.sleep(chance.uniform(0.0, 0.05))
        workers.kill_one()
        workers.start()
    deadline = time.monotonic() + 60 + JOBS / 20
    while len(workers.done()) < JOBS:
        assert time.monotonic() < deadline, workers.say("report")
        time.sleep(0.05)
    while json.loads(workers.say("report")) != {"done": JOBS}:
        assert time.monotonic() < deadline, workers.say("report")
        time.sleep(0.3)
    assert workers.end() == [0] * WORKERS
    runs = Counter(workers.runs())
    assert workers.done() == set(range(JOBS)) == set(runs)
    wanted = {number: 2 if number % 3 == 0 else 1 for number in runs}
    again = sum(max(0, count - wanted[number]) for number, count in runs.items())
    assert again <= KILLS * 4, "more repeats than jobs that a kill can have cut"
    print(f"{JOBS} jobs, {KILLS} kills, {again} run again, 0 lost")  # noqa: T201
