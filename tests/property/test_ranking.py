"""Ranking is total and stable, and the index agrees with a fresh rebuild and with plain BM25."""

import math
import random
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from whoosh.util.numeric import byte_to_length, length_to_byte

from recall.engine.analysis import MAX_TERM_CHARS
from recall.engine.query import MAX_QUERY_TERMS, document_terms, named_entities, query_terms
from recall.engine.scoring import K1, B, Candidate, rank
from recall.index import Doc, Filters, Index, Stamp, analyzer, version

NOW = datetime(2026, 6, 1, tzinfo=UTC)
START = Stamp(version=version("en"))
WORDS = ["valve", "kiln", "crane", "gasket", "hoist", "boiler", "rotor"]

texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
candidates = st.lists(
    st.builds(
        Candidate,
        id=st.text("abcdef", min_size=1, max_size=3),
        text_score=st.sampled_from([0.0, 1.0, 1.5, 2.0]),
        stated_at=st.integers(0, 3).map(lambda days: NOW - timedelta(days=days)),
        subjects=st.sampled_from([frozenset(), frozenset({"kiln"})]),
        corroboration=st.integers(0, 3),
        pinned=st.booleans(),
        tells_time=st.booleans(),
        asking=st.sampled_from([0.0, 0.5, 1.0]),
    ),
    unique_by=lambda candidate: candidate.id,
    max_size=12,
)


def doc(key: str, terms: Mapping[str, int], *, live: bool = True) -> Doc:
    return Doc(
        id=key,
        terms=terms,
        category="facts",
        kind="semantic",
        origin="agent",
        created_ms=0,
        live=live,
    )


@given(candidates, st.randoms(use_true_random=False), st.booleans(), st.booleans())
def test_order_is_total_and_does_not_depend_on_the_input(
    pool: list[Candidate], chance: random.Random, newest: bool, time: bool
) -> None:
    def ranked(items: list[Candidate]) -> list[tuple[str, float]]:
        hits = rank(items, named=("kiln",), now=NOW, half_life_days=30, newest=newest, time=time)
        assert all(hit.score == hit.signals.total for hit in hits)
        return [(hit.id, hit.score) for hit in hits]

    first = ranked(pool)
    shuffled = list(pool)
    chance.shuffle(shuffled)
    assert ranked(shuffled) == first
    assert [score for _, score in first] == sorted((s for _, s in first), reverse=True)
    assert {key for key, _ in first} == {candidate.id for candidate in pool}


@given(candidates, st.booleans(), st.booleans())
def test_no_signal_passes_its_share_of_the_top_text_score(
    pool: list[Candidate], newest: bool, time: bool
) -> None:
    scores = {candidate.id: candidate.text_score for candidate in pool}
    top = max(scores.values(), default=0.0)
    for hit in rank(pool, named=("kiln",), now=NOW, half_life_days=30, newest=newest, time=time):
        lifted = hit.signals.text - scores[hit.id]
        assert -0.3001 * scores[hit.id] <= lifted <= (0.2001 if time else 0.0) * top
        assert 0 <= hit.score - hit.signals.text <= (0.49 if newest else 0.34) * top


@given(st.text(max_size=300), st.sampled_from(["en", "de", "fr", "hu", "ru", "none"]))
def test_any_text_is_a_query_of_bounded_size(text: str, language: str) -> None:
    words = analyzer(language)
    terms = query_terms(text, words)
    assert len(terms) == len(set(terms)) <= MAX_QUERY_TERMS
    assert all(0 < len(term) <= MAX_TERM_CHARS for term in terms)
    # The same function on both sides: a memory with that very text has all of them.
    assert set(terms) <= document_terms(text, analyzer=words).keys()
    named_entities(text, frozenset)


operations = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "cut", "compact"]),
        st.sampled_from("abcdefgh"),
        texts,
        st.booleans(),
    ),
    max_size=8,
)


@pytest.mark.wide
@pytest.mark.slow  # every example writes and syncs two indexes
@given(operations)
def test_after_any_changes_the_index_is_what_a_rebuild_gives(
    changes: list[tuple[str, str, str, bool]],
) -> None:
    model: dict[str, Doc] = {}
    english = analyzer("en")
    with tempfile.TemporaryDirectory() as folder:
        index, fresh = Index(Path(folder) / "changed"), Index(Path(folder) / "fresh")
        index.rebuild([], START)
        for act, key, text, flag in changes:
            if act == "put":
                model[key] = doc(key, document_terms(text, analyzer=english), live=flag)
                index.apply([model[key]], [], START)
            elif act == "cut":
                model.pop(key, None)
                index.apply([], [key], START)
            else:
                with index.writing() as writing:
                    writing.compact(full=flag)
        fresh.rebuild(model.values(), START)
        assert index.ids() == fresh.ids() == model.keys()
        terms = query_terms(" ".join(WORDS[:4]), english)
        for live_only in (True, False):
            wanted = Filters(live_only=live_only)
            found = index.search(terms, limit=20, filters=wanted)
            again = fresh.search(terms, limit=20, filters=wanted)
            assert {hit.id for hit in found} == {hit.id for hit in again}
        with index.writing() as writing:
            writing.compact(full=True)
        found = index.search(terms, limit=20)
        assert {hit.id: hit.score for hit in found} == pytest.approx(
            {hit.id: hit.score for hit in fresh.search(terms, limit=20)}
        )
        index.close()
        fresh.close()


def bm25(terms: list[str], docs: Mapping[str, Mapping[str, int]]) -> dict[str, float]:
    """Plain BM25, with the lengths and the inverse document frequency of the index."""
    lengths = {
        key: byte_to_length(length_to_byte(sum(weights.values()))) for key, weights in docs.items()
    }
    average = sum(lengths.values()) / len(docs)
    scores: dict[str, float] = {}
    for term in terms:
        holders = {key: weights[term] for key, weights in docs.items() if term in weights}
        idf = math.log(len(docs) / (len(holders) + 1)) + 1
        for key, weight in holders.items():
            norm = K1 * ((1 - B) + B * lengths[key] / average)
            scores[key] = scores.get(key, 0.0) + idf * weight * (K1 + 1) / (weight + norm)
    return scores


@pytest.mark.parametrize("segments", [1, 4])
def test_the_best_few_are_the_best_of_all(tmp_path: Path, segments: int) -> None:
    # This seed has a query whose third best hit the search engine's own collector loses.
    chance = random.Random(3)
    vocabulary = [f"t{number}" for number in range(60)]
    weights = [1 / (number + 5) for number in range(60)]

    def words(count: int) -> list[str]:
        return chance.choices(vocabulary, weights=weights, k=count)

    docs = {
        f"d{number}": {term: chance.randint(1, 6) for term in words(chance.randint(2, 12))}
        for number in range(300)
    }
    index = Index(tmp_path / "index")
    keys = list(docs)
    size = len(keys) // segments
    index.rebuild([doc(key, docs[key]) for key in keys[:size]], START)
    for start in range(size, len(keys), size):
        index.apply([doc(key, docs[key]) for key in keys[start : start + size]], [], START)
    for _ in range(60):
        terms, limit = words(8), chance.choice((3, 10))
        scores = bm25(list(dict.fromkeys(terms)), docs)
        found = index.search(terms, limit=limit)
        expected = sorted(scores.values(), reverse=True)[:limit]
        assert [hit.score for hit in found] == pytest.approx(expected)
        assert all(hit.score == pytest.approx(scores[hit.id]) for hit in found)
    index.close()
