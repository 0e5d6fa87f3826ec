"""All that a session or a token wrote is taken back in one action; what others did stays."""

from dataclasses import replace

import pytest

from banks import errors, queries
from banks.access import Principal, Scope
from banks.models import Change
from banks.services import entries, rollbacks, rules, undo
from banks.services.drafts import Draft, Patch
from banks.services.rollbacks import Origin
from tests.builders import World, agent, save

BOT = Origin(token="agent")


def bot(world: World) -> Principal:
    return agent(world, Scope.RULES_WRITE)


def write(world: World, text: str, **more: object) -> str:
    draft = Draft(text=text, **more)  # type: ignore[arg-type]  # fields by name
    return entries.save(bot(world), world.bank, draft).memory.id


def texts(world: World) -> set[str]:
    return {each.text for each in queries.list_memories(world.bank, queries.Filters()).memories}


def test_all_that_a_token_wrote_is_taken_back_as_one_operation(world: World) -> None:
    mine = save(world, "Pump 1 is blue.").memory.id
    old = save(world, "Pump 2 is old.").memory.id
    made = write(world, "Pump 3 is odd.")
    entries.update(bot(world), world.bank, mine, Patch(text="Pump 1 is red."))
    entries.update(bot(world), world.bank, mine, Patch(text="Pump 1 is green."))
    entries.supersede(bot(world), world.bank, old, made)
    rules.set_rule(world.maintainer, world.bank, "pumps", "Ask first.")
    rules.set_rule(bot(world), world.bank, "pumps", "Never ask.")
    keys = {each.key for each in rollbacks.listed(world.maintainer, world.bank, BOT)}
    assert keys == {mine, old, made, "pumps"}
    done = rollbacks.roll_back(world.maintainer, world.bank, BOT)
    assert (set(done.changed), done.left) == (keys, [])
    assert texts(world) == {"Pump 1 is blue.", "Pump 2 is old."}
    assert queries.rule(world.bank, "pumps").content == "Ask first."
    assert rollbacks.listed(world.maintainer, world.bank, BOT) == []
    operation = Change.objects.latest("pk").operation
    assert operation is not None
    undo.undo(world.maintainer, world.bank, operation.uid)
    assert texts(world) == {"Pump 1 is green.", "Pump 3 is odd."}


def test_what_somebody_else_changed_since_stays_and_is_told(world: World) -> None:
    touched, other = write(world, "Pump 1 is odd."), write(world, "Pump 2 is odd.")
    entries.update(world.editor, world.bank, touched, Patch(text="Pump 1 is fine."))
    told = {each.key: each.moved_on for each in rollbacks.listed(world.maintainer, world.bank, BOT)}
    assert told == {touched: True, other: False}
    done = rollbacks.roll_back(world.maintainer, world.bank, BOT)
    assert (done.changed, done.left, texts(world)) == ([other], [touched], {"Pump 1 is fine."})


def test_of_a_memory_that_was_corrected_only_what_came_after_is_taken_back(world: World) -> None:
    key = write(world, "Pump 1 is odd.")
    entries.update(world.editor, world.bank, key, Patch(text="Pump 1 is fine."))
    entries.update(bot(world), world.bank, key, Patch(text="Pump 1 is odd again."))
    rollbacks.roll_back(world.maintainer, world.bank, BOT)
    assert texts(world) == {"Pump 1 is fine."}


def test_all_that_a_session_made_is_taken_back(world: World) -> None:
    kept = save(world, "Pump 1 is blue.", session="other").memory.id
    made = [write(world, f"Pump {n} is odd.", session="chat") for n in (2, 3)]
    entries.update(world.editor, world.bank, made[0], Patch(tags=("seen",)))
    done = rollbacks.roll_back(world.maintainer, world.bank, Origin(session="chat"))
    assert (done.changed, done.left) == ([made[1]], [made[0]])
    assert texts(world) == {"Pump 1 is blue.", "Pump 2 is odd."}
    assert queries.memory(world.bank, kept).invalid_at is None


def test_rules_and_pinned_memories_are_left_to_those_who_may(world: World) -> None:
    key = write(world, "Pump 1 is odd.")
    rules.set_rule(bot(world), world.bank, "pumps", "Never ask.")
    scopes = frozenset({Scope.MEMORY_WRITE})
    weak = replace(world.maintainer, token_id=2, scopes=scopes, handle="token:weak")
    entries.pin(bot(world), world.bank, key, pinned=True)
    done = rollbacks.roll_back(weak, world.bank, BOT)
    assert (done.changed, done.left) == ([], [key])
    assert queries.rule(world.bank, "pumps").content == "Never ask."


@pytest.mark.parametrize("origin", [Origin(), Origin(session="a", token="b"), Origin(token="")])
def test_either_a_session_or_a_token_is_named(world: World, origin: Origin) -> None:
    with pytest.raises(errors.Invalid):
        rollbacks.listed(world.maintainer, world.bank, origin)
