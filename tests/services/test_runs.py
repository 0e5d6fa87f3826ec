"""Runs of consolidation: faults, stops, deaths, and who may what."""

import threading
from dataclasses import replace

import pytest

from banks import errors, jobs, seams
from banks.access import Principal, Role
from banks.outbox import Job
from banks.services import banks, entries, members, undo
from banks.services.drafts import Draft
from banks.store.types import Category
from recall.learning import consolidation, episodes, proposals, records, runs
from recall.models import Checkpoint, ConsolidationRun, Proposal
from tests.builders import World, save
from tests.chat import Scripted, array
from tests.services.passes import consolidated, episode, live, mode, state, told


# field case A30
@pytest.mark.parametrize("reply", ["", "null", "  \n", '[{"text": "Pumps are pri'])
def test_an_answer_that_cannot_be_used_leaves_all_as_it_was_and_is_asked_for_again(
    world: World, model: Scripted, reply: str
) -> None:
    mode(world.bank, "apply")
    happened = episode(world, "Pump 1 was primed by hand.")
    before = state(world.bank)
    model.script = [reply, array(told("Pumps are primed by hand.", happened))]
    run = runs.start(world.maintainer, world.bank)
    with pytest.raises(errors.RunPending):
        runs.start(world.maintainer, world.bank)
    jobs.work_off()
    row = ConsolidationRun.objects.get(uid=run.id)
    assert (row.state, row.error != "", state(world.bank)) == ("queued", True, before)
    Job.objects.update(run_at=seams.now())
    jobs.work_off()
    row.refresh_from_db()
    assert (row.state, row.error, row.applied) == ("done", "", 1)


def test_a_model_that_stays_down_ends_the_run_and_keeps_the_checkpoint(
    world: World, model: Scripted
) -> None:
    episode(world, "Pump 1 was primed by hand.")
    model.script = [errors.ModelUnavailable("Busy.", retry_after_s=70)] * 3
    runs.start(world.maintainer, world.bank)
    for _ in range(3):
        assert ConsolidationRun.objects.get().state == "queued"
        Job.objects.update(run_at=seams.now())
        jobs.work_off()
    row = ConsolidationRun.objects.get()
    assert (row.state, row.error, row.read) == ("failed", "Busy.", 0)
    point = Checkpoint.objects.get()
    assert (point.seen, point.faults, point.not_before is not None) == (0, 1, True)
    assert consolidated(world).read == 1
    assert Checkpoint.objects.get().not_before is None


def test_a_refused_key_ends_a_run_at_once(world: World, model: Scripted) -> None:
    episode(world, "Pump 1 was primed by hand.")
    model.script = [errors.ModelRefused(401)]
    runs.start(world.maintainer, world.bank)
    jobs.work_off()
    assert ConsolidationRun.objects.get().state == "failed"


def test_what_was_read_before_a_fault_or_a_stop_is_kept(
    world: World, model: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    mode(world.bank, "apply")
    monkeypatch.setattr(episodes, "WINDOW", 1)
    happened = [episode(world, f"Pump {n} was primed by hand.") for n in range(3)]
    answers = [array(told(f"Pump {n} is primed.", each)) for n, each in enumerate(happened)]
    model.script = [answers[0], "nonsense", answers[1]]
    run = consolidated(world)
    assert (run.state, run.read, run.applied) == ("failed", 1, 1)
    stop = threading.Event()
    run = runs.run_now(
        world.maintainer, world.bank, stop=stop, progress=lambda *told_of: (
            stop.set() if told_of[0] == "reading episodes" and told_of[1] else None
        ),
    )  # fmt: skip
    assert (run.state, run.read, run.applied) == ("queued", 1, 1)
    model.script = [answers[2]]
    jobs.work_off()
    row = ConsolidationRun.objects.get(uid=run.id)
    assert (row.state, row.read, row.applied, len(row.operations)) == ("done", 2, 2, 2)
    assert [each["episodes"][0]["id"] for each in model.asked] == [
        happened[0].id, happened[1].id, happened[1].id, happened[2].id,
    ]  # fmt: skip
    assert len(runs.undo(world.maintainer, run.id).changes) == 2
    assert set(live(world.bank)) == {each.text for each in happened} | {"Pump 0 is primed."}


def test_what_the_log_took_back_of_a_run_is_not_the_runs_to_take_back(world: World) -> None:
    for text in ("Valves are blue", "Valves are blue.", "On Monday pump 2 is oiled.",
                 "Pump 2 is oiled on Monday."):  # fmt: skip
        save(world, text)
    run = consolidated(world)
    (asked,) = proposals.listed(world.maintainer, world.bank)[0]
    runs.apply(world.maintainer, run.id, accept=[asked.id])
    merged, accepted = ConsolidationRun.objects.get(uid=run.id).operations
    undo.undo(world.maintainer, world.bank, merged)
    assert (runs.one(world.maintainer, run.id)[0].undoable, len(live(world.bank))) == (True, 3)
    undone = runs.undo(world.maintainer, run.id)
    assert (undone.undoable, len(live(world.bank))) == (False, 4)
    ConsolidationRun.objects.update(operations=[merged, accepted])
    assert [each.undoable for each in runs.listed(world.maintainer)[0]] == [False]
    with pytest.raises(errors.Conflict, match="nothing to take back"):
        runs.undo(world.maintainer, run.id)


def test_a_run_that_dies_between_writing_and_telling_changes_nothing_twice(
    world: World, model: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(BaseException):
        """The process is no more."""

    def killed(*_: object, **__: object) -> None:
        raise KilledError

    mode(world.bank, "apply")
    happened = episode(world, "Pump 1 was primed by hand.")
    for text in ("Valves are blue", "Valves are blue.", "On Monday pump 2 is oiled.",
                 "Pump 2 is oiled on Monday."):  # fmt: skip
        save(world, text)
    model.script = [array(told("Pumps are primed by hand.", happened)), array(
        told("Another answer.", happened))]  # fmt: skip
    runs.start(world.maintainer, world.bank)
    with monkeypatch.context() as patch:
        patch.setattr(episodes, "advance", killed)
        with pytest.raises(KilledError):
            jobs.work_off()
    Job.objects.update(leased_until=seams.now())
    jobs.work_off()
    row = ConsolidationRun.objects.get()
    assert (row.state, row.read, row.applied, row.proposed, len(row.operations)) == (
        "done", 1, 2, 1, 1,
    )  # fmt: skip
    assert sorted(each["outcome"] for each in row.changes) == ["applied", "applied", "proposed"]
    assert set(live(world.bank)) >= {happened.text, "Pumps are primed by hand."}
    assert len(live(world.bank)) == 5
    runs.undo(world.maintainer, row.uid)
    assert len(live(world.bank)) == 5
    assert {"Valves are blue", "Valves are blue."} <= set(live(world.bank))


def test_a_run_whose_bank_was_trashed_says_so(world: World) -> None:
    runs.start(world.maintainer, world.bank)
    banks.trash(world.admin, world.bank)
    jobs.work_off()
    row = ConsolidationRun.objects.get()
    assert (row.state, row.error) == ("failed", runs.NOT_THERE)


def test_what_was_read_by_a_try_that_died_counts_once(
    world: World, model: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        if len(model.asked) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(episodes, "WINDOW", 1)
    for number in range(3):
        episode(world, f"Pump {number} was primed by hand.")
    runs.start(world.maintainer, world.bank)
    with monkeypatch.context() as patch:
        patch.setattr(consolidation, "_take", killed)
        with pytest.raises(KeyboardInterrupt):
            jobs.work_off()
    assert ConsolidationRun.objects.get().read == 1
    Job.objects.update(leased_until=seams.now())
    jobs.work_off()
    row = ConsolidationRun.objects.get()
    assert (row.state, row.read) == ("done", 3)


def test_an_episode_that_was_deleted_is_read_when_it_is_back(world: World, model: Scripted) -> None:
    one, other = (episode(world, f"Pump {number} was primed by hand.") for number in (1, 2))
    entries.delete(world.editor, world.bank, one.id)
    model.script = ["[]", "[]"]
    assert consolidated(world).read == 1
    entries.restore(world.editor, world.bank, one.id)
    assert consolidated(world).read == 1
    assert [each["id"] for asked in model.asked for each in asked["episodes"]] == [
        other.id, one.id,
    ]  # fmt: skip


def test_a_bank_that_fails_stops_no_other_one_and_is_left_alone_for_a_while(
    world: World, model: Scripted
) -> None:
    other, _ = banks.create(world.admin, "lab")
    episode(world, "Pump 1 was primed by hand.")
    entries.save(world.admin, other, Draft(text="Pump 2 hums.", category=Category.EVENTS))
    model.script = [errors.ModelRefused(401)]
    jobs.enqueue(runs.ROUND, {}, dedup="schedule")
    jobs.work_off()
    states = dict(ConsolidationRun.objects.values_list("bank__name", "state"))
    assert sorted(states.values()) == ["done", "failed"]
    jobs.enqueue(runs.ROUND, {}, dedup="schedule")
    jobs.work_off()
    assert ConsolidationRun.objects.count() == 3
    assert ConsolidationRun.objects.latest("pk").started_by == "schedule"


def test_a_dry_run_changes_nothing_and_tells_what_would_be_done(
    world: World, model: Scripted
) -> None:
    mode(world.bank, "apply")
    save(world, "Kiln 4 is hot.")
    save(world, "kiln 4 is hot")
    happened = episode(world, "Pump 1 was primed by hand.")
    model.script = [
        array(
            told("Pumps are primed by hand.", happened),
            told("Ask first.", happened, category="rules"),
        )
    ]
    before = state(world.bank)
    run = consolidated(world, dry_run=True)
    assert [each["outcome"] for each in run.changes] == ["planned", "planned", "to be proposed"]
    assert (run.applied, run.proposed, run.undoable) == (0, 0, False)
    assert (state(world.bank), Proposal.objects.count()) == (before, 0)
    assert consolidated(world).read == 1


def test_whoever_may_not_any_more_changes_nothing(world: World, model: Scripted) -> None:
    save(world, "Kiln 4 is hot.")
    save(world, "kiln 4 is hot")
    runs.start(world.maintainer, world.bank)
    members.set_role(world.admin, world.bank, "maintainer", Role.VIEWER)
    jobs.work_off()
    row = ConsolidationRun.objects.get()
    assert (row.state, row.error) == ("failed", runs.NOT_ALLOWED)
    assert len(live(world.bank)) == 2


def test_a_run_is_seen_by_those_who_maintain_the_bank(world: World) -> None:
    run = consolidated(world)
    assert [each.id for each in runs.listed(world.maintainer)[0]] == [run.id]
    assert runs.listed(world.editor)[0] == []
    with pytest.raises(errors.Forbidden):
        runs.listed(world.editor, world.bank)[0]
    outsiders: tuple[Principal, ...] = (world.editor, world.stranger)
    for who in outsiders:
        for call in (runs.one, runs.undo, runs.apply):
            with pytest.raises(errors.RunNotFound):
                call(who, run.id)
    with pytest.raises(errors.ScopeMissing):
        runs.one(replace(world.maintainer, token_id=1, scopes=frozenset()), run.id)


def test_a_run_whose_job_was_given_up_has_ended_when_the_next_one_begins(world: World) -> None:
    first = runs.start(world.maintainer, world.bank)
    Job.objects.update(state=Job.State.DEAD)
    consolidated(world)
    told_of, _ = runs.one(world.maintainer, first.id)
    assert (told_of.state, told_of.error) == ("failed", runs.DIED)


def test_old_runs_go_but_for_those_that_somebody_is_still_asked_about(world: World) -> None:
    asking = ConsolidationRun.objects.get(uid=consolidated(world).id)
    for row in (asking, None):
        more = {"bank": world.bank, "run": row, "proposed_at": seams.now()}
        state = Proposal.State.WAITING if row else Proposal.State.STALE
        key = "asked" if row else "stale"
        Proposal.objects.create(
            text=key, digest=key, state=state, decided_at=None if row else seams.now(), **more
        )
    old = consolidated(world).id
    later = seams.now() + records.KEPT
    with seams.replaced(now=lambda: later):
        newest = consolidated(world).id
    left = set(ConsolidationRun.objects.values_list("uid", flat=True))
    assert left == {asking.uid, newest}
    assert old not in left
    assert [each.text for each in Proposal.objects.all()] == ["asked"]
