"""Banks, members and tokens in a browser with script."""

import json
from collections.abc import Iterator
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.accessibility import problems
from tests.e2e.conftest import NAME, PHONE, Server, Watched, window

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


@pytest.fixture
def signed_in(server: Server, chromium: Browser) -> Iterator[Watched]:
    with window(chromium, server) as watched:
        watched.sign_in()
        yield watched


def make_token(watched: Watched, name: str) -> str:
    watched.open("/settings/tokens")
    watched.page.get_by_label("Name", exact=True).fill(name)
    watched.page.get_by_role("button", name="Make the token").click()
    expect(watched.page.locator(":focus")).to_have_text(f"Token {name} is made")
    return watched.page.get_by_role("textbox", name="The token").input_value()


def test_a_made_token_works_and_its_secret_is_on_no_later_page(
    server: Server, signed_in: Watched
) -> None:
    secret = make_token(signed_in, "kiln agent")
    body = json.dumps({"bank": "kilns", "query": "damper"}).encode()
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    with urlopen(Request(f"{server.url}/api/v1/recall", body, headers), timeout=5) as answer:  # noqa: S310  # our own server
        assert "memories" in json.load(answer)
    signed_in.page.reload()
    assert secret not in signed_in.page.content()
    for address in PAGES:
        signed_in.open(address)
        assert secret not in signed_in.page.content()


def test_a_question_that_is_closed_gives_the_focus_back_and_one_that_is_confirmed_revokes(
    signed_in: Watched,
) -> None:
    make_token(signed_in, "old agent")
    page = signed_in.page
    revoke = page.get_by_role("row", name="old agent").locator("summary")
    revoke.click()
    expect(page.get_by_role("dialog")).to_contain_text("Revoke old agent?")
    assert problems(signed_in) == []
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


def test_saving_a_role_keeps_the_focus_and_says_it_once(signed_in: Watched) -> None:
    page = signed_in.page
    signed_in.open("/b/kilns/settings")
    save = page.get_by_role("button", name=f"Save the role of {NAME}")
    save.click()
    expect(page.locator("#say")).to_have_text(f"{NAME} is owner of kilns now.")
    expect(save).to_be_focused()
    page.get_by_label("Name").fill("nobody")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_label("Name")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("Name")).to_have_value("nobody")
    assert problems(signed_in) == []


def test_a_name_is_looked_at_while_it_is_typed(signed_in: Watched) -> None:
    page = signed_in.page
    signed_in.open("/banks/new")
    page.get_by_label("Name").press_sequentially("My Kilns")
    expect(page.locator("#name-hint")).to_contain_text("Use my-kilns instead?")
    expect(page.get_by_label("Name")).to_be_focused()
    page.get_by_label("Name").fill("valves")
    expect(page.locator("#name-hint")).to_have_text("valves is free.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_these_pages_keep_the_rules_of_accessibility(
    server: Server, chromium: Browser, scheme: str
) -> None:
    with window(chromium, server, color_scheme=scheme) as watched:
        watched.sign_in()
        for address in PAGES:
            watched.open(address)
            assert problems(watched) == [], address
        make_token(watched, "an agent")
        assert problems(watched) == []


@pytest.mark.parametrize("width", [390, 320])
def test_these_pages_fit_a_phone_and_a_thumb(server: Server, chromium: Browser, width: int) -> None:
    with window(chromium, server, viewport=PHONE | {"width": width}) as watched:
        watched.sign_in()
        for address in PAGES:
            watched.open(address)
            assert watched.fits(), address
            for control in watched.page.locator("main :is(.button, input[name]):visible").all():
                box = control.bounding_box()
                kind = control.get_attribute("type")
                assert box is not None
                assert kind in ("checkbox", "radio", "hidden") or box["height"] >= 44, address
