"""What holds on every page: it can be read by all, fits the phone, and stays at home."""

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.e2e.conftest import PHONE, WIDE, Server, Watched, window

pytestmark = pytest.mark.slow  # a real server and a real browser

RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
NARROW = {"width": 320, "height": 640}


@pytest.fixture(scope="module")
def pages(server: Server, chromium: Browser) -> dict[str, str]:
    """An address for every page, with memories on them that strain the layout."""
    found = {
        "list": "/b/kilns/memories",
        "filtered": "/b/kilns/memories?tag=firing&is=pinned&q=kiln",
        "refused filter": "/b/kilns/memories?is=round",
        "new memory": "/b/kilns/memories/new",
        "new procedure": "/b/kilns/memories/new?category=procedure",
        "new bank": "/banks/new",
        "unknown bank": "/b/nowhere/memories",
        "no address": "/nowhere",
        "link used": "/setup/not-a-link",
    }
    texts = {
        "long word": "https://example.test/" + "x" * 1_500,
        "markup": '</pre><img src=x onerror=alert(1)><b hx-get="/x">{{ 7|add:7 }}</b>',
        "other way": "مرحبا \u200f with a mark, and a kiln 🔥 in it.",
        "deleted": "The old damper hangs in shed two.",
    }
    with window(chromium, server, java_script_enabled=False) as watched:
        watched.sign_in()
        for name, text in texts.items():
            watched.open("/b/kilns/memories/new")
            watched.page.get_by_label("Text").fill(text)
            watched.page.get_by_label("Tags").fill("firing, " + "t" * 60)
            watched.page.get_by_role("button", name="Save").click()
            watched.page.wait_for_url("**/m/kilns/*")
            found[name] = watched.page.url.removeprefix(server.url)
        watched.page.get_by_role("button", name="Delete").click()
        watched.open(found["other way"])
        watched.page.get_by_role("button", name="Pin").click()
        watched.open(found["long word"] + "/edit")
        watched.page.get_by_label("Text").fill("y" * 1_900)
        watched.page.get_by_role("button", name="Save").click()
        watched.open("/b/kilns/memories/new?category=procedure")
        watched.page.get_by_label("Title").fill("Light the burner")
        steps = "## Steps\n\n### First\n\nOpen the <b>valve</b>.\n\n```\n# not a heading\n```"
        watched.page.get_by_label("Text").fill(steps)
        watched.page.get_by_role("button", name="Save").click()
        watched.page.wait_for_url("**/m/kilns/*")
        found["procedure"] = watched.page.url.removeprefix(server.url)
    found["edit"] = found["markup"] + "/edit"
    return found


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> str:
    theme: str = request.param
    return theme


@pytest.fixture
def signed_in(server: Server, chromium: Browser, scheme: str) -> Iterator[Watched]:
    with window(chromium, server, color_scheme=scheme) as watched:
        watched.sign_in()
        yield watched


def problems(watched: Watched) -> list[str]:
    """What the accessibility rules find on the page that is open."""
    watched.page.wait_for_load_state("load")  # before the style sheet is there, nothing has a size
    found = Axe().run(watched.page, options=RULES).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found]


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_every_page_keeps_the_rules_of_accessibility(
    pages: dict[str, str], signed_in: Watched, size: dict[str, int]
) -> None:
    signed_in.page.set_viewport_size(size)  # type: ignore[arg-type]  # a dict with both keys
    for name, address in pages.items():
        signed_in.open(address)
        assert problems(signed_in) == [], name
    signed_in.page.locator(".account summary").click()
    assert problems(signed_in) == []


def test_the_sign_in_page_and_its_errors_keep_the_rules(
    server: Server, chromium: Browser, scheme: str
) -> None:
    with window(chromium, server, color_scheme=scheme) as watched:
        watched.open("/sign-in")
        assert problems(watched) == []
        watched.page.get_by_label("Name").fill("nobody")
        watched.page.get_by_role("button", name="Sign in").click()
        assert problems(watched) == []


def test_refused_forms_and_clashes_keep_the_rules(
    pages: dict[str, str], signed_in: Watched
) -> None:
    page = signed_in.page
    signed_in.open("/b/kilns/memories/new")
    page.get_by_label("Text").fill("a\n---\nb")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Text")).to_have_attribute("aria-invalid", "true")
    assert problems(signed_in) == []
    signed_in.open(pages["edit"])
    page.locator("[name=base]").evaluate("field => { field.value = '0123456789abcdef' }")
    page.get_by_label("Text").fill("Something else.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("It changed while you were editing")
    assert problems(signed_in) == []


def test_the_box_of_a_new_procedure_shows_all_five_sections(
    pages: dict[str, str], signed_in: Watched
) -> None:
    signed_in.open(pages["new procedure"])
    hidden = "box => box.scrollHeight - box.clientHeight"
    assert signed_in.page.get_by_label("Text").evaluate(hidden) == 0


def test_no_link_on_the_list_is_without_words(pages: dict[str, str], signed_in: Watched) -> None:
    signed_in.open(pages["list"])
    links = signed_in.page.locator(".row-main > a, .row-title a").all_inner_texts()
    assert len(links) == signed_in.page.locator(".row").count()
    assert all(links)


@pytest.mark.parametrize("size", [PHONE, NARROW], ids=["390", "320"])
def test_nothing_has_to_be_scrolled_sideways(
    pages: dict[str, str], server: Server, chromium: Browser, size: dict[str, int]
) -> None:
    with window(chromium, server, viewport=size) as watched:
        watched.sign_in()
        for name, address in pages.items():
            watched.open(address)
            assert watched.fits(), name
        watched.page.locator(".menu summary").click()
        assert watched.fits()


def test_controls_on_a_phone_are_large_enough_for_a_thumb(
    pages: dict[str, str], server: Server, chromium: Browser
) -> None:
    with window(chromium, server, viewport=PHONE) as watched:
        watched.sign_in()
        watched.open(pages["markup"])
        for button in watched.page.locator("main .button, .topbar summary").all():
            box = button.bounding_box()
            assert box
            assert box["height"] >= 44


# field case A42
def test_markup_in_a_memory_does_nothing(pages: dict[str, str], signed_in: Watched) -> None:
    for address in (pages["list"], pages["markup"], pages["edit"]):
        signed_in.open(address)
        assert signed_in.page.locator("main img, main b, main script").count() == 0
    signed_in.open(pages["procedure"])
    assert signed_in.page.locator("main b").count() == 0
    expect(signed_in.page.locator(".memory-text h2")).to_have_count(5)
    signed_in.open(pages["markup"])
    text = signed_in.page.locator(".memory-text")
    expect(text).to_have_text('</pre><img src=x onerror=alert(1)><b hx-get="/x">{{ 7|add:7 }}</b>')


def test_the_keyboard_reaches_the_content_first_and_shows_where_it_is(
    pages: dict[str, str], signed_in: Watched
) -> None:
    page = signed_in.page
    signed_in.open(pages["list"])
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("To the content")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Add memory")
    outline = page.locator(":focus").evaluate("node => getComputedStyle(node).outlineStyle")
    assert outline == "solid"


def test_a_page_tells_by_its_title_where_one_is(pages: dict[str, str], signed_in: Watched) -> None:
    titles = set()
    for name in ("list", "new memory", "markup", "edit", "new bank", "unknown bank"):
        signed_in.open(pages[name])
        titles.add(signed_in.page.title())
        assert signed_in.page.locator("h1").count() == 1
    assert len(titles) == 6


def test_another_host_name_is_refused(server: Server, chromium: Browser) -> None:
    context = chromium.new_context(extra_http_headers={"Host": "evil.example"})
    answer = context.request.get(f"{server.url}/sign-in")
    assert answer.status == 400
    context.close()
