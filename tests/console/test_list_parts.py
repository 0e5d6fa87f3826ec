"""The parts of the list that a script asks for: what was found, rows, the pill, the drawer."""

import re
from functools import partial
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from banks import news, seams, sync
from banks.queries import Memory
from banks.services import entries
from banks.services.drafts import Draft
from tests import byhand
from tests.builders import World, agent, save
from tests.console.conftest import Browser, words

LIST = "/b/ops/memories"


def part(client: Client, target: str, query: str = "", *, seen: str = "") -> Any:
    """The part with this id, asked for from the list at the address `seen`."""
    headers = {
        "HX-Request": "true",
        "HX-Target": target,
        "HX-Current-URL": f"http://testserver{LIST}{seen}",
    }
    return client.get(f"{LIST}{query}", headers=headers)


def text(answer: Any) -> str:
    page: str = answer.content.decode()
    return page


def said(answer: Any) -> list[str]:
    """What is put where it is read aloud."""
    found = re.findall(r'hx-swap-oob="innerHTML:#say">([^<]*)<', text(answer))
    return found + re.findall(r'<div id="say"[^>]*>([^<]*)<', text(answer))


@pytest.fixture
def three(ops: World) -> list[Memory]:
    """Three memories, oldest first."""
    drafts: list[tuple[str, dict[str, object]]] = [
        ("Pump 1 leaks at the seal.", {"tags": ("pumps", "leaks")}),
        ("Kiln 3 is fired on Fridays.", {"tags": ("kilns",), "pinned": True}),
        ("Pump 2 was replaced.", {"tags": ("pumps",)}),
    ]
    start = seams.now()
    made = []
    for number, (words_of_it, more) in enumerate(drafts):
        with seams.replaced(now=partial(start.replace, microsecond=number * 1000)):
            made.append(save(ops, words_of_it, **more).memory)
    return made


# --- what was found ------------------------------------------------------------------------------


def test_a_filter_answers_with_what_it_found_its_title_and_one_sentence(
    three: list[Memory], browser: Browser
) -> None:
    answer = part(browser("viewer"), "found", "?q=&tag=pumps&tag=leaks")
    page = text(answer)
    assert page.startswith('<title>pumps, leaks · ops · Memory Console</title>\n<div id="found">')
    assert "<html" not in page
    assert page.count('class="row') - page.count('class="row-') == 2  # the list, and one row
    assert said(answer) == ["1 match"]
    assert answer["HX-Push-Url"] == f"{LIST}?tag=pumps&tag=leaks"
    assert "HX-Target" in answer["Vary"]


def test_the_same_list_again_is_no_step_back_in_the_browser(
    three: list[Memory], browser: Browser
) -> None:
    client = browser("viewer")
    assert part(client, "found", "?tag=pumps", seen="?tag=pumps")["HX-Push-Url"] == "false"
    assert part(client, "found", "", seen="?tag=pumps")["HX-Push-Url"] == LIST


def test_a_link_that_changes_the_words_changes_the_box_but_typing_does_not(
    three: list[Memory], browser: Browser
) -> None:
    client = browser("viewer")
    assert '<input type="search"' in text(part(client, "found", "", seen="?q=pump"))
    client.defaults["HTTP_HX_TRIGGER"] = "filter"
    assert '<input type="search"' not in text(part(client, "found", "?q=pu", seen="?q=pump"))


def test_a_script_gets_a_refused_address_where_the_list_was(
    three: list[Memory], browser: Browser
) -> None:
    answer = part(browser("viewer"), "found", "?is=round")
    assert answer.status_code == 422
    assert text(answer).startswith('<div id="found"><div class="strip strip-error"')


def test_going_back_in_the_browser_gives_the_whole_page(
    three: list[Memory], browser: Browser
) -> None:
    headers = {
        "HX-Request": "true", "HX-Target": "found", "HX-History-Restore-Request": "true"
    }  # fmt: skip
    assert "<html" in text(browser("viewer").get(LIST, headers=headers))


def test_nothing_found_offers_retired_ones_and_each_filter_to_take_away(
    ops: World, three: list[Memory], browser: Browser
) -> None:
    entries.delete(ops.editor, ops.bank, three[0].id)
    answer = part(browser("viewer"), "found", "?q=seal&tag=pumps")
    assert "Show 1 retired that match" in words(answer)
    assert 'id="off-words" href="?tag=pumps"' in text(answer)
    assert 'id="off-tag-pumps" href="?q=seal"' in text(answer)
    assert said(answer) == ["0 matches"]
    assert "retired that match" not in words(part(browser("viewer"), "found", "?q=zebra"))


def test_more_rows_come_with_the_next_link_and_without_filters(
    ops: World, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryconsole.console.listing.PAGE", 2)
    for number in range(5):
        save(ops, f"Pump {number} was serviced.", tags=("service",))
    client = browser("viewer")
    following = client.get(LIST).context["list"].next_query
    answer = part(client, "more", following)
    assert text(answer).lstrip().startswith('<li class="row')
    assert text(answer).count("was serviced.") == 2
    assert "Load 1 more Showing 4 of 5" in words(answer)
    assert answer.context["list"].chips is None
    assert said(answer) == ["Showing 4 of 5"]
    last = part(client, "more", answer.context["list"].next_query)
    assert "Showing 5 of 5" in words(last)
    assert "Load" not in words(last)


# --- one row -------------------------------------------------------------------------------------


def change(client: Client, memory: Memory, act: str, seen: str = "", **more: str) -> Any:
    """Press a button of a row, as a script does."""
    headers = {
        "HX-Request": "true",
        "HX-Target": f"m-{memory.id}",
        "HX-Current-URL": f"http://testserver{LIST}{seen}",
    }
    typed = {"version": memory.version, "next": LIST + seen} | more
    return client.post(f"/m/ops/{memory.id}/{act}", typed, headers=headers, follow=True)


def test_a_pinned_row_comes_back_alone_with_its_toast_and_the_new_totals(
    three: list[Memory], browser: Browser
) -> None:
    answer = change(browser("editor"), three[0], "pin", pinned="1")
    page = text(answer)
    assert page.startswith(f'<li class="row is-pinned" id="m-{three[0].id}">')
    assert three[2].text not in page
    assert "3 memories, 2 pinned, 0 rules" in words(answer)
    assert 'action="/b/ops/undo/' in page
    assert said(answer) == ["Pinned. Automation leaves it alone."]


def test_a_deleted_row_leaves_only_what_is_said(three: list[Memory], browser: Browser) -> None:
    answer = change(browser("editor"), three[0], "delete")
    assert "<li" not in text(answer)
    assert '<span id="count" hx-swap-oob="true">2 memories, newest first</span>' in text(answer)
    assert len(said(answer)) == 1


def test_a_deleted_row_stays_where_retired_ones_are_listed(
    three: list[Memory], browser: Browser
) -> None:
    answer = change(browser("editor"), three[0], "delete", "?is=retired")
    assert text(answer).startswith(f'<li class="row is-retired" id="m-{three[0].id}">')
    assert f'id="restore-{three[0].id}"' in text(answer)


def test_a_row_alone_asks_for_no_list(three: list[Memory], browser: Browser) -> None:
    client = browser("editor")
    client.get(LIST)
    with CaptureQueriesContext(
        connection,
    ) as asked:
        part(client, f"m-{three[0].id}", seen="?q=pump")
    statements = " ".join(query["sql"] for query in asked.captured_queries)
    assert "banks_entrytag" not in statements
    assert 'ORDER BY "banks_entry"' not in statements


# --- many ----------------------------------------------------------------------------------------


def many(client: Client, do: str, picked: list[Memory], seen: str = "") -> Any:
    """Use the bar below the count."""
    headers = {
        "HX-Request": "true",
        "HX-Target": "found",
        "HX-Current-URL": f"http://testserver{LIST}{seen}",
    }
    keys = [f"{each.id} {each.version}" for each in picked]
    typed = {"do": do, "key": keys, "next": LIST}
    return client.post(f"{LIST}/many", typed, headers=headers, follow=True)


def test_what_was_picked_is_deleted_at_once_and_undone_at_once(
    ops: World, three: list[Memory], browser: Browser
) -> None:
    client = browser("editor")
    answer = many(client, "delete", [three[0], three[2]], "?tag=pumps")
    assert said(answer) == ["2 memories deleted. Agents stop seeing them; you can restore them."]
    assert "Nothing matches" in words(answer)
    assert answer["HX-Push-Url"] == "false"
    undo = re.search(r'action="(/b/ops/undo/\w+)"', text(answer))
    assert undo
    assert ops.bank.entries.filter(live=True).count() == 1
    client.post(undo[1])
    assert ops.bank.entries.filter(live=True).count() == 3


def picked(answer: Any) -> list[str]:
    """The ids of the memories with a tick."""
    return re.findall(r'name="key" value="(\S+) [^"]*" checked', text(answer))


def test_one_that_changed_meanwhile_refuses_all_is_named_and_the_picks_stay(
    ops: World, three: list[Memory], browser: Browser
) -> None:
    entries.pin(ops.maintainer, ops.bank, three[0].id, pinned=True)
    answer = many(browser("editor"), "delete", [three[0], three[2]], "?tag=pumps")
    told = words(answer)
    assert answer.status_code == 409
    assert "Nothing was changed: 1 of the 2 could not be. “ Pump 1 leaks at the seal. ”: It" in told
    assert three[1].text not in told
    assert ops.bank.entries.filter(live=True).count() == 3
    assert (said(answer), answer["HX-Push-Url"]) == ([], "false")
    assert picked(answer) == [three[2].id, three[0].id]
    # As they are now: a second click does it.
    keys = re.findall(r'name="key" value="([^"]*)" checked', text(answer))
    client = browser("editor")
    client.post(f"{LIST}/many", {"do": "delete", "key": keys})
    assert ops.bank.entries.filter(live=True).count() == 1


@pytest.mark.parametrize(
    ("do", "told"),
    [
        ("pin", "2 memories pinned."),
        ("unpin", "1 memory unpinned. Automation may change it again."),
    ],
)
def test_only_what_was_changed_is_counted(
    three: list[Memory], browser: Browser, do: str, told: str
) -> None:
    assert told in words(many(browser("editor"), do, three))


def test_what_was_so_already_and_nothing_at_all_are_told(
    three: list[Memory], browser: Browser
) -> None:
    client = browser("editor")
    assert "were pinned already" in words(many(client, "pin", [three[1]]))
    assert "Nothing was picked" in words(many(client, "pin", []))
    assert many(client, "burn", three).status_code == 422


def test_a_reader_gets_no_boxes_and_no_bar_and_may_not_post(
    three: list[Memory], browser: Browser
) -> None:
    client = browser("viewer")
    assert "bulk" not in text(client.get(LIST))
    assert many(client, "pin", three).status_code == 403


# --- the pill ------------------------------------------------------------------------------------


def test_the_pill_counts_what_others_made_or_changed_and_says_it_once(
    ops: World, three: list[Memory], browser: Browser
) -> None:
    client = browser("editor")
    since = client.get(LIST).context["list"].pill.since
    save(ops, "Pump 4 is on order.")  # by the same person
    assert part(client, "pill", f"?since={since}").context["pill"].count == 0
    bot = agent(ops)
    entries.pin(ops.maintainer, ops.bank, three[0].id, pinned=True)
    entries.pin(ops.maintainer, ops.bank, three[0].id, pinned=False)
    entries.delete(ops.maintainer, ops.bank, three[2].id)
    entries.save(bot, ops.bank, Draft(text="Pump 5 is on order."))
    answer = part(client, "pill", f"?since={since}", seen="?tag=pumps&sel=m1")
    assert "2 new or changed, show" in words(answer)
    assert said(answer) == ["2 new or changed"]
    assert f'hx-get="{LIST}?tag=pumps&amp;sel=m1" hx-target="#found"' in text(answer)
    again = re.search(r'<span id="pill"[^>]*hx-get="([^"]*)"', text(answer))
    assert again
    assert said(part(client, "pill", again[1].removeprefix(LIST).replace("&amp;", "&"))) == []


def test_a_hand_edit_is_news(
    ops: World, three: list[Memory], browser: Browser, settings: Settings
) -> None:
    client = browser("editor")
    since = client.get(LIST).context["list"].pill.since
    facts = (settings.DATA_DIR / "ops" / byhand.FACTS).read_text()
    byhand.write(byhand.FACTS, facts.replace("at the seal.", "at the flange."))
    sync.look(ops.bank, force=True)
    assert "1 new or changed" in words(part(client, "pill", f"?since={since}"))


def test_what_refreshes_itself_says_nothing_that_is_meant_for_another_answer(
    three: list[Memory], browser: Browser
) -> None:
    client = browser("editor")
    client.post(f"/m/ops/{three[0].id}/pin", {"version": three[0].version, "pinned": "1"})
    itself = {"HX-Request": "true", "HX-Target": "pill", "HX-Trigger": "pill"}
    assert "Pinned." not in words(client.get(f"{LIST}?since=0", headers=itself))
    itself = {"HX-Request": "true", "HX-Target": "rail-banks", "HX-Trigger": "rail-banks"}
    assert "Pinned." not in words(client.get("/banks", headers=itself))
    assert "Pinned." in words(client.get(LIST))


def test_the_pill_looks_at_the_newest_changes_only(
    ops: World, three: list[Memory], browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(news, "NEWS_MOST", 1)
    answer = part(browser("viewer"), "pill", "?since=0")
    assert "1+ new or changed" in words(answer)


@pytest.mark.parametrize("since", ["", "?since=-1", "?since=x", "?since=²"])
def test_a_pill_without_a_number_is_refused(ops: World, browser: Browser, since: str) -> None:
    assert part(browser("viewer"), "pill", since).status_code == 422


def test_the_pill_of_a_foreign_bank_is_none(ops: World, browser: Browser) -> None:
    assert part(browser("stranger"), "pill", "?since=0").status_code == 404


# --- the drawer ----------------------------------------------------------------------------------


def test_an_address_with_a_selected_memory_shows_it_beside_the_list(
    three: list[Memory], browser: Browser
) -> None:
    answer = browser("viewer").get(f"{LIST}?sel={three[0].id}")
    page = text(answer)
    assert f'data-id="{three[0].id}"' in page
    assert f'class="row is-open" id="m-{three[0].id}"' in page
    assert answer.context["told"].memory.id == three[0].id


@pytest.mark.parametrize("sel", ["absent", "..%2Fx"])
def test_an_unknown_selection_is_no_drawer(three: list[Memory], browser: Browser, sel: str) -> None:
    answer = browser("viewer").get(f"{LIST}?sel={sel}")
    assert answer.status_code == 200
    assert '<aside id="drawer" class="drawer card"></aside>' in text(answer)


def test_the_same_list_again_keeps_the_drawer_and_another_list_closes_it(
    three: list[Memory], browser: Browser
) -> None:
    client, opened = browser("viewer"), f"?tag=pumps&sel={three[0].id}"
    same = part(client, "found", "?tag=pumps", seen=opened)
    assert f'data-id="{three[0].id}"' in text(same)
    assert same["HX-Push-Url"] == "false"
    assert "data-id" not in text(part(client, "found", "", seen=opened))
    assert "data-id" not in text(part(client, "drawer", "?tag=pumps", seen=opened))


def test_an_undo_shows_the_list_at_the_address_that_is_seen(
    three: list[Memory], browser: Browser
) -> None:
    answer = part(browser("viewer"), "page", "?tag=kilns", seen="?tag=pumps")
    assert answer.context["list"].wanted.tags == ("pumps",)
    assert "<html" not in text(answer)
