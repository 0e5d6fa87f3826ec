"""Consolidation: what it does by itself, what it asks, and what nothing makes it do."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from banks import errors, queries
from banks.models import Change
from banks.queries import Memory
from banks.services import entries, saving
from banks.services.batch import Batch
from banks.services.drafts import Draft, Patch
from banks.store import procedure
from banks.store.types import Category, Origin, Trust
from recall.learning import consolidation, episodes, llm, proposals, runs
from recall.learning.llm import Answer
from recall.models import Checkpoint
from tests.builders import World, save
from tests.chat import Scripted, array
from tests.services.passes import consolidated, episode, files, live, mode, state, told

PURGE = "Kilns need a purge of 20 minutes before each firing."


def test_without_a_model_exact_duplicates_are_merged_and_the_rest_is_said(world: World) -> None:
    first = save(world, "Kiln 4 is hot.", tags=("kiln",)).memory
    second = save(world, "kiln 4 is HOT!", tags=("heat",)).memory
    other = save(world, "Kiln 4 is hot", category="preferences").memory
    episode(world, "Kiln 4 was hot.")
    run = consolidated(world)
    assert (run.state, run.applied, run.read, run.note) == ("done", 1, 0, consolidation.NO_MODEL)
    gone = queries.memory(world.bank, second.id)
    kept = queries.memory(world.bank, first.id)
    assert (gone.superseded_by, kept.corroboration, kept.tags) == (first.id, 1, ["kiln", "heat"])
    assert queries.memory(world.bank, other.id).invalid_at is None
    assert run.changes == [
        {"kind": "merge", "outcome": "applied", "memories": [second.id, first.id]}
    ]
    assert Change.objects.latest("pk").actor == world.maintainer.handle


def test_a_merge_that_was_taken_back_is_only_proposed(world: World) -> None:
    first, second = (save(world, text).memory for text in ("Kiln 4 is hot.", "kiln 4 is hot"))
    runs.undo(world.maintainer, consolidated(world).id)
    run = consolidated(world)
    (asked,) = proposals.listed(world.maintainer, world.bank)[0]
    assert (run.applied, run.proposed, len(live(world.bank))) == (0, 1, 2)
    assert (asked.retires, asked.changes) == ([second.id], first.id)
    proposals.reject(world.maintainer, asked.id)
    assert consolidated(world).proposed == 0


def test_near_duplicates_are_only_proposed_and_episodes_are_not_even_that(world: World) -> None:
    first = save(world, "Close valve two before the pump starts.").memory
    second = save(world, "Before the pump starts, close valve two.").memory
    for text in ("The pump failed in hall two.", "In hall two the pump failed."):
        episode(world, text, "errors")
    run = consolidated(world)
    (asked,) = proposals.listed(world.maintainer, world.bank)[0]
    assert (run.applied, run.proposed) == (0, 1)
    assert (asked.kind, asked.retires, asked.changes) == ("merge", [second.id], first.id)
    with pytest.raises(errors.Invalid):
        proposals.accept(world.maintainer, asked.id, text="Other words.")
    proposals.accept(world.maintainer, asked.id)
    assert queries.memory(world.bank, second.id).superseded_by == first.id
    assert runs.undo(world.maintainer, run.id).undone_at
    assert len(live(world.bank)) == 4


def test_a_merge_that_was_accepted_and_taken_back_is_not_asked_again(world: World) -> None:
    texts = ["Close valve two before the pump starts.", "Before the pump starts, close valve two."]
    for text in texts:
        save(world, text)
    run = consolidated(world)
    (asked,) = proposals.listed(world.maintainer, world.bank)[0]
    proposals.accept(world.maintainer, asked.id)
    runs.undo(world.maintainer, run.id)
    assert consolidated(world).proposed == 0


def test_what_was_merged_and_is_said_anew_is_asked_about_again(world: World) -> None:
    texts = ["Close valve two before the pump starts.", "Before the pump starts, close valve two."]
    for text in texts:
        save(world, text)
    consolidated(world)
    (asked,) = proposals.listed(world.maintainer, world.bank)[0]
    proposals.accept(world.maintainer, asked.id)
    assert consolidated(world).proposed == 0
    save(world, texts[1])
    assert consolidated(world).proposed == 1


def test_what_was_decided_takes_no_place_of_what_is_new(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidation, "PROPOSALS_MOST", 1)
    for number in range(3):
        save(world, f"Close valve {number} before the pump starts.")
        save(world, f"Before the pump starts, close valve {number}.")
    told_of = [(run.proposed, run.capped) for run in (consolidated(world) for _ in range(4))]
    assert told_of == [(1, 2), (1, 1), (1, 0), (0, 0)]


def test_a_pinned_duplicate_stays_and_is_counted(world: World) -> None:
    pinned = [save(world, text, pinned=True).memory for text in ("Pump 1 hums.", "pump 1 hums")]
    loser = save(world, "PUMP 1 hums!").memory
    run = consolidated(world)
    assert (run.applied, run.pinned_skipped) == (1, 1)
    assert run.changes[0] == {
        "kind": "merge", "outcome": "pinned", "memories": [pinned[1].id, pinned[0].id],
    }  # fmt: skip
    assert [queries.memory(world.bank, each.id).invalid_at for each in pinned] == [None, None]
    assert queries.memory(world.bank, loser.id).superseded_by == pinned[0].id
    assert queries.memory(world.bank, pinned[0].id).version == pinned[0].version


def how_to(world: World, title: str, *known: str) -> Memory:
    items = "\n".join(f"- {each}" for each in ("door jammed: knock twice", *known))
    text = f"## When to use\n\nTo {title.lower()}.\n\n## Steps\n\n1. Look.\n\n## Known failures"
    draft = {"category": "procedure", "title": title, "trust": Trust.MEDIUM}
    return save(world, f"{text}\n\n{items}", **draft).memory


@pytest.fixture
def plant(world: World) -> dict[str, Any]:
    """A bank with knowledge, procedures that know one failure, and errors that keep coming back."""
    mode(world.bank, "apply")
    errors_of = {
        "wrong units": "Took the pressures for bar, they were psi",
        "stale badge": "Showed an old badge at the gate; the guard refused",
        "door jammed": "Furnace check in hall 2 failed: the door jammed on its rail",
    }
    for day in range(3):
        for summary, text in errors_of.items():
            episode(world, f"{text}. ({day})", "errors", summary=summary)
    firings = [f"Firing {n} began after a purge of 20 minutes." for n in range(20)]
    drafts = [Draft(text=each, category=Category.EVENTS, trust=Trust.MEDIUM) for each in firings]
    saved = entries.save_many(world.editor, world.bank, drafts)
    events = [each.memory for each in saved if isinstance(each, entries.Saved)]
    # Of one instant: read in the order of their ids.
    events.sort(key=lambda each: each.id)
    return {
        "events": events,
        "old": save(world, "Kilns need a purge of 10 minutes.", trust=Trust.MEDIUM).memory,
        "export": how_to(world, "Export the pressures"),
        "badge": how_to(world, "Renew a badge"),
        "furnace": how_to(world, "Inspect the furnace"),
    }


def test_a_bank_learns_what_its_episodes_show(
    world: World, model: Scripted, plant: dict[str, Any]
) -> None:
    before = files("episodic_memory")
    first, second, *_ = plant["events"]
    steps = "## Steps\n\n1. Open the damper.\n2. Purge for 20 minutes."
    model.script = [
        array(
            told(PURGE, first, second, supersedes=[plant["old"].id, "mem_2026-01-01_000000"]),
            told("Firings are numbered.", first, category="facts"),
            told("Firing begins after the purge.", first, second),
            told("Reports are kept short.", second, category="preferences"),
            told(steps, first, category="procedure", title="Purge a kiln"),
            told(steps, first, category="procedure"),
            told("Said by nobody."),
        ),
        "[]",
    ]
    run = consolidated(world)
    assert (run.state, run.read, run.applied, run.rejected) == ("done", 29, 5, 2)
    assert (run.proposed, run.model, run.duration_ms is not None) == (2, "scripted", True)
    kiln = live(world.bank)[PURGE]
    assert (kiln.origin, kiln.trust, kiln.supersedes) == (
        "consolidation",
        "medium",
        plant["old"].id,
    )
    assert queries.memory(world.bank, plant["old"].id).superseded_by == kiln.id
    asked = {each.text: each for each in proposals.listed(world.maintainer, world.bank)[0]}
    assert {each.changes: text.partition(":")[0] for text, each in asked.items()} == {
        plant["export"].id: "wrong units",
        plant["badge"].id: "stale badge",
    }
    after = files("episodic_memory")
    assert {name: after[name] for name in before if not name.endswith("index.md")} == {
        name: data for name, data in before.items() if not name.endswith("index.md")
    }
    again = consolidated(world)
    assert (again.read, again.applied, again.proposed, len(model.asked)) == (0, 0, 0, 2)


def test_a_tool_that_procedures_share_makes_none_of_them_the_one(world: World) -> None:
    how_to(world, "Renew a badge", "a wrench of another size")
    for day in range(3):
        episode(world, f"The wrench broke. ({day})", "errors", summary="Broken wrench")
    assert consolidated(world).proposed == 0


def test_a_known_failure_is_added_by_whoever_accepts_it(
    world: World, model: Scripted, plant: dict[str, Any]
) -> None:
    run = consolidated(world)
    by_memory = {each.changes: each for each in proposals.listed(world.maintainer, world.bank)[0]}
    asked = by_memory[plant["export"].id]
    assert asked.because == "It happened 3 times."
    proposals.accept(world.maintainer, asked.id, text="wrong units: convert from psi")
    text = queries.memory(world.bank, plant["export"].id).text
    listed = procedure.section(text, procedure.FAILURES).splitlines()
    assert listed == ["- door jammed: knock twice", "- wrong units: convert from psi"]
    proposals.reject(world.maintainer, by_memory[plant["badge"].id].id)
    assert consolidated(world).proposed == 0
    run = runs.one(world.maintainer, run.id)[0]
    assert (run.applied, run.rejected) == (1, 1)


def test_by_default_everything_but_exact_duplicates_waits_for_a_person(
    world: World, model: Scripted
) -> None:
    happened = [episode(world, f"Pump {n} was primed by hand.") for n in range(3)]
    model.script = [
        array(
            told("Pumps are primed by hand.", *happened),
            told("Ask before priming.", happened[0], category="rules"),
            told("Priming takes an hour.", happened[1]),
        )
    ]
    run = consolidated(world)
    assert (run.applied, run.proposed, len(live(world.bank))) == (0, 3, 3)
    prime, rule, hour = proposals.listed(world.maintainer, world.bank)[0]
    done, outcomes = runs.apply(
        world.maintainer, run.id, accept=[rule.id], edit={prime.id: "Prime by hand."},
        reject=[hour.id],
    )  # fmt: skip
    assert outcomes == {rule.id: "applied", prime.id: "applied", hour.id: "rejected"}
    assert (done.applied, done.rejected, done.undoable) == (2, 1, True)
    assert {"Prime by hand.", "Ask before priming."} < set(live(world.bank))
    _, told_of = runs.one(world.maintainer, run.id)
    assert [each.state for each in told_of] == ["edited", "accepted", "rejected"]
    undone = runs.undo(world.maintainer, run.id)
    assert (undone.undoable, len(live(world.bank))) == (False, 3)
    with pytest.raises(errors.Conflict):
        runs.undo(world.maintainer, run.id)
    with pytest.raises(errors.ProposalNotFound):
        runs.apply(world.maintainer, run.id, accept=["none"])
    with pytest.raises(errors.ProposalDecided):
        runs.apply(world.maintainer, run.id, accept=[rule.id])


def test_a_rule_waits_for_a_person_even_where_a_run_applies(world: World, model: Scripted) -> None:
    mode(world.bank, "apply")
    said = episode(world, "Never fire a kiln alone.", "feedbacks", origin=Origin.USER_FEEDBACK)
    model.script = [array(told("Never fire a kiln alone.", said, category="rules"))]
    assert (consolidated(world).proposed, len(live(world.bank))) == (1, 1)


def test_a_stale_proposal_is_never_done_and_in_nobodys_way(world: World, model: Scripted) -> None:
    old = save(world, "Pump 1 is primed by air.").memory
    happened = [episode(world, f"Pump {n} was primed by hand.") for n in range(2)]
    model.script = [
        array(
            told("Pump 1 is primed by hand.", happened[0], supersedes=old.id),
            told("Pump 2 hums.", happened[1]),
        )
    ]
    run = consolidated(world)
    stale, fine = proposals.listed(world.maintainer, world.bank)[0]
    entries.update(world.editor, world.bank, old.id, Patch(text="Pump 1 is primed by steam."))
    _, outcomes = runs.apply(world.maintainer, run.id, accept=[stale.id, fine.id])
    assert outcomes == {stale.id: "stale", fine.id: "applied"}
    assert "Pump 1 is primed by steam." in live(world.bank)
    assert [each.state for each in runs.one(world.maintainer, run.id)[1]] == ["stale", "accepted"]
    with pytest.raises(errors.ProposalStale):
        proposals.accept(world.maintainer, stale.id)
    model.script = [array(told("Pump 1 is primed by hand.", happened[0], supersedes=old.id))]
    assert (consolidated(world).read, model.asked[1]["episodes"][0]["id"]) == (1, happened[0].id)
    assert consolidated(world).read == 0
    entries.update(world.editor, world.bank, old.id, Patch(text="Pump 1 is primed by oil."))
    run = consolidated(world)
    assert (run.stale, run.read, proposals.listed(world.maintainer, world.bank)[0]) == (1, 1, [])


def test_a_proposal_whose_source_is_gone_is_stale(world: World, model: Scripted) -> None:
    happened = episode(world, "Pump 1 was primed by hand.")
    model.script = [array(told("Pumps are primed by hand.", happened))]
    consolidated(world)
    (asked,) = proposals.listed(world.maintainer, world.bank)[0]
    entries.delete(world.editor, world.bank, happened.id)
    with pytest.raises(errors.ProposalStale):
        proposals.accept(world.maintainer, asked.id)
    assert live(world.bank) == {}


def test_what_is_known_is_not_proposed(world: World, model: Scripted) -> None:
    save(world, "Pumps are primed by hand.")
    happened = episode(world, "Pump 1 was primed by hand.")
    model.script = [array(told("pumps are primed by HAND.", happened))]
    assert consolidated(world).proposed == 0


class Meanwhile(Scripted):
    """A model that takes its time: something happens while it thinks."""

    happens: Callable[[], object] = staticmethod(lambda: None)

    def complete(self, system: str, user: str, *, timeout_s: float) -> Answer:
        self.happens()
        return super().complete(system, user, timeout_s=timeout_s)


# field case A02
def test_what_changes_while_the_model_thinks_is_kept(world: World) -> None:
    mode(world.bank, "apply")
    m1, m2, m3 = (
        save(world, text).memory
        for text in ("Valve 1 is red.", "Valve 2 is red.", "Pump 3 is old.")
    )
    happened = episode(world, "Both valves were painted green.")
    model = Meanwhile([array(told("Both valves are green.", happened, supersedes=[m1.id, m2.id]))])

    def meanwhile() -> None:
        save(world, "Kiln 9 is new.")
        entries.pin(world.editor, world.bank, m3.id, pinned=True)
        entries.update(world.editor, world.bank, m1.id, Patch(text="Valve 1 is blue."))

    model.happens = meanwhile
    with llm.replaced(model):
        run = consolidated(world)
    now = live(world.bank)
    assert (run.applied, run.stale, run.state) == (0, 1, "done")
    assert {"Kiln 9 is new.", "Valve 1 is blue.", "Valve 2 is red."} <= set(now)
    assert now["Pump 3 is old."].pinned
    assert Checkpoint.objects.get().again == [happened.id]


def test_a_proposal_whose_memory_changes_while_the_model_thinks_is_stale_at_once(
    world: World,
) -> None:
    old, kept = (save(world, text).memory for text in ("Valve 1 is red.", "Valve 2 is red."))
    happened = episode(world, "Both valves were painted green.")
    wishes = [
        told(f"Valve {number} is green.", happened, supersedes=[each.id])
        for number, each in enumerate((old, kept), 1)
    ]
    model = Meanwhile([array(*wishes)])
    model.happens = lambda: entries.update(
        world.editor, world.bank, old.id, Patch(text="Valve 1 is blue.")
    )
    with llm.replaced(model):
        run = consolidated(world)
    assert (run.proposed, run.stale) == (2, 1)
    states = {each.text: each.state for each in runs.one(world.maintainer, run.id)[1]}
    assert states == {"Valve 1 is green.": "stale", "Valve 2 is green.": "waiting"}


def test_what_somebody_says_meanwhile_is_not_said_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    mode(world.bank, "apply")
    monkeypatch.setattr(episodes, "WINDOW", 1)
    happened = [episode(world, f"Kiln {n} was painted green.") for n in range(2)]
    green = array(told("Kilns are green.", *happened))
    model = Meanwhile([green, "[]"])

    def meanwhile() -> None:
        if len(model.asked) == 1:
            save(world, "kilns are green.")

    model.happens = meanwhile
    with llm.replaced(model):
        run = consolidated(world)
    assert [each["outcome"] for each in run.changes] == ["known"]
    assert live(world.bank)["kilns are green."].corroboration == 0


# field case A31
def test_tidying_never_removes_much_and_nothing_that_is_pinned(
    world: World, model: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    mode(world.bank, "apply")
    monkeypatch.setattr(episodes, "KNOWN_EACH", 20)
    pinned = save(world, "Gauge 99 reads bar.", pinned=True).memory
    drafts = [Draft(text=f"Gauge {n} reads {n} bar.", trust=Trust.LOW) for n in range(10)]
    entries.save_many(world.editor, world.bank, drafts)
    happened = episode(world, "Each gauge reads bar.")
    ids = [each.id for each in live(world.bank).values() if each.category == "facts"]
    model.script = [
        array(
            told("All gauges read bar.", happened, supersedes=[i for i in ids if i != pinned.id]),
            told("Gauge 99 is gone.", happened, supersedes=[pinned.id]),
            told("Nothing else is known.", happened, supersedes=[ids[0], ids[1], pinned.id]),
        )
    ]
    before = state(world.bank)
    run = consolidated(world)
    assert (run.applied, run.capped, run.pinned_skipped, run.proposed) == (0, 1, 2, 1)
    assert state(world.bank) == before


def test_more_than_a_run_may_do_is_proposed(
    world: World, model: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    mode(world.bank, "apply")
    monkeypatch.setattr(consolidation, "FEW", 2)
    happened = episode(world, "Three pumps were primed.")
    model.script = [array(*(told(f"Pump {n} was primed.", happened) for n in range(3)))]
    run = consolidated(world)
    assert (run.applied, run.capped, run.proposed) == (2, 1, 1)


def test_what_would_lose_a_memory_is_not_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(world, "Kiln 4 is hot.")
    save(world, "kiln 4 is hot")
    before = state(world.bank)

    def lost(batch: Batch, loser: Any, survivor: Any, **_: Any) -> bool:
        batch.change(loser, replace(loser.after, invalidated=batch.desk.now), act="lost")
        return True

    monkeypatch.setattr(saving, "supersede", lost)
    with pytest.raises(RuntimeError):
        consolidated(world)
    assert state(world.bank) == before


def test_a_deleted_text_does_not_come_back(world: World, model: Scripted) -> None:
    mode(world.bank, "apply")
    gone = save(world, "Pumps are primed by hand.").memory
    entries.delete(world.editor, world.bank, gone.id)
    happened = episode(world, "Pump 1 was primed by hand.")
    model.script = [array(told("Pumps are primed by hand.", happened))]
    assert consolidated(world).applied == 0
    assert queries.memory(world.bank, gone.id).invalid_at
