"""The list: filters as addresses, changes in place, many at once, what is new, the drawer."""

import os
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.byhand import FACTS, LONG_AGO, block
from tests.e2e.conftest import PHONE, Open, Server, Watched

LIST = "/b/kilns/memories"
ROWS = 54
HEAR = """
window.heard = [];
new MutationObserver((changes) => {
  const say = document.getElementById("say");
  for (const change of changes)
    for (const node of change.addedNodes)
      if (say && (node === say || say.contains(node)) && node.textContent.trim())
        heard.push(node.textContent.trim());
}).observe(document, { subtree: true, childList: true });
"""
"""Everything that is put where it is read aloud."""


@pytest.fixture(scope="module")
def stocked(server: Server) -> Server:
    """Memories as if typed into the file; the newest is k53, each ninth is pinned."""
    blocks = []
    for number in range(ROWS):
        pin = ["pinned: true"] if number % 9 == 0 else []
        tags = "tags: [shed]" if number % 2 else "tags: [shed, north]"
        created = f"2026-01-02T03:{number:02}:05+00:00"
        text = f"Kiln {number} was fired."
        blocks.append(block(f"k{number:02}", text, tags, *pin, created=created))
    write(server, "\n".join(blocks))
    return server


def write(server: Server, content: str) -> None:
    file = server.file("kilns", FACTS)
    file.parent.mkdir(exist_ok=True)
    file.write_text(content)
    os.utime(file, (LONG_AGO, LONG_AGO))


def wait_for_files(watched: Watched) -> None:
    """A process looks at the files once a second."""
    for _ in range(20):
        watched.open(LIST)
        if watched.page.locator(".row").count() == 50:
            return
        watched.page.wait_for_timeout(150)


@pytest.fixture
def signed(opened: Open, stocked: Server) -> Iterator[Watched]:
    """A signed-in window on the list, which notes what is said."""
    with opened() as watched:
        watched.page.set_default_timeout(5000)
        watched.page.add_init_script(HEAR)
        watched.open("/banks")  # what the test before was not told any more is told here
        wait_for_files(watched)
        yield watched


def rows(page: Page) -> list[str]:
    return [str(each) for each in page.locator(".row").evaluate_all("all => all.map(r => r.id)")]


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id"))


def heard(page: Page) -> list[str]:
    """What was said since the last time."""
    return list(page.evaluate("heard.splice(0)"))


def settled(page: Page, selector: str = "[aria-busy], .htmx-request, .htmx-settling") -> None:
    expect(page.locator(selector)).to_have_count(0)


def filter_in_steps(page: Page) -> list[tuple[str, list[str]]]:
    """Filter by words, a tag and a mark; the addresses and what each showed."""
    seen = []
    page.get_by_role("searchbox").fill("fired")
    if page.evaluate("!document.documentElement.matches('.has-script')"):
        page.get_by_role("button", name="Search", exact=True).click()
    for name, address in [("north", "q=fired$"), ("Pinned", "tag=north$"), ("", "is=pinned$")]:
        expect(page).to_have_url(re.compile(address))
        seen.append((page.url, rows(page)))
        if name:
            page.get_by_label("Filters").get_by_role("link", name=re.compile(f"^{name}")).click()
    return seen


def check_addresses(page: Page, seen: list[tuple[str, list[str]]]) -> None:
    """Reload, Back, Forward and another tab show the same rows, within the frame."""
    assert [len(shown) for _, shown in seen] == [50, 27, 3]
    page.reload()
    assert rows(page) == seen[2][1]
    for move, (address, shown) in [
        (page.go_back, seen[1]),
        (page.go_back, seen[0]),
        (page.go_forward, seen[1]),
    ]:
        move()
        expect(page).to_have_url(address)
        expect(page.locator(".row")).to_have_count(len(shown))
        assert rows(page) == shown
        expect(page.get_by_role("navigation", name="Banks")).to_be_visible()
        expect(page.get_by_role("searchbox")).to_have_value("fired")
    other = page.context.new_page()
    other.goto(seen[2][0])
    assert rows(other) == seen[2][1]
    other.close()


@pytest.mark.checklist
def test_the_address_is_the_list(signed: Watched) -> None:
    page = signed.page
    seen = filter_in_steps(page)
    expect(page).to_have_title(re.compile("^“fired”, north, pinned · kilns"))
    assert heard(page) == ["54 matches", "27 matches", "3 matches"]
    check_addresses(page, seen)


@pytest.mark.checklist
def test_the_address_is_the_list_without_script_too(stocked: Server, plain: Watched) -> None:
    wait_for_files(plain)
    check_addresses(plain.page, filter_in_steps(plain.page))


def test_typing_keeps_the_box_and_a_link_sets_it(signed: Watched) -> None:
    page = signed.page
    page.get_by_role("searchbox").fill("zebra")
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    assert focused(page) == "q"
    page.get_by_role("link", name="Show the whole list").click()
    expect(page.locator(".row")).to_have_count(50)
    expect(page.get_by_role("searchbox")).to_have_value("")
    assert focused(page) == "list"
    page.get_by_role("searchbox").fill("kiln 7")
    expect(page).to_have_url(re.compile(r"\?q=kiln\+7$"))
    assert len(heard(page)) == 3


@pytest.mark.checklist
def test_focus_stays_at_the_work_and_each_act_is_said_once(signed: Watched) -> None:
    page = signed.page
    page.locator("#pin-k52").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#m-k52")).to_have_class(re.compile("is-pinned"))
    settled(page)
    assert focused(page) == "pin-k52"
    page.locator("#delete-k52").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#m-k52")).to_have_count(0)
    settled(page)
    assert focused(page) == "pick-k51"
    expect(page.locator("#totals")).to_contain_text("53 memories")
    page.get_by_role("button", name="Undo").last.click()
    expect(page.locator("#m-k52")).to_be_visible()
    settled(page)
    assert focused(page) != ""
    page.locator("#pin-k52").click()
    expect(page.locator("#m-k52.is-pinned")).to_have_count(0)
    assert [each.split(".")[0] for each in heard(page)] == [
        "Pinned", "Deleted", "Undone", "Unpinned",
    ]  # fmt: skip


@pytest.mark.checklist
def test_more_rows_go_on_where_the_others_end(signed: Watched) -> None:
    page = signed.page
    last = rows(page)[-1].removeprefix("m-")
    page.get_by_role("link", name="Load 4 more").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".row")).to_have_count(ROWS)
    settled(page)
    assert rows(page) == [f"m-k{number:02}" for number in reversed(range(ROWS))]
    assert focused(page) == f"pick-k{int(last.removeprefix('k')) - 1:02}"
    expect(page.locator("#more")).to_have_text("Showing 54 of 54")
    assert heard(page) == ["Showing 54 of 54"]
    expect(page).to_have_url(re.compile(f"{LIST}$"))


def test_many_are_changed_at_once_and_undone_at_once(signed: Watched) -> None:
    page = signed.page
    expect(page.locator("#bulk")).to_be_hidden()
    top = page.locator("#m-k53").bounding_box()
    for key in ("k50", "k48", "k46"):
        page.locator(f"#pick-{key}").check()
    assert page.locator("#m-k53").bounding_box() == top
    page.locator("#bulk-delete").click()
    expect(page.locator("#count")).to_contain_text("51 memories")
    settled(page)
    assert focused(page) == "list"
    assert len(heard(page)) == 1
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#count")).to_contain_text("54 memories")
    expect(page.locator("#m-k46")).to_be_visible()


def test_two_deletes_within_a_second_can_both_be_undone(signed: Watched) -> None:
    page, file = signed.page, signed.server.file("kilns", FACTS)
    before = file.read_text().count("invalidated:")
    page.locator("#delete-k40").click()
    page.locator("#delete-k39").click()
    expect(page.locator("#m-k40, #m-k39")).to_have_count(0)
    expect(page.locator(".toast", has_text="Deleted")).to_have_count(2)
    assert file.read_text().count("invalidated:") == before + 2
    for left in (1, 0):
        page.locator(".toast", has_text="Deleted").first.get_by_role("button", name="Undo").click()
        expect(page.locator(".toast", has_text="Deleted")).to_have_count(left)
        settled(page)
    expect(page.locator("#m-k40, #m-k39")).to_have_count(2)
    assert file.read_text().count("invalidated:") == before


@pytest.mark.checklist
def test_a_hand_edit_raises_the_pill_and_moves_nothing(signed: Watched) -> None:
    page, file = signed.page, signed.server.file("kilns", FACTS)
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    page.locator("#pick-k53").check()
    before, at = rows(page), page.locator("#m-k53").bounding_box()
    write(signed.server, file.read_text().replace("Kiln 53 was fired.\n", "Kiln 53 is cold.\n"))
    expect(page.get_by_role("link", name="1 new or changed, show")).to_be_visible(timeout=4000)
    assert (rows(page), page.locator("#m-k53").bounding_box()) == (before, at)
    expect(page.locator("#pick-k53")).to_be_checked()
    assert heard(page) == ["1 new or changed"]
    page.get_by_role("link", name="1 new or changed, show").click()
    expect(page.locator("#m-k53")).to_contain_text("Kiln 53 is cold.")
    expect(page.locator("#news")).to_have_count(0)
    assert focused(page) == "list"


def test_a_memory_opens_beside_the_list_and_has_an_address(signed: Watched) -> None:
    page = signed.page
    page.locator("#open-k52").click()
    expect(page.locator("#drawer")).to_contain_text("Kiln 52 was fired.")
    expect(page).to_have_url(re.compile(rf"{LIST}\?sel=k52$"))
    assert signed.fits()
    page.reload()
    expect(page.locator("#drawer")).to_contain_text("Kiln 52 was fired.")
    expect(page.locator("#m-k52")).to_have_class(re.compile("is-open"))
    page.keyboard.press("Escape")
    expect(page.locator("#drawer")).to_be_empty()
    expect(page).to_have_url(re.compile(f"{LIST}$"))
    settled(page)
    assert focused(page) == "open-k52"
    page.go_back()
    expect(page.locator("#drawer")).to_contain_text("Kiln 52 was fired.")


def test_on_a_phone_a_memory_opens_as_a_page(opened: Open, stocked: Server) -> None:
    with opened(viewport=PHONE) as watched:
        wait_for_files(watched)
        assert watched.fits()
        watched.page.locator("#open-k52").click()
        expect(watched.page).to_have_url(re.compile("/m/kilns/k52$"))
