"""Which of an agent's messages is the question, and which one told it the rules last."""

import pytest

from recall.engine.injection import update
from recall.engine.window import newest_question, standing_update


def user(content: object) -> dict[str, object]:
    return {"role": "user", "content": content}


@pytest.mark.parametrize(
    ("messages", "question"),
    [
        ([user("old"), user("new"), {"role": "assistant", "content": "yes"}], "new"),
        (
            [user([{"type": "text", "text": "part"}, {"type": "image"}, {"text": "two"}])],
            "part\ntwo",
        ),
        ([user("asked"), user('<memory bank="ops">\n- [m] x\n</memory>')], "asked"),
        ([user("asked"), user(update("ops", "## Memory"))], "asked"),
        ([user("<memory leaks> why?")], "<memory leaks> why?"),
        ([user("asked"), user("  "), user(None), user(7), user([{"text": 7}])], "asked"),
        (["odd", None, 3, {"role": "user"}], ""),
        ([], ""),
        (None, ""),
        ({"role": "user", "content": "no list"}, ""),
    ],
)
def test_the_question_is_the_newest_text_of_a_user(messages: object, question: str) -> None:
    assert newest_question(messages) == question


def test_the_newest_update_of_the_same_bank_stands() -> None:
    first, second, other = update("ops", "one"), update("ops", "two"), update("lab", "three")
    assert standing_update([user(first), user(second), user(other)], "ops") == second
    assert standing_update([user(other), user("two")], "ops") is None


def test_an_update_holds_the_whole_section_or_says_that_there_is_none() -> None:
    assert "\n\n## Memory\n\n### a\n\nOne.\n</memory-update>" in update(
        "ops", "## Memory\n\n### a\n\nOne."
    )
    assert "no rules and no memories" in update("ops", "")
