"""One memory: shown, edited, pinned, deleted, restored; and an edit that met another."""

import re
from itertools import pairwise
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
from tests.console.conftest import Browser, merge_of, words

HOSTILE = '<img src=x onerror=alert(1)></textarea><b hx-get="/audit" hx-trigger="load">{{ 7 }}</b>'


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


def part(target: str, seen: str = "") -> dict[str, str]:
    """The headers with which a script asks for one part of a page."""
    address = {"HX-Current-URL": f"http://testserver{seen}"} if seen else {}
    return {"HX-Request": "true", "HX-Target": target} | address


def page(memory: Memory, act: str = "") -> str:
    return f"/m/ops/{memory.id}{act}"


# --- shown ------------------------------------------------------------------------------------


def test_a_memory_shows_its_text_and_where_it_lies(leak: Memory, editor: Client) -> None:
    said = words(editor.get(page(leak)))
    for part in (leak.text, leak.id, "semantic_memory/", "stated", "Only one revision so far"):
        assert part in said


@pytest.mark.parametrize("act", ["", "/edit", "/compare"])
def test_the_tab_names_the_memory_and_holds_nothing_of_it(
    leak: Memory, editor: Client, act: str
) -> None:
    # A browser keeps the titles of pages in its history.
    title = re.search("<title>(.*?)</title>", editor.get(page(leak, act)).content.decode())
    assert title
    assert title[1].endswith(f"{leak.id} · ops · Memory Console")
    assert "Pump" not in title[1]


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


def test_a_page_is_headed_by_what_the_memory_says_and_its_tab_by_its_id(
    leak: Memory, editor: Client
) -> None:
    answer = editor.get(page(leak)).content.decode()
    assert re.search(r"<h1[^>]*>Pump 1 leaks at the seal\. ", answer)
    assert re.search(rf"<title>\s*{leak.id} · ops", answer)
    crumb = f'<a href="{page(leak)}" dir="auto">Pump 1 leaks at the seal.</a>'
    assert crumb in editor.get(f"{page(leak)}/edit").content.decode()


def test_a_change_by_hand_is_told_once_and_changes_only_what_it_changed(
    ops: World, leak: Memory, editor: Client, settings: Settings
) -> None:
    edit_by_hand(leak, settings, "Pump 1 leaks at the gasket.")
    sync.reload(ops.bank)
    answer = editor.get(page(leak))
    said = words(answer)
    assert "r2 changed by hand in the file current" in said
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


def test_a_long_history_is_shown_in_parts_of_twenty(
    ops: World, leak: Memory, editor: Client
) -> None:
    for number in range(22):
        entries.pin(ops.editor, ops.bank, leak.id, pinned=number % 2 == 0)
    answer = editor.get(page(leak))
    assert [step.number for step in answer.context["told"].steps] == [*range(23, 3, -1)]
    assert "Show 3 older" in words(answer)
    assert "?shown=40#history" in answer.content.decode()
    whole = editor.get(page(leak) + "?shown=40")
    assert len(whole.context["told"].steps) == 23
    assert "older" not in words(whole)
    rest = editor.get(page(leak) + "?shown=40", headers=part("older"))
    assert [step.number for step in rest.context["told"].steps] == [3, 2, 1]
    assert "<h1" not in rest.content.decode()


@pytest.mark.parametrize("shown", ["-1", "x", "\u0663", "9" * 30, ""])
def test_any_number_of_revisions_may_be_asked_for(leak: Memory, editor: Client, shown: str) -> None:
    assert editor.get(page(leak), {"shown": shown}).status_code == 200


def test_a_drawer_holds_the_memory_and_nothing_of_the_frame(
    ops: World, leak: Memory, editor: Client
) -> None:
    listed = "/b/ops/memories?tag=pumps&sel=other"
    answer = editor.get(page(leak), headers=part("drawer", listed))
    body = answer.content.decode()
    assert body.startswith(f'\n<aside id="drawer" class="drawer card" data-id="{leak.id}"')
    assert 'href="/b/ops/memories?tag=pumps" data-escape' in body
    assert leak.text in words(answer)
    assert "<h1" not in body


def test_a_reader_sees_no_control(ops: World, leak: Memory, browser: Browser) -> None:
    entries.update(ops.owner, ops.bank, leak.id, Patch(text="Pump 1 leaks at the flange."))
    for headers in ({}, part("drawer")):
        body = browser("viewer").get(page(leak), headers=headers).content.decode()
        assert 'method="post" action="/m/' not in body
        assert "/edit" not in body


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
    assert editor.post(page(leak, "/edit"), dict(clash.context["mine"])).status_code == 303
    assert (now(ops, leak).text, now(ops, leak).tags) == ("Pump 1 leaks at the inlet.", ["leaks"])


def test_the_merge_holds_both_edits(ops: World, leak: Memory, editor: Client) -> None:
    entries.update(
        ops.owner, ops.bank, leak.id, Patch(text="Pump 2 leaks at the seal.", tags=("leaks",))
    )
    mine = typed(leak, text="Pump 1 leaks at the inlet.", tags="pumps, inlets")
    clash = editor.post(page(leak, "/edit"), mine)
    assert "Both edits went together" in words(clash)
    form = clash.context["form"]
    merged = {name: form[name].value() for name in mine}
    assert merged["text"] == "Pump 2 leaks at the inlet."
    assert merged["tags"] == "leaks, inlets"
    assert editor.post(page(leak, "/edit"), merged).status_code == 303
    assert now(ops, leak).tags == ["leaks", "inlets"]


def test_what_both_changed_is_marked_in_the_merge(ops: World, leak: Memory, editor: Client) -> None:
    entries.update(ops.owner, ops.bank, leak.id, Patch(text="Pump 1 leaks at the flange."))
    clash = editor.post(page(leak, "/edit"), typed(leak, text="Pump 1 leaks at the inlet."))
    assert "In 1 place both of you changed the same words." in words(clash)
    assert "at the [yours: inlet] [theirs: flange]." in words(clash)


@pytest.mark.parametrize("seen", ["", "/b/ops/memories"])
def test_a_merge_with_its_marks_is_not_saved(
    ops: World, leak: Memory, editor: Client, seen: str
) -> None:
    headers = part(f"m-{leak.id}", seen) if seen else {}
    entries.update(ops.owner, ops.bank, leak.id, Patch(text="Pump 1 leaks at the flange."))
    sent = typed(leak, text="Pump 1 leaks at the inlet.")
    answer = editor.post(page(leak, "/edit"), sent, headers=headers)
    for text in (None, "Pump 1 leaks at the inlet [theirs: flange].", "[yours: inlet, really] it"):
        merge = merge_of(answer)
        merge["text"] = text or merge["text"]
        answer = editor.post(page(leak, "/edit"), merge, headers=headers)
        assert answer.status_code == 422
        assert "Choose in 1 place first" in words(answer)
        assert merge_of(answer)["text"] == merge["text"]
        assert "<del>seal</del><ins>flange</ins>" in answer.content.decode()
        assert "<del>seal</del><ins>inlet</ins>" in answer.content.decode()
        assert ("<h1" in answer.content.decode()) == (not seen)
        assert now(ops, leak).text == "Pump 1 leaks at the flange."
    decided = merge_of(answer) | {"text": "Pump 1 leaks at both."}
    assert editor.post(page(leak, "/edit"), decided, headers=headers).status_code == 303
    assert now(ops, leak).text == "Pump 1 leaks at both."


def test_words_that_look_like_marks_can_be_saved(ops: World, editor: Client) -> None:
    memory = save(ops, "A merge shows [yours: x] [theirs: y]. Pump 1 leaks at the seal.").memory
    theirs = memory.text.replace("seal", "flange")
    entries.update(ops.owner, ops.bank, memory.id, Patch(text=theirs))
    mine = memory.text.replace("seal", "inlet")
    answer = editor.post(page(memory, "/edit"), typed(memory, text=mine))
    again = editor.post(page(memory, "/edit"), merge_of(answer))
    assert again.status_code == 422
    decided = merge_of(again) | {"text": mine}
    assert editor.post(page(memory, "/edit"), decided).status_code == 303
    assert now(ops, memory).text == mine


def test_an_edit_in_the_list_goes_on_there(ops: World, leak: Memory, editor: Client) -> None:
    listed, row = "/b/ops/memories?tag=pumps", f"m-{leak.id}"
    headers = part(row, listed)
    form = editor.get(page(leak, "/edit"), headers=headers).content.decode()
    assert f'<li class="row is-editing" id="{row}">' in form
    assert f'name="next" value="{listed}"' in form.replace("&amp;", "&")
    assert "<h1" not in form
    sent = typed(leak, text="Pump 1 leaks at the flange.", next=listed)
    answer = editor.post(page(leak, "/edit"), sent, headers=headers)
    assert (answer.status_code, answer["Location"]) == (303, listed)
    clash = editor.post(page(leak, "/edit"), sent | {"text": "It hums."}, headers=headers)
    assert clash.status_code == 409
    assert f'id="{row}"' in clash.content.decode()
    refused = editor.post(
        page(leak, "/edit"),
        typed(now(ops, leak), text="a pump " * 400, next=listed),
        headers=headers,
    )
    assert refused.status_code == 422
    assert 'aria-describedby="e-' in refused.content.decode()


def test_a_hand_edit_of_the_file_is_met_too(
    ops: World, leak: Memory, editor: Client, settings: Settings
) -> None:
    file = settings.DATA_DIR / "ops" / leak.path
    file.write_text(file.read_text().replace("the seal.\n", "the gasket.\n"))
    answer = editor.post(page(leak, "/edit"), typed(leak, text="Pump 1 leaks at the inlet."))
    assert answer.status_code == 409
    assert "<del>seal</del><ins>gasket</ins>" in answer.content.decode()
    assert (
        "The memory was changed by hand in the file just now, while you were editing it."
        in words(answer)
    )


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
    undo = re.search(r'action="(/b/ops/undo/[^"]*)"', answer.content.decode())
    assert undo is not None
    editor.post(undo[1], {"next": listed})
    assert now(ops, leak).invalid_at is None


def test_a_change_that_changes_nothing_offers_no_undo(
    ops: World, leak: Memory, editor: Client
) -> None:
    sent = {"pinned": "0", "version": leak.version}
    answers = [
        editor.post(page(leak, "/pin"), sent, follow=True),
        editor.post(page(leak, "/edit"), typed(leak), follow=True),
    ]
    for answer in answers:
        assert "/undo/" not in answer.content.decode()
    assert "Nothing was changed." in words(answers[1])


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
    for answer in (old, new):
        line = words(answer).partition("Lineage")[2]
        assert line.index(leak.id) < line.index("Replaced by editor") < line.index(successor.id)


def test_the_lineage_goes_back_and_on_and_ends_in_a_circle(
    ops: World, leak: Memory, editor: Client
) -> None:
    later = [save(ops, f"Pump 1 has seal {number}.").memory for number in range(3)]
    line = [leak, *later]
    for old, new in pairwise(line):
        entries.supersede(ops.editor, ops.bank, old.id, new.id, reason=f"{new.id} is newer")
    told = editor.get(page(later[1])).context["told"]
    assert [link.id for link in told.lineage] == [each.id for each in line]
    assert told.lineage[0].replaced.reason == f"{later[0].id} is newer"
    byhand.write(
        FACTS, block("m1", "One", "superseded_by: m2") + block("m2", "Two", "superseded_by: m1")
    )
    sync.reload(ops.bank)
    assert editor.get("/m/ops/m1").status_code == 200


def test_a_pointer_to_what_is_not_there_is_no_link(ops: World, editor: Client) -> None:
    byhand.write(FACTS, block("m1", "Pump 1 runs", "supersedes: m9"))
    sync.reload(ops.bank)
    answer = editor.get("/m/ops/m1")
    assert "m9 not in this bank" in words(answer)
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


# --- two revisions ------------------------------------------------------------------------------


@pytest.fixture
def often(ops: World, leak: Memory) -> Memory:
    """A memory with four revisions."""
    entries.update(ops.owner, ops.bank, leak.id, Patch(text="Pump 1 leaks at the flange."))
    entries.pin(ops.editor, ops.bank, leak.id, pinned=True)
    entries.update(ops.editor, ops.bank, leak.id, Patch(text="Pump 1 is dry.", tags=("dry",)))
    return now(ops, leak)


@pytest.mark.parametrize("query", ["from=r1&to=r4", "from=r4&to=r1"])
def test_any_two_revisions_are_compared_and_named(
    often: Memory, editor: Client, query: str
) -> None:
    answer = editor.get(page(often, f"/compare?{query}"))
    said = words(answer)
    assert "r1 created by editor" in said
    assert "r4 updated by editor" in said
    assert "Tags: pumps dry" in said
    assert "Pinned: no yes" in said
    assert "<del>" in answer.content.decode()
    alone = editor.get(page(often, f"/compare?{query}"), headers=part("compare"))
    assert alone.content.decode().strip().startswith('<div id="compare"')


def test_without_names_the_newest_two_are_compared(often: Memory, editor: Client) -> None:
    assert "Compare r3 with r4" in words(editor.get(page(often, "/compare")))
    assert "choose two" in words(editor.get(page(often, "/compare?from=r2&to=r2")))


def test_a_pin_or_a_sighting_is_not_what_is_compared_unasked(
    ops: World, often: Memory, editor: Client
) -> None:
    entries.pin(ops.editor, ops.bank, often.id, pinned=False)
    save(ops, often.text)
    assert "Compare r3 with r4" in words(editor.get(page(often, "/compare")))
    picked = re.findall(
        r'id="((?:from|to)-r\d)"[^>]* checked', str(editor.get(page(often)).content)
    )
    assert sorted(picked) == ["from-r3", "to-r4"]


@pytest.mark.parametrize("name", ["r0", "r5", "4", "r1 ", "r" + "9" * 40, "<b>"])
def test_an_unknown_revision_is_not_found(often: Memory, editor: Client, name: str) -> None:
    assert editor.get(page(often, "/compare"), {"from": name}).status_code == 404


def test_only_what_says_something_else_can_be_restored(
    ops: World, often: Memory, editor: Client
) -> None:
    entries.pin(ops.editor, ops.bank, often.id, pinned=False)
    said = words(editor.get(page(often)))
    assert [f"Restore r{number}" in said for number in range(1, 6)] == [True] * 3 + [False] * 2


def test_an_old_revision_comes_back_as_a_new_one(
    ops: World, leak: Memory, often: Memory, editor: Client
) -> None:
    sent = {"version": often.version, "to": leak.version}
    answer = editor.post(page(often, "/revert"), sent, follow=True)
    said = words(answer)
    assert "Restored r1: it is r5 now" in said
    assert "r5 reverted by editor" in said
    assert "as in r1" in said
    assert "/undo/" in answer.content.decode()
    after = now(ops, often)
    assert (after.text, after.tags, after.pinned) == (leak.text, ["pumps"], True)


@pytest.mark.parametrize("wanted", ["", "0123456789abcdef"])
def test_a_revision_that_is_not_there_changes_nothing(
    ops: World, often: Memory, editor: Client, wanted: str
) -> None:
    sent = {"version": often.version, "to": wanted}
    assert "history" in words(editor.post(page(often, "/revert"), sent, follow=True))
    assert now(ops, often) == often


def test_a_text_that_looks_like_markup_stays_text_everywhere(ops: World, editor: Client) -> None:
    memory = save(ops, f"{HOSTILE} one").memory
    entries.update(ops.editor, ops.bank, memory.id, Patch(text="nothing of it"))
    entries.update(ops.editor, ops.bank, memory.id, Patch(text=f"{HOSTILE} two"))
    successor = save(ops, f"{HOSTILE} three").memory
    entries.supersede(ops.editor, ops.bank, memory.id, successor.id, reason=HOSTILE)
    stale = typed(successor, text=f"{HOSTILE} four") | {"base": "0123456789abcdef"}
    answers = [
        editor.get(page(memory)),
        editor.get(page(memory), headers=part("drawer")),
        editor.get(page(memory, "/compare?from=r1&to=r2")),
        editor.get(page(memory, "/compare?from=r2&to=r3")),
        editor.get(page(successor, "/edit")),
        editor.post(page(successor, "/edit"), stale),
    ]
    for answer in answers:
        body = answer.content.decode()
        assert "<img src=x" not in body
        assert "<b hx-get" not in body
        assert "&lt;img src=x" in body


def test_the_page_of_a_memory_names_similar_ones(
    ops: World, leak: Memory, browser: Browser
) -> None:
    other = save(ops, "Pump 2 leaks at the seal.").memory
    save(ops, "The kiln is fired on Fridays.")
    said = words(browser("viewer").get(page(leak)))
    assert "Similar memories Pump 2 leaks at the seal. 71 % same words" in said
    entries.delete(ops.editor, ops.bank, other.id)
    assert "Similar memories" not in words(browser("viewer").get(page(leak)))
