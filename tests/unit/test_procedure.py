"""The five sections of a procedure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from banks.store.procedure import SECTIONS, TEMPLATE, says_something, shape

EMPTY = "\n\n".join(f"## {name}" for name in SECTIONS)


def test_a_text_without_sections_goes_under_steps() -> None:
    shaped = shape("Open the valve.\nWait.")
    assert shaped == EMPTY.replace("## Steps", "## Steps\n\nOpen the valve.\nWait.")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "## Steps\n\n1. open",
            "## When to use\n\n## Preconditions\n\n## Steps\n\n1. open\n\n"
            "## Tools required\n\n## Known failures",
        ),
        (
            "## known failures\nleaks\n\n## When to use\nnever",
            "## When to use\nnever\n\n## Preconditions\n\n## Steps\n\n## Tools required\n\n"
            "## known failures\nleaks",
        ),
        (
            "Before all.\n\n## Notes\n\nkept\n\n## Steps\n\ndo",
            "Before all.\n\n## Notes\n\nkept\n\n## When to use\n\n## Preconditions\n\n"
            "## Steps\n\ndo\n\n## Tools required\n\n## Known failures",
        ),
    ],
)
def test_missing_sections_are_added_and_the_rest_stays(text: str, wanted: str) -> None:
    assert shape(text) == wanted


def test_the_template_is_whole_and_says_nothing() -> None:
    assert shape(TEMPLATE) == TEMPLATE
    assert not says_something(TEMPLATE)
    assert says_something(shape("Open the valve"))


@given(st.text(alphabet="ab \n#-", max_size=60) | st.sampled_from([f"## {n}" for n in SECTIONS]))
def test_shaping_twice_changes_nothing(text: str) -> None:
    once = shape(text.strip() or "x")
    assert shape(once) == once
