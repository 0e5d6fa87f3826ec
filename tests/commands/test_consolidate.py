"""`manage.py consolidate`: a pass now, or the times at which passes begin."""

import json
import re
import signal
from collections.abc import Iterator
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from banks import jobs
from banks.jobs import schedule
from banks.services import banks, entries
from banks.services.drafts import Draft
from memoryconsole.management.commands import worker
from recall.learning import episodes, llm, runs
from recall.learning.llm import Answer
from recall.models import ConsolidationRun
from tests import builders
from tests.chat import Scripted


@pytest.fixture
def world(db: None) -> builders.World:
    """Two banks with a memory that is there twice."""
    world = builders.world()
    lab, _ = banks.create(world.admin, "lab")
    for bank in (world.bank, lab):
        for text in ("Kiln 4 is hot.", "kiln 4 is hot"):
            entries.save(world.admin, bank, Draft(text=text))
    return world


@pytest.fixture(autouse=True)
def same_signals() -> Iterator[None]:
    """A command in a process of its own may take signals; here they stay as they are."""
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGTERM, before[0])
    signal.signal(signal.SIGINT, before[1])


def told(*words: str) -> str:
    out = StringIO()
    call_command("consolidate", *words, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_one_pass_goes_over_every_bank(world: builders.World) -> None:
    lines = re.sub(r"[0-9.]+ s, no model", "so many seconds", told()).splitlines()
    assert [each for each in lines if not each.startswith(" ")] == [
        f"{bank}: done; 0 episodes read, 1 applied, 0 proposed, 0 rejected, 0 stale, 0 capped, "
        "0 left because they are pinned; so many seconds."
        for bank in ("lab", "ops")
    ]
    assert sum(each.startswith("  applied merge: mem_") for each in lines) == 2


def test_a_run_tells_its_cost_or_that_there_was_no_model(world: builders.World) -> None:
    builders.save(world, "Pump 1 hummed.", category="events")
    assert "No model: episodes were not read." in told("--bank", "ops")
    with llm.replaced(Scripted(tokens=41)):
        assert re.search(r"; [0-9.]+ s, 41 tokens of scripted\.", told("--bank", "ops"))


def test_a_dry_run_of_one_bank_writes_nothing(world: builders.World) -> None:
    assert "1 planned" in told("--bank", "ops", "--dry-run")
    (run,) = json.loads(told("--bank", "ops", "--dry-run", "--json"))
    assert (run["bank"], run["state"], run["applied"]) == ("ops", "done", 0)
    assert set(ConsolidationRun.objects.values_list("dry_run", flat=True)) == {True}
    with pytest.raises(CommandError, match="no bank"):
        told("--bank", "none")


def test_a_bank_that_is_gone_over_already_is_said_and_the_others_go_on(
    world: builders.World,
) -> None:
    runs.start(world.maintainer, world.bank)
    with pytest.raises(CommandError, match="1 of 2"):
        told()
    assert ConsolidationRun.objects.filter(bank__name="lab", state="done").count() == 1


def test_sigterm_ends_a_pass_after_the_window_at_hand_and_a_worker_goes_on(
    world: builders.World, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(Scripted):
        def complete(self, system: str, user: str, *, timeout_s: float) -> Answer:
            if not self.asked:
                signal.raise_signal(signal.SIGTERM)
            return super().complete(system, user, timeout_s=timeout_s)

    monkeypatch.setattr(episodes, "WINDOW", 1)
    for number in range(2):
        builders.save(world, f"Pump {number} hummed.", category="events")
    with llm.replaced(Interrupted()):
        assert "ops: queued; 1 episodes read, 1 applied" in told("--bank", "ops")
        jobs.work_off()
    row = ConsolidationRun.objects.get()
    assert (row.state, row.read, row.applied) == ("done", 2, 1)


@pytest.mark.parametrize(
    ("words", "rule", "zone"),
    [
        (("--schedule", "0 3 * * *", "--tz", "Europe/Vienna"), "0 3 * * *", "Europe/Vienna"),
        (("--every", "6h"), "every 6h", "UTC"),
    ],
)
def test_a_schedule_is_written_and_worked_by_in_the_foreground(
    world: builders.World, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], rule: str,
    zone: str,
) -> None:  # fmt: skip
    worked: list[str] = []
    monkeypatch.setattr(worker.Loop, "run", lambda self: worked.extend(self.tasks))
    assert rule in told(*words)
    planned = schedule.planned(runs.ROUND)
    assert planned is not None
    assert (planned.rule, planned.zone, "schedule" in worked) == (rule, zone, True)
    assert "No run" in told("--schedule", "off")
    assert schedule.planned(runs.ROUND) is None


def test_the_schedule_begins_a_run_of_every_bank(world: builders.World) -> None:
    jobs.enqueue(runs.ROUND, {}, dedup="schedule")
    jobs.work_off()
    rows = ConsolidationRun.objects.values_list("bank__name", "state", "applied", "started_by")
    assert sorted(rows) == [("lab", "done", 1, "schedule"), ("ops", "done", 1, "schedule")]


@pytest.mark.parametrize("option", ["--bank=ops", "--dry-run", "--json"])
def test_what_only_a_pass_at_once_takes_is_refused_beside_a_schedule(
    world: builders.World, option: str
) -> None:
    schedule.plan(runs.ROUND, "every 6h", zone="UTC", by="test")
    for when in ("--schedule=off", "--every=6h", "--schedule="):
        with pytest.raises(CommandError, match=f"^{option.partition('=')[0]} goes with a pass"):
            told(option, when)
    assert schedule.planned(runs.ROUND) is not None
    with pytest.raises(CommandError, match="cron"):
        told("--schedule=")


def test_a_schedule_that_cannot_be_understood_is_refused(world: builders.World) -> None:
    with pytest.raises(CommandError, match="cron"):
        told("--schedule", "at night")
