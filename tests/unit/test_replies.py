"""Answers of a model: patience with their form, none with what they do not say."""

import json

import pytest

from banks import errors
from banks.store.types import Category
from recall.learning.llm.replies import Element, read

GOOD = '[{"text": "Kiln 4 purges for 20 minutes.", "category": "facts"}]'
KILN = "Kiln 4 purges for 20 minutes."


def texts(reply: str) -> list[str]:
    return [each.text for each in read(reply).elements]


# field case A29
@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}```\n",
        f"Here you go:\n```json\n{GOOD}\n```\nHope it helps [1].",
        f"Here you go: {GOOD} Hope it helps!",
        f'{{"memories": {GOOD}}}',
        f'Sure. {{"memories": {GOOD}, "notes": []}}',
        GOOD.replace("}]", ",},]"),
        f"So: {GOOD.replace('}]', '},]')} Bye.",
        f'<think>Perhaps [{{"text": "Nothing of this."}}]?</think>{GOOD}',
        f'As in [1] or [] or ["x"]: {GOOD}',
        json.dumps([KILN]),
        json.dumps([{"text": 7}, None, [], {"text": "ab"}, {"text": "x" * 501}, {"text": KILN}]),
        f'[{{"text": "Valve 2" "category": "x", "tags": ["pump house"]}}, {GOOD[1:]}',
    ],
)
def test_good_memories_are_found_in_whatever_they_come_in(reply: str) -> None:
    assert texts(reply) == [KILN]


@pytest.mark.parametrize("reply", ["[]", "```json\n[]\n```", "Nothing: []", '{"memories": []}'])
def test_an_empty_list_means_that_there_is_nothing(reply: str) -> None:
    assert (read(reply).elements, read(reply).rejected) == ((), ())


@pytest.mark.parametrize("long", [{"text": "x" * 501}, "x" * 501])
def test_what_cannot_be_kept_costs_itself_and_is_told(long: object) -> None:
    found = read(json.dumps([long, {"text": "ab"}, {"text": " "}, {"text": 7}]))
    assert found.elements == ()
    assert found.rejected == ("too long", "too short", "no text", "no text")


# field case A30
@pytest.mark.parametrize(
    "reply",
    [
        "",
        " \n",
        "There is nothing worth remembering.",
        '{"text": "Kiln 4 purges for 20 minutes.", "tags": []}',
        '{"memories": null}',
        "[1, 2]",
        '[{"fact": "Kiln 4 purges."}]',
        f'{GOOD[:-2]}, {{"text": "Kiln 5 pur',
        f"```json\n{GOOD[:-1]},",
        '[{"text": "Valve 2" "tags": []}]',
        f"<think>{GOOD}",
        "[" * 5_000,
        "[" + "9" * 5_000 + "]",
        "[" * 50_000 + "]" * 50_000,
        "x" * 200_001 + GOOD,
    ],
    ids=lambda each: each[:30],
)
def test_an_answer_without_a_whole_list_is_a_fault_not_nothing(reply: str) -> None:
    with pytest.raises(errors.ReplyUnusable):
        read(reply)


def test_what_an_element_says_is_put_in_order() -> None:
    told = {
        "text": " Kiln 4\npurges ",
        "category": "Preference",
        "quote": "kiln 4 purges",
        "tags": ["kiln", "kiln", 3, "", "x" * 65],
        "entities": "Kiln 4",
        "pinned": True,
    }
    assert read(json.dumps([told])).elements == (
        Element(
            text="Kiln 4 purges", category=Category.PREFERENCES, quote="kiln 4 purges",
            tags=("kiln",),
        ),
    )  # fmt: skip


@pytest.mark.parametrize("word", ["procedure", "nonsense", 3, None])
def test_an_unknown_category_is_a_fact(word: object) -> None:
    [found] = read(json.dumps([{"text": KILN, "category": word}])).elements
    assert found.category is Category.FACTS
