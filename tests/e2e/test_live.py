"""The light and the stream behind it: one a visible tab, none for a hidden one."""

import time

import pytest

from tests.e2e.conftest import Add, Server, Watched

LISTEN = """() => {
  window.told = [];
  document.body.addEventListener("bank:changed", (event) => window.told.push(event.detail));
}"""
TURN = """() => {
  Object.defineProperty(document, "hidden", { value: HIDDEN, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""
HIDE, SHOW = TURN.replace("HIDDEN", "true"), TURN.replace("HIDDEN", "false")


def light(watched: Watched, state: str) -> None:
    """Wait until the light says this."""
    watched.page.wait_for_selector(f"#live[data-state={state}]", timeout=10_000)


def edited(server: Server, old: str, new: str) -> None:
    """A hand edit on disk."""
    file = server.file("kilns", "semantic_memory/facts.md")
    file.write_text(file.read_text().replace(old, new))


def told(watched: Watched, within_s: float) -> list[dict[str, int]]:
    """What the page was told, as soon as that is anything."""
    deadline = time.monotonic() + within_s
    found: list[dict[str, int]] = []
    while not found:
        assert time.monotonic() < deadline, "not in time"
        watched.page.wait_for_timeout(50)
        found = watched.page.evaluate("window.told")
    return found


@pytest.fixture
def one(watched: Watched, add: Add) -> Watched:
    """A window on a memory, told of what happens."""
    watched.open(add("Kiln 1 is cold."))
    light(watched, "live")
    watched.page.evaluate(LISTEN)
    return watched


def test_a_hand_edit_is_told_within_three_seconds_and_once(one: Watched, server: Server) -> None:
    edited(server, "Kiln 1 is cold.", "Kiln 1 is warm.")
    (counters,) = told(one, 3.0)
    assert (counters["created"], counters["changed"], counters["retired"]) == (0, 1, 0)


def test_a_hidden_tab_is_paused_and_catches_up_when_it_is_shown(
    one: Watched, server: Server
) -> None:
    one.page.evaluate(HIDE)
    light(one, "paused")
    edited(server, "Kiln 1 is cold.", "Kiln 1 is hot.")
    one.page.wait_for_timeout(2_500)
    assert one.page.evaluate("window.told") == []
    one.page.evaluate(SHOW)
    light(one, "live")
    assert told(one, 5.0)[0]["changed"] == 1


def test_a_tab_whose_session_ended_says_so_and_offers_to_load_again(one: Watched) -> None:
    assert not one.page.get_by_role("link", name="Refresh").is_visible()
    one.page.clock.install()
    one.page.evaluate(HIDE)
    one.page.context.clear_cookies()
    one.page.evaluate(SHOW)
    for _ in range(3):
        one.page.wait_for_timeout(300)
        one.page.clock.fast_forward(30_000)
    light(one, "off")
    assert one.page.get_by_role("link", name="Refresh").is_visible()


def test_eight_tabs_all_load(one: Watched) -> None:
    for _ in range(7):
        tab = Watched(one.page.context.new_page(), one.server)
        one.page.evaluate(HIDE)
        tab.open("/b/kilns/memories")
        light(tab, "live")
        tab.page.evaluate(HIDE)
        light(tab, "paused")
