"""The floor below which a hit is chance."""

import math

import pytest

from recall.engine.relevance import FLOOR_SHARE, FLOOR_WORDS, floor
from recall.engine.scoring import K1

RARE = (K1 + 1) * (math.log(500) + 1)
"""What a word that one of 1,000 memories has can give at most."""


def test_the_floor_is_a_share_of_the_best_score_that_the_question_can_have() -> None:
    assert floor([1, 1], 1_000) == pytest.approx(FLOOR_SHARE * 2 * RARE)
    assert floor([1, 999], 1_000) < floor([1, 1], 1_000)


def test_a_long_message_is_asked_for_no_more_than_a_rare_word() -> None:
    assert floor([1] * 30, 1_000) == pytest.approx(FLOOR_WORDS * RARE)


def test_in_a_small_bank_unknown_words_raise_the_floor_no_more_than_known_ones() -> None:
    assert floor([1, 0, 0], 1) == pytest.approx(floor([1, 1, 1], 1))


@pytest.mark.parametrize(("frequencies", "count"), [([], 10), ([0, 0], 0)])
def test_without_words_or_memories_there_is_no_floor(frequencies: list[int], count: int) -> None:
    assert floor(frequencies, count) == 0.0
