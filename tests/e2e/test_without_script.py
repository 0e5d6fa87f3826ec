"""The ways through the console that have to work in a browser without script."""

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import Add, Server, Watched, make_account, window

pytestmark = pytest.mark.slow  # a real server and a real browser


def test_from_the_printed_link_to_a_memory_in_a_file(fresh: Server, chromium: Browser) -> None:
    with window(chromium, fresh, java_script_enabled=False) as watched:
        make_account(watched)
        page = watched.page
        page.get_by_label("Something your agents should know").fill("Kiln 3 is fired on Fridays.")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".strip-success")).to_contain_text("Saved.")
        file = fresh.file("main", "semantic_memory/facts.md")
        assert "Kiln 3 is fired on Fridays." in file.read_text()
        watched.open(fresh.setup)
        expect(page.get_by_role("heading", level=1)).to_have_text("This link does not work")


def test_a_filter_is_in_the_address_and_survives_reload_and_back(plain: Watched, add: Add) -> None:
    add("The damper of kiln 1 sticks.", tags="dampers")
    add("The fan of kiln 1 hums.", tags="fans")
    page = plain.page
    plain.open("/b/kilns/memories")
    page.get_by_role("link", name="dampers").first.click()
    expect(page).to_have_url(re.compile(r"\?tag=dampers$"))
    expect(page.locator(".row")).to_have_count(1)
    page.reload()
    expect(page.locator(".row")).to_have_count(1)
    page.get_by_label("Search in this bank").fill("fan")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
    page.get_by_role("link", name="Remove filter tag dampers").first.click()
    expect(page.locator(".row")).to_have_count(1)
    page.go_back()
    page.go_back()
    expect(page.locator(".row")).to_contain_text("damper of kiln 1")
    expect(page.get_by_role("navigation", name="Banks")).to_be_visible()


@pytest.mark.checklist
def test_edit_pin_delete_and_undo_reach_the_file(plain: Watched, add: Add) -> None:
    address = add("Zone 2 reads 12 degrees low.")
    plain.open(address)
    page, file = plain.page, plain.server.file("kilns", "semantic_memory/facts.md")
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text").fill("Zone 2 reads 14 degrees low.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".timeline ins")).to_have_text("14")
    assert "reads 14 degrees" in file.read_text()
    assert "reads 12 degrees" not in file.read_text()
    page.get_by_role("button", name="Pin").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("pinned")
    assert "pinned: true" in file.read_text()
    page.get_by_role("button", name="Delete").click()
    expect(page.locator(".strip-success")).to_contain_text("Agents stop seeing it.")
    assert "invalidated:" in file.read_text()
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".strip-success")).to_contain_text("Undone.")
    assert "invalidated:" not in file.read_text()
    expect(page).to_have_url(plain.server.url + address)


def test_two_deletes_after_each_other_can_both_be_undone(plain: Watched, add: Add) -> None:
    addresses = [add(f"Shelf {number} holds spare tiles.") for number in (1, 2)]
    for address in addresses:
        plain.open(address)
        plain.page.get_by_role("button", name="Delete").click()
    for address in addresses:
        plain.open(address)
        plain.page.get_by_role("button", name="Restore").click()
        expect(plain.page.locator(".strip-success")).to_contain_text("Restored.")


def test_theme_and_sign_out_work_from_the_menu(server: Server, chromium: Browser) -> None:
    with window(chromium, server, java_script_enabled=False) as plain:
        plain.sign_in()
        page = plain.page
        plain.open("/b/kilns/memories?is=pinned")
        page.locator(".account summary").click()
        page.get_by_role("button", name="Dark").click()
        expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        expect(page).to_have_url(re.compile(r"\?is=pinned$"))
        page.locator(".account summary").click()
        page.get_by_role("button", name="Sign out").click()
        plain.open("/b/kilns/memories")
        expect(page).to_have_url(re.compile(r"/sign-in\?next="))


def test_similar_memories_are_looked_for_before_one_saves(plain: Watched, add: Add) -> None:
    address = add("The damper of kiln 5 sticks in the cold.")
    plain.open("/b/kilns/memories/new")
    page = plain.page
    page.get_by_label("Text").fill("The damper of kiln 6 sticks in the cold.")
    page.get_by_role("button", name="Look for similar ones").click()
    found = page.locator("#similar").get_by_role("link").first
    expect(found).to_have_attribute("href", address)
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".strip-success")).to_contain_text("Saved.")
