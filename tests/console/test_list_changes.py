"""What a change does to the list around it: rows stay, places and counts agree, and a form leads
back to where it was."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from banks import seams, sync
from banks.queries import Memory
from banks.services import entries
from banks.services.drafts import Patch
from tests import byhand
from tests.builders import World, save
from tests.console.conftest import Browser, words

LIST = "/b/ops/memories"


@pytest.fixture
def five(ops: World, monkeypatch: pytest.MonkeyPatch) -> list[Memory]:
    """Five memories of one moment, as the list has them, and pages of two."""
    monkeypatch.setattr("memoryconsole.console.listing.PAGE", 2)
    moment = seams.now() - timedelta(hours=2)
    with seams.replaced(now=lambda: moment):
        made = [save(ops, f"Pump {n} runs.", tags=("pumps",)).memory for n in range(5)]
    return sorted(made, key=lambda each: each.id, reverse=True)


def script(target: str, seen: str = LIST, rows: int = 0) -> dict[str, str]:
    """The headers of a script for this part, at an address, with so many rows on its page."""
    here = f"http://testserver{seen}"
    told = {"HX-Request": "true", "HX-Target": target, "HX-Current-URL": here}
    return told | ({"HX-Rows": str(rows)} if rows else {})


def ids(answer: Any) -> list[str]:
    """The rows, in their order."""
    return re.findall(r'<li class="row[^"]*" id="m-([^"]*)"', answer.content.decode())


def act(client: Client, memory: Memory, verb: str, headers: dict[str, str], **typed: str) -> Any:
    """Press a button of this memory, and go on where it leads."""
    data = {"version": memory.version, "next": LIST} | typed
    address = f"/m/ops/{memory.id}/{verb}"
    return client.post(address, data, headers=headers, follow=True)


def undo_of(answer: Any) -> str:
    found = re.search(r'action="(/b/ops/undo/\w+)"', answer.content.decode())
    assert found
    return found[1]


# --- places --------------------------------------------------------------------------------------


def test_memories_of_one_moment_have_their_own_places(five: list[Memory], browser: Browser) -> None:
    client = browser("viewer")
    first = client.get(LIST).context["list"]
    assert (first.first, first.extent) == (1, "Showing 2 of 5")
    second = client.get(LIST + first.next_query).context["list"]
    assert (second.first, second.extent) == (3, "3 to 4 of 5")
    assert second.headline == "3 to 4 of 5 memories, newest first"
    third = client.get(LIST + second.next_query).context["list"]
    assert (third.first, third.extent) == (5, "5 to 5 of 5")


def test_rows_below_a_later_page_count_from_its_first_one(
    five: list[Memory], browser: Browser
) -> None:
    client = browser("viewer")
    second = client.get(LIST).context["list"].next_query
    third = client.get(LIST + second).context["list"].next_query
    more = client.get(LIST + third, headers=script("more", LIST + second, rows=2))
    assert "3 to 5 of 5" in words(more)
    assert "Back to the newest" in words(more)
    assert 'id="count" hx-swap-oob="true">3 to 5 of 5 memories' in more.content.decode()


def test_a_row_that_was_loaded_later_opens_beside_the_page_that_it_came_to(
    five: list[Memory], browser: Browser
) -> None:
    client = browser("viewer")
    following = client.get(f"{LIST}?tag=pumps").context["list"].next_query
    more = client.get(LIST + following, headers=script("more", f"{LIST}?tag=pumps", rows=2))
    assert f'hx-push-url="?tag=pumps&amp;sel={five[2].id}"' in more.content.decode()


# --- rows stay -----------------------------------------------------------------------------------


def test_an_undo_leaves_the_rows_that_were_loaded_later_and_can_be_undone(
    ops: World, five: list[Memory], browser: Browser
) -> None:
    client = browser("editor")
    gone = act(client, five[3], "delete", script(f"m-{five[3].id}", rows=5))
    headers = script("page", rows=4)
    undone = client.post(undo_of(gone), {"next": "/banks"}, headers=headers, follow=True)
    assert ids(undone) == [each.id for each in five][:4]
    assert "Undone. Redo" in words(undone)
    assert 'data-focus="open-' + five[3].id in undone.content.decode()
    again = client.post(undo_of(undone), {"again": "1"}, headers=headers, follow=True)
    assert five[3].id not in ids(again)
    assert "Done again. Undo" in words(again)


def test_another_list_begins_with_one_page_and_no_list_grows_without_end(
    five: list[Memory], browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = browser("viewer")
    assert len(ids(client.get(f"{LIST}?tag=pumps", headers=script("found", rows=4)))) == 2
    assert len(ids(client.get(LIST, headers=script("found", rows=3)))) == 4
    monkeypatch.setattr("memoryconsole.console.listing.MOST", 3)
    assert len(ids(client.get(LIST, headers=script("found", rows=400)))) == 3
    assert len(ids(client.get(LIST, headers=script("found") | {"HX-Rows": "²"}))) == 2


def test_a_change_in_place_takes_away_what_an_older_one_said(
    browser: Browser, five: list[Memory]
) -> None:
    client, headers = browser("editor"), script("page", f"/m/ops/{five[0].id}")
    pinned = act(client, five[1], "pin", headers, pinned="1")
    assert '<div hx-swap-oob="innerHTML:#told"></div>' in pinned.content.decode()


def test_an_undo_that_a_later_change_overtook_says_so_and_leads_to_it(
    ops: World, browser: Browser, five: list[Memory]
) -> None:
    client = browser("editor")
    gone = act(client, five[0], "pin", {}, pinned="1")
    entries.update(ops.editor, ops.bank, five[0].id, Patch(text="Pump 0 stands."))
    late = client.post(undo_of(gone), {"next": LIST}, follow=True)
    assert "A later change is on top of it: undo that one first. Its changes" in words(late)
    assert f'href="/audit?bank=ops&amp;key={five[0].id}"' in late.content.decode()


def test_an_undo_in_the_log_leaves_the_deeds_that_were_loaded_later(
    five: list[Memory], browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryconsole.console.deeds.PAGE", 2)
    client = browser("editor")
    same = client.get("/audit", headers=script("page", "/audit", rows=4))
    assert same.content.decode().count('class="deed"') == 4
    other = client.get("/audit", headers=script("page", "/audit?who=ada", rows=4))
    assert other.content.decode().count('class="deed"') == 2


def test_what_came_back_beside_the_list_is_put_into_it_and_the_rest_stays(
    ops: World, five: list[Memory], browser: Browser
) -> None:
    headers = script("found", f"{LIST}?sel={five[0].id}", rows=2) | {"HX-Trigger": "found"}
    answer = browser("editor").get(LIST, headers=headers)
    assert ids(answer) == [each.id for each in five][:2]
    assert re.findall(r'hx-swap-oob="([^"]*)"', answer.content.decode()) == ["true", "true"]
    assert "5 memories, 0 pinned" in words(answer)


# --- counts --------------------------------------------------------------------------------------


def test_a_row_leaves_a_list_whose_filters_it_no_longer_passes_and_the_counts_agree(
    ops: World, five: list[Memory], browser: Browser
) -> None:
    for each in five[:3]:
        entries.pin(ops.editor, ops.bank, each.id, pinned=True)
    client, pinned = browser("editor"), f"{LIST}?is=pinned"
    now = client.get(pinned).context["list"].rows[0].memory
    headers = script(f"m-{now.id}", pinned, rows=2)
    answer = act(client, now, "pin", headers, pinned="0")
    page = answer.content.decode()
    assert ids(answer) == []
    assert 'id="count" hx-swap-oob="true">2 of 5 memories, newest first<' in page
    assert 'id="extent" hx-swap-oob="true">Showing 1 of 2<' in page
    assert "5 memories, 2 pinned" in words(answer)


def test_an_edited_row_leaves_the_list_of_a_tag_that_it_lost(
    five: list[Memory], browser: Browser
) -> None:
    edit = {"text": five[0].text, "tags": "valves", "trust": "medium", "base": five[0].version}
    headers = script(f"m-{five[0].id}", f"{LIST}?tag=pumps", rows=2)
    answer = act(browser("editor"), five[0], "edit", headers, summary=five[0].summary, **edit)
    assert (ids(answer), "4 of 5 memories" in words(answer)) == ([], True)


def test_a_row_that_leaves_a_later_page_leaves_the_right_places(
    five: list[Memory], browser: Browser
) -> None:
    client = browser("editor")
    second = LIST + client.get(LIST).context["list"].next_query
    answer = act(client, five[2], "delete", script(f"m-{five[2].id}", second, rows=3))
    assert "3 to 4 of 4 memories, newest first" in words(answer)
    assert 'id="extent" hx-swap-oob="true">3 to 4 of 4<' in answer.content.decode()


def test_a_row_that_leaves_the_matches_of_a_search_is_counted_off(
    five: list[Memory], browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryconsole.console.listing.PAGE", 50)
    client, found = browser("editor"), f"{LIST}?q=runs"
    answer = act(client, five[4], "delete", script(f"m-{five[4].id}", found, rows=5))
    assert 'id="count" hx-swap-oob="true">4 matches, best first<' in answer.content.decode()


def test_the_pinned_memories_of_a_bank_are_counted_once_for_a_page(
    five: list[Memory], browser: Browser
) -> None:
    client = browser("editor")
    with CaptureQueriesContext(connection) as asked:
        client.get(LIST)
    counts = [each["sql"] for each in asked if '"pinned"' in each["sql"] and "COUNT" in each["sql"]]
    assert len(counts) == 1


# --- what is no longer there ---------------------------------------------------------------------


def test_the_editor_of_a_deleted_memory_answers_with_the_row_as_it_is_now(
    ops: World, five: list[Memory], browser: Browser
) -> None:
    entries.delete(ops.maintainer, ops.bank, five[0].id)
    client, address = browser("editor"), f"/m/ops/{five[0].id}/edit"
    gone = client.get(address, headers=script(f"m-{five[0].id}", rows=2), follow=True)
    assert (ids(gone), "<form" in gone.content.decode()) == ([], False)
    assert "This memory was deleted, so it cannot be edited. Restore it first. Open it" in words(
        gone
    )
    seen = f"{LIST}?is=retired"
    dead = client.get(address, headers=script(f"m-{five[0].id}", seen, rows=2), follow=True)
    assert ids(dead) == [five[0].id]
    assert f'id="restore-{five[0].id}"' in dead.content.decode()
    whole = client.get(address, follow=True)
    assert whole.redirect_chain == [(f"/m/ops/{five[0].id}", 303)]
    assert "Restore it first." in words(whole)


def test_what_was_typed_into_the_editor_of_a_deleted_memory_stays(
    ops: World, five: list[Memory], browser: Browser
) -> None:
    entries.delete(ops.maintainer, ops.bank, five[0].id)
    edit = {"text": "Pump 9 hums.", "trust": "medium", "base": five[0].version}
    answer = act(browser("editor"), five[0], "edit", script(f"m-{five[0].id}"), **edit)
    assert answer.status_code == 409
    assert "Pump 9 hums." in answer.content.decode()
    assert "restore it first" in words(answer)


@pytest.mark.parametrize("forgotten", [False, True])
def test_an_edit_of_a_block_that_was_broken_by_hand_says_where_and_keeps_what_was_typed(
    ops: World, five: list[Memory], browser: Browser, *, forgotten: bool
) -> None:
    file = byhand.write(byhand.FACTS, b"")
    broken = byhand.block(five[0].id, "Pump 1 runs", "source: a: b")
    byhand.write(byhand.FACTS, broken)
    sync.reload(ops.bank, accept=forgotten)
    edit = {"text": "Pump 9 hums.", "trust": "medium", "base": five[0].version}
    answer = act(browser("editor"), five[0], "edit", script(f"m-{five[0].id}"), **edit)
    assert answer.status_code == 409
    assert f"in {byhand.FACTS} (line 5) was changed by hand and cannot be read" in words(answer)
    assert "Pump 9 hums." in answer.content.decode()
    assert file.read_text().startswith(broken)


# --- the way back --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "leads"),
    [
        (f"{LIST}?tag=pumps", f"{LIST}?tag=pumps#m-ID"),
        (f"{LIST}?tag=pumps#m-other", f"{LIST}?tag=pumps#m-ID"),
        ("/m/ops/ID?shown=40#history", "/m/ops/ID?shown=40"),
        ("//elsewhere.example/", "/m/ops/ID"),
    ],
)
def test_a_change_leads_back_to_its_page_at_its_memory(
    five: list[Memory], browser: Browser, wanted: str, leads: str
) -> None:
    key = five[0].id
    answer = act(browser("editor"), five[0], "pin", {}, pinned="1", next=wanted.replace("ID", key))
    assert answer.redirect_chain[0] == (leads.replace("ID", key), 303)


@pytest.mark.parametrize("target", ["found", "page", "drawer"])
def test_a_script_is_led_back_to_the_address_that_it_sees(
    five: list[Memory], browser: Browser, target: str
) -> None:
    seen = f"{LIST}?tag=pumps&sel={five[0].id}"
    answer = act(
        browser("editor"), five[0], "pin", script(target, f"{seen}#m-x"), pinned="1", next="/banks"
    )
    assert answer.redirect_chain[0][0] == f"{seen}#m-{five[0].id}"
    assert "Unpin" in words(answer)


def test_without_script_a_refused_change_of_many_shows_the_list_with_the_picks(
    ops: World, five: list[Memory], browser: Browser
) -> None:
    entries.delete(ops.maintainer, ops.bank, five[1].id)
    keys = [f"{each.id} {each.version}" for each in (five[0], five[1])]
    typed = {"do": "pin", "key": [*keys, "absent 0"], "next": f"{LIST}?tag=pumps"}
    answer = browser("editor").post(f"{LIST}/many", typed)
    page = answer.content.decode()
    assert (answer.status_code, "<html" in page) == (409, True)
    assert "Nothing was changed: 2 of the 3 could not be." in words(answer)
    assert (
        f'<a href="/m/ops/{five[1].id}" dir="auto">{five[1].summary}</a>”: It has changed' in page
    )
    assert "absent : There is no memory" in words(answer)
    assert re.findall(r'value="(\S+) [^"]*" checked', page) == [five[0].id]
    assert f'name="next" value="{LIST}?tag=pumps"' in page


def test_of_many_reasons_some_are_told_and_the_rest_is_counted(
    five: list[Memory], browser: Browser
) -> None:
    keys = [f"absent-{number} 0" for number in range(8)]
    answer = browser("editor").post(f"{LIST}/many", {"do": "pin", "key": keys})
    assert words(answer).count("There is no memory with that id") == 5
    assert "And 3 more." in words(answer)
