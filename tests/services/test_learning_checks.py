"""The doctor tells which runs and turns do not go on by themselves."""

from banks import errors, jobs, seams
from banks.outbox import Job
from banks.services import sessions
from recall.learning import checks, runs, turns
from recall.learning.turns import Ended
from tests.builders import World
from tests.chat import Scripted
from tests.services.passes import consolidated, episode


def told() -> list[tuple[str, str]]:
    """Code and bank of each finding."""
    check = checks.learning()
    assert (check.ok, check.required) == (not check.findings, False)
    return [(each.code, each.bank) for each in check.findings]


def test_a_run_is_well_while_its_job_lives(world: World, model: Scripted) -> None:
    runs.start(world.maintainer, world.bank)
    assert told() == []
    Job.objects.update(state=Job.State.DEAD)
    assert told() == [("run_given_up", "ops")]
    consolidated(world)
    assert told() == []


def test_a_bank_whose_runs_fail_says_why_until_one_does_not(world: World, model: Scripted) -> None:
    episode(world, "Pump 1 was primed by hand.")
    model.script = [errors.ModelRefused(401)] * 2
    for _ in range(2):
        consolidated(world)
    assert told() == [("runs_fail", "ops")]
    (found,) = checks.learning().findings
    assert "in the last 2 runs" in found.message
    assert "status 401" in found.message
    consolidated(world)
    assert told() == []


def test_turns_that_were_given_up_are_counted(world: World, model: Scripted) -> None:
    sessions.select(world.editor, "chat", world.bank)
    said = [{"id": "e1", "role": "user", "text": "Pump 1 is blue."}]
    model.script = [errors.ModelRefused(401)]
    turns.completed(world.editor, Ended(session_id="chat", turn_id="t1", messages=said))
    jobs.work_off()
    assert told() == [("turns_given_up", "")]
    (found,) = checks.learning().findings
    assert found.message.startswith("1 turn was given up, and can be run again: ")
    assert "blue" not in found.message
    Job.objects.update(run_at=seams.now(), state=Job.State.READY)
    jobs.work_off()
    assert told() == []
