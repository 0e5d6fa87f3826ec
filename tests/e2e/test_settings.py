"""Banks, members and tokens in a browser with script."""

import json
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import expect

from tests.e2e.accessibility import problems, problems_in_both_themes
from tests.e2e.conftest import NAME, Server, Watched

pytestmark = pytest.mark.slow  # a real server and a real browser

PAGES = (
    "/banks",
    "/banks/new",
    "/b/kilns/settings",
    "/settings/tokens",
    "/settings/password",
    "/settings/config",
    "/welcome",
)


def make_token(watched: Watched, name: str) -> str:
    watched.open("/settings/tokens")
    watched.page.get_by_label("Name", exact=True).fill(name)
    watched.page.get_by_role("button", name="Make the token").click()
    expect(watched.page.locator(":focus")).to_have_text(f"Token {name} is made")
    return watched.page.get_by_role("textbox", name="The token").input_value()


def test_a_made_token_works_and_its_secret_is_on_no_later_page(
    server: Server, watched: Watched
) -> None:
    secret = make_token(watched, "kiln agent")
    assert problems_in_both_themes(watched) == []
    body = json.dumps({"bank": "kilns", "query": "damper"}).encode()
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    with urlopen(Request(f"{server.url}/api/v1/recall", body, headers), timeout=5) as answer:  # noqa: S310  # our own server
        assert "memories" in json.load(answer)
    watched.page.reload()
    assert secret not in watched.page.content()
    for address in PAGES:
        watched.open(address)
        assert secret not in watched.page.content()


@pytest.mark.checklist
def test_a_question_that_is_closed_gives_the_focus_back_and_one_that_is_confirmed_revokes(
    watched: Watched,
) -> None:
    make_token(watched, "old agent")
    page = watched.page
    revoke = page.get_by_role("row", name="old agent").locator("summary")
    revoke.click()
    expect(page.get_by_role("dialog")).to_contain_text("Revoke old agent?")
    assert problems(watched) == []
    page.get_by_role("button", name="Cancel").click()
    expect(revoke).to_be_focused()
    revoke.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(revoke).to_be_focused()
    revoke.click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("row", name="old agent")).to_contain_text("revoked")
    expect(page.locator(":focus")).to_have_id("list")


def test_saving_a_role_keeps_the_focus_and_says_it_once(watched: Watched) -> None:
    page = watched.page
    watched.open("/b/kilns/settings")
    save = page.get_by_role("button", name=f"Save the role of {NAME}")
    save.click()
    expect(page.locator("#say")).to_have_text(f"{NAME} is owner of kilns now.")
    expect(save).to_be_focused()
    page.get_by_label("Name").fill("nobody")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Name")).to_have_value("nobody")
    assert problems(watched) == []


def test_a_name_is_looked_at_while_it_is_typed(watched: Watched) -> None:
    page = watched.page
    watched.open("/banks/new")
    page.get_by_label("Name").press_sequentially("My Kilns")
    expect(page.locator("#name-hint")).to_contain_text("Use my-kilns instead?")
    expect(page.get_by_label("Name")).to_be_focused()
    page.get_by_label("Name").fill("valves")
    expect(page.locator("#name-hint")).to_have_text("valves is free.")
