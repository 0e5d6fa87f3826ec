"""What an agent is given at each step of its turns."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from banks import errors, seams
from banks.access import Principal, Scope
from banks.models import Bank, Session
from banks.services import banks, rules, sessions
from recall import indexer
from recall.learning import llm
from recall.models import Told
from recall.services import Continued, Step, pre_generate, preview
from tests.builders import World, save
from tests.chat import Scripted

QUESTION = "how long is the kiln purge?"
ASKED = {"role": "user", "content": QUESTION}


def step(number: int = 0, *seen: dict[str, str], **more: Any) -> Step:
    """A step of the session `chat` in the bank `ops`, with what an earlier one appended."""
    return Step(
        session_id="chat",
        step=number,
        messages=[ASKED, *seen],
        metadata={"memory_bank": "ops"},
        **more,
    )


def ask(world: World, asked: Step, principal: Principal | None = None) -> Continued:
    return pre_generate(principal or world.viewer, asked)


def appended(told: Continued) -> list[dict[str, str]]:
    return told.mutations.append_messages if told.mutations else []


def section(told: Continued) -> str | None:
    return told.mutations.system_prompt if told.mutations else None


def set_rule(world: World, content: str) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", content)


def test_the_hook_gives_what_the_preview_shows_byte_for_byte(world: World) -> None:
    set_rule(world, "Answer in metric units.")
    memory = save(world, "The purge of kiln 4 takes 20 minutes.").memory
    shown = preview(world.viewer, world.bank, QUESTION)
    told = ask(world, step())
    assert section(told) == shown.section.text
    assert appended(told) == [{"role": "user", "content": shown.given.message}]
    given = told.annotations
    assert (given.bank, given.memories, given.rules) == ("ops", [memory.id], 1)
    assert (given.rules_truncated, given.retrieval, given.fault) == (False, "bm25-entity", None)


def test_the_section_follows_the_system_prompt_that_came(world: World) -> None:
    set_rule(world, "Answer in metric units.")
    told = ask(world, step(system_prompt="You mend kilns."))
    assert section(told) == "You mend kilns.\n\n" + str(section(ask(world, step())))


def test_memories_come_at_the_first_step_of_a_turn_alone(world: World) -> None:
    set_rule(world, "Answer in metric units.")
    save(world, "The purge of kiln 4 takes 20 minutes.")
    first, second = ask(world, step(0)), ask(world, step(1))
    assert len(appended(first)) == 1
    assert appended(second) == []
    assert section(second) == section(first)
    assert (second.annotations.memories, second.annotations.retrieval) == ([], "none")


def test_a_change_of_rules_arrives_once_and_the_prompt_stays_the_same(world: World) -> None:
    set_rule(world, "Answer in metric units.")
    first = section(ask(world, step(1)))
    set_rule(world, "Answer in bar.")
    changed = ask(world, step(1))
    assert section(changed) == first
    [news] = appended(changed)
    assert preview(world.viewer, world.bank, QUESTION).section.text in news["content"]
    # While the window holds it there is nothing to say; when it has left, it is said again.
    assert appended(ask(world, step(2, news))) == []
    assert appended(ask(world, step(3))) == [news]
    # The next change counts against what was said last, also one back to the beginning.
    set_rule(world, "Answer in metric units.")
    [back] = appended(ask(world, step(4, news)))
    assert "metric" in back["content"]
    assert appended(ask(world, step(5, news, back))) == []
    assert section(ask(world, step(5, news, back))) == first


def test_an_update_that_shares_a_message_is_not_told_again(world: World) -> None:
    set_rule(world, "Answer in metric units.")
    ask(world, step(1))
    set_rule(world, "Answer in bar.")
    [news] = appended(ask(world, step(1)))
    joined = {"role": "user", "content": f"{news['content']} \n\nand the valve?"}
    assert appended(ask(world, step(2, joined))) == []


def test_tokens_without_an_owner_share_their_sessions(world: World) -> None:
    tokens = [
        Principal(handle=f"token:{n}", token_id=n, is_admin=True, scopes=frozenset({Scope.HOOKS}))
        for n in (1, 2)
    ]
    sessions.select(tokens[0], "chat", world.bank)
    told = ask(world, Step(session_id="chat", messages=[ASKED]), tokens[1])
    assert told.annotations.bank == "ops"
    assert ask(world, Step(session_id="chat"), world.viewer).annotations.bank == "main"


def test_another_session_starts_with_the_rules_of_today(world: World) -> None:
    set_rule(world, "Answer in metric units.")
    ask(world, step())
    set_rule(world, "Answer in bar.")
    for other in (
        ask(world, replace(step(1), session_id="new")),
        ask(world, replace(step(1), session_id=None)),
        ask(world, step(1), world.editor),
    ):
        assert "Answer in bar." in str(section(other))
        assert appended(other) == []
    sessions.forget(world.viewer, "chat")
    assert "Answer in bar." in str(section(ask(world, step(1))))
    assert Told.objects.count() == 3


def test_a_session_uses_the_bank_that_it_chose(world: World) -> None:
    lab, _ = banks.create(world.admin, "lab")
    rules.set_rule(world.admin, lab, "style", "Speak of the lab.")
    set_rule(world, "Speak of the kilns.")
    sessions.select(world.admin, "chat", lab)
    chosen = replace(step(1), metadata=None)
    assert ask(world, chosen, world.admin).annotations.bank == "lab"
    once = ask(world, step(1), world.admin)
    assert "Speak of the kilns." in str(section(once))
    assert appended(once) == []
    assert "Speak of the lab." in str(section(ask(world, chosen, world.admin)))
    # Nobody else's session is meant by the same words.
    assert ask(world, chosen, world.viewer).annotations.bank == "main"


@pytest.mark.parametrize("bank", ["none", "lab", "Not A Name", 7, ["ops"]])
def test_an_unknown_bank_gives_nothing_of_another(world: World, bank: object) -> None:
    banks.create(world.admin, "lab")
    set_rule(world, "Answer in metric units.")
    sessions.select(world.viewer, "chat", world.bank)
    told = ask(world, replace(step(), metadata={"memory_bank": bank}))
    assert told.mutations is None
    assert told.annotations.fault in ("bank_not_found", "invalid_name")


def test_a_bank_in_the_trash_is_not_replaced_by_one_of_its_name(world: World) -> None:
    sessions.select(world.admin, "chat", world.bank)
    banks.trash(world.admin, world.bank)
    again, _ = banks.create(world.admin, "ops")
    rules.set_rule(world.admin, again, "style", "Speak of the lab.")
    told = ask(world, Step(session_id="chat", messages=[ASKED]), world.admin)
    assert (told.mutations, told.annotations.fault) == (None, "bank_not_found")


def test_what_a_session_was_told_is_not_told_to_whom_the_bank_is_foreign_now(world: World) -> None:
    set_rule(world, "Answer in metric units.")
    ask(world, step())
    world.bank.memberships.filter(user_id=world.viewer.user_id).delete()
    told = ask(world, step(1))
    assert (told.mutations, told.annotations.fault) == (None, "bank_not_found")


def test_a_missing_default_bank_and_an_empty_bank_add_nothing(world: World) -> None:
    for asked in (Step(session_id="chat", messages=[ASKED]), step()):
        told = ask(world, asked)
        assert (told.mutations, told.annotations.fault) == (None, None)
    set_rule(world, "Answer in bar.")
    told = ask(world, step(1))
    assert section(told) is None
    assert "Answer in bar." in appended(told)[0]["content"]


def test_the_rules_are_given_when_the_search_fails(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(bank: Bank) -> None:
        raise OSError("the disk is gone")

    set_rule(world, "Answer in metric units.")
    monkeypatch.setattr(indexer, "catch_up", broken)
    told = ask(world, step())
    assert "metric" in str(section(told))
    assert (appended(told), told.annotations.fault) == ([], "unavailable")


@pytest.mark.parametrize("part", ["injecting.memories_for", "turns.seen"])
def test_the_rules_are_given_whatever_breaks_beside_them(
    world: World, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a secret of the program")

    set_rule(world, "Answer in metric units.")
    save(world, "The purge of kiln 4 takes 20 minutes.")
    monkeypatch.setattr(f"recall.services.hooks.{part}", broken)
    told = ask(world, step())
    assert "metric" in str(section(told))
    assert told.annotations.fault == "internal_error"
    assert len(appended(told)) == (1 if part == "turns.seen" else 0)


@pytest.mark.parametrize(
    "odd", [{"role": ["user"]}, {"role": {}}, {"role": "user", "content": [{"type": ["x"]}]}]
)
def test_a_message_of_garbage_costs_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, odd: dict[str, object]
) -> None:
    set_rule(world, "Answer in metric units.")
    save(world, "The purge of kiln 4 takes 20 minutes.")
    with llm.replaced(Scripted()):
        told = ask(world, replace(step(), messages=[odd, ASKED]))
    assert (len(appended(told)), told.annotations.fault) == (1, None)


def test_a_token_needs_the_scope_for_hooks_and_no_other(world: World) -> None:
    set_rule(world, "Answer in metric units.")
    save(world, "The purge of kiln 4 takes 20 minutes.")
    token = Principal(handle="token:x", token_id=1, is_admin=True, scopes=frozenset({Scope.HOOKS}))
    assert len(appended(ask(world, step(), token))) == 1
    other = replace(token, scopes=frozenset({Scope.MEMORY_READ}))
    for metadata in ({"memory_bank": "ops"}, {"memory_bank": 7}):
        with pytest.raises(errors.ScopeMissing):
            ask(world, replace(step(), metadata=metadata), other)


def test_a_later_step_writes_nothing_and_sessions_of_long_ago_are_forgotten(world: World) -> None:
    set_rule(world, "Answer in metric units.")
    now = seams.now()
    with seams.replaced(now=lambda: now):
        ask(world, step())
        with CaptureQueriesContext(connection) as captured:
            ask(world, step(1))
    assert [each["sql"] for each in captured if not each["sql"].startswith("SELECT")] == []
    with seams.replaced(now=lambda: now + timedelta(days=80)):
        ask(world, step(1))
        ask(world, replace(step(), session_id="new"))
    with seams.replaced(now=lambda: now + timedelta(days=160)):
        ask(world, replace(step(), session_id="newest"))
    assert Session.objects.count() == 3
    with seams.replaced(now=lambda: now + timedelta(days=171)):
        ask(world, replace(step(), session_id="last"))
    assert Session.objects.count() == 2


@pytest.mark.parametrize("messages", [None, "text", [None, 3], [{"role": "user"}]])
def test_messages_of_any_shape_are_taken(world: World, messages: object) -> None:
    save(world, "The purge of kiln 4 takes 20 minutes.")
    told = ask(world, replace(step(), messages=messages, metadata={"memory_bank": "ops"}))
    assert told.annotations.fault is None
    assert len(appended(told)) == 1
