"""What holds on every page: all can read it, it fits, it stays at home, and a text is a text."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from tests.byhand import FACTS, LONG_AGO, block
from tests.e2e.accessibility import NARROW, bring_rules, problems, problems_in_both_themes
from tests.e2e.conftest import NAME, PASSWORD, PHONE, WIDE, Console, Open, Server, Watched, window

pytestmark = [pytest.mark.slow, pytest.mark.checklist]  # a real server and a real browser

LIST = "/b/kilns/memories"
HOSTILE = {
    "markup": '</pre><img src=x onerror=alert(1)><b hx-get="/x" hx-trigger="load">{{ 7|add:7 }}',
    "long-word": "https://example.test/" + "x" * 1_978,
    "other-way": "مرحبا \u200f with a mark, \u202e turned round, and a kiln 🔥 in it.",
    "script": "<script>alert(1)</script> hx-get=/x data-hx-get=/x",
}
WATCH = """
window.refused = [];
addEventListener("securitypolicyviolation", (event) => refused.push(event.violatedDirective));
"""
CONTROLS = (
    "main :is(.button, input:not([type=checkbox], [type=radio], [type=hidden])), .topbar summary"
)
TOO_SMALL = """all => all.filter((each) => {
  const { height } = each.getBoundingClientRect();
  return height && height < 44;
}).map((each) => each.outerHTML.slice(0, 200))"""
"""The height that a thumb needs, in CSS pixels; what is not shown has none."""
PAGES = {
    "list": LIST,
    "drawer": f"{LIST}?sel=markup",
    "nothing matches": f"{LIST}?tag=firing&is=pinned&q=zebra",
    "refused filter": f"{LIST}?is=round",
    "new memory": f"{LIST}/new",
    "new procedure": f"{LIST}/new?category=procedure",
    "memory": "/m/kilns/markup",
    "long word": "/m/kilns/long-word",
    "other way": "/m/kilns/other-way",
    "deleted": "/m/kilns/script",
    "edit": "/m/kilns/markup/edit",
    "compare": "/m/kilns/long-word/compare?from=r1&to=r2",
    "no rules": "/b/annex/rules",
    "no memories": "/b/annex/memories",
    "nothing to review": "/b/annex/review",
    "no runs": "/b/annex/runs",
    "rules": "/b/kilns/rules",
    "rule": "/b/kilns/rules/style",
    "new rule": "/b/kilns/new-rule",
    "edit rule": "/b/kilns/rules/style/edit",
    "compare rule": "/b/kilns/rules/style/compare?from=r1&to=r2",
    "members": "/b/kilns/settings",
    "banks": "/banks",
    "new bank": "/banks/new",
    "welcome": "/welcome",
    "tokens": "/settings/tokens",
    "password": "/settings/password",
    "configuration": "/settings/config",
    "audit": "/audit",
    "nothing in audit": "/audit?who=nobody",
    "health": "/health",
    "unknown bank": "/b/nowhere/memories",
    "no address": "/nowhere",
    "link used": "/setup/not-a-link",
}


LIKE_OTHERS = {"drawer", "long word", "other way", "nothing in audit"}
"""Only texts differ, or what opens is looked at elsewhere: the rules would say the same again."""


@dataclass
class Seen:
    """What one visit showed."""

    problems: list[str]
    stored: list[str]
    refused: list[str]
    too_wide: list[int] = field(default_factory=list)
    too_small: list[str] = field(default_factory=list)
    title: str = ""
    headings: int = 0
    asked: list[str] = field(default_factory=list)
    elements: int = 0


@pytest.fixture(scope="module")
def stocked(server: Server, console: Console) -> Server:
    """A bank with texts that strain pages, a rule with two states, and an empty bank."""
    blocks = [
        block(key, text, f"tags: [firing, {'t' * 60}]", summary=f"'{key}'")
        for key, text in HOSTILE.items()
    ]
    file = server.file("kilns", FACTS)
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join(blocks))
    os.utime(file, (LONG_AGO, LONG_AGO))
    console.call("/banks", name="annex")
    console.call("/reload")
    change = {"bank": "kilns", "text": HOSTILE["long-word"] + "y"}
    console.call("/memories/long-word", "PATCH", **change)
    for content in (HOSTILE["markup"], f"# Valves\n\n{HOSTILE['script']}"):
        console.call("/rules/style", "PUT", bank="kilns", content=content)
    console.call("/memories/other-way/pin", bank="kilns", pinned=True)
    console.call("/memories/script?bank=kilns", "DELETE")
    return server


@pytest.fixture(scope="module")
def visits(stocked: Server, console: Console, chromium: Browser) -> dict[str, Seen]:
    """Every page, opened once: what the rules, the browser and two widths say of it."""
    seen: dict[str, Seen] = {}
    with window(chromium, stocked) as watched:
        page = watched.page
        page.context.add_cookies(console.cookies)
        page.add_init_script(WATCH)
        bring_rules(watched)
        asked: list[str] = []
        page.on("request", lambda request: note(asked, request))
        for name, address in PAGES.items():
            asked.clear()
            watched.open(address)
            seen[name] = Seen(
                problems=[] if name in LIKE_OTHERS else problems_in_both_themes(watched),
                stored=kept(page),
                refused=page.evaluate("window.refused"),
                title=page.title(),
                headings=page.locator("h1").count(),
                asked=list(asked),
                elements=page.locator("main :is(img, b, script, [onerror], [hx-get='/x'])").count(),
            )
            for size in (NARROW, WIDE):
                page.set_viewport_size(size)  # type: ignore[arg-type]  # a dict with both keys
                seen[name].too_wide += [] if watched.fits() else [size["width"]]
                if size is NARROW:
                    seen[name].too_small = page.locator(CONTROLS).evaluate_all(TOO_SMALL)
    return seen


def kept(page: Page) -> list[str]:
    """What the browser keeps besides the address that htmx was on."""
    stored: dict[str, str] = page.evaluate("({ ...localStorage, ...sessionStorage })")
    stored.pop("htmx-current-path-for-history", None)
    return list(stored)


def note(asked: list[str], request: Request) -> None:
    """Keep what a script of the page asks for."""
    if request.resource_type in ("xhr", "fetch"):
        asked.append(request.url)


@pytest.fixture
def signed_in(stocked: Server, opened: Open) -> Iterator[Watched]:
    with opened() as watched:
        watched.page.add_init_script(WATCH)
        yield watched
        assert watched.page.evaluate("window.refused") == []


# --- accessibility and layout --------------------------------------------------------------------


def test_every_page_keeps_the_rules_of_accessibility_in_both_themes(
    visits: dict[str, Seen],
) -> None:
    assert {name: seen.problems for name, seen in visits.items() if seen.problems} == {}


def test_every_page_has_one_heading_and_says_by_its_title_where_one_is(
    visits: dict[str, Seen],
) -> None:
    assert {name for name, seen in visits.items() if seen.headings != 1} == set()
    pages = {PAGES[name].partition("?")[0]: seen.title for name, seen in visits.items()}
    shared = [title for title in pages.values() if "Not found" not in title]
    assert sorted(set(shared)) == sorted(shared)


def test_nothing_has_to_be_scrolled_sideways(visits: dict[str, Seen]) -> None:
    assert {name: seen.too_wide for name, seen in visits.items() if seen.too_wide} == {}


def test_what_opens_on_a_page_keeps_the_rules_too(signed_in: Watched) -> None:
    page = signed_in.page
    signed_in.open(LIST)
    page.locator(".account summary").click()
    assert problems_in_both_themes(signed_in) == [], "menu"
    page.keyboard.press("Escape")
    page.locator("#pick-markup").check()
    page.locator("#open-markup").click()
    expect(page.locator("#drawer")).to_have_attribute("data-id", "markup")
    page.locator("#edit-long-word").click()
    expect(page.locator(".is-editing textarea")).to_be_focused()
    assert problems_in_both_themes(signed_in) == [], "drawer, editor, picked row"
    page.keyboard.press("Escape")
    page.locator("#pin-markup").click()
    expect(page.locator(".toast")).to_be_visible()
    page.route("**/delete", lambda route: route.fulfill(status=500, body=""))
    page.locator("#delete-long-word").click()
    expect(page.locator("#err .strip")).to_be_visible()
    assert problems_in_both_themes(signed_in) == [], "toast, error"
    assert ["500" in said for said in signed_in.complaints] == [True]
    signed_in.complaints.clear()
    signed_in.open("/b/kilns/rules/style")
    page.locator(".confirm summary").first.click()
    expect(page.locator("dialog[open]")).to_be_visible()
    assert problems_in_both_themes(signed_in) == [], "dialog"


def test_refused_forms_and_clashes_keep_the_rules(signed_in: Watched) -> None:
    page = signed_in.page
    signed_in.open(f"{LIST}/new")
    page.get_by_label("Text").fill("a\n---\nb")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Text")).to_have_attribute("aria-invalid", "true")
    assert problems_in_both_themes(signed_in) == []
    signed_in.open("/m/kilns/markup/edit")
    page.locator("[name=base]").evaluate("field => { field.value = '0123456789abcdef' }")
    page.get_by_label("Text").fill("Something else.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("It changed while you were editing")
    assert problems_in_both_themes(signed_in) == []


def test_the_sign_in_page_and_its_errors_keep_the_rules(server: Server, chromium: Browser) -> None:
    with window(chromium, server) as watched:
        watched.open("/sign-in")
        assert problems_in_both_themes(watched) == []
        watched.page.get_by_label("Name").fill("nobody")
        watched.page.get_by_role("button", name="Sign in").click()
        assert problems(watched) == []


def test_the_box_of_a_new_procedure_shows_all_five_sections(signed_in: Watched) -> None:
    signed_in.open(PAGES["new procedure"])
    hidden = "box => box.scrollHeight - box.clientHeight"
    assert signed_in.page.get_by_label("Text").evaluate(hidden) == 0


def test_controls_on_a_phone_are_large_enough_for_a_thumb(visits: dict[str, Seen]) -> None:
    assert {name: seen.too_small for name, seen in visits.items() if seen.too_small} == {}


def test_the_menu_on_a_phone_fits(opened: Open, stocked: Server) -> None:
    with opened(viewport=PHONE) as watched:
        watched.open(LIST)
        watched.page.locator(".menu summary").click()
        assert watched.fits()


def test_the_keyboard_reaches_the_content_first_and_shows_where_it_is(signed_in: Watched) -> None:
    page = signed_in.page
    signed_in.open(LIST)
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("To the content")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Add memory")
    outline = page.locator(":focus").evaluate("node => getComputedStyle(node).outlineStyle")
    assert outline == "solid"


# --- safety --------------------------------------------------------------------------------------


def test_no_page_loads_what_it_may_not_or_keeps_anything_in_the_browser(
    visits: dict[str, Seen],
) -> None:
    assert {name: seen.refused for name, seen in visits.items() if seen.refused} == {}
    assert {name: seen.stored for name, seen in visits.items() if seen.stored} == {}


def test_nothing_stays_in_the_browser_after_changes_in_place_either(signed_in: Watched) -> None:
    page = signed_in.page
    for address, act in (
        (LIST, "#open-markup"),
        (LIST, "#edit-long-word"),
        ("/m/kilns/other-way", "#pin-other-way"),
        ("/audit", "[id^=undo-]"),
        ("/health", "#run-checks"),
        ("/b/kilns/rules/style", "[id^=revert]"),
    ):
        signed_in.open(address)
        with page.expect_response(lambda answer: "hx-request" in answer.request.headers) as got:
            page.locator(act).first.click()
        assert got.value.status in (200, 303), address
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        assert kept(page) == [], address
        assert page.evaluate("window.refused") == [], address


# field case A42
def test_a_hostile_text_is_shown_as_text_and_asks_for_nothing(
    visits: dict[str, Seen], signed_in: Watched
) -> None:
    assert {name: seen.elements for name, seen in visits.items() if seen.elements} == {}
    refreshes = re.compile(r"/(events|banks)\b|since=")
    for name, seen in visits.items():
        assert [url for url in seen.asked if not refreshes.search(url)] == [], name
    signed_in.open(PAGES["memory"])
    text = signed_in.page.locator(".memory-text")
    expect(text).to_contain_text(HOSTILE["markup"])


def test_no_link_on_the_list_is_without_words(signed_in: Watched) -> None:
    signed_in.open(LIST)
    links = signed_in.page.locator(".row-main > a, .row-title a").all_inner_texts()
    assert len(links) == signed_in.page.locator(".row").count()
    assert all(links)


def test_another_host_a_missing_session_and_a_script_get_nothing(
    server: Server, chromium: Browser
) -> None:
    foreign = chromium.new_context(extra_http_headers={"Host": "evil.example"})
    assert foreign.request.get(f"{server.url}/sign-in").status == 400
    foreign.close()
    context = chromium.new_context()
    assert context.request.get(f"{server.url}/events?bank=kilns").status == 401
    page = context.new_page()
    page.goto(f"{server.url}/sign-in")
    page.get_by_label("Name").fill(NAME)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    cookies = context.cookies()
    assert cookies
    assert all(each["httpOnly"] and each["sameSite"] == "Lax" for each in cookies)
    assert page.evaluate("document.cookie") == ""
    context.close()
