"""Undo is a new operation: the earlier state under a new revision, all of it or nothing."""

import pytest

from banks import errors, queries, revisions
from banks.models import Change
from banks.operations import Plan
from banks.services import banks, entries, rules, saving
from banks.services.batch import Batch
from banks.services.commit import Desk, run
from banks.services.drafts import Draft, Patch
from banks.services.undo import undo
from tests.builders import World, agent, save


def last_operation(world: World) -> str:
    change = Change.objects.filter(bank=world.bank).order_by("-seq")[0]
    assert change.operation is not None
    return change.operation.uid


def undo_last(world: World) -> list[str]:
    return undo(world.editor, world.bank, last_operation(world))


def test_undo_of_a_save_deletes_and_undo_of_that_restores(world: World) -> None:
    saved = save(world, "Pump 1 is blue").memory
    assert undo_last(world) == [saved.id]
    dead = queries.memory(world.bank, saved.id)
    assert (dead.text, dead.revision, dead.invalid_at is None) == (saved.text, 1, False)
    undo_last(world)
    back = queries.memory(world.bank, saved.id)
    assert (back.invalid_at, back.revision) == (None, 2)
    assert [each.action for each in Change.objects.filter(key=saved.id).order_by("seq")] == [
        "created",
        "deleted",
        "restored",
    ]


def test_undo_of_an_update_brings_the_fields_back_under_a_new_revision(world: World) -> None:
    first = save(world, "Pump 1 is blue", tags=("pump",)).memory
    patch = Patch(text="Pump 1 is teal", tags=("x", "y"), pinned=True)
    entries.update(world.editor, world.bank, first.id, patch)
    undo_last(world)
    back = queries.memory(world.bank, first.id)
    assert (back.text, back.tags, back.pinned, back.revision) == (first.text, ["pump"], False, 2)
    assert back.stated_at == first.stated_at
    acts = [each.act for each in revisions.of_entry(world.bank, first.id)]
    assert acts == ["undone", "updated", "created"]


def test_undo_of_a_supersession_parts_both_again(world: World) -> None:
    old = save(world, "Line 2 runs at 40 Hz").memory
    new = save(world, "Line 2 runs at 48 Hz").memory
    entries.supersede(world.editor, world.bank, old.id, new.id, reinforce=True)
    assert sorted(undo_last(world)) == sorted([old.id, new.id])
    old, new = (queries.memory(world.bank, key.id) for key in (old, new))
    assert (old.superseded_by, old.invalid_at, new.supersedes, new.corroboration) == (
        None,
        None,
        None,
        0,
    )


def test_undo_of_many_saves_is_one_operation(world: World) -> None:
    drafts = [Draft(text=f"Valve {n} is open") for n in range(4)]
    entries.save_many(world.editor, world.bank, drafts)
    assert len(undo_last(world)) == 4
    assert queries.list_memories(world.bank, queries.Filters()).total == 0


def test_what_moved_on_is_not_undone_and_nothing_else_is_either(world: World) -> None:
    drafts = [Draft(text=f"Valve {n} is open") for n in range(2)]
    entries.save_many(world.editor, world.bank, drafts)
    uid = last_operation(world)
    keys = list(Change.objects.filter(operation__uid=uid).values_list("key", flat=True))
    entries.pin(world.editor, world.bank, keys[1], pinned=True)
    with pytest.raises(errors.StaleRevision):
        undo(world.editor, world.bank, uid)
    assert queries.list_memories(world.bank, queries.Filters()).total == 2


def test_undo_of_a_rule_needs_a_maintainer(world: World) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Be brief.\n")
    rules.set_rule(world.maintainer, world.bank, "style", "Be long.\n")
    with pytest.raises(errors.Forbidden):
        undo_last(world)
    assert undo(world.maintainer, world.bank, last_operation(world)) == ["style"]
    assert queries.rule(world.bank, "style").content == "Be brief.\n"
    rules.set_rule(world.maintainer, world.bank, "style", "")
    undo(world.maintainer, world.bank, last_operation(world))
    assert queries.rule(world.bank, "style").content == "Be brief.\n"


def test_undo_knows_its_limits(world: World) -> None:
    with pytest.raises(errors.NotFound):
        undo(world.editor, world.bank, "0" * 32)
    with pytest.raises(errors.Conflict):
        undo_last(world)
    other, _ = banks.create(world.admin, "other")
    save(world, "Pump 1 is blue", pinned=True)
    with pytest.raises(errors.NotFound):
        undo(world.admin, other, last_operation(world))
    with pytest.raises(errors.PinnedProtected):
        undo(agent(world), world.bank, last_operation(world))


def test_undo_takes_rules_and_memories_of_one_operation_together(world: World) -> None:
    saved = save(world, "Pump 1 is blue").memory
    rules.set_rule(world.maintainer, world.bank, "style", "Be brief.\n")

    def planner(desk: Desk) -> Plan:
        batch = Batch(desk)
        item = batch.find(saved.id)
        saving.retire(batch, world.maintainer, item, reason="now a rule")
        plan = batch.plan("promote", {})
        for name, content in (("style", "Be long.\n"), ("pumps", "Pump 1 is blue.\n")):
            rules.put(plan, desk, rules.wish(name, content, seen=None))
        return plan

    run(world.bank, world.maintainer, planner)
    with pytest.raises(errors.Forbidden):
        undo_last(world)
    uid = last_operation(world)
    assert undo(world.maintainer, world.bank, uid) == [saved.id, "style", "pumps"]
    assert queries.memory(world.bank, saved.id).invalid_at is None
    assert [(r.name, r.content) for r in queries.rules(world.bank)] == [("style", "Be brief.\n")]
    undo(world.maintainer, world.bank, last_operation(world))
    rules.set_rule(world.maintainer, world.bank, "pumps", "Pump 1 is teal.\n")
    with pytest.raises(errors.StaleRevision):
        undo(world.maintainer, world.bank, uid)
    assert queries.rule(world.bank, "style").content == "Be long.\n"
