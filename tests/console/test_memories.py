"""The list of a bank's memories, and adding one."""

import html
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from banks import queries, seams
from banks.models import Bank
from banks.services import banks, entries
from memoryconsole.console import listing
from tests.builders import World, save
from tests.console.conftest import Browser, words


def shown(answer: Any) -> list[str]:
    return [row.memory.text for row in answer.context["list"].rows]


@pytest.fixture
def short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows a page."""
    monkeypatch.setattr(listing, "PAGE", 2)


@pytest.fixture
def three(ops: World) -> list[str]:
    """Three memories, oldest first; their ids."""
    drafts: list[tuple[str, dict[str, object]]] = [
        ("Pump 1 leaks at the seal.", {"tags": ("pumps", "leaks")}),
        ("Kiln 3 is fired on Fridays.", {"tags": ("kilns",), "pinned": True}),
        ("Pump 2 was replaced.", {"tags": ("pumps",)}),
    ]
    start = seams.now()
    ids = []
    for number, (text, more) in enumerate(drafts):
        made = partial(start.replace, microsecond=number * 1000)
        with seams.replaced(now=made):
            ids.append(save(ops, text, **more).memory.id)
    return ids


def test_the_newest_memory_comes_first(three: list[str], browser: Browser) -> None:
    answer = browser("viewer").get("/b/ops/memories")
    assert answer.status_code == 200
    assert [row.memory.id for row in answer.context["list"].rows] == three[::-1]
    assert "3 memories, newest first" in words(answer)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?tag=pumps", ["Pump 2 was replaced.", "Pump 1 leaks at the seal."]),
        ("?tag=pumps&tag=leaks", ["Pump 1 leaks at the seal."]),
        ("?is=pinned", ["Kiln 3 is fired on Fridays."]),
        ("?q=kiln", ["Kiln 3 is fired on Fridays."]),
        ("?q=kiln&tag=pumps", []),
    ],
)
def test_the_address_says_what_is_listed(
    three: list[str], browser: Browser, query: str, expected: list[str]
) -> None:
    answer = browser("viewer").get(f"/b/ops/memories{query}")
    assert shown(answer) == expected
    assert ("Nothing matches" in words(answer)) == (not expected)


def test_a_search_ranks_and_says_so(three: list[str], browser: Browser) -> None:
    answer = browser("viewer").get("/b/ops/memories?q=leaking pumps")
    assert [row.memory.id for row in answer.context["list"].rows] == [three[0], three[2]]
    assert "2 matches, best first" in words(answer)
    assert "1 match " in words(browser("viewer").get("/b/ops/memories?q=fired"))
    assert f"score {answer.context['list'].rows[0].score:.2f}" in words(answer)


def test_a_search_goes_on_until_it_gives_no_more(
    ops: World, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryconsole.console.listing.PAGE", 2)
    monkeypatch.setattr("memoryconsole.console.listing.LIMIT_MOST", 5)
    for number in range(5):
        save(ops, f"Pump {number} leaks.")
    client, seen = browser("viewer"), []
    answer = client.get("/b/ops/memories?q=leaks")
    assert "The 2 best of 5 or more matches, best first" in words(answer)
    assert "Load 2 more Showing 2 of 5 or more" in words(answer)
    while found := re.search(r'id="load-more" href="([^"]*)"', answer.content.decode()):
        seen += shown(answer)
        answer = client.get("/b/ops/memories" + html.unescape(found[1]))
    assert sorted([*seen, *shown(answer)]) == [f"Pump {number} leaks." for number in range(5)]
    assert "A search gives no more: narrow it" in words(answer)
    whole = client.get("/b/ops/memories?q=pump+3+leaks&tag=none")
    assert "A search gives no more" not in words(whole)


def test_a_search_that_gives_all_there_is_counts_it(
    three: list[str], browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryconsole.console.listing.PAGE", 1)
    said = words(browser("viewer").get("/b/ops/memories?q=leaking pumps"))
    assert "The 1 best of 2 matches, best first" in said
    headers = {"HX-Request": "true", "HX-Target": "more", "HX-Rows": "1"}
    more = browser("viewer").get("/b/ops/memories?q=leaking pumps&after=1", headers=headers)
    assert 'id="count" hx-swap-oob="true">2 matches, best first<' in more.content.decode()


def test_without_an_index_the_list_shows_what_holds_the_words(
    ops: World, three: list[str], browser: Browser, settings: Settings
) -> None:
    shutil.rmtree(settings.STATE_DIR / "index", ignore_errors=True)
    (settings.STATE_DIR / "index").write_text("a file where the folder should be")
    answer = browser("viewer").get("/b/ops/memories?q=pump")
    assert shown(answer) == ["Pump 2 was replaced.", "Pump 1 leaks at the seal."]
    assert "Search is off" in words(answer)


def test_words_too_common_to_rank_are_looked_for_as_they_are(
    three: list[str], browser: Browser
) -> None:
    answer = browser("viewer").get("/b/ops/memories?q=at the")
    assert shown(answer) == ["Pump 1 leaks at the seal."]
    assert "too common" in words(answer)


def test_a_filter_that_is_on_can_be_taken_away(three: list[str], browser: Browser) -> None:
    page = browser("viewer").get("/b/ops/memories?tag=pumps&tag=leaks").content.decode()
    chip = re.search('<a [^>]*aria-label="Remove filter tag pumps"', page)
    assert chip
    assert 'href="?tag=leaks" hx-get="?tag=leaks" hx-target="#found"' in chip[0]
    assert '>pumps <span class="count">2</span>' in page


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("?q=zebra", "No memory of this bank fits the words."),
        ("?tag=pumps&tag=kilns", "No memory of this bank fits all of these filters."),
        ("?tag=pumps&q=zebra", "No memory with these filters fits the words."),
    ],
)
def test_nothing_found_speaks_of_what_was_asked(
    three: list[str], browser: Browser, query: str, told: str
) -> None:
    said = words(browser("viewer").get(f"/b/ops/memories{query}"))
    assert told in said
    assert ("filter" in said.split("Nothing matches")[1]) == ("tag" in query)


def test_a_count_that_holds_retired_ones_is_not_compared_with_the_live_ones(
    ops: World, three: list[str], browser: Browser
) -> None:
    client = browser("viewer")
    assert "2 of 3 memories, newest first" in words(client.get("/b/ops/memories?tag=pumps"))
    entries.delete(ops.editor, ops.bank, three[0])
    entries.delete(ops.editor, ops.bank, three[2])
    assert "2 memories, newest first" in words(client.get("/b/ops/memories?tag=pumps&is=retired"))


def test_rarer_tags_are_counted_and_one_click_away(ops: World, browser: Browser) -> None:
    for number in range(24):
        save(ops, f"Pump {number} runs.", tags=(f"pump-{number:02}",))
    client = browser("viewer")
    first = client.get("/b/ops/memories?is=pinned")
    assert "+4 more" in words(first)
    assert "pump-23" not in words(first)
    every = client.get("/b/ops/memories" + first.context["list"].chips.switch)
    assert "pump-23" in words(every)
    assert "Fewer tags" in words(every)
    assert every.context["list"].wanted.marks == ("pinned",)


def test_with_few_tags_there_is_no_more(three: list[str], browser: Browser) -> None:
    assert " more" not in words(browser("viewer").get("/b/ops/memories"))


def test_retired_memories_are_listed_only_when_asked_for(
    ops: World, three: list[str], browser: Browser
) -> None:
    entries.delete(ops.editor, ops.bank, three[0])
    client = browser("viewer")
    assert len(shown(client.get("/b/ops/memories"))) == 2
    answer = client.get("/b/ops/memories?is=retired")
    assert len(shown(answer)) == 3
    assert "deleted" in words(answer)


@pytest.mark.parametrize("query", ["?is=round", "?after=not-a-cursor"])
def test_an_address_that_makes_no_sense_is_refused_and_shows_no_empty_list(
    three: list[str], browser: Browser, query: str
) -> None:
    answer = browser("viewer").get(f"/b/ops/memories{query}")
    assert answer.status_code == 422
    assert "Nothing matches" not in words(answer)
    assert "No memory yet" not in words(answer)


@pytest.mark.usefixtures("short_pages")
def test_a_page_is_shown_and_the_rest_follows(ops: World, browser: Browser) -> None:
    for number in range(3):
        save(ops, f"Pump {number} was serviced.", tags=("service",))
    client = browser("viewer")
    first = client.get("/b/ops/memories?tag=service")
    assert "Load 1 more Showing 2 of 3" in words(first)
    second = client.get("/b/ops/memories" + first.context["list"].next_query)
    assert len(shown(second)) == 1
    assert not set(shown(first)) & set(shown(second))
    assert second.context["list"].wanted.tags == ("service",)
    assert "more" not in words(second)
    assert "3 to 3 of 3 memories" in words(second)


@pytest.mark.usefixtures("short_pages")
def test_a_page_says_where_it_is_though_memories_were_added(ops: World, browser: Browser) -> None:
    for number in range(4):
        save(ops, f"Pump {number} was serviced.")
    client = browser("viewer")
    following = client.get("/b/ops/memories").context["list"].next_query
    save(ops, "Pump 77 was serviced.")
    assert "4 to 5 of 5 memories" in words(client.get("/b/ops/memories" + following))


@pytest.mark.usefixtures("short_pages")
def test_places_are_right_where_memories_share_their_time(ops: World, browser: Browser) -> None:
    same = seams.now()
    with seams.replaced(now=lambda: same):
        for number in range(4):
            save(ops, f"Pump {number} was serviced.")
    client = browser("viewer")
    following = client.get("/b/ops/memories").context["list"].next_query
    assert "3 to 4 of 4 memories" in words(client.get("/b/ops/memories" + following))


def test_a_short_list_does_not_say_twice_how_long_it_is(three: list[str], browser: Browser) -> None:
    assert "of 3" not in words(browser("viewer").get("/b/ops/memories"))


@pytest.mark.usefixtures("short_pages")
def test_the_end_of_the_list_is_no_failed_search(ops: World, browser: Browser) -> None:
    for number in range(3):
        save(ops, f"Pump {number} was serviced.")
    client = browser("viewer")
    first = client.get("/b/ops/memories").context["list"]
    oldest = client.get("/b/ops/memories" + first.next_query).context["list"].rows[0].memory
    entries.delete(ops.editor, ops.bank, oldest.id)
    said = words(client.get("/b/ops/memories" + first.next_query))
    assert "The list ends before this" in said
    assert "Nothing matches" not in said


def test_an_empty_bank_says_what_a_memory_is(ops: World, browser: Browser) -> None:
    assert "Add the first one" in words(browser("editor").get("/b/ops/memories"))
    reader = words(browser("viewer").get("/b/ops/memories"))
    assert "No memory yet" in reader
    assert "Add the first one" not in reader


def test_a_known_but_deleted_memory_does_not_make_the_bank_look_new(
    ops: World, browser: Browser
) -> None:
    entries.delete(ops.editor, ops.bank, save(ops, "The spare fan is in shed two.").memory.id)
    answer = browser("editor").get("/b/ops/memories?is=retired")
    assert "No memory yet" not in words(answer)


# --- adding -----------------------------------------------------------------------------------


def add(client: Client, text: str, **more: str) -> Any:
    typed = {"text": text, "category": "facts", "tags": ""} | more
    return client.post("/b/ops/memories/new", typed, follow=True)


def test_a_new_memory_is_in_the_files(ops: World, browser: Browser, settings: Settings) -> None:
    answer = add(browser("editor"), "Shed two holds\r\nthe fans.", tags="fans, , Shed", pinned="on")
    memory = answer.context["told"].memory
    assert (memory.text, memory.tags, memory.pinned) == (
        "Shed two holds\nthe fans.", ["fans", "shed"], True)  # fmt: skip
    assert (memory.origin, memory.trust) == ("user_message", "high")
    file: Path = settings.DATA_DIR / "ops" / memory.path
    assert "Shed two holds\nthe fans." in file.read_text()


def test_a_known_text_is_no_error_but_was_seen_once_more(ops: World, browser: Browser) -> None:
    client = browser("editor")
    add(client, "Shed two holds the fans.")
    assert "Already known: it has now been seen 2 times." in words(
        add(client, "shed two  holds the fans.")
    )


def test_two_clicks_on_save_are_one_save(ops: World, browser: Browser) -> None:
    client = browser("editor")
    once = client.get("/b/ops/memories/new").context["form"]["once"].value()
    first, second = (add(client, "Shed two holds the fans.", once=once) for _ in range(2))
    memory = second.context["told"].memory
    assert memory == first.context["told"].memory
    assert memory.corroboration == 0
    assert "Saved." in words(second)


def test_the_same_text_from_another_form_was_seen_once_more(ops: World, browser: Browser) -> None:
    client = browser("editor")
    for _ in range(2):
        once = client.get("/b/ops/memories/new").context["form"]["once"].value()
        answer = add(client, "Shed two holds the fans.", once=once)
    assert answer.context["told"].memory.corroboration == 1


def test_other_words_on_a_page_that_was_sent_before_are_another_memory(
    ops: World, browser: Browser
) -> None:
    client = browser("editor")
    once = client.get("/b/ops/memories/new").context["form"]["once"].value()
    add(client, "Shed two holds the fans.", once=once)
    answer = add(client, "Shed two holds the belts.", once=once)
    assert answer.context["told"].memory.text == "Shed two holds the belts."
    assert ops.bank.entries.count() == 2


def test_a_refused_save_can_be_repeated_with_the_same_form(ops: World, browser: Browser) -> None:
    client = browser("editor")
    refused = add(client, "a\n---\nb", once="0f" * 16)
    assert refused.context["form"]["once"].value() == "0f" * 16
    assert add(client, "a and b", once="0f" * 16).context["told"].memory.text == "a and b"


def test_a_refused_text_comes_back_with_the_reason(ops: World, browser: Browser) -> None:
    answer = add(browser("editor"), "first line\n---\nlast line", tags="fans")
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "first line\n---\nlast line</textarea>" in page
    assert 'value="fans"' in page
    assert 'aria-invalid="true"' in page


def test_a_secret_is_masked_and_that_is_said(ops: World, browser: Browser) -> None:
    secret = "ghp_" + "Zq7Lm2Xc9Vb4Nn8Kj3Hg6Fd1Sa5Pw0RtYuEi"
    answer = add(browser("editor"), f"The release job signs in with {secret}.")
    assert "held a secret" in words(answer)
    assert secret not in answer.content.decode()


def test_a_procedure_starts_with_its_sections(ops: World, browser: Browser) -> None:
    page = browser("editor").get("/b/ops/memories/new?category=procedure").content.decode()
    assert "## When to use\n" in page
    assert '<option value="procedure" selected>' in page


def test_two_procedures_of_one_title_are_a_conflict(ops: World, browser: Browser) -> None:
    client = browser("editor")
    add(client, "Open the valve.", category="procedure", title="Bleed the line")
    answer = add(client, "Close the valve.", category="procedure", title="Bleed the line")
    assert answer.status_code == 409
    assert "Close the valve.</textarea>" in answer.content.decode()


# --- where one begins ---------------------------------------------------------------------------


def test_the_start_leads_to_the_bank_looked_at_last(ops: World, browser: Browser) -> None:
    save(ops, "Shed two holds the fans.")
    banks.create(ops.admin, "annex")
    client = browser("admin")
    assert client.get("/")["Location"] == "/b/annex/memories"
    client.get("/b/ops/memories")
    assert client.get("/")["Location"] == "/b/ops/memories"


def test_at_first_the_start_leads_to_the_default_bank(ops: World, browser: Browser) -> None:
    save(ops, "Shed two holds the fans.")
    banks.create(ops.admin, "annex")
    banks.create(ops.admin, "main")
    assert browser("admin").get("/")["Location"] == "/b/main/memories"
    assert browser("viewer").get("/")["Location"] == "/b/ops/memories"


def test_a_bank_looked_at_last_that_is_gone_is_forgotten(ops: World, browser: Browser) -> None:
    save(ops, "Shed two holds the fans.")
    client = browser("viewer")
    client.cookies["bank"] = "elsewhere"
    assert client.get("/")["Location"] == "/b/ops/memories"


@pytest.mark.django_db
def test_without_a_bank_an_admin_begins_with_a_memory_and_can_make_a_bank(client: Client) -> None:
    client.force_login(User.objects.create_superuser("ada", password="a long enough one"))
    assert client.get("/")["Location"] == "/welcome"
    assert 'value="main"' in client.get("/banks/new").content.decode()
    made = client.post("/banks/new", {"name": "main", "description": "All of it"})
    assert made["Location"] == "/b/main/memories"
    assert Bank.objects.get().description == "All of it"
    assert "Bank main made." in words(client.get(made["Location"]))


def test_who_may_not_create_banks_is_told_whom_to_ask(ops: World, browser: Browser) -> None:
    client = browser("stranger")
    answer = client.get("/", follow=True)
    assert "no member of a bank yet" in words(answer)
    assert "Make the bank" not in words(answer)
    assert client.post("/banks/new", {"name": "mine"}).status_code == 403
    assert not Bank.objects.filter(name="mine").exists()


def test_an_impossible_name_of_a_bank_is_refused_beside_the_field(
    ops: World, browser: Browser
) -> None:
    answer = browser("admin").post("/banks/new", {"name": "../Pumps"})
    assert answer.status_code == 422
    assert 'id="id_name_error"' in answer.content.decode()


def test_looking_for_similar_memories_saves_nothing_and_keeps_what_was_typed(
    ops: World, browser: Browser
) -> None:
    known = save(ops, "Pump 1 leaks at the seal.").memory
    client, typed = browser("editor"), {"text": "Pump 2 leaks at the seal.", "category": "facts"}
    form = client.get("/b/ops/memories/new").context["form"]
    sent = typed | {"once": form["once"].value(), "look": "1"}
    answer = client.post("/b/ops/memories/new", sent)
    assert [each.memory for each in answer.context["similar"]] == [known]
    assert answer.context["form"]["text"].value() == typed["text"]
    headers = {"HX-Request": "true", "HX-Target": "similar"}
    part = client.post("/b/ops/memories/new", sent, headers=headers)
    assert words(part).startswith("Similar memories Pump 1 leaks at the seal.")
    nothing = client.post("/b/ops/memories/new", sent | {"text": "Fans are new"}, headers=headers)
    assert words(nothing) == "No similar memories."
    assert queries.list_memories(ops.bank, queries.Filters()).total == 1
