"""One memory: shown, edited, pinned, deleted, restored; and an edit that met another."""

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from banks import queries, sync
from banks.queries import Memory
from banks.services import entries
from banks.services.drafts import Patch
from tests import byhand
from tests.builders import World, save
from tests.byhand import FACTS, block
from tests.console.conftest import Browser, words


@pytest.fixture
def leak(ops: World) -> Memory:
    return save(ops, "Pump 1 leaks at the seal.", tags=("pumps",)).memory


@pytest.fixture
def editor(browser: Browser) -> Client:
    return browser("editor")


def now(ops: World, memory: Memory) -> Memory:
    return queries.memory(ops.bank, memory.id)


def typed(memory: Memory, **changed: str) -> dict[str, str]:
    """The edit form as a browser sends it."""
    fields = {
        "text": memory.text.replace("\n", "\r\n"),
        "title": memory.title or "",
        "summary": memory.summary,
        "tags": ", ".join(memory.tags),
        "entities": ", ".join(memory.entities),
        "trust": memory.trust,
        "base": memory.version,
    }
    return fields | changed


def page(memory: Memory, act: str = "") -> str:
    return f"/m/ops/{memory.id}{act}"


# --- shown ------------------------------------------------------------------------------------


def test_a_memory_shows_its_text_and_where_it_lies(leak: Memory, editor: Client) -> None:
    said = words(editor.get(page(leak)))
    for part in (leak.text, leak.id, "semantic_memory/", "stated", "Only one revision so far"):
        assert part in said


def test_the_history_tells_what_each_revision_changed(
    ops: World, leak: Memory, editor: Client
) -> None:
    entries.update(ops.owner, ops.bank, leak.id, Patch(text="Pump 1 leaks at the flange."))
    entries.pin(ops.editor, ops.bank, leak.id, pinned=True)
    answer = editor.get(page(leak))
    steps = answer.context["told"].steps
    assert [step.revision.act for step in steps] == ["pinned", "updated", "created"]
    assert "<del>seal</del><ins>flange</ins>" in answer.content.decode()
    assert "updated by owner" in words(answer)


def edit_by_hand(leak: Memory, settings: Settings, text: str) -> None:
    """Change the text in the file, not the summary above it."""
    file = settings.DATA_DIR / "ops" / leak.path
    file.write_text(file.read_text().replace(f"\n\n{leak.text}\n", f"\n\n{text}\n"))


def test_a_change_by_hand_is_told_once_and_changes_only_what_it_changed(
    ops: World, leak: Memory, editor: Client, settings: Settings
) -> None:
    edit_by_hand(leak, settings, "Pump 1 leaks at the gasket.")
    sync.reload(ops.bank)
    answer = editor.get(page(leak))
    said = words(answer)
    assert "r0 , changed by hand in the file current" in said
    assert "disk" not in said
    assert answer.context["told"].steps[0].changes == []
    assert now(ops, leak).summary == leak.summary


def test_a_summary_that_somebody_wrote_is_a_change(
    ops: World, leak: Memory, editor: Client
) -> None:
    entries.update(ops.owner, ops.bank, leak.id, Patch(summary="Where pump 1 leaks"))
    said = words(editor.get(page(leak)))
    assert "Summary: Pump 1 leaks at the seal. Where pump 1 leaks" in said


def test_what_a_memory_is_about_has_one_name(ops: World, editor: Client) -> None:
    memory = save(ops, "Pump 1 leaks.", entities=("pump 1",)).memory
    entries.update(ops.owner, ops.bank, memory.id, Patch(entities=("pump 2",)))
    assert "About: pump 1 pump 2" in words(editor.get(page(memory)))
    for address in (page(memory), page(memory, "/edit"), "/b/ops/memories/new"):
        said = words(editor.get(address))
        assert "About" in said
        assert "Entities" not in said


def test_a_long_history_shows_its_newest_part_first(
    ops: World, leak: Memory, editor: Client
) -> None:
    for number in range(22):
        entries.pin(ops.editor, ops.bank, leak.id, pinned=number % 2 == 0)
    answer = editor.get(page(leak))
    assert len(answer.context["told"].steps) == 20
    assert "Show 3 older" in words(answer)
    assert len(editor.get(page(leak) + "?history=all").context["told"].steps) == 23


def test_an_unknown_memory_is_not_found(leak: Memory, editor: Client) -> None:
    assert editor.get("/m/ops/mem_2026-01-01_ffffff").status_code == 404


def test_a_memory_that_vanished_from_the_files_can_be_restored(
    ops: World, leak: Memory, editor: Client, settings: Settings
) -> None:
    entries.pin(ops.editor, ops.bank, leak.id, pinned=True)
    entry = ops.bank.entries.get(entry_id=leak.id)
    file: Path = settings.DATA_DIR / "ops" / entry.file.path
    entry.delete()
    file.write_text("")
    answer = editor.get(page(leak))
    assert "no longer in the files" in words(answer)
    assert leak.text in words(answer)


# --- changed ----------------------------------------------------------------------------------


def test_an_edit_is_in_the_file_and_only_where_something_was_typed(
    ops: World, leak: Memory, editor: Client, settings: Settings
) -> None:
    answer = editor.post(page(leak, "/edit"), typed(leak, text="Pump 1 leaks at the flange."))
    assert (answer.status_code, answer["Location"]) == (303, page(leak))
    after = now(ops, leak)
    assert (after.text, after.tags, after.revision) == ("Pump 1 leaks at the flange.", ["pumps"], 1)
    assert after.summary == "Pump 1 leaks at the flange."
    assert after.text in (settings.DATA_DIR / "ops" / after.path).read_text()


def test_an_edit_of_nothing_changes_nothing(ops: World, leak: Memory, editor: Client) -> None:
    assert editor.post(page(leak, "/edit"), typed(leak)).status_code == 303
    assert now(ops, leak) == leak


def test_a_text_longer_than_allowed_stays_while_its_tags_are_edited(
    ops: World, editor: Client, leak: Memory, settings: Settings
) -> None:
    file = settings.DATA_DIR / "ops" / leak.path
    file.write_text(file.read_text().replace(leak.text, "a valve " * 300))
    sync.look(ops.bank, force=True)
    long = now(ops, leak)
    assert len(long.text) > 2_000
    assert editor.post(page(leak, "/edit"), typed(long, tags="valves")).status_code == 303
    assert now(ops, leak).tags == ["valves"]
    assert editor.post(page(leak, "/edit"), typed(now(ops, leak), text="a pump " * 400)
                       ).status_code == 422  # fmt: skip


def test_the_text_of_an_episode_stays_and_what_was_typed_is_kept(
    ops: World, editor: Client
) -> None:
    event = save(ops, "Pump 1 was replaced today.", category="events").memory
    answer = editor.post(page(event, "/edit"), typed(event, text="Pump 2 was replaced today."))
    assert answer.status_code == 409
    assert "Pump 2 was replaced today.</textarea>" in answer.content.decode()
    assert now(ops, event) == event


def test_a_text_that_another_memory_has_is_refused_with_its_id(
    ops: World, leak: Memory, editor: Client
) -> None:
    other = save(ops, "Pump 2 leaks at the seal.").memory
    answer = editor.post(page(leak, "/edit"), typed(leak, text=other.text))
    assert answer.status_code == 409
    assert other.id in words(answer)


def test_two_edits_meet_and_nothing_typed_is_lost(ops: World, leak: Memory, editor: Client) -> None:
    entries.update(
        ops.owner, ops.bank, leak.id, Patch(text="Pump 1 leaks at the flange.", tags=("leaks",))
    )
    answer = editor.post(page(leak, "/edit"), typed(leak, text="Pump 1 leaks at the inlet."))
    assert answer.status_code == 409
    said = words(answer)
    assert "updated by owner" in said
    assert "Pump 1 leaks at the seal." in said
    assert "<del>seal</del><ins>flange</ins>" in answer.content.decode()
    assert "Pump 1 leaks at the inlet.</textarea>" in answer.content.decode()
    assert now(ops, leak).text == "Pump 1 leaks at the flange."


def test_mine_on_top_keeps_what_the_other_changed_elsewhere(
    ops: World, leak: Memory, editor: Client
) -> None:
    entries.update(
        ops.owner, ops.bank, leak.id, Patch(text="Pump 1 leaks at the flange.", tags=("leaks",))
    )
    clash = editor.post(page(leak, "/edit"), typed(leak, text="Pump 1 leaks at the inlet."))
    again = {name: clash.context["form"][name].value() for name in typed(leak)}
    assert editor.post(page(leak, "/edit"), again).status_code == 303
    assert (now(ops, leak).text, now(ops, leak).tags) == ("Pump 1 leaks at the inlet.", ["leaks"])


def test_a_hand_edit_of_the_file_is_met_too(
    ops: World, leak: Memory, editor: Client, settings: Settings
) -> None:
    file = settings.DATA_DIR / "ops" / leak.path
    file.write_text(file.read_text().replace("the seal.\n", "the gasket.\n"))
    answer = editor.post(page(leak, "/edit"), typed(leak, text="Pump 1 leaks at the inlet."))
    assert answer.status_code == 409
    assert "<del>seal</del><ins>gasket</ins>" in answer.content.decode()
    assert "The memory was changed by hand in the file just now." in words(answer)


def test_two_clicks_on_save_of_an_edit_are_no_clash(
    ops: World, leak: Memory, editor: Client
) -> None:
    sent = typed(leak, text="Pump 1 leaks at the flange.", tags="leaks")
    for _ in range(2):
        assert editor.post(page(leak, "/edit"), sent)["Location"] == page(leak)
    assert now(ops, leak).revision == 1


def test_an_old_form_in_which_nothing_was_typed_is_shown_what_is_new(
    ops: World, leak: Memory, editor: Client
) -> None:
    entries.update(ops.owner, ops.bank, leak.id, Patch(text="Pump 1 leaks at the flange."))
    assert editor.post(page(leak, "/edit"), typed(leak)).status_code == 409


def test_an_edit_of_another_memory_in_the_same_file_is_no_conflict(
    ops: World, leak: Memory, editor: Client
) -> None:
    save(ops, "Pump 2 leaks at the seal.")
    assert editor.post(page(leak, "/edit"), typed(leak, tags="leaks")).status_code == 303


# --- pinned, deleted, restored ------------------------------------------------------------------


def test_pin_and_unpin(ops: World, leak: Memory, editor: Client) -> None:
    for pinned in (True, False):
        sent = {"pinned": "01"[pinned], "version": now(ops, leak).version}
        assert editor.post(page(leak, "/pin"), sent)["Location"] == page(leak)
        assert now(ops, leak).pinned is pinned


def test_delete_retires_and_the_message_can_undo_it(
    ops: World, leak: Memory, editor: Client
) -> None:
    listed = "/b/ops/memories?tag=pumps"
    sent = {"version": leak.version, "next": listed}
    answer = editor.post(page(leak, "/delete"), sent, follow=True)
    assert answer.redirect_chain == [(f"{listed}#m-{leak.id}", 303)]
    assert now(ops, leak).invalid_at is not None
    undo = {"version": now(ops, leak).version, "next": listed}
    body = answer.content.decode()
    assert f'action="{page(leak, "/restore")}"' in body
    assert f'name="version" value="{undo["version"]}"' in body
    editor.post(page(leak, "/restore"), undo)
    assert now(ops, leak).invalid_at is None


def test_a_deleted_memory_keeps_its_page_and_can_be_restored(
    ops: World, leak: Memory, editor: Client
) -> None:
    entries.delete(ops.editor, ops.bank, leak.id)
    answer = editor.get(page(leak))
    assert "Agents do not see it." in words(answer)
    assert page(leak, "/pin") not in answer.content.decode()
    assert page(leak, "/restore") in answer.content.decode()


@pytest.mark.parametrize("act", ["/pin", "/delete"])
@pytest.mark.parametrize("version", ["0123456789abcdef", None])
def test_a_page_that_is_out_of_date_changes_nothing(
    ops: World, leak: Memory, editor: Client, act: str, version: str | None
) -> None:
    sent = {"pinned": "1"} | ({"version": version} if version else {})
    answer = editor.post(page(leak, act), sent, follow=True)
    assert "It has changed since you read it" in words(answer)
    assert now(ops, leak) == leak


def test_a_replaced_memory_names_its_successor(ops: World, leak: Memory, editor: Client) -> None:
    successor = save(ops, "Pump 1 has a new seal.").memory
    entries.supersede(ops.editor, ops.bank, leak.id, successor.id)
    old, new = editor.get(page(leak)), editor.get(page(successor))
    assert f'<a href="{page(successor)}" dir="auto">{successor.text}</a>' in old.content.decode()
    assert f'<a href="{page(leak)}" dir="auto">{leak.text}</a>' in new.content.decode()
    assert f"by “ {successor.text} ”. Agents see that one instead." in words(old)
    assert f"Replaces {leak.text} {leak.id}" in words(new)


def test_a_pointer_to_what_is_not_there_is_no_link(ops: World, editor: Client) -> None:
    byhand.write(FACTS, block("m1", "Pump 1 runs", "supersedes: m9"))
    sync.reload(ops.bank)
    answer = editor.get("/m/ops/m1")
    assert "Replaces m9 not in this bank" in words(answer)
    assert "/m/ops/m9" not in answer.content.decode()


@pytest.mark.parametrize("dead", [False, True])
def test_a_restored_memory_whose_successor_is_live_says_so(
    ops: World, leak: Memory, editor: Client, *, dead: bool
) -> None:
    successor = save(ops, "Pump 1 has a new seal.").memory
    entries.supersede(ops.editor, ops.bank, leak.id, successor.id)
    if dead:
        entries.delete(ops.editor, ops.bank, successor.id)
    sent = {"version": now(ops, leak).version}
    answer = editor.post(page(leak, "/restore"), sent, follow=True)
    said = words(answer)
    assert "Restored. Agents see it again." in said
    assert (f"Its successor {successor.id} is live too" in said) == (not dead)
    assert (f'href="{page(successor)}">Open it' in answer.content.decode()) == (not dead)
