"""The audit log: who changed what, in words, over the banks that one may read."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from banks import sync
from banks.services import banks, bulk, entries, rules, transfer
from banks.services.drafts import Patch
from tests import byhand
from tests.builders import World, agent, save
from tests.byhand import FACTS, block
from tests.console.conftest import Browser, words

PAGE = "/audit"


@pytest.fixture
def editor(browser: Browser) -> Client:
    return browser("editor")


def part(client: Client, address: str, target: str) -> Any:
    return client.get(address, headers={"HX-Request": "true", "HX-Target": target})


def deeds(answer: Any) -> list[str]:
    """What each line says, without its details."""
    page = re.sub(r"(?s)<details.*?</details>", "", answer.content.decode())
    found = re.findall(r'(?s)<li class="deed".*?(?=<li class="deed"|</ol>)', page)
    return [" ".join(re.sub(r"<[^>]*>", " ", each).split()) for each in found]


def test_each_deed_says_who_did_what_to_what(ops: World, editor: Client) -> None:
    leak = save(ops, "Pump 1 leaks at the seal.").memory
    entries.pin(agent(ops), ops.bank, leak.id, pinned=True)
    entries.delete(ops.editor, ops.bank, leak.id, reason="it was mended")
    rules.set_rule(ops.maintainer, ops.bank, "style", "Close valve 3 first.")
    said = deeds(editor.get(PAGE))
    assert len(said) == 5
    assert said[0].startswith("maintainer wrote the rule style just now ops")
    assert said[1].startswith(
        "editor deleted a memory Pump 1 leaks at the seal. Reason: it was mended just now ops"
    )
    assert said[2].startswith("agent (token) pinned a memory Pump 1 leaks")
    assert said[3].startswith("editor saved a memory Pump 1 leaks")
    assert said[4].startswith("admin made the bank ops just now ops")


def test_a_hand_edit_is_told_as_one(ops: World, editor: Client) -> None:
    byhand.write(FACTS, block("m1", "Pump 2 runs"))
    sync.reload(ops.bank)
    assert deeds(editor.get(PAGE))[0].startswith(
        "By hand, in the files : added a memory Pump 2 runs"
    )


@pytest.mark.parametrize("pinned", [True, False])
def test_a_pin_is_told_as_what_it_was(ops: World, editor: Client, *, pinned: bool) -> None:
    leak = save(ops, "Pump 1 leaks at the seal.", pinned=not pinned).memory
    entries.pin(ops.editor, ops.bank, leak.id, pinned=pinned)
    verb = "pinned" if pinned else "unpinned"
    assert deeds(editor.get(PAGE))[0].startswith(f"editor {verb} a memory Pump 1 leaks")


def test_each_deed_is_named_by_what_it_made_of_a_memory(ops: World, editor: Client) -> None:
    leak = save(ops, "Pump 1 leaks at the seal.").memory
    entries.update(ops.editor, ops.bank, leak.id, Patch(text="Pump 1 is dry.", summary=""))
    for pinned in (True, False, True):
        entries.pin(ops.editor, ops.bank, leak.id, pinned=pinned)
    entries.update(ops.editor, ops.bank, leak.id, Patch(text="Pump 1 is gone."))
    verbs = [said.partition(" just now")[0] for said in deeds(editor.get(PAGE))[:6]]
    assert verbs == [
        "editor changed a memory Pump 1 is gone.",
        "editor pinned a memory Pump 1 is dry.",
        "editor unpinned a memory Pump 1 is dry.",
        "editor pinned a memory Pump 1 is dry.",
        "editor changed a memory Pump 1 is dry.",
        "editor saved a memory Pump 1 leaks at the seal.",
    ]


def test_what_the_history_does_not_hold_is_named_as_it_is_now(
    ops: World, editor: Client, settings: Settings
) -> None:
    leak = save(ops, "Pump 1 leaks at the seal.").memory
    entries.update(ops.editor, ops.bank, leak.id, Patch(text="Pump 1 is dry."))
    for log in (settings.DATA_DIR / "ops" / ".history").rglob(f"*{leak.id}*"):
        log.unlink()
    assert deeds(editor.get(PAGE))[1].startswith("editor saved a memory Pump 1 is dry.")


def test_what_is_saved_once_more_confirms_it(ops: World, editor: Client) -> None:
    for _ in range(2):
        save(ops, "Pump 1 leaks at the seal.")
    assert deeds(editor.get(PAGE))[0].startswith("editor confirmed a memory Pump 1 leaks")


def test_a_rule_that_changed_in_the_files_is_named_and_linked_when_it_is_gone(
    ops: World, editor: Client, settings: Settings
) -> None:
    file = settings.DATA_DIR / "ops" / "rules" / "style.md"
    for name, text in (("style", "Be brief."), ("zones", "Zone 1 first.")):
        rules.set_rule(ops.maintainer, ops.bank, name, text)
    file.write_text("Close valve 3 first.")
    sync.look(ops.bank, force=True)
    rules.set_rule(ops.maintainer, ops.bank, "zones", "")
    answer = editor.get(PAGE)
    assert deeds(answer)[1].startswith("By hand, in the files : changed the rule style")
    assert deeds(answer)[0].startswith("maintainer removed the rule zones")
    line = answer.content.decode().partition('<li class="deed"')[2].partition("<details")[0]
    assert 'href="/b/ops/rules/zones"' in line
    assert editor.get("/b/ops/rules/zones").status_code == 200


def test_a_rule_that_left_nothing_behind_is_no_link(
    ops: World, editor: Client, settings: Settings
) -> None:
    file = settings.DATA_DIR / "ops" / "rules" / "style.md"
    file.write_text("Close valve 3 first.")
    sync.look(ops.bank, force=True)
    file.unlink()
    sync.look(ops.bank, force=True)
    answer = editor.get(PAGE)
    assert deeds(answer)[0].startswith("By hand, in the files : removed the rule style")
    assert 'href="/b/ops/rules/style"' in answer.content.decode()
    assert editor.get("/b/ops/rules/style").status_code == 200
    for log in (settings.DATA_DIR / "ops" / ".history" / "rules").iterdir():
        log.unlink()
    assert "/b/ops/rules/style" not in editor.get(PAGE).content.decode()
    assert editor.get("/b/ops/rules/style").status_code == 404


def test_a_memory_that_was_deleted_is_linked_to_where_it_comes_back(
    ops: World, editor: Client
) -> None:
    leak = save(ops, "Pump 1 leaks at the seal.").memory
    entries.delete(ops.editor, ops.bank, leak.id)
    assert editor.get(PAGE).content.decode().count(f'href="/m/ops/{leak.id}"') == 2


def test_an_imported_bank_is_told_as_an_import(
    ops: World, browser: Browser, tmp_path: Path
) -> None:
    for path, text in ((FACTS, block("m1", "Pump 2 runs")), ("rules/style.md", "Be brief.")):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
    transfer.import_folder(ops.admin, tmp_path, "annex")
    said = " | ".join(deeds(browser("admin").get(f"{PAGE}?bank=annex")))
    assert "admin imported 2 memories and rules" in said
    assert "new " not in said


def test_what_came_back_is_told_without_the_number_of_the_files(ops: World, editor: Client) -> None:
    leak = save(ops, "Pump 1 leaks at the seal.").memory
    entries.update(ops.editor, ops.bank, leak.id, Patch(text="Pump 1 is dry."))
    entries.revert(ops.editor, ops.bank, leak.id, leak.version)
    answer = editor.get(PAGE)
    told = "editor brought back an earlier state of a memory Pump 1 leaks at the seal. just now"
    assert deeds(answer)[0].startswith(told)
    assert "revision" not in words(answer)


def test_what_was_done_at_once_is_one_line_with_one_undo(ops: World, editor: Client) -> None:
    saved = [save(ops, f"Shelf {number} holds tiles.").memory for number in range(5)]
    bulk.delete_many(ops.editor, ops.bank, [(each.id, each.version) for each in saved])
    answer = editor.get(PAGE)
    assert deeds(answer)[0].startswith("editor deleted 5 memories Shelf 0 holds tiles.")
    assert words(answer).count("holds tiles.") == 3 + 2 + 5
    undo = re.findall(r'action="(/b/ops/undo/\w+)"', answer.content.decode())
    assert len(undo) == 1
    followed = editor.post(undo[0], {"next": PAGE}, follow=True)
    assert "Undone." in words(followed)
    assert deeds(followed)[0].startswith("editor undid a change of 5 things")
    assert deeds(followed)[1].endswith("undone")


def test_undo_is_offered_only_to_those_who_may(ops: World, browser: Browser) -> None:
    save(ops, "Pump 1 leaks at the seal.")
    assert "/undo/" in browser("editor").get(PAGE).content.decode()
    assert "/undo/" not in browser("viewer").get(PAGE).content.decode()


def test_the_log_is_narrowed_by_bank_person_and_thing(ops: World, browser: Browser) -> None:
    annex, _ = banks.create(ops.admin, "annex")
    leak = save(ops, "Pump 1 leaks at the seal.").memory
    byhand.write(FACTS, block("m1", "Pump 2 runs"), bank=annex.name)
    sync.reload(annex)
    client = browser("admin")
    for query, count in (
        ("", 4),
        ("bank=annex", 2),
        ("who=admin", 2),
        ("who=by+hand", 1),
        ("who=user:editor", 1),
        (f"key={leak.id}", 1),
        (f"key={leak.id}&who=admin", 0),
    ):
        assert len(deeds(client.get(f"{PAGE}?{query}"))) == count, query
    assert "Nothing fits" in words(client.get(f"{PAGE}?who=nobody"))


def test_a_foreign_bank_is_in_no_list_and_looks_like_none(ops: World, browser: Browser) -> None:
    save(ops, "Pump 1 leaks at the seal.")
    client = browser("stranger")
    assert "Nothing was changed yet" in words(client.get(PAGE))
    assert client.get(f"{PAGE}?bank=ops").status_code == 404
    assert client.get(f"{PAGE}?bank=absent").status_code == 404


def test_older_deeds_follow_and_come_as_a_part_too(
    ops: World, editor: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryconsole.console.deeds.PAGE", 2)
    for number in range(3):
        save(ops, f"Shelf {number} holds tiles.")
    page = editor.get(PAGE).content.decode()
    older = re.search(r'id="load-more" href="([^"]*)"', page)
    assert older
    for answer in (editor.get(PAGE + older[1]), part(editor, PAGE + older[1], "more")):
        assert "Shelf 0 holds tiles." in words(answer)
        assert "Shelf 2 holds tiles." not in words(answer)
    assert "<h1" not in part(editor, PAGE + older[1], "more").content.decode()
    assert editor.get(f"{PAGE}?after=soon").status_code == 422


def test_a_filter_brings_the_log_alone_and_says_what_it_did(ops: World, editor: Client) -> None:
    save(ops, "Pump 1 leaks at the seal.")
    answer = part(editor, f"{PAGE}?who=editor", "log")
    assert answer.content.decode().lstrip().startswith('<section id="log"')
    assert '<div hx-swap-oob="innerHTML:#say">1 change</div>' in answer.content.decode()


def test_a_page_costs_the_same_whatever_its_deeds_touched(
    ops: World, editor: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(8):
        shelf = save(ops, f"Shelf {number} holds tiles.").memory
        entries.update(ops.editor, ops.bank, shelf.id, Patch(text=f"Shelf {number} is empty."))
    with django_assert_max_num_queries(26):
        editor.get(PAGE)
