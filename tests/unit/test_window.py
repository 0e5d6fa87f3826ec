"""Which of an agent's messages is the question, and which one told it the rules last."""

import time

import pytest

from recall.engine.injection import update
from recall.engine.window import newest_question, standing_update

BLOCK = '<memory bank="ops">\n- [m] x (2026-06-01, stated)\n</memory>'


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
        # What the memory put there may share a message with what somebody asked.
        ([user([{"text": BLOCK}, {"text": "zirconium"}])], "zirconium"),
        ([user([BLOCK, "zirconium"])], "zirconium"),
        ([user(f"zirconium\n\n{BLOCK}")], "zirconium"),
        (
            [user(f"{BLOCK} zirconium {BLOCK}\n{update('ops', '## Memory')}\nor tin")],
            "zirconium\nor tin",
        ),
        ([user("asked"), user(f"  \n {BLOCK}\n")], "asked"),
        # The section of an update shows what a block looks like, and a rule may say the end of one.
        ([user(update("ops", 'See `<memory bank="ops">` and </memory-update>.') + "\ntin")], "tin"),
        # A block that was cut off is none of the user's words; one inside a sentence is.
        ([user("asked"), user(BLOCK[:30])], "asked"),
        ([user(f"tin\n  {BLOCK[:30]}")], "tin"),
        ([user('what is <memory bank="ops"> ?')], 'what is <memory bank="ops"> ?'),
        ([user("tin \ud83d alloy")], "tin \ufffd alloy"),
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
    window = [user(first), user(second), user(other)]
    assert standing_update(window, "ops", second) is True
    assert standing_update(window, "ops", first) is False
    assert standing_update([user(other), user("two")], "ops", second) is None


@pytest.mark.parametrize(
    "content",
    [
        "  {0}\n",
        "tin?\n{0}",
        "{1}\n{0}\ntin?",
        [{"text": "tin?"}, {"text": "{0}"}, {"text": "more"}],
    ],
)
def test_an_update_stands_beside_other_text_too(content: object) -> None:
    old, new = update("ops", "one"), update("ops", "a rule with </memory-update> in it")

    def filled(text: str) -> str:
        return text.replace("{0}", new).replace("{1}", old)

    parts = (
        [{"text": filled(each["text"])} for each in content]
        if isinstance(content, list)
        else filled(str(content))
    )
    assert standing_update([user(parts)], "ops", new) is True
    assert standing_update([user(parts), user(f"x {old}")], "ops", new) is False
    assert standing_update([user(f"{new}\n{old}")], "ops", new) is False


def test_a_long_text_of_nothing_but_openings_is_read_in_one_go() -> None:
    text = "x" + '<memory bank="ops">' * 100_000 + "</memory-update>" * 100_000
    started = time.process_time()
    assert newest_question([user(text)]) == text
    assert time.process_time() - started < 2


def test_an_update_holds_the_whole_section_or_says_that_there_is_none() -> None:
    assert "\n\n## Memory\n\n### a\n\nOne.\n</memory-update>" in update(
        "ops", "## Memory\n\n### a\n\nOne."
    )
    assert "no rules and no memories" in update("ops", "")
