"""The audit log and health, with a script and without one."""

import re

import pytest
from playwright.sync_api import expect

from tests.byhand import FACTS, block
from tests.e2e.conftest import Add, Open, Watched

pytestmark = pytest.mark.slow  # a real server and a real browser


@pytest.mark.checklist
@pytest.mark.parametrize("script", [True, False], ids=["script", "no script"])
def test_a_change_is_in_the_log_and_can_be_taken_back_from_it(
    opened: Open, add: Add, *, script: bool
) -> None:
    with opened(java_script_enabled=script) as watched:
        page, text = watched.page, f"The kiln door sticks, script {script}."
        watched.open(add(text))
        page.get_by_role("button", name="Delete").click()
        expect(page.get_by_role("button", name="Restore")).to_be_visible()
        watched.open("/audit")
        deed = page.locator(".deed").first
        expect(deed).to_contain_text(f"ada deleted a memory {text}")
        deed.get_by_role("button", name="Undo").click()
        expect(page.locator(".deed").first).to_contain_text(
            f"ada undid a change of a memory {text}"
        )
        expect(page.locator(".deed").nth(1)).to_contain_text("undone")
        if script:
            expect(page.locator(".toast")).to_contain_text("Undone.")
            expect(page.locator("#list")).to_be_focused()
        page.locator(".deed").first.get_by_role("link", name=text).click()
        expect(page.get_by_role("button", name="Delete")).to_be_visible()


def test_a_filter_of_the_log_is_an_address_and_back_is_a_whole_page(watched: Watched) -> None:
    page = watched.page
    watched.open("/audit")
    page.get_by_label("Who").fill("nobody")
    page.keyboard.press("Enter")
    expect(page.locator("#list")).to_have_text("Nothing fits")
    expect(page.locator("#say")).to_have_text("Nothing fits")
    expect(page).to_have_url(re.compile(r"/audit\?.*who=nobody"))
    expect(page.get_by_label("Who")).to_be_focused()
    beyond = page.evaluate("document.documentElement.scrollHeight - innerHeight")
    assert beyond == 0, "a short page has nothing to scroll"
    page.get_by_role("link", name="Show everything").click()
    expect(page.locator(".deed")).not_to_have_count(0)
    page.go_back()
    expect(page.locator("#list")).to_have_text("Nothing fits")
    expect(page.get_by_role("navigation", name="Banks")).to_be_visible()


@pytest.mark.checklist
def test_a_broken_file_shows_on_health_and_hides_no_other(plain: Watched, add: Add) -> None:
    add("Kiln 9 is cold.")
    file = plain.server.file("kilns", FACTS)
    with file.open("a") as end:
        end.write("\n" + block("broken", "Kiln 10 is hot", summary="kiln: hot"))
    for _ in range(20):
        plain.open("/health")
        if plain.page.get_by_text("found something wrong").count():
            break
        plain.page.wait_for_timeout(150)
    files = plain.page.locator("#check-files")
    expect(files).to_contain_text("Not well")
    expect(files).to_contain_text(re.compile(rf"kilns\s+{FACTS}, line \d+"))
    plain.page.get_by_role("button", name="Run all checks").click()
    expect(plain.page.get_by_text("Every check, made just now.")).to_be_visible()
    files.get_by_role("link", name="kilns").click()
    expect(plain.page.get_by_text("Kiln 9 is cold.")).to_be_visible()
    expect(plain.page.get_by_text("1 entry in")).to_be_visible()


def test_a_bank_on_hold_goes_on_once_the_disk_is_taken_as_it_is(watched: Watched) -> None:
    page = watched.page
    mark = watched.server.file("main", "bank.yaml")
    mark.unlink()
    for _ in range(20):
        watched.open("/health")
        if page.locator("#accept-main").count():
            break
        page.wait_for_timeout(150)
    with page.expect_response(lambda answer: answer.request.method == "POST"):
        page.locator("#run-checks").click()
    expect(page.locator("#checks")).not_to_have_attribute("aria-busy", "true")
    expect(page.locator("#list")).to_contain_text("found something wrong")
    expect(page.locator("#run-checks")).to_be_focused()
    page.locator("#accept-main").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#accept-main")).to_be_focused()
    page.locator("#accept-main").click()
    page.locator("dialog").get_by_role("button", name="Take the disk as it is").click()
    expect(page.locator(".strip-success")).to_contain_text("takes writes again")
    expect(page.locator("#accept-main")).to_have_count(0)


def test_a_panel_that_fails_keeps_what_it_showed_and_leaves_the_others_alone(
    watched: Watched,
) -> None:
    page = watched.page
    watched.open("/audit")
    shown = page.locator(".deed").count()
    page.route("**/audit?*", lambda route: route.fulfill(status=500, body=""))
    page.get_by_label("Who").fill("nobody")
    page.keyboard.press("Enter")
    expect(page.locator("#err .strip")).to_contain_text("The server could not do that.")
    assert page.locator(".deed").count() == shown
    page.unroute("**/audit?*")
    page.get_by_role("button", name="Retry").click()
    expect(page.locator("#list")).to_have_text("Nothing fits")
    expect(page.locator("#err .strip")).to_have_count(0)
    assert ["500" in said for said in watched.complaints] == [True]
    watched.complaints.clear()
