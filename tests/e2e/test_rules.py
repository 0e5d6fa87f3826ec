"""Rules in a browser: written with a preview, over the budget, met by an edit, brought back."""

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.accessibility import NARROW, problems, problems_in_both_themes
from tests.e2e.conftest import WIDE, Server, Watched

pytestmark = pytest.mark.slow  # a real server and a real browser

RULES, NEW = "/b/kilns/rules", "/b/kilns/new-rule"
ATTACK = (
    "## Before\n\n<script>document.title = 'ran'</script>\n\n<img src=x onerror=\"alert(1)\">\n\n"
    '<b hx-get="/sign-out" hx-trigger="load">b</b> ![x](https://example.test/x.png)\n\n'
    "[a](javascript:alert(1))"
)


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


@pytest.mark.checklist
def test_the_preview_follows_the_text_and_nothing_in_it_runs(watched: Watched) -> None:
    page = watched.page
    watched.open(NEW)
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
    assert watched.server.file("kilns", "rules/attack.md").read_text() == ATTACK


@pytest.mark.checklist
def test_over_the_budget_the_meter_and_the_list_name_the_same_cut(
    watched: Watched, server: Server
) -> None:
    page = watched.page
    write(watched, "zones", "Zone 1 first.\nThen zone 2.\n")
    watched.open(NEW)
    page.get_by_label("Name").fill("budget")
    page.get_by_label("Text").fill("Fire slowly.\n" * 600)
    meter = page.locator("#meter")
    expect(meter).to_contain_text("of 6,000 characters in all rules")
    expect(meter).to_contain_text("This rule is cut: agents get the first ")
    expect(meter).to_contain_text("zones is left out, since not one line of it fits.")
    total = meter.locator("strong").first.inner_text()
    cut = meter.get_by_text("This rule is").inner_text().removeprefix("This rule")
    assert problems(watched) == []
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Rules").first.click()
    expect(page.locator(".budget strong")).to_have_text(total)
    expect(page.get_by_role("main")).to_contain_text(f"budget{cut}")
    server.file("kilns", "rules/budget.md").unlink()


@pytest.mark.checklist
def test_without_script_a_button_previews_and_saves_what_was_previewed(plain: Watched) -> None:
    page, file = plain.page, plain.server.file
    plain.open(NEW)
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
    watched: Watched, server: Server
) -> None:
    page, was = watched.page, "Open valve 3.\n\nWait.\n\nClose valve 4.\n"
    mine, theirs = was.replace("valve 4", "valve 8"), was.replace("valve 3", "valve 5")
    both = mine.replace("valve 3", "valve 5")
    ways = {"Save mine on top": mine, "Take theirs": theirs, "Save the merge": both}
    for number, (choice, text) in enumerate(ways.items()):
        name = f"valves-{number}"
        write(watched, name, was)
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
        assert number or problems(watched) == []
        page.get_by_text(choice, exact=True).click()
        expect(head).to_have_text(name)
        assert file.read_text() == text


def test_the_focus_comes_back_to_edit_after_save_and_cancel(watched: Watched) -> None:
    page = watched.page
    write(watched, "focus", "Open the damper.")
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
    assert problems(watched) == []
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#delete")).to_be_focused()
    page.locator("#delete").click()
    page.locator("dialog").get_by_role("button", name="Remove").click()
    expect(page.locator("#list")).to_be_focused()


def test_two_revisions_are_compared_on_the_page_of_the_rule(watched: Watched) -> None:
    page = watched.page
    write(watched, "pairs", "Open the damper.\n\nWait.")
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text").fill("Open both dampers.\n\nWait.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("button", name="Compare", exact=True).click()
    compared = page.locator("#compare")
    expect(compared).to_contain_text("r1 created by ada")
    expect(compared).to_contain_text("r2 replaced by ada")
    expect(compared.locator("ins").first).to_have_text("both")
    assert page.url.partition("#")[0].endswith(f"{RULES}/pairs")
    assert problems(watched) == []


def test_the_buttons_over_the_text_format_it_and_can_be_undone(watched: Watched) -> None:
    page = watched.page
    watched.open(NEW)
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


@pytest.mark.checklist
def test_the_same_edit_by_the_admin_leaves_the_same_file_and_history(
    watched: Watched, server: Server
) -> None:
    page, texts = watched.page, ("Open the damper.\n", "Open both dampers.\n\nThen wait.\n")
    write(watched, "by-console", texts[0])
    page.get_by_role("link", name="Edit").click()
    page.get_by_label("Text").fill(texts[1])
    page.get_by_role("button", name="Save").click()
    watched.open("/admin/banks/rule/add/")
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
        watched.open(f"{RULES}/{name}")
        told.append(page.locator("#states").inner_text())
    assert told[0] == told[1]
    assert "r2 replaced by ada" in told[0]


def test_rules_that_strain_the_layout_keep_the_rules_and_fit_a_phone(watched: Watched) -> None:
    cells = "| " + "x" * 900 + " |\n"
    write(watched, "wide", "# W\n\n| a | b | c | d | e |\n|-|-|-|-|-|\n" + cells)
    code = "```\n" + "y" * 900 + "\n```\n\n"
    hello = "\u0645\u0631\u062d\u0628\u0627 \u200f"
    write(watched, "code", f"{code}### {hello}\n\n[z](https://z.test)")
    for address in (RULES, f"{RULES}/wide", f"{RULES}/code/edit", f"{RULES}/wide/compare"):
        watched.open(address)
        assert problems_in_both_themes(watched) == [], address
        watched.page.set_viewport_size(NARROW)  # type: ignore[arg-type]  # a dict with both keys
        assert watched.fits(), address
        watched.page.set_viewport_size(WIDE)  # type: ignore[arg-type]  # the same


def test_an_empty_list_and_refused_forms_keep_the_rules(watched: Watched, server: Server) -> None:
    page = watched.page
    write(watched, "empty", "Open the damper.")
    watched.open("/b/main/rules")
    expect(page.get_by_role("heading", name="No rule yet")).to_be_visible()
    assert problems(watched) == []
    watched.open(NEW)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_label("Text")).to_have_attribute("aria-invalid", "true")
    assert problems(watched) == []
    watched.open(f"{RULES}/empty/edit")
    page.get_by_label("Text").fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert").filter(has_text="Remove the rule empty?")).to_be_visible()
    assert problems(watched) == []
    page.get_by_role("button", name="Remove the rule").click()
    page.wait_for_url(f"**{RULES}#list")
    assert not server.file("kilns", "rules/empty.md").exists()
