"""The list of banks, the banks of the rail, and a new bank with its name looked at."""

import re
import shutil

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from banks import errors, sync
from banks.access import Role
from banks.services import banks, entries, members, opening, rules
from tests.builders import World, person, save
from tests.console.conftest import Browser, words


def part(client: Client, address: str, target: str) -> str:
    answer = client.get(address, headers={"HX-Request": "true", "HX-Target": target})
    assert answer.status_code == 200
    return answer.content.decode()


def test_a_bank_is_listed_with_counts_role_and_last_change(ops: World, browser: Browser) -> None:
    banks.describe(ops.owner, ops.bank, "Pumps and valves")
    memory = save(ops, "Pump 2 leaks at the seal.").memory
    save(ops, "Pump 3 hums.")
    rules.set_rule(ops.maintainer, ops.bank, "style", "Close valve 2 first.")
    entries.pin(ops.owner, ops.bank, memory.id, pinned=True)
    said = words(browser("editor").get("/banks"))
    assert "ops Pumps and valves Memories: 2 Pinned: 1 Rules: 1 Your role: editor" in said
    assert "Last change: just now by owner" in said


def test_only_ones_own_banks_are_listed(ops: World, browser: Browser) -> None:
    banks.create(ops.admin, "annex")
    assert "annex" in words(browser("admin").get("/banks"))
    assert "annex" not in words(browser("owner").get("/banks"))
    assert "You are no member of a bank." in words(browser("stranger").get("/banks"))


def test_more_banks_take_no_more_queries(
    ops: World, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "look", lambda _: None)  # at the files, once a second a bank
    client = browser("admin")
    client.get("/banks")  # notes in the session when it was begun

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get("/banks")
        return len(captured)

    before = queries()
    for number in range(3):
        banks.create(ops.admin, f"annex-{number}")
    assert queries() == before


def test_a_bank_without_its_folder_is_listed_with_the_reason_beside_the_others(
    ops: World, browser: Browser, settings: Settings
) -> None:
    banks.create(ops.admin, "annex")
    shutil.rmtree(settings.DATA_DIR / "ops")
    sync.look(ops.bank, force=True)
    said = words(browser("admin").get("/banks"))
    assert "ops on hold: the folder of the bank is not there" in said
    assert "annex Memories: 0" in said


def test_a_data_folder_that_cannot_be_read_hides_no_bank(
    ops: World, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: object) -> None:
        raise errors.StoreFault("The data folder cannot be read.")

    monkeypatch.setattr(opening, "listed", refused)
    said = words(browser("admin").get("/banks"))
    assert "The data folder cannot be read." in said
    assert "1 bank" in said


def test_many_banks_can_be_filtered_by_name_and_description(ops: World, browser: Browser) -> None:
    client = browser("admin")
    assert 'role="search"' not in client.get("/banks").content.decode()
    for number in range(15):
        banks.create(ops.admin, f"annex-{number:02}", "Kilns" if number == 7 else "")
    assert 'role="search"' in client.get("/banks").content.decode()
    assert "2 of 16 banks" not in part(client, "/banks?q=KILN", "found")
    found = part(client, "/banks?q=KILN", "found")
    assert re.findall(r'id="open-([^"]*)"', found) == ["annex-07"]
    assert "1 of 16 banks" in found
    assert "Nothing matches" in part(client, "/banks?q=<b>", "found")


def test_the_rail_gives_its_banks_alone_with_the_current_one_marked(
    ops: World, browser: Browser
) -> None:
    save(ops, "Pump 3 hums.")
    rail = part(browser("viewer"), "/banks?at=ops", "rail-banks")
    assert re.search(r'href="/b/ops/memories" aria-current="page".*?>1<', rail, re.DOTALL)
    assert "<table" not in rail
    assert "aria-current" not in part(browser("viewer"), "/banks?at=none", "rail-banks")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("kilns", "kilns is free."), ("ops", "ops is there already"), ("", ""),
     ("My Kilns!", "Use my-kilns instead?"), ("Öfen", "Use ofen instead?"),
     ("-x" * 60, "Use x-x"), ("!!", "begins with a letter or a digit."),
     ("<b>", "Use b instead?")],
)  # fmt: skip
def test_a_name_is_looked_at_while_it_is_typed(
    ops: World, browser: Browser, name: str, hint: str
) -> None:
    client = browser("admin")
    answer = client.get(
        "/banks/new", {"name": name}, headers={"HX-Request": "true", "HX-Target": "name-hint"}
    )
    assert hint in words(answer)
    assert answer.content.decode().startswith('<p class="hint name-hint"')
    better = re.search(r"Use (\S+) instead", words(answer))
    if better:
        made = client.post("/banks/new", {"name": better[1]})
        assert made["Location"] == f"/b/{better[1]}/memories"


def test_the_form_corrects_a_refused_name_too(ops: World, browser: Browser) -> None:
    answer = browser("admin").post("/banks/new", {"name": "My Kilns", "description": "Brick"})
    assert answer.status_code == 422
    assert "Use my-kilns instead?" in words(answer)
    assert 'value="Brick"' in answer.content.decode()


def test_who_may_not_make_banks_is_offered_none_and_refused(ops: World, browser: Browser) -> None:
    client = browser("owner")
    assert "/banks/new" not in client.get("/banks").content.decode()
    for answer in (client.get("/banks/new"), client.post("/banks/new", {"name": "kilns"})):
        assert answer.status_code == 403
        assert "Making a bank needs an instance admin." in words(answer)
        assert "owner of" not in words(answer)
        assert "no member" not in words(answer)


def test_a_reader_is_told_who_can_give_a_role(ops: World, browser: Browser) -> None:
    members.remove(ops.admin, ops.bank, "admin")
    said = words(browser("viewer").get("/b/ops/memories"))
    assert "needs the role editor; owner , who owns it, can give it to you." in said
    person("second")
    members.set_role(ops.admin, ops.bank, "second", Role.OWNER)
    said = words(browser("viewer").get("/b/ops/memories"))
    assert "owner or second , who own it, can give it to you." in said


def test_who_may_not_is_told_who_can_help(ops: World, browser: Browser) -> None:
    members.remove(ops.admin, ops.bank, "admin")
    editor = browser("editor")
    said = words(editor.get("/b/ops/new-rule"))
    assert "Another role in this bank: owner , who owns it, can give it to you." in said
    for address in ("/health", "/settings/config"):
        assert "Ask an instance admin" in words(editor.get(address))
        assert "owns" not in words(editor.get(address))
    members.set_role(ops.admin, ops.bank, "owner", Role.EDITOR)
    assert "an instance admin can give it to you." in words(editor.get("/b/ops/new-rule"))


def test_nobody_is_told_to_make_a_bank_who_cannot(ops: World, browser: Browser) -> None:
    assert "Make it" not in words(browser("editor").get("/b/nowhere/memories"))
    assert "Make it" in words(browser("admin").get("/b/nowhere/memories"))


def test_on_pages_of_rules_it_is_said_which_role_they_need(ops: World, browser: Browser) -> None:
    members.remove(ops.admin, ops.bank, "admin")
    rules.set_rule(ops.maintainer, ops.bank, "style", "Close valve 2 first.")
    needed = "Changing them needs the role maintainer; owner , who owns it, can give it to you."
    for name in ("viewer", "editor"):
        for address in ("/b/ops/rules", "/b/ops/rules/style"):
            said = words(browser(name).get(address))
            assert needed in said
            assert "role editor" not in said
        assert needed not in words(browser(name).get("/b/ops/memories"))
    assert "needs the role" not in words(browser("editor").get("/b/ops/memories"))
    assert "needs the role" not in words(browser("maintainer").get("/b/ops/rules"))


def test_an_instance_admin_is_not_called_owner_who_is_none(ops: World, browser: Browser) -> None:
    admin = browser("admin")
    assert "Your role: owner" in words(admin.get("/banks"))
    members.set_role(ops.admin, ops.bank, "admin", Role.VIEWER)
    assert "Your role: instance admin" in words(admin.get("/banks"))
    for address in ("/b/ops/memories", "/b/ops/rules", "/b/ops/settings"):
        assert "ops instance admin" in words(admin.get(address))


def test_without_a_disk_nobody_is_said_to_be_no_member(
    ops: World, browser: Browser, settings: Settings
) -> None:
    shutil.rmtree(settings.DATA_DIR)
    assert "no member" not in words(browser("admin").get("/banks/new"))
