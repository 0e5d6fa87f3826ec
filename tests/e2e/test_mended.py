"""A long list keeps its rows, its picks and its counts through changes of it."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.byhand import FACTS, LONG_AGO, block
from tests.e2e.conftest import Server, Watched, window

LIST = "/b/kilns/memories"
ROWS = 120


@pytest.fixture(scope="module")
def stocked(server: Server) -> Server:
    """Memories of one moment, as if typed into the file: k119 comes first."""
    write(server, "is hot")
    return server


def write(server: Server, state: str) -> None:
    blocks = [block(f"k{n:03}", f"Kiln {n} is hot.") for n in range(ROWS)]
    blocks[ROWS - 2] = block(f"k{ROWS - 2}", f"Kiln {ROWS - 2} {state}.")
    file = server.file("kilns", FACTS)
    file.write_text("\n".join(blocks))
    os.utime(file, (LONG_AGO, LONG_AGO + len(state)))


@pytest.fixture
def page(chromium: Browser, stocked: Server) -> Iterator[Page]:
    """A signed-in window on the list, which the server has read."""
    with window(chromium, stocked) as watched:
        watched.page.set_default_timeout(5000)
        watched.sign_in()
        read(watched, "is hot")
        yield watched.page


def read(watched: Watched, state: str) -> None:
    """A process looks at the files once a second."""
    row = watched.page.locator(f"#m-k{ROWS - 2}", has_text=state)
    for _ in range(20):
        watched.open(LIST)
        if row.count():
            return
        watched.page.wait_for_timeout(150)


def load_all(page: Page) -> None:
    for shown in (100, 120):
        page.locator("#load-more").click()
        expect(page.locator(".row")).to_have_count(shown)


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id"))


def test_rows_that_were_loaded_later_stay_through_an_undo_and_a_redo(page: Page) -> None:
    load_all(page)
    page.locator("#delete-k010").click()
    expect(page.locator(".row")).to_have_count(119)
    expect(page.locator("#extent")).to_have_text("Showing 119 of 119")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#m-k011 + #m-k010 + #m-k009")).to_have_count(1)
    expect(page.locator(".row")).to_have_count(120)
    expect(page.locator("#extent")).to_have_text("")
    expect(page.locator("#open-k010")).to_be_focused()
    page.get_by_role("button", name="Redo").click()
    expect(page.locator("#m-k010")).to_have_count(0)
    expect(page.locator("#say")).to_have_text("Done again.")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".row")).to_have_count(120)


def test_what_is_restored_beside_the_list_comes_back_into_it(page: Page) -> None:
    load_all(page)
    page.locator("#open-k060").click()
    page.locator("#drawer-delete-k060").click()
    expect(page.locator("#m-k060")).to_have_count(0)
    page.locator("#drawer-restore-k060").click()
    expect(page.locator("#m-k061 + #m-k060.is-open + #m-k059")).to_have_count(1)
    expect(page.locator(".row")).to_have_count(120)
    expect(page.locator("#count")).to_have_text("120 memories, newest first")
    expect(page.locator("#say")).to_have_text("Restored. Agents see it again.")
    assert focused(page) == "drawer-delete-k060"


def test_a_change_in_place_leaves_one_undo_and_an_overtaken_one_says_so(page: Page) -> None:
    home = page.url.removesuffix(LIST) + "/m/kilns/k020"
    page.goto(f"{home}/edit")
    page.get_by_label("Tags").fill("north")
    page.get_by_role("button", name="Save").click()
    undo = page.get_by_role("button", name="Undo")
    expect(page.locator("#told")).to_contain_text("Saved.")
    overtaken = page.locator("#told form").get_attribute("action")
    page.locator("#pin-k020").click()
    expect(page.locator("#toasts")).to_contain_text("Pinned.")
    expect(page.locator("#told")).to_have_text("")
    expect(undo).to_have_count(1)
    page.locator("#toasts form").evaluate(
        "(form, to) => { form.setAttribute('hx-post', to); htmx.process(form); }", overtaken
    )
    undo.click()
    expect(page.locator("#err")).to_contain_text("A later change is on top of it")
    page.get_by_role("link", name="Its changes").click()
    expect(page.locator(".deed").first).to_contain_text("pinned a memory Kiln 20")


def test_a_drawer_moves_nothing_above_the_list(page: Page) -> None:
    above = [".head h1", ".head .primary", ".tabs", "#filter", "#filters", "#list"]
    before = [page.locator(each).bounding_box() for each in above]
    page.locator("#open-k119").click()
    expect(page.locator("#drawer-open")).to_be_visible()
    after = [page.locator(each).bounding_box() for each in above]
    assert after[:-1] == before[:-1]
    assert [box and box["y"] for box in after[-1:]] == [box and box["y"] for box in before[-1:]]


def test_the_bar_of_what_is_picked_counts_it(page: Page) -> None:
    for key in ("k110", "k111", "k112"):
        page.locator(f"#pick-{key}").check()
    expect(page.locator(".bulk-word")).to_have_text("3 picked")
    page.locator("#pick-k111").uncheck()
    expect(page.locator(".bulk-word")).to_have_text("2 picked")


def test_a_refused_change_of_many_names_the_reason_and_keeps_the_picks(
    chromium: Browser, stocked: Server
) -> None:
    with window(chromium, stocked) as watched:
        page = watched.page
        page.set_default_timeout(5000)
        watched.sign_in()
        read(watched, "is hot")
        load_all(page)
        for key in ("k118", "k117", "k003"):
            page.locator(f"#pick-{key}").check()
        write(stocked, "is cold")
        page.locator("#bulk-pin").click()
        expect(page.get_by_role("alert").filter(has_text="1 of the 3")).to_contain_text("Kiln 118")
        expect(page.locator(".row")).to_have_count(120)
        expect(page.locator(".pick:checked")).to_have_count(3)
        expect(page.locator("#m-k118")).to_contain_text("is cold")
        page.locator("#bulk-pin").click()
        expect(page.locator(".row.is-pinned")).to_have_count(3)
