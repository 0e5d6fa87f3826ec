"""One memory in a real browser: edited where it stands, taken back, compared, and met by others."""

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Locator, Page, expect

from banks.store import history, tree
from banks.store.history import Record
from tests.e2e.conftest import Add, Open, Server, Watched

pytestmark = pytest.mark.slow  # a real server and a real browser

LIST = "/b/kilns/memories"
UNSAVED = "What you typed is not saved. Go on without it?"
FACTS = "semantic_memory/facts.md"


def key_of(address: str) -> str:
    return address.rpartition("/")[2]


def row(page: Page, key: str) -> Locator:
    return page.locator(f"#m-{key}")


def focused(page: Page, name: str) -> None:
    """The focus comes to rest at this element."""
    expect(page.locator(f"#{name}")).to_be_focused()


def count_said(page: Page) -> None:
    """Count from now on what is said to people who listen."""
    page.evaluate(
        """() => {
          window.said = [];
          const look = () => { const text = document.getElementById("say")?.textContent;
            if (text && text !== window.last) { window.last = text; window.said.push(text); } };
          new MutationObserver(look).observe(document.body,
            { childList: true, subtree: true, characterData: true });
        }"""
    )


def said(page: Page) -> list[str]:
    found: list[str] = page.evaluate("window.said")
    return found


def by_hand(server: Server, old: str, new: str) -> None:
    """Change a file of the bank as with an editor."""
    file = server.file("kilns", FACTS)
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def revise(watched: Watched, address: str, text: str) -> None:
    """Change the text of a memory on its own page."""
    watched.open(f"{address}/edit")
    watched.page.get_by_label("Text").fill(text)
    watched.page.get_by_role("button", name="Save", exact=True).click()
    watched.page.wait_for_url(f"**{address}")


# --- where it stands --------------------------------------------------------------------------


@pytest.mark.checklist
def test_an_edit_in_the_list_reaches_the_file_and_the_history(watched: Watched, add: Add) -> None:
    address = add("Zone 4 reads 12 degrees low.")
    page, key = watched.page, key_of(address)
    watched.open(LIST)
    count_said(page)
    row(page, key).get_by_role("link", name="Edit").click()
    text = row(page, key).get_by_label("Text")
    expect(text).to_be_focused()
    text.fill("Zone 4 reads 14 degrees low.")
    row(page, key).get_by_role("button", name="Save").click()
    expect(row(page, key)).to_contain_text("14 degrees")
    focused(page, f"edit-{key}")
    expect(page).to_have_url(watched.server.url + LIST)
    assert said(page) == ["Saved. Agents see it like this now."]
    assert "Zone 4 reads 14 degrees" in watched.server.file("kilns", FACTS).read_text()
    page.locator(".toast").get_by_role("button", name="Undo").click()
    expect(row(page, key)).to_contain_text("12 degrees")
    assert "Zone 4 reads 14 degrees" not in watched.server.file("kilns", FACTS).read_text()
    watched.open(address)
    expect(page.locator(".timeline > li")).to_have_count(3)


@pytest.mark.checklist
def test_cancel_and_escape_close_the_editor_and_give_the_focus_back(
    watched: Watched, add: Add
) -> None:
    key = key_of(add("The kiln shelf is cracked."))
    page = watched.page
    watched.open(LIST)
    for leave in ("Cancel", "Escape"):
        row(page, key).get_by_role("link", name="Edit").click()
        expect(row(page, key).get_by_label("Text")).to_be_focused()
        row(page, key).get_by_label("Text").fill("half a thought")
        if leave == "Cancel":
            row(page, key).get_by_role("link", name="Cancel").click()
        else:
            page.keyboard.press("Escape")
        expect(row(page, key)).to_contain_text("shelf is cracked")
        focused(page, f"edit-{key}")
    # What was typed goes after a question: Escape is pressed for many reasons.
    assert watched.complaints == [UNSAVED]
    watched.complaints.clear()


def test_nothing_typed_in_a_row_goes_with_the_list_unasked(watched: Watched, add: Add) -> None:
    key = key_of(add("The kiln vent is stiff.", tags="vents"))
    page = watched.page
    watched.open(LIST)
    row(page, key).get_by_role("link", name="Edit").click()
    row(page, key).get_by_label("Text").fill("half a thought")
    watched.stays = True
    with page.expect_event("dialog"):
        page.locator(".filter-chips a", has_text="vents").click()
    expect(row(page, key).get_by_label("Text")).to_have_value("half a thought")
    assert watched.complaints == [UNSAVED]
    watched.complaints.clear()
    row(page, key).get_by_role("link", name="Cancel").click()
    expect(row(page, key)).to_contain_text("vent is stiff")


def test_an_ended_session_is_told_and_takes_the_place_of_nothing(
    watched: Watched, add: Add
) -> None:
    key = key_of(add("The kiln cone is bent."))
    page = watched.page
    watched.open(LIST)
    kept = [each for each in page.context.cookies() if "csrf" in each["name"]]
    page.context.clear_cookies()
    page.context.add_cookies(kept)  # type: ignore[arg-type]  # as the browser gave them
    row(page, key).get_by_role("button", name="Pin").click()
    expect(page.locator("#err .strip")).to_contain_text("Your session has ended")
    page.locator(f"#open-{key}").click()
    expect(row(page, key)).to_contain_text("cone is bent")
    expect(page.locator("main")).to_have_count(1)
    watched.complaints.clear()  # the browser tells of each 401


def test_a_refused_edit_stays_open_with_its_reason(watched: Watched, add: Add) -> None:
    key = key_of(add("The kiln lid is heavy."))
    page = watched.page
    watched.open(LIST)
    row(page, key).get_by_role("link", name="Edit").click()
    text = row(page, key).get_by_label("Text")
    text.fill("brick " * 500)
    row(page, key).get_by_role("button", name="Save").click()
    expect(row(page, key).locator(".errorlist")).to_be_visible()
    reason = row(page, key).locator(".errorlist").get_attribute("id")
    assert reason in (text.get_attribute("aria-describedby") or "").split()
    expect(text).to_have_value(re.compile("brick"))
    expect(text).to_be_focused()


@pytest.mark.checklist
def test_pin_delete_undo_and_restore_on_the_page_and_in_recall(watched: Watched, add: Add) -> None:
    address = add("The chimney cowl turns anticlockwise.")
    page, key = watched.page, key_of(address)
    file = watched.server.file("kilns", FACTS)
    watched.open(address)
    count_said(page)
    page.get_by_role("button", name="Pin").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("pinned")
    focused(page, f"pin-{key}")
    assert "pinned: true" in file.read_text()
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("deleted")
    focused(page, f"restore-{key}")
    assert said(page) == [
        "Pinned. Automation leaves it alone.",
        "Deleted. Agents stop seeing it.",
    ]
    found = page.request.get(f"{watched.server.url}{LIST}?q=cowl+anticlockwise").text()
    assert key not in found
    page.locator(".toast", has_text="Deleted").get_by_role("button", name="Undo").click()
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("deleted")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Restore", exact=True).click()
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("deleted")
    focused(page, f"delete-{key}")
    found = page.request.get(f"{watched.server.url}{LIST}?q=cowl+anticlockwise").text()
    assert key in found
    watched.open(f"/audit?key={key}")
    page.get_by_role("button", name="Undo").first.click()
    expect(page.locator("#say")).to_have_text("Undone.")
    watched.open(address)
    expect(page.get_by_role("heading", level=1)).to_contain_text("deleted")


def test_what_is_done_in_the_drawer_shows_in_the_row(watched: Watched, add: Add) -> None:
    key = key_of(add("The spy hole is on the left."))
    page = watched.page
    watched.open(LIST)
    count_said(page)
    page.locator(f"#open-{key}").click()
    drawer = page.locator("#drawer")
    expect(drawer).to_contain_text("spy hole")
    drawer.get_by_role("button", name="Pin").click()
    expect(row(page, key)).to_have_class(re.compile("is-pinned"))
    focused(page, f"drawer-pin-{key}")
    assert said(page) == ["Opened beside the list", "Pinned. Automation leaves it alone."]
    expect(page).to_have_url(re.compile(f"sel={key}"))
    page.keyboard.press("Escape")
    expect(drawer).to_be_empty()
    focused(page, f"open-{key}")


# --- two edits that meet ------------------------------------------------------------------------


@pytest.mark.checklist
@pytest.mark.parametrize(
    ("choice", "after"),
    [
        ("Save mine on top", "Burner 1 is lit at nine."),
        ("Take theirs", "Burner 2 is lit at eight."),
        ("Save the merge", "Burner 2 is lit at nine."),
    ],
)
def test_an_edit_in_the_list_that_met_a_hand_edit_ends_as_chosen(
    watched: Watched, add: Add, choice: str, after: str
) -> None:
    address = add(f"Burner 1 is lit at eight. {choice}")
    page, key = watched.page, key_of(address)
    watched.open(LIST)
    row(page, key).get_by_role("link", name="Edit").click()
    row(page, key).get_by_label("Text").fill(f"Burner 1 is lit at nine. {choice}")
    by_hand(
        watched.server,
        f"\n\nBurner 1 is lit at eight. {choice}",
        f"\n\nBurner 2 is lit at eight. {choice}",
    )
    row(page, key).get_by_role("button", name="Save").click()
    sides = row(page, key).locator(".side")
    expect(sides).to_have_count(3)
    expect(sides.nth(0)).to_contain_text("Burner 1 is lit at eight.")
    expect(sides.nth(1).locator("ins")).to_have_text("2")
    expect(sides.nth(2).locator("ins")).to_have_text("nine")
    focused(page, f"clash-{key}")
    row(page, key).get_by_role("link" if choice == "Take theirs" else "button", name=choice).click()
    expect(row(page, key).locator(".sides")).to_have_count(0)
    expect(row(page, key)).to_contain_text(after)
    focused(page, f"edit-{key}")
    assert f"\n\n{after} {choice}" in watched.server.file("kilns", FACTS).read_text()


def test_without_script_each_choice_of_a_clash_works_too(opened: Open, add: Add) -> None:
    with opened(java_script_enabled=False) as watched:
        address = add("Vent A is open. Vent B is open.")
        page = watched.page

        def meet(now: str, theirs: str, mine: str) -> None:
            word = mine.rstrip(".").rpartition(" ")[2]
            watched.open(f"{address}/edit")
            page.get_by_label("Text").fill(mine)
            by_hand(watched.server, f"\n\n{now}", f"\n\n{theirs}")
            page.get_by_role("button", name="Save").click()
            expect(page.locator(".side")).to_have_count(3)
            expect(page.locator(".side").nth(2).locator("ins")).to_have_text(word)

        meet(
            "Vent A is open. Vent B is open.",
            "Vent A is shut. Vent B is open.",
            "Vent A is open. Vent B is wide.",
        )
        page.get_by_role("link", name="Take theirs").click()
        expect(page.locator(".memory-text")).to_have_text("Vent A is shut. Vent B is open.")
        meet(
            "Vent A is shut. Vent B is open.",
            "Vent A is hot. Vent B is open.",
            "Vent A is shut. Vent B is cold.",
        )
        page.get_by_role("button", name="Save the merge").click()
        expect(page.locator(".memory-text")).to_have_text("Vent A is hot. Vent B is cold.")
        meet(
            "Vent A is hot. Vent B is cold.",
            "Vent A is dry. Vent B is cold.",
            "Vent A is hot. Vent B is new.",
        )
        page.get_by_role("button", name="Save mine on top").click()
        expect(page.locator(".memory-text")).to_have_text("Vent A is hot. Vent B is new.")


@pytest.mark.checklist
def test_a_hand_edit_is_a_revision_of_its_own(watched: Watched, add: Add) -> None:
    address = add("Cone 6 melts at dawn.")
    by_hand(watched.server, "\n\nCone 6 melts at dawn.", "\n\nCone 6 melts at dusk.")
    revisions = watched.page.locator(".timeline > li")
    for _ in range(100):  # a bank's files are looked at about once a second
        watched.open(address)
        if revisions.count() > 1:
            break
    newest = revisions.first
    expect(newest).to_contain_text("r2 changed by hand in the file")
    expect(newest.locator("ins")).to_have_text("dusk")


# --- revisions ----------------------------------------------------------------------------------


@pytest.mark.checklist
@pytest.mark.parametrize("script", [True, False])
def test_two_revisions_are_compared_and_an_old_one_comes_back(
    opened: Open, add: Add, *, script: bool
) -> None:
    with opened(java_script_enabled=script) as watched:
        address = add(f"The bell rings once. {script}")
        for times in ("twice", "thrice", "never"):
            revise(watched, address, f"The bell rings {times}. {script}")
        page = watched.page
        page.get_by_label("Compare from r1").check()
        page.get_by_role("button", name="Compare", exact=True).click()
        compared = page.locator("#compare.compared")
        expect(compared).to_contain_text("r1 created by")
        expect(compared).to_contain_text("r4 updated by ada")
        expect(compared.locator("del")).to_have_text("once")
        expect(compared.locator("ins")).to_have_text("never")
        if script:
            focused(page, "compare-two")
            expect(page).to_have_url(watched.server.url + address)
        else:
            expect(page).to_have_url(re.compile(r"/compare\?to=r4&from=r1$"))
            expect(page.get_by_role("heading", level=1)).to_have_text("Compare r1 with r4")
            watched.open(address)
        page.get_by_role("button", name="Restore r1").click()
        newest = page.locator(".timeline > li").first
        expect(newest).to_contain_text("r5 reverted by ada")
        expect(newest).to_contain_text("as in r1")
        expect(page.locator(".memory-text")).to_have_text(f"The bell rings once. {script}")
        file = watched.server.file("kilns", FACTS).read_text()
        assert f"\n\nThe bell rings once. {script}" in file


# --- any text -----------------------------------------------------------------------------------


def test_more_of_a_long_history_comes_below_what_is_there(watched: Watched, add: Add) -> None:
    address = add("The stoker sleeps at noon.")
    page, key = watched.page, key_of(address)
    written = watched.server.file("kilns", FACTS).read_bytes()
    data = written[written.index(f"---\nid: {key}".encode()) :]
    made = history.encode(Record(0, datetime.now(UTC), "user:ada", "pinned", None, data))
    log = watched.server.file("kilns", tree.history_path(key))
    log.parent.mkdir(exist_ok=True)
    log.write_bytes(made * 21)
    watched.open(address)
    page.get_by_label("Compare from r5").check()
    page.get_by_role("link", name="Show 2 older").click()
    expect(page.locator(".timeline > li")).to_have_count(22)
    focused(page, "to-r2")
    expect(page.get_by_label("Compare from r5")).to_be_checked()
    expect(page.locator("#say")).to_have_text("2 older revisions shown")


def test_similar_memories_come_while_one_types_and_take_nothing_away(
    watched: Watched, add: Add
) -> None:
    address = add("The damper of kiln 7 sticks in the cold.")
    watched.open(f"{LIST}/new")
    page, text = watched.page, watched.page.get_by_label("Text")
    text.press_sequentially("The damper of kiln 8 sticks in the cold.", delay=5)
    found = page.locator("#similar").get_by_role("link").first
    expect(found).to_have_attribute("href", address)
    expect(text).to_be_focused()
    expect(text).to_have_value("The damper of kiln 8 sticks in the cold.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".strip-success")).to_contain_text("Saved.")
    expect(found).to_have_attribute("href", address)
