"""Health: the doctor's checks in words, what each costs, and ending a hold."""

import re
import shutil
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from banks import doctor, sync
from banks.services import banks, rules
from memoryconsole import ops as wiring
from memoryconsole.console.health import WORDS
from tests import byhand
from tests.builders import World, save
from tests.byhand import FACTS, block
from tests.console.conftest import Browser, words

PAGE = "/health"


@pytest.fixture
def admin(browser: Browser) -> Client:
    return browser("admin")


def on_hold(ops: World, settings: Settings) -> None:
    """A bank whose mark went missing."""
    sync.look(ops.bank, force=True)
    (settings.DATA_DIR / "ops" / "bank.yaml").unlink()
    sync.look(ops.bank, force=True)


def run_all(client: Client) -> Any:
    return client.post(PAGE, headers={"HX-Request": "true", "HX-Target": "checks"})


def test_when_all_is_well_that_is_said_first(ops: World, admin: Client) -> None:
    save(ops, "Pump 1 leaks at the seal.")
    said = words(admin.get(PAGE))
    assert re.search(r"All is well: \d+ checks. The quick ones, made just now.", said)
    assert "Not well" not in said


def test_every_check_can_be_run_from_here_and_has_words(ops: World, admin: Client) -> None:
    answer = run_all(admin)
    assert answer.content.decode().lstrip().startswith('<section id="checks"')
    assert "Every check, made just now." in words(answer)
    assert {check.name for check in wiring.doctor().checks} | {"look"} == set(WORDS)


# field case A13
def test_a_file_that_cannot_be_read_is_told_with_line_reason_and_since_when(
    ops: World, admin: Client
) -> None:
    broken = block("m2", "Pump 2 runs", summary="pump: north side")
    byhand.write(FACTS, f"{block('m1', 'Pump 1 runs')}\n{broken}")
    sync.reload(ops.bank)
    said = words(admin.get(PAGE))
    assert re.search(r"1 of \d+ checks found something wrong.", said)
    assert "Files that can be read Not well" in said
    assert "ops semantic_memory/ facts.md, line 14 The frontmatter" in said
    assert "The file was last changed 14 Nov 2023 " in said
    assert "Pump 1 runs" in words(admin.get("/b/ops/memories"))


def test_a_bank_on_hold_goes_on_when_the_disk_is_taken_as_it_is(
    ops: World, admin: Client, settings: Settings
) -> None:
    on_hold(ops, settings)
    said = words(admin.get(PAGE))
    assert "ops : bank.yaml is not there. Take the disk as it is" in said
    answer = admin.post("/health/accept", {"bank": "ops", "next": PAGE}, follow=True)
    assert "ops is as its files are, and takes writes again." in words(answer)
    assert "All is well" in words(answer)


def test_an_owner_can_end_a_hold_and_an_editor_cannot(
    ops: World, browser: Browser, settings: Settings
) -> None:
    on_hold(ops, settings)
    assert "/health/accept" not in browser("editor").get("/b/ops/memories").content.decode()
    assert browser("editor").post("/health/accept", {"bank": "ops"}).status_code == 403
    assert browser("stranger").post("/health/accept", {"bank": "ops"}).status_code == 404
    assert "/health/accept" in browser("owner").get("/b/ops/memories").content.decode()
    assert browser("owner").post("/health/accept", {"bank": "ops"}).status_code == 303
    ops.bank.refresh_from_db()
    assert ops.bank.hold == ""


def test_a_hold_that_nothing_on_disk_can_end_offers_no_button(
    ops: World, admin: Client, settings: Settings
) -> None:
    (settings.DATA_DIR / "ops").rename(settings.DATA_DIR / "elsewhere.bak")
    sync.look(ops.bank, force=True)
    answer = admin.get(PAGE)
    assert "the folder of the bank is not there" in words(answer)
    assert "/health/accept" not in answer.content.decode()
    refused = admin.post("/health/accept", {"bank": "ops"})
    assert refused.status_code in (303, 404)


def test_a_check_that_breaks_is_neither_good_nor_bad_and_hides_no_other(
    ops: World, admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the path /srv/secret and a memory")

    monkeypatch.setattr(doctor, "_operations", fail)
    answer = admin.get(PAGE)
    assert answer.status_code == 200
    assert "Writes that ended Could not be checked" in words(answer)
    assert "1 could not be made." in words(answer)
    assert "Search index Fine" in words(answer)
    assert "secret" not in answer.content.decode()


def test_only_instance_admins_see_it(ops: World, browser: Browser) -> None:
    for name in ("owner", "viewer"):
        assert browser(name).get(PAGE).status_code == 403
        assert browser(name).post(PAGE).status_code == 403
        assert 'href="/health"' not in browser(name).get("/b/ops/memories").content.decode()


# --- no data folder ------------------------------------------------------------------------------


def test_without_the_data_folder_every_page_says_so_and_nothing_is_lost(
    ops: World, browser: Browser, settings: Settings
) -> None:
    leak = save(ops, "Pump 1 leaks at the seal.").memory
    shutil.rmtree(settings.DATA_DIR)
    editor, admin = browser("editor"), browser("admin")
    for address in ("/b/ops/memories", f"/m/ops/{leak.id}", "/audit"):
        said = words(editor.get(address))
        assert "Nothing can be saved: the folder with the memories cannot be used." in said
        assert "No memory yet" not in said
    page = editor.get("/b/ops/memories").content.decode()
    assert "Pump 1 leaks at the seal." in page
    assert 'action="/m/' not in page
    kept = editor.post("/b/ops/memories/new", {"text": "Typed all the same.", "category": "facts"})
    assert kept.status_code == 503
    assert "Typed all the same." in kept.content.decode()
    said = words(admin.get(PAGE))
    assert "Data folder Not well The folder is not there." in said
    assert "All is well" not in said


def test_a_data_folder_that_cannot_be_written_to_is_told_before_somebody_types(
    ops: World, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("banks.store.disk.os.access", lambda *_: False)
    answer = browser("editor").get("/b/ops/memories")
    assert "may not write there, or the disk is read-only." in words(answer)
    assert "/b/ops/memories/new" not in answer.content.decode()


@pytest.mark.parametrize(("number", "things"), [(1, "1 thing"), (2, "2 things")])
def test_what_is_only_worth_a_look_is_not_called_all_well(
    ops: World, admin: Client, monkeypatch: pytest.MonkeyPatch, number: int, things: str
) -> None:
    advice = [
        doctor.Check(name, ok=False, required=False, detail="Look.")
        for name in ("rules", "index size")[:number]
    ]
    monkeypatch.setattr(wiring, "glance", lambda: wiring.Diagnosis(advice, ok=True))
    said = words(admin.get(PAGE))
    assert f"Nothing is wrong; {things} worth a look." in said
    assert "All is well" not in said


@pytest.mark.parametrize(("banks_over", "said"), [(1, "1 bank has"), (2, "2 banks have")])
def test_rules_that_are_cut_for_agents_show_at_once(
    ops: World, admin: Client, banks_over: int, said: str
) -> None:
    for name in ("kilns", "ops")[:banks_over]:
        bank, _ = banks.create(ops.admin, name)
        rules.set_rule(ops.admin, bank, "style", "Close valve 3 first.\n" * 400)
    told = words(admin.get(PAGE))
    assert f"Worth a look {said} more rules than agents are given." in told
    assert "give them more “Room for rules in characters”" in told
    assert "All is well" not in told


def test_what_cannot_be_set_up_yet_asks_nobody_to_do_it(ops: World, admin: Client) -> None:
    said = words(run_all(admin))
    assert "Model for learning Not set up" in said
    assert "Model for meaning Not set up" in said
    assert "All is well" in said
    assert "Name a model" not in said


def test_a_model_that_was_set_up_and_cannot_be_reached_is_worth_a_look(
    ops: World, admin: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MODEL_BASE_URL = "http://127.0.0.1:9/v1"
    silent = doctor.Check("model", ok=False, required=False, detail="It does not answer.")
    monkeypatch.setattr(wiring, "glance", lambda: wiring.Diagnosis([silent], ok=True))
    assert "Model for learning Worth a look It does not answer." in words(admin.get(PAGE))
