"""A run and what it asks, decided in a browser with script and in one without."""

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import problems_in_both_themes
from tests.e2e.conftest import Console, Watched

pytestmark = pytest.mark.slow  # a real server and a real browser

TWINS = (
    "The pump of kiln {} is primed by hand before noon.",
    "Before noon the pump of kiln {} is primed by hand.",
)


def stock(console: Console, *names: str) -> None:
    """Memories that a run would merge, and asks about."""
    for name in names:
        for text in TWINS:
            console.call("/memories", bank="kilns", text=text.format(name), category="facts")


def test_what_a_run_asks_is_decided_in_place_and_taken_back_with_the_run(
    console: Console, watched: Watched
) -> None:
    page = watched.page
    stock(console, "4", "7")
    watched.open("/b/kilns/runs")
    page.get_by_role("button", name="Consolidate now").click()
    expect(page.locator("#list")).to_have_text("2 waiting", timeout=15_000)
    assert problems_in_both_themes(watched) == []
    run = page.url
    watched.open("/b/kilns/review")
    page.get_by_role("button", name="Accept").first.click()
    expect(page.locator("#say")).to_contain_text("Accepted.")
    expect(page.locator(".proposal")).to_have_count(1)
    expect(page.locator(".review-count")).to_have_text(["1 waiting", "1 waiting"])
    expect(page.locator(":focus")).to_have_text("Merge two memories into one")
    page.locator("[id^=reject-]").first.click()
    page.get_by_label("Why").fill("They are two pumps.")
    assert problems_in_both_themes(watched) == []
    page.get_by_role("button", name="Reject it").click()
    expect(page.locator("#list")).to_contain_text("Nothing waits")
    expect(page.locator(":focus")).to_have_id("list")
    page.goto(run)
    page.locator("#undo").click()
    page.get_by_role("dialog").get_by_role("button", name="Take back").click()
    expect(page.locator("#told")).to_contain_text("Taken back")
    watched.open("/b/kilns/memories")
    expect(page.locator(".row")).to_have_count(4)


def test_what_a_run_asks_is_decided_without_script_too(console: Console, plain: Watched) -> None:
    page = plain.page
    stock(console, "9", "12")
    plain.open("/b/kilns/runs")
    page.get_by_role("button", name="Consolidate now").click()
    for _ in range(40):
        if page.locator(".proposal").count():
            break
        page.wait_for_timeout(150)
        page.get_by_role("link", name="Show how far it is").click()
    waiting = page.locator(".proposal").count()
    page.locator("#accept-all").click()
    page.get_by_role("button", name="Accept all").click()
    expect(page.locator("#told")).to_contain_text(f"{waiting} accepted.")
    expect(page.locator("#list")).to_have_text("All is decided")
