"""A conversation is learned once, and a round begins once, whoever is killed or stopped in it."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.crash import servers
from tests.crash.models import Model, modelling
from tests.crash.servers import ROOT, Client, Server

WAIT_S = 30.0
SCOPES = "memory:read,rules:read,banks:create,hooks,runs:run,admin"
TURNS = range(1, 11)
CORRECTED = 7
RULE = "Always give pressures in bar."


def until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Learning(Server):
    """A server that learns with a model of the test."""

    model: Model

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"MEMORYCONSOLE_MODEL_BASE_URL": self.model.url}

    def worker(self) -> int:
        """The process of the background worker."""
        assert self.process is not None
        master = self.process.pid
        below = Path(f"/proc/{master}/task/{master}/children").read_text().split()
        lines = {int(pid): Path(f"/proc/{pid}/cmdline").read_text() for pid in below}
        return next((pid for pid, line in lines.items() if "\0worker\0" in line), 0)

    def kill_worker(self) -> None:
        """SIGKILL, and wait until another one runs."""
        dead = self.worker()
        os.kill(dead, signal.SIGKILL)
        until(lambda: self.worker() not in (0, dead))

    def let_leases_end(self) -> None:
        """As if the time had passed for which the dead had their jobs."""
        statement = "UPDATE banks_job SET leased_until = run_at WHERE state = 'running'"
        if self.database:
            servers._postgres(self.database, statement)
            return
        with closing(sqlite3.connect(self.state / "db.sqlite3", timeout=WAIT_S)) as connection:
            connection.execute(statement)
            connection.commit()


def server_of(model: Model, folder: Path) -> Learning:
    server = Learning(folder / "memory", folder / "state")
    server.model = model
    return server


def fact(turn: int) -> str:
    return f"Pump {turn} was primed by hand."


def said(turn: int) -> str:
    return RULE if turn == CORRECTED else fact(turn)


def picked_out(shown: Any) -> list[dict[str, Any]]:
    """All that a user said, as a model might put it."""
    texts = [each["text"] for each in shown if each["role"] == "user"]
    return [
        {"text": text, "quote": text, "category": "rules" if text == RULE else "facts"}
        for text in texts
    ]


@pytest.fixture
def learning(tmp_path: Path) -> Iterator[Learning]:
    with modelling(picked_out, hold=fact(4)) as model:
        server = server_of(model, tmp_path)
        server.start()
        yield server
        server.kill()
        server.drop()


def answer(client: Client, method: str, path: str, body: object = None) -> dict[str, Any]:
    status, told = client.call(method, path, body)
    assert status == 200, told
    return told


def step(client: Client, turn: int, said_so_far: list[dict[str, str]]) -> str:
    generate = {"messages": said_so_far}
    body = {"session_id": "chat", "turn_id": turn, "step": 0, "generate": generate}
    return str(answer(client, "POST", "/hooks/pre-generate", body))


def converse(client: Client) -> list[dict[str, str]]:
    """Ten turns, each call of the harness made twice."""
    talk: list[dict[str, str]] = []
    for turn in TURNS:
        talk.append({"id": f"u{turn}", "role": "user", "text": said(turn)})
        for _ in range(2):
            step(client, turn, talk)
        talk.append({"id": f"a{turn}", "role": "assistant", "text": f"Noted, turn {turn}."})
        body = {"session_id": "chat", "turn_id": turn, "messages": talk}
        for _ in range(2):
            answer(client, "POST", "/hooks/turn-completed", body)
    return talk


def test_a_conversation_is_learned_once_though_calls_come_twice_and_workers_are_killed(
    learning: Learning,
) -> None:
    secret = learning.manage("token", "agent", "--scopes", SCOPES).strip()
    with Client(learning.port, secret) as client:
        answer(client, "POST", "/banks", {"name": "pumps"})
        answer(client, "PUT", "/sessions/chat", {"bank": "pumps"})
        talk = converse(client)
        # One while the model thinks, one as its answer is written.
        assert learning.model.asked.wait(WAIT_S)
        learning.kill_worker()
        learning.model.answered.clear()
        learning.model.go.set()
        learning.let_leases_end()
        assert learning.model.answered.wait(WAIT_S)
        learning.kill_worker()
        learning.let_leases_end()
        wanted = sorted(fact(turn) for turn in TURNS if turn != CORRECTED)
        list_all = "/memories?bank=pumps&limit=100"
        until(lambda: answer(client, "GET", list_all)["total"] == len(wanted))
        until(lambda: answer(client, "GET", "/proposals?bank=pumps")["proposals"])
        again = {"session_id": "chat", "turn_id": 10, "messages": talk}
        assert answer(client, "POST", "/hooks/turn-completed", again)["state"] == "nothing new"
        found = answer(client, "GET", list_all)["memories"]
        assert sorted(each["text"] for each in found) == wanted
        assert {each["corroboration"] for each in found} == {0}
        (asked,) = answer(client, "GET", "/proposals?bank=pumps")["proposals"]
        assert (asked["text"], asked["kind"]) == (RULE, "learned_rule")
        next_turn = [*talk, {"id": "u11", "role": "user", "text": "Which pump next?"}]
        assert f"- {RULE}" not in step(client, 11, next_turn)
        answer(client, "POST", f"/proposals/{asked['id']}/accept", {})
        assert f"- {RULE}" in step(client, 12, next_turn)


SET_UP = """
from datetime import timedelta
from django.core.management import call_command
from banks import seams
from banks.access import Principal
from banks.services import banks, entries
from banks.services.drafts import Draft
from banks.store.types import Category
from banks.outbox import Schedule
from recall.learning import runs
call_command("migrate", verbosity=0)
who = Principal(handle="ada", is_admin=True)
bank, _ = banks.create(who, "pumps")
for text in ("Pump 1 hums.", "pump 1 hums"):
    entries.save(who, bank, Draft(text=text))
entries.save(who, bank, Draft(text="Pump 1 was primed by hand.", category=Category.EVENTS))
now = seams.now()
Schedule.objects.create(
    kind=runs.ROUND, rule="0 3 * * *", next_at=now - timedelta(days=2), changed_at=now
)
"""
REPORT = """
from banks import seams
from banks.models import Change
from banks.outbox import Job, Schedule
from recall.models import ConsolidationRun
rows = ConsolidationRun.objects.values_list("started_by", "state", "read", "applied", "proposed")
print(list(rows))
print(sorted(Job.objects.values_list("kind", "state")))
print(Schedule.objects.get().next_at > seams.now())
print(Change.objects.filter(operation__act="consolidate").count())
"""


def test_two_schedulers_make_up_for_a_missed_round_once_and_end_cleanly_in_it(
    tmp_path: Path,
) -> None:
    def primed(shown: Any) -> list[dict[str, Any]]:
        sources = [each["id"] for each in shown["episodes"]]
        return [{"text": "Pumps are primed by hand.", "sources": sources}]

    with modelling(primed, hold="episodes") as model:
        server = server_of(model, tmp_path)
        server.manage("shell", "-c", SET_UP)
        command = [sys.executable, str(ROOT / "manage.py"), "consolidate", "--schedule"]
        with (tmp_path / "log").open("wb") as log:
            both = [
                subprocess.Popen(
                    [*command, "0 3 * * *"], env=server.environment, stdout=log, stderr=log
                )
                for _ in range(2)
            ]
        assert model.asked.wait(WAIT_S), (tmp_path / "log").read_text()
        for process in both:
            process.send_signal(signal.SIGTERM)
        model.go.set()
        assert [process.wait(WAIT_S) for process in both] == [0, 0]
        told = server.manage("shell", "-c", REPORT).splitlines()[-4:]
        server.drop()
    assert told == [
        "[('schedule', 'done', 1, 1, 1)]",
        "[('consolidation', 'done'), ('consolidation round', 'done')]",
        "True",
        "2",
    ]
