"""Which texts say the same: word for word, nearly, or not at all."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from recall.learning.duplicates import Said, exact, folded, near

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def said(*texts: str, **more: object) -> list[Said]:
    fields = {"pinned": False, "corroboration": 0} | more
    return [
        Said(f"m{n}", f"v{n}", text, created=DAY + timedelta(days=n), **fields)  # type: ignore[arg-type]  # fields by name
        for n, text in enumerate(texts)
    ]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Kiln 4 is hot.", "kiln 4  is\nHOT"),
        ("Cafe\u0301 pump", "caf\u00e9 pump!"),
        ("\u7a91\u306f\u71b1\u3044\u3002", "\u7a91\u306f\u71b1\u3044"),
        ("See (valve 2).", "see (valve 2)"),
    ],
)
def test_case_space_and_the_end_of_a_sentence_do_not_count(one: str, two: str) -> None:
    assert folded(one) == folded(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Written in C++", "Written in C#"),
        ("Alarm when != 80", "Alarm when = 80"),
        ("The factor is 5!", "The factor is 5"),
        ("Valve 2 is open?", "Valve 2 is open."),
        ("Go up: cd ..", "Go up: cd ."),
        ("Use *.", "Use *"),
        ("Kiln, 4", "Kiln 4"),
        (".", "!"),
    ],
)
def test_symbols_and_questions_count(one: str, two: str) -> None:
    assert folded(one) != folded(two)


def test_the_survivor_is_pinned_else_corroborated_else_oldest() -> None:
    (oldest, newer) = said("Pump 1 hums", "pump 1 hums.")
    strong = replace(newer, id="m8", text="Pump 1 hums!", corroboration=3)
    pinned = replace(newer, id="m9", text="PUMP 1 hums", pinned=True)
    assert [(p.loser.id, p.survivor.id) for p in exact([newer, oldest])] == [("m1", "m0")]
    assert {p.survivor.id for p in exact([oldest, newer, strong])} == {"m8"}
    pairs = list(exact([oldest, newer, strong, pinned]))
    assert {p.survivor.id for p in pairs} == {"m9"}
    assert [p.loser.id for p in pairs] == ["m8", "m0", "m1"]


def test_the_same_words_in_another_order_and_nearly_the_same_words_are_near() -> None:
    line = "the purge of kiln four takes twenty minutes before each firing of glazed tiles"
    pairs = near(
        said(
            "Close valve two before the pump starts.",
            "Before the pump starts close valve two",
            line,
            f"{line} now",
            "something else entirely is written here",
        )
    )
    found = [(p.loser.id, p.survivor.id, round(p.alike, 2)) for p in pairs]
    assert found == [("m1", "m0", 1.0), ("m3", "m2", 0.93)]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Pump 1 in hall A runs at 40 bar all night", "Pump 2 in hall A runs at 40 bar all night"),
        ("run it with a flag = 80 for the long test", "run it with a flag != 80 for the long test"),
        ("too short", "short too"),
        ("Kiln four is hot today.", "kiln four is hot today"),
    ],
)
def test_other_numbers_or_symbols_few_words_and_equal_texts_are_not_near(
    one: str, two: str
) -> None:
    assert near(said(one, two)) == []
