"""Searching by arrays gives what Whoosh's own scorers give, bit by bit."""

import logging
import random
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from recall.index import Doc, Filters, Found, Index, IndexUnavailable, Stamp, version
from recall.index.candidates import candidates
from recall.index.segments import HELD_BYTES

START = Stamp(version=version("none"))
WORDS = [f"w{number}" for number in range(120)]
ALL = Filters(live_only=False)


def doc(number: int, chance: random.Random) -> Doc:
    """A document whose words are as unequally common as those of a language."""
    places = [min(int(chance.paretovariate(0.5)), len(WORDS)) - 1 for _ in range(40)]
    return Doc(
        id=f"m{number}",
        terms={WORDS[place]: chance.choice((1, 3, 3, 300)) for place in places},
        category=chance.choice(("facts", "rules")),
        kind="semantic",
        origin=chance.choice(("agent", "person")),
        created_ms=number,
        live=chance.random() < 0.8,
        tags=tuple(tag for tag in ("hot", "new") if chance.random() < 0.3),
    )


def filled(folder: Path, *, documents: int, segments: int, deletes: int) -> Index:
    chance, index = random.Random(7), Index(folder)
    docs = [doc(number, chance) for number in range(documents)]
    later = segments - 1
    index.rebuild(docs[later:], START)
    for number in range(later):
        index.apply([docs[number]], [], START)
    if deletes:
        index.apply([], [each.id for each in chance.sample(docs, deletes)], START)
    return index


def stock(index: Index, terms: Sequence[str], limit: int, filters: Filters) -> list[Found]:
    return index._reading(lambda opened: candidates(opened, terms, limit=limit, filters=filters))


def asked(chance: random.Random) -> tuple[list[str], int, Filters]:
    filters = Filters(
        category=chance.choice((None, None, "rules")),
        origin=chance.choice((None, None, "agent", "nobody")),
        tags=chance.choice(((), (), ("hot",), ("hot", "new"))),
        since_ms=chance.choice((None, None, 100)),
        until_ms=chance.choice((None, None, 300)),
        live_only=chance.random() < 0.5,
    )
    terms = chance.choices([*WORDS, "unknown", "w1", "w2", "w3"], k=chance.randint(1, 12))
    return terms, chance.choice((1, 3, 10, 50, 1_000)), filters


def assert_both_agree(index: Index, queries: int) -> None:
    chance = random.Random(3)
    for _ in range(queries):
        terms, limit, filters = asked(chance)
        found = index.search(terms, limit=limit, filters=filters)
        assert found == stock(index, terms, limit, filters), (terms, limit, filters)
    assert index.packed_bytes(), "the arrays were not used"


@pytest.fixture(autouse=True)
def told(caplog: pytest.LogCaptureFixture) -> Callable[[], bool]:
    """Whether an index said that it is searched without arrays."""
    caplog.set_level(logging.WARNING, logger="recall.index")
    return lambda: "without arrays" in caplog.text


@pytest.mark.parametrize(
    ("documents", "segments", "deletes"), [(400, 1, 0), (400, 2, 40), (60, 40, 20), (3, 1, 3)]
)
def test_ids_order_and_scores_are_those_of_whoosh(
    tmp_path: Path, told: Callable[[], bool], documents: int, segments: int, deletes: int
) -> None:
    index = filled(tmp_path / "7", documents=documents, segments=segments, deletes=deletes)
    assert_both_agree(index, 15)
    assert not told()


@pytest.mark.wide  # a longer random run, over postings of many blocks
@pytest.mark.slow  # builds indexes of thousands of documents
@pytest.mark.parametrize(
    ("documents", "segments", "deletes"),
    [(3_000, 1, 0), (3_000, 2, 0), (3_000, 40, 0), (3_000, 40, 500)],
)
def test_ids_order_and_scores_are_those_of_whoosh_at_length(
    tmp_path: Path, told: Callable[[], bool], documents: int, segments: int, deletes: int
) -> None:
    index = filled(tmp_path / "7", documents=documents, segments=segments, deletes=deletes)
    assert_both_agree(index, 200)
    with index.writing() as writing:
        writing.compact(full=True)
    assert_both_agree(index, 50)
    assert not told()


def test_what_was_read_of_a_segment_is_kept_and_true_after_later_commits(tmp_path: Path) -> None:
    index, chance = filled(tmp_path / "7", documents=200, segments=1, deletes=0), random.Random(1)
    for number in range(6):
        index.search(WORDS, limit=5)
        index.apply([doc(1_000 + number, chance)], [f"m{number}"], START)
        index.stamp()
        assert index.packed_bytes(), "what was read is gone"
        assert index.search(WORDS, limit=500, filters=ALL) == stock(index, WORDS, 500, ALL)


def test_without_numpy_whoosh_answers_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = filled(tmp_path / "7", documents=50, segments=2, deletes=5)
    found = index.search(WORDS[:8], limit=10)
    monkeypatch.setitem(sys.modules, "recall.index.packed", None)
    bare = Index(tmp_path / "7")
    assert bare.search(WORDS[:8], limit=10) == found
    assert bare.packed_bytes() == 0
    assert bare.paths_agree()


def test_arrays_that_find_something_else_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: Callable[[], bool]
) -> None:
    index = filled(tmp_path / "7", documents=50, segments=2, deletes=5)
    monkeypatch.setattr("recall.index.packed.K1", 1.3)
    assert not index.paths_agree()
    assert not told()
    assert index.search(WORDS[:8], limit=10) == stock(index, WORDS[:8], 10, Filters())
    assert told()
    monkeypatch.undo()
    index.rebuild([doc(number, random.Random(2)) for number in range(20)], START)
    assert_both_agree(index, 3)


def test_a_segment_without_documents_for_a_filter_is_no_fault(tmp_path: Path) -> None:
    index = Index(tmp_path / "7")
    index.rebuild([], START)
    assert index.search(["w1"], limit=5, filters=Filters(since_ms=1, tags=("hot",))) == []
    index.rebuild([doc(0, random.Random(1))], START)
    assert index.search(["nobody"], limit=5) == []
    assert index.search([], limit=5) == []
    assert index.known_entities(["\ud800"]) == frozenset()


# Whoosh drops the files it opened when it fails in the middle of opening.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_large_segment_is_read_in_parts_and_a_cut_one_ends_no_process(tmp_path: Path) -> None:
    index = filled(tmp_path / "7", documents=900, segments=1, deletes=0)
    index.search(WORDS[:1], limit=5)
    [path] = (tmp_path / "7").glob("*/*.seg")
    whole = path.read_bytes()
    assert len(whole) > HELD_BYTES
    with path.open("r+b") as file:
        file.truncate(HELD_BYTES // 2)
    with pytest.raises(IndexUnavailable):
        index.search(WORDS, limit=5)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("seed", range(5))
def test_any_damage_of_a_segment_is_an_answer_or_unavailable(tmp_path: Path, seed: int) -> None:
    filled(tmp_path / "7", documents=30, segments=1, deletes=0).close()
    [path] = (tmp_path / "7").glob("*/*.seg")
    chance, data = random.Random(seed), bytearray(path.read_bytes())
    for _ in range(40):
        data[chance.randrange(len(data))] = chance.randrange(256)
    path.write_bytes(data)
    index = Index(tmp_path / "7")
    try:
        found = index.search(WORDS, limit=50)
        index.ids()
    except IndexUnavailable:
        return
    assert len(found) <= 50


@pytest.mark.wide
def test_threads_share_the_arrays_while_the_index_changes(tmp_path: Path) -> None:
    index, chance = filled(tmp_path / "7", documents=100, segments=3, deletes=0), random.Random(1)
    wrong: list[object] = []
    done = threading.Event()

    def ask() -> None:
        while not done.is_set():
            found = [each.id for each in index.search(WORDS, limit=500, filters=ALL)]
            if len(found) != 100 or len(set(found)) != 100:
                wrong.append(found)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(12):
        index.apply([doc(number, chance)], [], START)
        if number == 6:
            with index.writing() as writing:
                writing.compact(full=True)
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_frequencies_are_those_that_scores_count(tmp_path: Path) -> None:
    index = filled(tmp_path / "7", documents=60, segments=3, deletes=5)
    counts, documents = index.frequencies([*WORDS[:20], "unknown"])
    asked = index._reading(
        lambda opened: [opened.searcher.doc_frequency("terms", word) for word in WORDS[:20]]
    )
    assert counts == [*asked, 0]
    assert documents == index._reading(lambda opened: opened.searcher.doc_count_all())
