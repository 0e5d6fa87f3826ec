"""How much two texts say the same."""

import pytest

from recall.engine.likeness import NEAR_DUPLICATE, likeness
from recall.index import analyzer

ENGLISH = analyzer("en")


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("Line 2 runs at 40 Hz.", "At 40 Hz: line 2 was running!", 1.0),
        ("Line 2 runs at 40 Hz", "Line 2 runs at 48 Hz", NEAR_DUPLICATE),
        ("Fans fail", "Fans, fans, fans fail", 4 / 6),
        ("Fans fail", "Cranes stop", 0.0),
        ("", "", 0.0),
    ],
)
def test_likeness_is_what_both_have_of_all(one: str, other: str, share: float) -> None:
    assert likeness(ENGLISH.terms(one), ENGLISH.terms(other)) == pytest.approx(share)
    assert likeness(ENGLISH.terms(other), ENGLISH.terms(one)) == pytest.approx(share)
