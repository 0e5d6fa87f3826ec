"""From nothing to a first memory, and what an agent gets of it."""

from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from banks import errors, queries
from banks.access import Role
from banks.models import Bank
from banks.services import banks, entries, members
from memoryconsole.console import welcome
from recall import services as recall_services
from tests.builders import World, person, save
from tests.console.conftest import Browser, words

TEXT = "Kiln 3 is fired on Fridays, after the damper was checked."
PART = {"HX-Request": "true", "HX-Target": "page"}


def send(client: Client, text: str = TEXT, bank: str = "ops", **more: Any) -> Any:
    return client.post("/welcome", {"text": text, "bank": bank, "once": "1"}, **more)


def test_while_nothing_is_remembered_one_begins_with_a_first_memory(
    ops: World, browser: Browser
) -> None:
    assert browser("editor").get("/")["Location"] == "/welcome"
    assert browser("viewer").get("/")["Location"] == "/b/ops/memories"
    assert browser("stranger").get("/")["Location"] == "/banks/new"
    memory = save(ops, TEXT).memory
    assert browser("editor").get("/")["Location"] == "/b/ops/memories"
    entries.delete(ops.editor, ops.bank, memory.id)
    assert browser("editor").get("/")["Location"] == "/welcome"


def test_only_the_first_memory_is_called_that(ops: World, browser: Browser) -> None:
    assert "Write the first memory" in words(browser("editor").get("/welcome"))
    save(ops, TEXT)
    assert "Write another memory" in words(browser("editor").get("/welcome"))


def test_who_may_write_nowhere_is_led_away(ops: World, browser: Browser) -> None:
    assert browser("viewer").get("/welcome")["Location"] == "/"
    assert send(browser("viewer")).status_code == 422
    assert queries.summary(ops.bank).memories == 0


def test_a_bank_on_hold_is_no_place_for_a_first_memory(ops: World, browser: Browser) -> None:
    Bank.objects.filter(pk=ops.bank.pk).update(hold="its folder is not there")
    assert browser("editor").get("/")["Location"] == "/b/ops/memories"


def test_the_saved_memory_is_shown_with_its_file_and_what_an_agent_gets(
    ops: World, browser: Browser, settings: Settings
) -> None:
    client = browser("editor")
    answer = send(client, follow=True)
    memory = queries.list_memories(ops.bank, queries.Filters()).memories[0]
    assert answer.redirect_chain == [(f"/welcome?bank=ops&saved={memory.id}", 303)]
    said = words(answer)
    assert "Saved. Agents can recall it now." in said
    assert "ops/semantic_memory/facts.md" in said.replace(" ", "")
    assert TEXT in (settings.DATA_DIR / "ops" / "semantic_memory" / "facts.md").read_text()
    question = "fired, Fridays, damper"
    assert f"When somebody asks about “{question}” , an agent is given:" in said
    given = recall_services.preview(ops.editor, ops.bank, question).given.message
    shown = answer.context["saved"].preview.given.message
    assert shown == given
    assert TEXT in shown


def test_the_part_of_the_page_has_the_same_and_tells_the_rail(ops: World, browser: Browser) -> None:
    answer = send(browser("editor"), headers=PART, follow=True)
    assert "<html" not in answer.content.decode()
    assert "Your agents know this" in words(answer)
    assert answer["HX-Trigger-After-Settle"] == "bank:changed"


def test_a_second_click_saves_once(ops: World, browser: Browser) -> None:
    client = browser("editor")
    assert send(client)["Location"] == send(client)["Location"]
    memories = queries.list_memories(ops.bank, queries.Filters()).memories
    assert [each.corroboration for each in memories] == [0]


def test_a_refused_text_is_kept_and_explained(ops: World, browser: Browser) -> None:
    answer = send(browser("editor"), "a\n---\nb", headers=PART)
    assert answer.status_code == 422
    assert "a\r\n---\r\nb" in answer.content.decode().replace("\n", "\r\n").replace("\r\r", "\r")
    assert answer.context["form"].errors["text"]


def test_an_example_fills_the_box(ops: World, browser: Browser) -> None:
    client = browser("editor")
    for number, text in enumerate(welcome.EXAMPLES, 1):
        assert client.get(f"/welcome?example={number}").context["form"]["text"].value() == text
    assert client.get("/welcome?example=9").context["form"]["text"].value() == ""


def test_the_default_bank_is_made_for_the_first_memory(db: None) -> None:
    person("ada", is_admin=True)
    client = Client()
    client.login(username="ada", password="a long enough one")
    assert "into the bank main , which is made for it" in words(client.get("/welcome"))
    assert send(client, bank="main", follow=True).status_code == 200
    assert queries.summaries(person("eve", is_admin=True))[0].memories == 1


def test_a_bank_is_asked_for_when_there_are_several(ops: World, browser: Browser) -> None:
    annex, _ = banks.create(ops.admin, "annex")
    members.set_role(ops.admin, annex, "editor", Role.EDITOR)
    banks.create(ops.admin, "hidden")
    form = browser("editor").get("/welcome").context["form"]
    assert form.fields["bank"].choices == [("annex", "annex"), ("ops", "ops")]
    assert send(browser("editor"), bank="hidden").status_code == 422


def test_a_disk_that_refuses_is_told_and_the_text_stays(
    ops: World, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise errors.StoreFault("The disk is full.")

    monkeypatch.setattr(entries, "save", full)
    answer = send(browser("editor"))
    assert (answer.status_code, TEXT in answer.content.decode()) == (503, True)
    answer = send(browser("editor"), headers=PART)
    assert (answer.status_code, answer.content) == (503, b"The disk is full.")


def test_what_was_undone_leads_back_to_the_form(ops: World, browser: Browser) -> None:
    client = browser("editor")
    address = send(client)["Location"]
    key = address.rpartition("=")[2]
    entries.delete(ops.editor, ops.bank, key)
    assert "Write the first memory" in words(client.get(address))
    assert client.get("/welcome?bank=absent&saved=x").status_code == 404


@pytest.mark.parametrize(
    ("text", "asked"),
    [("Never stop.", "Never stop."), ("Valves.", "Valves"),
     ("窯は金曜日に。", "窯は金曜日に"),
     ("12 + 30 = 42", "12 + 30 = 42")],
)  # fmt: skip
def test_a_question_is_made_of_the_words_of_the_text(text: str, asked: str) -> None:
    assert welcome.question(text) == asked
