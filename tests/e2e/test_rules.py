"""Rules in a browser: written with a preview, over the budget, met by an edit, brought back."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.accessibility import NARROW, problems
from tests.e2e.conftest import WIDE, Server, Watched, window

pytestmark = pytest.mark.slow  # a real server and a real browser

RULES, NEW = "/b/kilns/rules", "/b/kilns/new-rule"
ATTACK = (
    "## Before\n\n<script>document.title = 'ran'</script>\n\n<img src=x onerror=\"alert(1)\">\n\n"
    '<b hx-get="/sign-out" hx-trigger="load">b</b> ![x](https://example.test/x.png)\n\n'
    "[a](javascript:alert(1))"
)


@pytest.fixture(scope="module")
def cookies(chromium: Browser, server: Server) -> Any:
    """What a browser keeps once somebody signed in."""
    with window(chromium, server) as watched:
        watched.sign_in()
        expect(watched.page.locator(".account")).to_be_visible()
        return watched.page.context.storage_state()


@pytest.fixture
def keeper(chromium: Browser, server: Server, cookies: Any) -> Iterator[Watched]:
    """A signed-in window with script."""
    with window(chromium, server, storage_state=cookies) as watched:
        yield watched


@pytest.fixture
def unscripted(chromium: Browser, server: Server, cookies: Any) -> Iterator[Watched]:
    """A signed-in window without script."""
    options = {"storage_state": cookies, "java_script_enabled": False}
    with window(chromium, server, **options) as watched:
        yield watched


def write(watched: Watched, name: str, text: str, reason: str = "") -> None:
    watched.open(NEW)
    watched.page.get_by_label("Name").fill(name)
    watched.page.get_by_label("Text").fill(text)
    watched.page.get_by_label("Reason").fill(reason)
    watched.page.get_by_role("button", name="Save").click()
    watched.page.wait_for_url(f"**{RULES}/{name}*")


def shows_the_attack_as_text(page: Page) -> None:
    shown = page.locator(".rendered")
    expect(shown.get_by_role("heading", name="Before")).to_be_visible()
    expect(shown).to_contain_text('<img src=x onerror="alert(1)">')
    assert shown.locator("script, img, b, a").count() == 0
    assert "ran" not in page.title()


def test_the_preview_follows_the_text_and_nothing_in_it_runs(keeper: Watched) -> None:
    page = keeper.page
    keeper.open(NEW)
    page.get_by_label("Name").fill("attack")
    page.get_by_label("Text").press_sequentially("Wait.")
    expect(page.locator("#preview")).to_have_text("Wait.")
    expect(page.get_by_label("Text")).to_be_focused()
    page.get_by_label("Text").fill(ATTACK)
    shows_the_attack_as_text(page)
    expect(page.locator("#meter")).to_contain_text(f"this rule: {len(ATTACK)}")
    page.keyboard.press("Control+s")
    expect(page.get_by_role("heading", level=1)).to_have_text("attack")
    shows_the_attack_as_text(page)
    assert keeper.server.file("kilns", "rules/attack.md").read_text() == ATTACK


def test_over_the_budget_the_meter_and_the_list_name_the_same_cut(
    keeper: Watched, server: Server
) -> None:
    page = keeper.page
    write(keeper, "zones", "Zone 1 first.\nThen zone 2.\n")
    keeper.open(NEW)
    page.get_by_label("Name").fill("budget")
    page.get_by_label("Text").fill("Fire slowly.\n" * 600)
    meter = page.locator("#meter")
    expect(meter).to_contain_text("of 6,000 characters in all rules")
    expect(meter).to_contain_text("This rule is cut: agents get the first ")
    expect(meter).to_contain_text("zones is left out, since not one line of it fits.")
    total = meter.locator("strong").first.inner_text()
    cut = meter.get_by_text("This rule is").inner_text().removeprefix("This rule")
    assert problems(keeper) == []
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Rules").first.click()
    expect(page.locator(".budget strong")).to_have_text(total)
    expect(page.get_by_role("main")).to_contain_text(f"budget{cut}")
    server.file("kilns", "rules/budget.md").unlink()


def test_without_script_a_button_previews_and_saves_what_was_previewed(unscripted: Watched) -> None:
    page, file = unscripted.page, unscripted.server.file
    unscripted.open(NEW)
    page.get_by_label("Name").fill("plain")
    page.get_by_label("Text").fill(ATTACK)
    page.get_by_label("Reason").fill("asked for twice")
    page.get_by_role("button", name="Preview").click()
    shows_the_attack_as_text(page)
    expect(page.locator("#meter")).to_contain_text(f"this rule: {len(ATTACK)}")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("plain")
    expect(page.locator("#states")).to_contain_text("asked for twice")
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text").fill("Open the damper.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Compare r1 with r2")
    page.get_by_role("link", name="Back to the rule").click()
    page.get_by_role("button", name="Restore r1").click()
    assert file("kilns", "rules/plain.md").read_text() == ATTACK
    page.locator("summary", has_text="Remove").click()
    page.get_by_role("button", name="Remove").click()
    assert not file("kilns", "rules/plain.md").exists()
    page.get_by_role("button", name="Undo").click()
    assert file("kilns", "rules/plain.md").read_text() == ATTACK


def test_an_edit_that_meets_an_edit_on_disk_offers_three_ways(
    keeper: Watched, server: Server
) -> None:
    page, was = keeper.page, "Open valve 3.\n\nWait.\n\nClose valve 4.\n"
    mine, theirs = was.replace("valve 4", "valve 8"), was.replace("valve 3", "valve 5")
    both = mine.replace("valve 3", "valve 5")
    ways = {"Save mine on top": mine, "Take theirs": theirs, "Save the merge": both}
    for number, (choice, text) in enumerate(ways.items()):
        name = f"valves-{number}"
        write(keeper, name, was)
        page.get_by_role("link", name="Edit").click()
        page.get_by_label("Text").fill(mine)
        file = server.file("kilns", f"rules/{name}.md")
        file.write_text(theirs)
        page.get_by_role("button", name="Save").click()
        head = page.get_by_role("heading", level=1)
        expect(head).to_have_text("It changed while you were editing")
        by_hand = page.get_by_role("alert").filter(has_text="changed by hand in the file")
        expect(by_hand).to_be_visible()
        for side, part in (("What it was", "4"), ("What it is now", "5"), ("What you typed", "8")):
            expect(page.get_by_role("heading", name=side).locator("..")).to_contain_text(part)
        assert number or problems(keeper) == []
        page.get_by_text(choice, exact=True).click()
        expect(head).to_have_text(name)
        assert file.read_text() == text


def test_the_focus_comes_back_to_edit_after_save_and_cancel(keeper: Watched) -> None:
    page = keeper.page
    write(keeper, "focus", "Open the damper.")
    expect(page.locator("#edit-focus")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Cancel").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("focus")
    expect(page.locator("#edit-focus")).to_be_focused()
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text").fill("Open both dampers.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#edit-focus")).to_be_focused()
    page.get_by_role("button", name="Restore r1").click()
    expect(page.locator("#say")).to_contain_text("Restored.")
    expect(page.locator("#revert-r1")).to_be_focused()
    expect(page.locator("#states")).to_contain_text("r3 reverted by ada")
    page.locator("#delete").click()
    expect(page.locator("dialog:modal")).to_be_visible()
    assert problems(keeper) == []
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#delete")).to_be_focused()
    page.locator("#delete").click()
    page.locator("dialog").get_by_role("button", name="Remove").click()
    expect(page.locator("#list")).to_be_focused()


def test_two_revisions_are_compared_on_the_page_of_the_rule(keeper: Watched) -> None:
    page = keeper.page
    write(keeper, "pairs", "Open the damper.\n\nWait.")
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text").fill("Open both dampers.\n\nWait.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Compare", exact=True).click()
    compared = page.locator("#compare")
    expect(compared).to_contain_text("r1 created by ada")
    expect(compared).to_contain_text("r2 replaced by ada")
    expect(compared.locator("ins").first).to_have_text("both")
    assert page.url.partition("#")[0].endswith(f"{RULES}/pairs")
    assert problems(keeper) == []


def test_the_buttons_over_the_text_format_it_and_can_be_undone(keeper: Watched) -> None:
    page = keeper.page
    keeper.open(NEW)
    text = page.get_by_label("Text")
    text.fill("Open")
    text.press("Control+a")
    page.keyboard.press("Control+b")
    expect(text).to_have_value("**Open**")
    page.get_by_role("button", name="Bold").click()
    expect(text).to_have_value("Open")
    page.get_by_role("button", name="List").click()
    expect(text).to_have_value("- Open")
    expect(page.locator("#preview li")).to_have_text("Open")
    text.press("Control+z")
    expect(text).to_have_value("Open")
    text.fill("")


def test_the_same_edit_by_the_admin_leaves_the_same_file_and_history(
    keeper: Watched, server: Server
) -> None:
    page, texts = keeper.page, ("Open the damper.\n", "Open both dampers.\n\nThen wait.\n")
    write(keeper, "by-console", texts[0])
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text").fill(texts[1])
    page.get_by_role("button", name="Save").click()
    keeper.open("/admin/banks/rule/add/")
    page.get_by_label("Bank").select_option("kilns")
    page.get_by_label("Name").fill("by-admin")
    page.get_by_label("Text").fill(texts[0])
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="by-admin", exact=True).click()
    page.get_by_label("Text", exact=True).fill(texts[1])
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Select rule to change")
    told = []
    for name in ("by-console", "by-admin"):
        assert server.file("kilns", f"rules/{name}.md").read_text() == texts[1]
        keeper.open(f"{RULES}/{name}")
        told.append(page.locator("#states").inner_text())
    assert told[0] == told[1]
    assert "r2 replaced by ada" in told[0]


@pytest.fixture(scope="module")
def strained(chromium: Browser, server: Server, cookies: Any) -> tuple[str, ...]:
    """Addresses of pages with rules on them that strain the layout."""
    cells = "| " + "x" * 900 + " |\n"
    hello = "\u0645\u0631\u062d\u0628\u0627 \u200f"
    with window(chromium, server, storage_state=cookies) as watched:
        write(watched, "wide", "# W\n\n| a | b | c | d | e |\n|-|-|-|-|-|\n" + cells)
        code = "```\n" + "y" * 900 + "\n```\n\n"
        write(watched, "code", f"{code}### {hello}\n\n[z](https://z.test)")
    return (RULES, f"{RULES}/wide", f"{RULES}/code/edit", f"{RULES}/wide/compare")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_of_rules_keep_the_rules_of_accessibility_and_fit_a_phone(
    server: Server, chromium: Browser, cookies: Any, strained: tuple[str, ...], scheme: str
) -> None:
    options = {"color_scheme": scheme, "storage_state": cookies}
    with window(chromium, server, **options) as watched:
        for address in strained:
            watched.page.set_viewport_size(WIDE)  # type: ignore[arg-type]  # a dict with both keys
            watched.open(address)
            assert problems(watched) == [], address
            if scheme == "light":
                watched.page.set_viewport_size(NARROW)  # type: ignore[arg-type]  # the same
                assert watched.fits(), address


def test_an_empty_list_and_refused_forms_keep_the_rules(keeper: Watched, server: Server) -> None:
    page = keeper.page
    write(keeper, "empty", "Open the damper.")
    keeper.open("/b/main/rules")
    expect(page.get_by_role("heading", name="No rule yet")).to_be_visible()
    assert problems(keeper) == []
    keeper.open(NEW)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Text")).to_have_attribute("aria-invalid", "true")
    assert problems(keeper) == []
    keeper.open(f"{RULES}/empty/edit")
    page.get_by_label("Text").fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="Remove the rule empty?")).to_be_visible()
    assert problems(keeper) == []
    page.get_by_role("button", name="Remove the rule").click()
    page.wait_for_url(f"**{RULES}#list")
    assert not server.file("kilns", "rules/empty.md").exists()
