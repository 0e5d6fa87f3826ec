"""How much two texts say the same."""

import pytest

from recall.engine.likeness import are_alike, likeness, words


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("Line 2 runs at 40 Hz.", "At 40 Hz: line 2 runs!", 1.0),
        ("Line 2 runs at 40 Hz", "Line 2 runs at 48 Hz", 5 / 7),
        ("Fans fail", "Fans, fans, fans fail", 2 / 4),
        ("Fans fail", "Cranes stop", 0.0),
        ("", "", 0.0),
        ("\u7a91\u306f\u71b1\u3044\u3002", "\u7a91\u306f\u51b7\u3044", 3 / 5),
        ("Na\u00efve \u7a91", "na\u00efve", 1 / 2),
    ],
)
def test_likeness_is_what_both_have_of_all(one: str, other: str, share: float) -> None:
    assert likeness(words(one), words(other)) == pytest.approx(share)
    assert likeness(words(other), words(one)) == pytest.approx(share)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Close valve two before the start.", "Before the start, close valve two!", True),
        ("Valve two is open", "Valve two is not open", False),
        ("Alarm of line two when != 80", "Alarm of line two when = 80", False),
        ("Too few words", "few words too", False),
    ],
)
def test_texts_are_alike_with_the_same_numbers_and_nearly_the_same_words(
    one: str, other: str, alike: bool
) -> None:
    assert are_alike(words(one), words(other)) is alike
