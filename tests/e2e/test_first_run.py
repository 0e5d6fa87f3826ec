"""From an empty installation to a first memory, in three actions."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.accessibility import problems
from tests.e2e.conftest import Server, Watched, make_account, running, window

pytestmark = pytest.mark.slow  # a real server and a real browser

TEXT = "Kiln 3 is fired on Fridays, after the damper was checked."


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Server]:
    """A server with the first account, where nothing is remembered."""
    with running(tmp_path_factory.mktemp("empty")) as server:
        with window(chromium, server, java_script_enabled=False) as watched:
            make_account(watched)
            assert watched.page.url == f"{server.url}/welcome"
        yield server


def write(watched: Watched, text: str) -> None:
    """Two actions after signing in: the box has the focus."""
    watched.page.locator("[autofocus]").fill(text)
    watched.page.get_by_role("button", name="Save").click()


def shown(watched: Watched) -> str:
    expect(watched.page.get_by_role("heading", name="Your agents know this")).to_be_visible()
    return watched.page.get_by_role("region", name="What the agent gets").inner_text()


@pytest.mark.checklist
@pytest.mark.parametrize("script", [False, True], ids=["plain", "script"])
def test_signing_in_leads_to_a_first_memory_and_what_an_agent_gets(
    empty: Server, chromium: Browser, *, script: bool
) -> None:
    text = f"{TEXT} {script}"
    with window(chromium, empty, java_script_enabled=script) as watched:
        watched.sign_in()
        watched.page.wait_for_url("**/welcome")
        expect(watched.page.locator(":focus")).to_have_attribute("name", "text")
        write(watched, text)
        assert text in shown(watched)
        assert text in empty.file("main", "semantic_memory/facts.md").read_text()
        watched.page.reload()
        assert text in shown(watched)
        undo = watched.page.get_by_role("button", name="Undo")
        assert undo.count() == 0  # said once
        # The next one finds the installation empty again.
        watched.open("/b/main/memories")
        watched.page.get_by_role("button", name="Delete").click()
        expect(watched.page.locator(".row")).to_have_count(0)


def test_saving_moves_the_focus_to_what_was_saved_and_undo_brings_the_box_back(
    empty: Server, chromium: Browser
) -> None:
    with window(chromium, empty) as watched:
        watched.sign_in()
        page = watched.page
        page.get_by_role("link", name="Releases are built").click()
        page.wait_for_url("**/welcome?example=1")
        expect(page.locator("[autofocus]")).to_have_value(
            "Releases are built from the branch stable, on weekdays before noon."
        )
        page.get_by_role("button", name="Save").click()
        expect(page.locator(":focus")).to_have_text("Your agents know this")
        expect(page.locator("#say")).to_have_text("Saved. Agents can recall it now.")
        expect(page.locator("#rail-banks .count")).to_have_text("1")
        assert problems(watched) == []
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("heading", name="Write the first memory")).to_be_visible()
        write(watched, "a\n---\nb")
        expect(page.get_by_label("Something your agents")).to_have_attribute("aria-invalid", "true")
        expect(page.get_by_label("Something your agents")).to_have_value("a\n---\nb")
