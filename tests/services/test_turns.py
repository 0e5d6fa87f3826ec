"""Where what was said in a turn is learned, and that each message of it is read once."""

from collections.abc import Iterator
from typing import Any

import pytest

from banks import jobs, queries, sync
from banks.access import Principal
from banks.models import Bank
from banks.queries import Filters
from banks.services import banks, configuration, sessions
from recall.learning import extraction, llm, turns
from recall.learning.turns import Ended
from recall.models import Proposal, Turn
from recall.services import Step, pre_generate
from tests import byhand
from tests.builders import World, save
from tests.chat import Scripted, array, element

DEFAULT = "main"


class Parrot(Scripted):
    """A model that remembers every message, word for word."""

    def complete(self, system: str, user: str, *, timeout_s: float) -> llm.Answer:
        answer = super().complete(system, user, timeout_s=timeout_s)
        said = array(*(element(each["text"]) for each in self.asked[-1]))
        return answer if answer.text != "[]" else llm.Answer(said)


@pytest.fixture
def model() -> Iterator[Parrot]:
    """A model that finds everything worth remembering."""
    parrot = Parrot()
    with llm.replaced(parrot):
        yield parrot


@pytest.fixture
def proj(world: World) -> Bank:
    """A second bank; the default one is there, too."""
    banks.create(world.admin, DEFAULT)
    return banks.create(world.admin, "proj")[0]


def user(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": text, **more}


def agent(text: str, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def step(
    who: Principal, turn: object, *said: dict[str, Any], bank: str = "", session: str = "chat"
) -> None:
    metadata = {"memory_bank": bank} if bank else None
    pre_generate(
        who, Step(session_id=session, turn_id=turn, messages=list(said), metadata=metadata)
    )


def end(who: Principal, *said: dict[str, Any], session: str = "chat", **more: Any) -> str:
    """Tell of a turn that has ended, and read it."""
    state = turns.completed(who, Ended(session_id=session, messages=list(said) or None, **more))
    jobs.work_off()
    return state


def texts(bank: str) -> list[str]:
    """What a bank knows, sorted."""
    found = queries.list_memories(Bank.objects.get(name=bank), Filters(), limit=100).memories
    return sorted(each.text for each in found)


def test_a_turn_without_an_id_is_learned_where_its_steps_ran(
    world: World, proj: Bank, model: Parrot
) -> None:
    step(world.admin, "t1", user("Valve 1 is open."), bank="proj")
    end(world.admin)
    assert (texts("proj"), texts(DEFAULT)) == (["Valve 1 is open."], [])
    # The turn before has ended: where it ran says nothing about one that no step was seen of.
    end(world.admin, user("Valve 2 is open."))
    assert (texts("proj"), texts(DEFAULT)) == (["Valve 1 is open."], ["Valve 2 is open."])


def test_what_no_turn_has_taken_is_learned_where_it_was_said(
    world: World, proj: Bank, model: Parrot
) -> None:
    said = [user("Valve 1 is open."), agent("I closed valve 1.")]
    step(world.admin, "t1", *said[:1], bank="proj")
    step(world.admin, "t2", *said, user("Valve 2 is open."))
    end(world.admin, turn_id="t2")
    # The last answer of a turn is shown by the next one, and belongs to its own.
    assert texts("proj") == ["I closed valve 1.", "Valve 1 is open."]
    assert texts(DEFAULT) == ["Valve 2 is open."]


def test_a_list_without_messages_leaves_what_the_steps_have_shown(
    world: World, proj: Bank, model: Parrot
) -> None:
    step(world.admin, "t1", user("Valve 1 is open."))
    turns.completed(world.admin, Ended(session_id="chat", turn_id="t1", messages=[]))
    jobs.work_off()
    assert texts(DEFAULT) == ["Valve 1 is open."]


def test_messages_of_a_turn_leave_those_of_another_where_they_were_said(
    world: World, proj: Bank, model: Parrot
) -> None:
    said = [user("Valve 1 is open."), agent("I closed valve 1."), user("Valve 2 is open.")]
    step(world.admin, "t1", said[0], bank="proj")
    step(world.admin, "t2", *said)
    end(world.admin, *said, agent("I closed valve 2."), turn_id="t2")
    assert texts("proj") == ["I closed valve 1.", "Valve 1 is open."]
    assert texts(DEFAULT) == ["I closed valve 2.", "Valve 2 is open."]
    assert len(model.texts) == 4


def test_a_turn_that_changes_its_bank_is_learned_from_in_both(
    world: World, proj: Bank, model: Parrot
) -> None:
    said = [user("Valve 1 is open."), user("Valve 2 is open.")]
    step(world.admin, "t1", *said[:1], bank="proj")
    step(world.admin, "t1", *said)
    end(world.admin, turn_id="t1")
    assert (texts("proj"), texts(DEFAULT)) == (["Valve 1 is open."], ["Valve 2 is open."])


@pytest.mark.parametrize("turn", [None, "t1"])
def test_a_turn_whose_steps_named_an_unknown_bank_teaches_nothing(
    world: World, proj: Bank, model: Parrot, turn: object
) -> None:
    step(world.admin, "t1", user("Valve 1 is open."), bank="none")
    assert end(world.admin, user("Valve 1 is open."), turn_id=turn) == "skipped: no bank"
    step(world.admin, "t2", user("Valve 1 is open."), user("Valve 2 is open."))
    end(world.admin, turn_id="t2")
    assert model.texts == ["Valve 2 is open."]


def test_what_was_said_where_nothing_is_learned_is_learned_nowhere(
    world: World, proj: Bank, model: Parrot
) -> None:
    byhand.write("bank.yaml", "extraction_enabled: false\n")
    sync.reload(world.bank)
    said = [user("Valve 1 is open."), agent("I closed valve 1."), user("Valve 2 is open.")]
    step(world.admin, "t1", *said[:1], bank="ops")
    step(world.admin, "t2", *said, bank="proj")
    end(world.admin, turn_id="t2")
    assert model.texts == ["Valve 2 is open."]
    step(world.admin, "t3", user("Valve 3 is open."), bank="ops")
    assert end(world.admin, user("Valve 3 is open."), turn_id="t3") == "skipped: extraction is off"
    assert texts(DEFAULT) == []


@pytest.mark.parametrize(
    ("named", "parent", "bank"),
    [
        ("proj", "never seen", "proj"),
        ("proj", "above", "proj"),
        ("", "above", "ops"),
        ("", "never seen", DEFAULT),
        ("none", "above", ""),
    ],
)
def test_a_sub_agent_is_learned_from_in_the_bank_of_its_steps_else_of_its_parent(
    world: World, proj: Bank, model: Parrot, named: str, parent: str, bank: str
) -> None:
    step(world.admin, "t1", user("Look below."), bank="ops", session="above")
    step(world.admin, "t1", user("Valve 1 is open."), bank=named, session="below")
    end(world.admin, session="below", turn_id="t1", parent_session_id=parent)
    assert [each for each in ("ops", "proj", DEFAULT) if texts(each)] == [bank] * bool(bank)


def test_the_parent_of_a_sub_agent_is_the_turn_that_it_names(
    world: World, proj: Bank, model: Parrot
) -> None:
    step(world.admin, "t1", user("Look below."), bank="proj", session="above")
    step(world.admin, "t2", user("Look below."), user("And here."), session="above")
    link = {"session_id": "above", "turn_id": "t1"}
    end(world.admin, user("Valve 1 is open."), session="below", turn_id="t1", parent=link)
    assert texts("proj") == ["Valve 1 is open."]


@pytest.mark.parametrize("parent", [{}, [], 0, True, {"session_id": 3}, "\ud83d", {"x": "chat"}])
def test_a_parent_that_cannot_be_read_is_one_all_the_same(
    world: World, proj: Bank, model: Parrot, parent: object
) -> None:
    model.script = [array(element("Never open valve 1.", "rules"))]
    end(world.admin, user("Never open valve 1."), turn_id="t1", parent=parent)
    [memory] = queries.list_memories(Bank.objects.get(name=DEFAULT), Filters(), limit=9).memories
    assert (memory.confidence, Proposal.objects.count()) == ("inferred", 0)


@pytest.mark.parametrize("parent", [None, "", False])
def test_no_parent_is_none(world: World, proj: Bank, model: Parrot, parent: object) -> None:
    model.script = [array(element("Never open valve 1.", "rules"))]
    end(world.admin, user("Never open valve 1."), parent=parent, parent_session_id="")
    assert Proposal.objects.count() == 1


def test_the_same_id_with_other_words_is_another_message(
    world: World, proj: Bank, model: Parrot
) -> None:
    for number in range(3):
        end(world.admin, user(f"Valve {number} is open.", id="0"), turn_id=number)
    assert model.texts == ["Valve 0 is open.", "Valve 1 is open.", "Valve 2 is open."]


@pytest.mark.parametrize("is_told_first", [True, False])
def test_a_message_is_read_once_whether_it_came_with_an_id_or_not(
    world: World, proj: Bank, model: Parrot, is_told_first: bool
) -> None:
    with_ids = [user("Valve 1 is open.", id="e1"), agent("I closed valve 1.", id="e2")]
    plain = [user("Valve 1 is open."), agent("I closed valve 1."), user("Valve 2 is open.")]
    if is_told_first:
        end(world.admin, *with_ids, turn_id="t1")
        step(world.admin, "t2", *plain)
        end(world.admin, turn_id="t2")
    else:
        step(world.admin, "t1", plain[0])
        end(world.admin, turn_id="t1")
        end(world.admin, *with_ids, user("Valve 2 is open.", id="e3"), turn_id="t2")
    assert model.texts == ["Valve 1 is open.", "I closed valve 1.", "Valve 2 is open."]


def test_a_repeated_answer_of_somebody_else_than_the_user_counts_nothing(
    world: World, model: Parrot
) -> None:
    memory = save(world, "The echo pump runs at 7 bar.").memory
    sessions.select(world.editor, "chat", world.bank)
    for number, role in enumerate(["assistant", "tool", "assistant"]):
        said = {"role": role, "text": memory.text, "id": f"e{number}"}
        end(world.editor, said, turn_id=number)
    assert queries.memory(world.bank, memory.id).corroboration == 0
    end(world.editor, {"role": "user", "text": memory.text, "id": "e9"}, turn_id=9)
    assert queries.memory(world.bank, memory.id).corroboration == 1


def test_an_invented_quote_has_no_message(world: World, model: Parrot) -> None:
    sessions.select(world.editor, "chat", world.bank)
    model.script = [array(element("Valve 9 is open.", quote="nobody said so"))]
    end(world.editor, user("Valve 1 is open.", id="e1"))
    [memory] = queries.list_memories(world.bank, Filters(), limit=9).memories
    assert memory.source is not None
    assert (memory.confidence, memory.source.entry_id) == ("inferred", None)


def test_skipping_up_to_an_earlier_message_does_not_go_back(world: World, model: Parrot) -> None:
    configuration.change(world.admin, {"extraction_window": 2})
    sessions.select(world.admin, "chat", world.bank)
    said = [user(f"Valve {number} is open.", id=f"e{number}") for number in range(4)]
    turns.completed(world.admin, Ended(session_id="chat", turn_id="t1", messages=said))
    extraction.run_now(world.admin, "chat", until="e1")
    for skip in (True, False):
        extraction.run_now(world.admin, "chat", until="e0", skip=skip)
        assert Turn.objects.get().read == 2
    jobs.work_off()
    assert model.texts == [each["content"] for each in said]


def test_a_larger_window_after_a_kill_loses_nothing(
    world: World, model: Parrot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    sessions.select(world.admin, "chat", world.bank)
    said = [user(f"Valve {number} is open.", id=f"e{number}") for number in range(4)]
    turns.completed(world.admin, Ended(session_id="chat", turn_id="t1", messages=said))
    with monkeypatch.context() as patched:
        patched.setattr(extraction, "_advance", killed)
        with pytest.raises(KeyboardInterrupt):
            extraction.run_now(world.admin, "chat", until="e1")
    extraction.run_now(world.admin, "chat")
    assert texts("ops") == [each["content"] for each in said]
    found = queries.list_memories(world.bank, Filters(), limit=9).memories
    assert {each.corroboration for each in found} == {0}
