"""Ranking of candidates, without an index."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from recall.engine import scoring
from recall.engine.scoring import Candidate, corroboration, pool_size, rank, recency

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=3_650)


def order(
    *candidates: Candidate, named: tuple[str, ...] = (), newest: bool = False, time: bool = False
) -> list[str]:
    ranked = rank(candidates, named=named, now=NOW, half_life_days=30, newest=newest, time=time)
    return [hit.id for hit in ranked]


def candidate(key: str, score: float = 5.0, stated_at: datetime = LONG_AGO) -> Candidate:
    return Candidate(id=key, text_score=score, stated_at=stated_at)


def test_better_text_comes_first() -> None:
    assert order(candidate("a", 4.0), candidate("b", 5.0)) == ["b", "a"]


def test_equal_scores_go_by_newest_statement_then_id() -> None:
    older = candidate("a", stated_at=LONG_AGO - timedelta(days=36_500))
    assert order(candidate("c"), older, candidate("b")) == ["b", "c", "a"]


@pytest.mark.parametrize(
    "lifted",
    [
        replace(candidate("b"), corroboration=3),
        replace(candidate("b"), pinned=True),
        candidate("b", stated_at=NOW),
    ],
)
def test_a_signal_breaks_a_tie(lifted: Candidate) -> None:
    assert order(candidate("a"), lifted) == ["b", "a"]


def test_all_signals_but_the_subject_never_outweigh_a_clear_match() -> None:
    lifted = replace(candidate("b", 4.2, NOW), corroboration=99, pinned=True)
    assert order(candidate("a", 5.0), lifted) == ["a", "b"]


def test_the_only_named_entity_lifts_its_memories() -> None:
    about = replace(candidate("b", 4.2), subjects=frozenset({"kiln"}))
    assert order(candidate("a"), about, named=("kiln",)) == ["b", "a"]
    assert order(candidate("a"), about, named=("kiln", "crane")) == ["a", "b"]
    assert order(candidate("a"), about) == ["a", "b"]


def test_recency_is_strong_only_when_asked_for() -> None:
    fresh = candidate("b", 4.5, NOW)
    assert order(candidate("a"), fresh) == ["a", "b"]
    assert order(candidate("a"), fresh, newest=True) == ["b", "a"]


def test_the_newest_counts_from_the_newest_good_match() -> None:
    # What was said last is long ago, and what was said since then is about something else.
    newer = candidate("b", 4.5, LONG_AGO + timedelta(days=200))
    poor = candidate("c", 2.4, NOW)
    assert order(candidate("a"), newer, poor) == ["a", "b", "c"]
    assert order(candidate("a"), newer, poor, newest=True) == ["b", "a", "c"]


def test_a_question_for_a_time_lifts_what_tells_one() -> None:
    dated = replace(candidate("b", 4.2), tells_time=True)
    assert order(candidate("a"), dated) == ["a", "b"]
    assert order(candidate("a"), dated, time=True) == ["b", "a"]
    assert order(candidate("a"), replace(dated, text_score=3.9), time=True) == ["a", "b"]


def test_a_question_answers_less_than_a_statement() -> None:
    asks = replace(candidate("b", 6.0), asking=1.0)
    assert order(candidate("a"), asks) == ["a", "b"]
    assert order(candidate("a"), replace(asks, asking=0.5)) == ["b", "a"]


def test_signals_add_up_to_the_score() -> None:
    full = Candidate(
        id="a",
        text_score=7.3,
        stated_at=NOW - timedelta(days=11),
        subjects=frozenset({"kiln"}),
        corroboration=2,
        pinned=True,
    )
    (hit,) = rank([full], named=("kiln",), now=NOW, half_life_days=30)
    parts = hit.signals
    assert hit.score == pytest.approx(
        parts.text + parts.entity + parts.corroboration + parts.recency + parts.pin + parts.meaning
    )
    assert parts.entity == pytest.approx(0.2 * 7.3)
    assert 0 < parts.corroboration < scoring.CORROBORATION_SHARE * 7.3
    assert 0 < parts.recency < scoring.RECENCY_SHARE * 7.3
    assert 0 < parts.pin < scoring.CORROBORATION_SHARE * 7.3


def test_recency_halves_with_each_half_life() -> None:
    assert recency(0, half_life_days=30) == 1.0
    assert recency(60, half_life_days=30) == pytest.approx(0.25)
    assert recency(-5, half_life_days=30) == 1.0
    assert recency(1e9, half_life_days=30) == 0.0


@pytest.mark.parametrize("half_life_days", [0, -1])
def test_a_half_life_must_be_positive(half_life_days: float) -> None:
    with pytest.raises(ValueError, match="half_life_days"):
        recency(1, half_life_days=half_life_days)


def test_corroboration_is_full_at_nine() -> None:
    assert corroboration(0) == corroboration(-3) == 0.0
    assert corroboration(9) == corroboration(900) == pytest.approx(1.0)
    assert 0 < corroboration(1) < corroboration(2) < 1


def test_nothing_ranks_to_nothing() -> None:
    assert order() == []


def test_the_pool_is_larger_than_the_hits_and_empty_for_none() -> None:
    assert pool_size(0) == 0
    assert pool_size(6) == 50
    assert pool_size(100) == 400


def close(key: str, score: float, closeness: float | None) -> Candidate:
    return replace(candidate(key, score), closeness=closeness)


def meanings(*candidates: Candidate) -> dict[str, float]:
    ranked = rank(candidates, named=(), now=NOW, half_life_days=30)
    assert all(hit.score == pytest.approx(hit.signals.total) for hit in ranked)
    return {hit.id: hit.signals.meaning for hit in ranked}


def test_meaning_is_a_share_of_the_best_text_by_where_a_cosine_lies() -> None:
    pool = [close("a", 10.0, 0.2), close("b", 4.0, 0.8), close("c", 0.0, 0.5), candidate("d", 6.0)]
    # 0.4 of 10, times (cosine - 0.2) / (0.8 - 0.2).
    assert meanings(*pool) == pytest.approx({"a": 0.0, "b": 4.0, "c": 2.0, "d": 0.0})
    assert order(*pool) == ["a", "b", "d", "c"]


def test_the_meaning_of_a_question_is_no_answer() -> None:
    asks = replace(close("b", 10.0, 0.8), asking=0.75)
    assert meanings(close("a", 5.0, 0.2), asks)["b"] == pytest.approx(4.0 * 0.25)
    said = close("c", 9.0, 0.7)
    assert order(close("a", 5.0, 0.2), said, replace(asks, asking=1.0)) == ["c", "b", "a"]


def test_meaning_orders_what_has_no_word_in_common() -> None:
    assert order(close("a", 0.0, 0.5), close("b", 0.0, 0.6), close("c", 0.0, 0.4)) == [
        "b",
        "a",
        "c",
    ]
    assert meanings(close("a", 0.0, 0.5)) == {"a": pytest.approx(0.4)}
