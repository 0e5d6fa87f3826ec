"""The accessibility rules, run in the page that is open, and the narrowest window they know."""

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT

from tests.e2e.conftest import Watched

NARROW = {"width": 320, "height": 640}
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
"""All that another theme can break."""
RUN = """async (rules) => {
  await Promise.all(document.getAnimations().map((each) => each.finished));
  const found = await axe.run(document, { ...rules, resultTypes: ["violations"] });
  return found.violations.map((each) => `${each.id}: ${each.nodes[0].html}`);
}"""
"""Not on the way from one theme to the other: half faded, everything has too little contrast."""


def problems(watched: Watched) -> list[str]:
    """What the accessibility rules find on the page that is open."""
    watched.page.wait_for_load_state("load")  # before the style sheet is there, nothing has a size
    if watched.page.evaluate("typeof axe === 'undefined'"):
        watched.page.evaluate(AXE_SCRIPT)
    return _found(watched, RULES)


def bring_rules(watched: Watched) -> None:
    """Have the rules in every page that is opened from now on: to send them takes a while."""
    watched.page.add_init_script(AXE_SCRIPT)


def problems_in_both_themes(watched: Watched) -> list[str]:
    """The same, and what the dark theme adds."""
    found = problems(watched)
    watched.page.emulate_media(color_scheme="dark")
    found += [f"dark {each}" for each in _found(watched, COLOURS)]
    watched.page.emulate_media(color_scheme="light")
    return found


def _found(watched: Watched, rules: dict[str, Any]) -> list[str]:
    found: list[str] = watched.page.evaluate(RUN, rules)
    return found
