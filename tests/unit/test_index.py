"""The index of one bank, on a real folder."""

import json
import multiprocessing
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from whoosh import scoring
from whoosh.index import open_dir
from whoosh.query import Or, Term

from recall.engine.query import document_terms, query_terms
from recall.engine.scoring import K1, B
from recall.index import (
    Doc,
    Filters,
    Index,
    IndexBusy,
    IndexUnavailable,
    Stamp,
    analyzer,
    version,
)
from recall.index import stamp as stamps

ENGLISH = analyzer("en")
START = Stamp(version=version("en"))


def doc(key: str, text: str, **other: object) -> Doc:
    base = Doc(
        id=key,
        terms=document_terms(text, analyzer=ENGLISH),
        category="facts",
        kind="semantic",
        origin="agent",
        created_ms=1_000,
    )
    return replace(base, **other)  # type: ignore[arg-type]


def ids(index: Index, query: str, *, limit: int = 10, filters: Filters | None = None) -> list[str]:
    found = index.search(query_terms(query, ENGLISH), limit=limit, filters=filters)
    return [hit.id for hit in found]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index" / "7"


@pytest.fixture
def index(folder: Path) -> Iterator[Index]:
    """An index of three documents."""
    index = Index(folder)
    texts = {"a": "The valve leaks", "b": "The kiln is hot", "c": "Valve and kiln are new"}
    index.rebuild([doc(key, text) for key, text in texts.items()], START)
    yield index
    index.close()


def generation(folder: Path) -> Path:
    return folder / (folder / "CURRENT").read_text()


def test_no_index_is_unavailable_and_stays_so(folder: Path) -> None:
    with pytest.raises(IndexUnavailable):
        Index(folder).search(["valv"], limit=5)
    assert not folder.exists()


def test_a_rebuilt_index_answers(index: Index) -> None:
    assert set(ids(index, "valve")) == {"a", "c"}
    assert ids(index, "hot kiln") == ["b", "c"]
    assert ids(index, "crane") == []
    assert index.search([], limit=5) == []
    assert index.search(["valv"], limit=0) == []


def test_an_empty_index_answers_with_nothing(folder: Path) -> None:
    index = Index(folder)
    index.rebuild([], START)
    assert ids(index, "valve", filters=Filters(kind="semantic", since_ms=0)) == []
    assert index.ids() == set()
    assert index.known_entities(["kiln"]) == set()


def test_scores_are_those_of_stock_whoosh(index: Index, folder: Path) -> None:
    index.apply([doc("d", "Valve valve valve"), doc("a", "The valve holds")], ["b"], START)
    terms = ["valv", "kiln", "hold"]
    # Any Whoosh reads the folder: no schema is passed in, the pickled one has to do.
    with open_dir(str(generation(folder))).searcher(
        weighting=scoring.BM25F(B=B, K1=K1)
    ) as searcher:
        query = Or([Term("terms", term) for term in terms])
        stock = {hit["id"]: hit.score for hit in searcher.search(query, limit=None)}
    found = {hit.id: hit.score for hit in index.search(terms, limit=10)}
    assert found == pytest.approx(stock)
    assert found.keys() == {"a", "c", "d"}


def test_a_changed_document_replaces_the_old_one(index: Index) -> None:
    for _ in range(3):
        index.apply([doc("a", "The crane is fixed")], [], START)
    assert ids(index, "crane") == ["a"]
    assert ids(index, "valve") == ["c"]
    assert index.ids() == {"a", "b", "c"}


def test_of_two_versions_in_one_batch_the_last_counts(index: Index) -> None:
    index.apply([doc("z", "first crane"), doc("z", "second hoist")], [], START)
    assert ids(index, "crane") == []
    assert ids(index, "hoist") == ["z"]


# field case A07
def test_a_deleted_document_takes_no_place_from_a_live_one(folder: Path) -> None:
    index, other = Index(folder), Index(folder)
    docs = [doc(f"m{number}", "Check the gasket") for number in range(10)]
    index.rebuild(docs, START)
    assert len(ids(index, "gasket")) == len(ids(other, "gasket")) == 10
    index.apply([], [f"m{number}" for number in range(9)], START)
    for reader in (index, other):
        assert ids(reader, "gasket", limit=5) == ["m9"]


# field case A07
def test_retired_documents_are_left_out_before_the_limit(folder: Path) -> None:
    index = Index(folder)
    docs = [doc(f"m{number}", "gasket " * (10 - number), live=number == 9) for number in range(10)]
    index.rebuild(docs, START)
    assert ids(index, "gasket", limit=1) == ["m9"]
    assert len(ids(index, "gasket", filters=Filters(live_only=False))) == 10


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(kind="episodic"), {"e"}),
        (Filters(category="rules"), {"r"}),
        (Filters(origin="tool_result"), {"t"}),
        (Filters(tags=("hot",)), {"x", "y"}),
        (Filters(tags=("hot", "new")), {"y"}),
        (Filters(tags=("nothing",)), set()),
        (Filters(since_ms=5_000), {"l"}),
        (Filters(until_ms=1_000), {"o"}),
        (Filters(since_ms=500, until_ms=501), {"o"}),
        (Filters(tags=("hot",), category="rules"), set()),
    ],
)
@pytest.mark.parametrize("segments", [1, 3])
def test_filters_apply_before_the_limit(
    folder: Path, filters: Filters, expected: set[str], segments: int
) -> None:
    wanted = [
        doc("e", "gasket", kind="episodic"),
        doc("r", "gasket", category="rules"),
        doc("t", "gasket", origin="tool_result"),
        doc("x", "gasket", tags=("hot",)),
        doc("y", "gasket", tags=("new", "hot")),
        doc("l", "gasket", created_ms=5_000),
        doc("o", "gasket", created_ms=500),
    ]
    better = [doc(f"b{number}", "gasket gasket gasket") for number in range(20)]
    index = Index(folder)
    index.rebuild(better, START)
    size = -(-len(wanted) // segments)
    for start in range(0, len(wanted), size):
        index.apply(wanted[start : start + size], [], START)
    assert set(ids(index, "gasket", limit=3, filters=filters)) == expected


def test_known_entities_are_told_from_other_words(folder: Path) -> None:
    index = Index(folder)
    index.rebuild([doc("a", "crane", entities=("boreal west", "rdx"))], START)
    assert index.known_entities(["boreal", "boreal west", "rdx", "crane"]) == {"boreal west", "rdx"}


def test_the_stamp_moves_with_the_changes(index: Index) -> None:
    index.apply([doc("d", "crane")], [], replace(START, seq=4, uid="u4"))
    stamp = Index(index._generations.folder).stamp()
    assert (stamp.seq, stamp.uid, stamp.version) == (4, "u4", START.version)
    index.apply([], [], replace(START, seq=5, uid="u5"))
    assert index.stamp().seq == 5


# field case A08
def test_a_second_writer_waits_and_then_gives_up(index: Index) -> None:
    with index.writing():
        with pytest.raises(IndexBusy), index.writing(timeout_s=0.02):
            pass
        assert set(ids(index, "valve")) == {"a", "c"}
    index.apply([doc("d", "crane")], [], START)
    assert ids(index, "crane") == ["d"]


# field case A08
def test_a_writer_gets_the_lock_once_it_is_free(index: Index) -> None:
    waiting = threading.Thread(target=index.apply, args=([doc("d", "crane")], [], START))
    with index.writing():
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
    waiting.join(10)
    assert ids(index, "crane") == ["d"]


# field case A08
def test_a_lock_file_that_merely_exists_locks_nothing(index: Index, folder: Path) -> None:
    (generation(folder) / "MAIN_WRITELOCK").write_text("")
    with index.writing(timeout_s=0) as writing:
        writing.apply([doc("d", "crane")], [], START)
    assert ids(index, "crane") == ["d"]


def test_a_writer_that_waited_over_a_rebuild_writes_into_the_new_generation(index: Index) -> None:
    waiting = threading.Thread(target=index.apply, args=([doc("d", "crane")], [], START))
    with index.writing():
        waiting.start()
        waiting.join(0.05)
        index.rebuild([doc("a", "The valve leaks")], START)
    waiting.join(10)
    assert ids(index, "crane") == ["d"]
    assert ids(index, "valve") == ["a"]


def test_a_writer_sees_the_stamp_that_the_one_before_it_left(index: Index) -> None:
    def add(number: int) -> None:
        for _ in range(3):
            with index.writing() as writing:
                seq = writing.stamp.seq + 1
                new = doc(f"n{number}-{seq}", "crane")
                writing.apply([new], [], replace(writing.stamp, seq=seq))

    threads = [threading.Thread(target=add, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert index.stamp().seq == 9
    assert len(ids(index, "crane", limit=20)) == 9


def test_a_failed_change_leaves_index_position_and_lock_as_they_were(
    index: Index, folder: Path
) -> None:
    class Broken(dict[str, int]):
        def items(self) -> Sequence[tuple[str, int]]:  # type: ignore[override]
            raise OSError("disk full")

    bad = replace(doc("d", "crane"), terms=Broken())
    with pytest.raises(IndexUnavailable):
        index.apply([doc("e", "crane"), bad], ["a"], replace(START, seq=9))
    assert index.stamp().seq == 0
    # Nobody knows what the failed change left unsynced.
    assert not index.stamp().clean
    assert index.ids() == {"a", "b", "c"}
    assert list(generation(folder).glob("*.tmp")) == []
    index.apply([doc("e", "crane")], [], START)
    assert ids(index, "crane") == ["e"]


def test_compact_merges_and_changes_no_answer(index: Index) -> None:
    for number in range(20):
        index.apply([doc(f"n{number}", "crane", created_ms=number, tags=("t",))], [], START)
    index.apply([], ["n3"], replace(START, seq=21))
    many = index.segment_count()
    before = set(ids(index, "crane", limit=30, filters=Filters(tags=("t",), since_ms=2)))
    with index.writing() as writing:
        writing.compact()
    assert index.segment_count() < many
    assert set(ids(index, "crane", limit=30, filters=Filters(tags=("t",), since_ms=2))) == before
    with index.writing() as writing:
        writing.compact(full=True)
    assert index.segment_count() == 1
    assert index.stamp().seq == 21
    assert set(ids(index, "crane", limit=30, filters=Filters(tags=("t",), since_ms=2))) == before


def test_compact_leaves_large_segments_as_they_are(
    index: Index, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall.index.writing.LARGE_SEGMENT", 2)
    [large] = generation(folder).glob("*.seg")
    for number in range(8):
        index.apply([doc(f"n{number}", "crane")], [], START)
    with index.writing() as writing:
        writing.compact()
    assert index.segment_count() < 9
    assert large.exists()


def test_a_rebuild_swaps_generations_and_removes_the_old_one(index: Index, folder: Path) -> None:
    other = Index(folder)
    assert ids(other, "hot") == ["b"]
    old = generation(folder)
    index.rebuild([doc("z", "crane")], replace(START, seq=3))
    assert ids(other, "hot") == []
    assert ids(other, "crane") == ["z"]
    assert other.stamp().seq == 3
    assert not old.exists()


def test_a_failed_rebuild_leaves_the_old_generation_answering(index: Index, folder: Path) -> None:
    def failing() -> Iterator[Doc]:
        yield doc("z", "crane")
        raise RuntimeError("rows are gone")

    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(RuntimeError):
        index.rebuild(failing(), START)
    assert ids(index, "hot") == ["b"]
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_rebuild_waits_for_no_other_for_ever(index: Index) -> None:
    def nested() -> Iterator[Doc]:
        with pytest.raises(IndexBusy):
            index.rebuild([], START, timeout_s=0)
        yield doc("z", "crane")

    index.rebuild(nested(), START)
    assert index.ids() == {"z"}


def test_a_deleted_index_is_unavailable_until_it_is_rebuilt(index: Index, folder: Path) -> None:
    (folder / "CURRENT").unlink()
    with pytest.raises(IndexUnavailable):
        ids(index, "valve")
    index.rebuild([doc("a", "The valve leaks")], START)
    assert ids(index, "valve") == ["a"]


# Whoosh drops the files it opened when it fails in the middle of opening.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("damage", [b"", b"\x00" * 40, b"garbage", b"{}", None])
@pytest.mark.parametrize("pattern", ["*.toc", "*.seg", "stamp.json"])
def test_a_damaged_file_is_unavailable_and_not_wiped(
    folder: Path, pattern: str, damage: bytes | None
) -> None:
    Index(folder).rebuild([doc("a", "The valve leaks")], START)
    (path,) = generation(folder).glob(pattern)
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with pytest.raises(IndexUnavailable):
        ids(Index(folder), "valve")
    assert path.exists() == (damage is not None)


def test_an_index_of_an_earlier_boot_is_trusted_only_after_a_clean_close(
    index: Index, folder: Path
) -> None:
    def reboot() -> None:
        stamp = stamps.read(generation(folder))
        stamps.write(generation(folder), replace(stamp, boot="another"))

    reboot()
    assert index.stamp().clean
    index.apply([doc("d", "crane")], [], START)
    assert not index.stamp().clean
    with index.writing() as writing:
        writing.settle()
    reboot()
    assert ids(index, "crane") == ["d"]
    index.apply([doc("e", "crane")], [], START)
    reboot()
    with pytest.raises(IndexUnavailable):
        Index(folder).stamp()


def test_a_stamp_newer_than_its_index_is_not_trusted(index: Index, folder: Path) -> None:
    stamp = stamps.read(generation(folder))
    stamps.write(generation(folder), replace(stamp, toc=stamp.toc + 1))
    with pytest.raises(IndexUnavailable):
        index.stamp()


@pytest.mark.parametrize("change", [{"seq": "1"}, {"clean": 1}, {"more": 1}])
def test_a_stamp_of_other_types_is_not_read(
    index: Index, folder: Path, change: dict[str, object]
) -> None:
    path = generation(folder) / "stamp.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(IndexUnavailable):
        index.stamp()


def _search_many(folder: Path, seconds: float, failures: "multiprocessing.Queue[str]") -> None:
    index = Index(folder)
    deadline = threading.Event()
    threading.Timer(seconds, deadline.set).start()

    def search() -> None:
        ended = False
        try:
            while not deadline.is_set():
                found = ids(index, "valve", limit=50)
                if "a" not in found or len(found) != len(set(found)):
                    failures.put(repr(found))
            ended = True
        finally:
            if not ended:
                failures.put("a search raised")

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    index.close()


@pytest.mark.wide
def test_readers_of_another_process_never_miss_during_commits_and_rebuilds(
    index: Index, folder: Path
) -> None:
    context = multiprocessing.get_context("fork")
    failures: multiprocessing.Queue[str] = context.Queue()
    reader = context.Process(target=_search_many, args=(folder, 0.6, failures))
    reader.start()
    number = 0
    while reader.is_alive():
        number += 1
        index.apply([doc(f"n{number % 5}", "Valve again")], [], START)
        if number % 10 == 0:
            index.rebuild([doc("a", "The valve leaks")], START)
    reader.join()
    assert reader.exitcode == 0
    assert failures.empty()


def test_threads_search_side_by_side(index: Index) -> None:
    answers: list[list[str]] = []

    def ask() -> None:
        answers.extend(ids(index, "hot kiln") for _ in range(30))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [["b", "c"]] * 120


# field case A45
@pytest.mark.usefixtures("usual_gc")
def test_many_searches_leave_no_files_open(index: Index) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    index.close()
    before = open_files()
    for number in range(24):
        index.apply([doc("a", f"The valve leaks {number}")], [], START)
        ids(index, "valve")
        if number % 8 == 7:
            index.rebuild([doc("a", "The valve leaks")], START)
    index.close()
    assert open_files() == before
