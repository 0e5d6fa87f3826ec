"""The admin in a browser: its pages of rules can be read by all, and it stays at home."""

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import bring_rules, problems_in_both_themes
from tests.e2e.conftest import PHONE, Open, Watched

pytestmark = pytest.mark.slow  # a real server and a real browser

LISTS = ("banks/bank", "banks/membership", "banks/accesstoken", "auth/user")


@pytest.mark.checklist
def test_the_pages_of_rules_keep_the_rules_of_accessibility(opened: Open) -> None:
    name = "dampers"
    with opened(viewport=PHONE) as watched:
        page = watched.page
        bring_rules(watched)
        watched.open("/admin/banks/rule/add/")
        assert problems_in_both_themes(watched) == []
        page.get_by_role("button", name="Save").click()
        assert problems_in_both_themes(watched) == []
        page.get_by_label("Bank").select_option("kilns")
        page.get_by_label("Name").fill(name)
        page.get_by_label("Text").fill("Open the damper first.")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Select rule to change")
        assert problems_in_both_themes(watched) == []
        page.get_by_role("link", name=name, exact=True).click()
        assert problems_in_both_themes(watched) == []
        watched.server.file("kilns", f"rules/{name}.md").write_text("Open the damper last.\n")
        page.get_by_label("Text", exact=True).fill("Open both dampers.")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text("It has changed since you read it")
        expect(page.locator("pre")).to_have_text("Open the damper last.")
        assert problems_in_both_themes(watched) == []
        page.get_by_role("link", name="Remove").click()
        assert problems_in_both_themes(watched) == []


def test_every_other_page_of_the_admin_keeps_them_too_and_loads_only_what_it_may(
    watched: Watched,
) -> None:
    bring_rules(watched)
    pages = [f"/admin/{each}/{act}" for each in LISTS for act in ("", "add/")]
    for address in ("/admin/", *pages):
        watched.open(address)
        assert problems_in_both_themes(watched) == [], address
