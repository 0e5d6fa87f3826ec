"""Vectors on disk: what is whole is read, what is not is passed over, and models are kept apart."""

import os
from pathlib import Path

import numpy as np
import pytest

from recall.meaning.bert import Floats, unit
from recall.meaning.vectors import Filled, Vectors


def key(number: int) -> str:
    return f"fp{number:016x}"


def rows(*numbers: int, size: int = 4) -> Floats:
    """For each number a vector of its own."""
    return unit(
        np.array([[number + 1.0, 1.0, number % 3, 2.0, 5.0, 1.0][:size] for number in numbers])
    )


@pytest.fixture
def vectors(tmp_path: Path) -> Vectors:
    return Vectors(tmp_path / "meaning", "a")


def file_of(folder: Path) -> Path:
    [path] = (folder / "meaning").glob("*.vectors")
    return path


def test_the_nearest_come_first_with_their_cosines(vectors: Vectors) -> None:
    vectors.append([key(n) for n in range(5)], rows(*range(5)))
    query = rows(3)[0]
    found = vectors.nearest(query, 2)
    assert found[0] == (key(3), pytest.approx(1.0, abs=1e-3))
    assert found[1] == (key(4), pytest.approx(float(rows(4)[0] @ query), abs=1e-3))
    assert vectors.nearest(query, 99) != vectors.nearest(query, 0) == []
    told = vectors.cosines(query, [key(1), key(77)])
    assert told == {key(1): pytest.approx(float(rows(1)[0] @ query), abs=1e-3)}
    assert vectors.missing([key(1), key(77)]) == {key(77)}


def test_another_process_sees_what_was_added(vectors: Vectors, tmp_path: Path) -> None:
    other = Vectors(tmp_path / "meaning", "a")
    assert other.count() == 0
    for number in range(3):
        vectors.append([key(number)], rows(number))
        assert other.count() == number + 1
    other.keep_only([key(1)])
    assert vectors.nearest(rows(1)[0], 9) == [(key(1), pytest.approx(1.0, abs=1e-3))]


def test_the_first_of_two_vectors_of_a_text_counts(vectors: Vectors) -> None:
    vectors.append([key(1), key(1)], rows(1, 2))
    vectors.append([key(1)], rows(3))
    assert vectors.count() == 1
    assert vectors.cosines(rows(1)[0], [key(1)])[key(1)] == pytest.approx(1.0, abs=1e-3)


def test_no_vector_of_one_model_is_read_for_another(vectors: Vectors, tmp_path: Path) -> None:
    other = Vectors(tmp_path / "meaning", "b")
    vectors.append([key(1)], rows(1))
    vectors.close_fill(3, "u")
    assert (other.count(), other.nearest(rows(1)[0], 5), other.filled()) == (0, [], None)
    other.append([key(2)], rows(2))
    other.drop_others()
    assert (vectors.count(), vectors.filled(), other.count()) == (0, None, 1)


def test_vectors_of_another_size_begin_the_file_anew(vectors: Vectors) -> None:
    vectors.append([key(1)], rows(1))
    vectors.close_fill(3, "u")
    assert vectors.nearest(rows(1, size=6)[0], 5) == []
    assert vectors.cosines(rows(1, size=6)[0], [key(1)]) == {}
    vectors.append([key(2)], rows(2, size=6))
    assert (vectors.count(), vectors.filled()) == (1, None)
    assert vectors.nearest(rows(2, size=6)[0], 5)[0][0] == key(2)


@pytest.mark.parametrize("cut", [1, 7, 19])
def test_what_a_killed_writer_left_is_cut_off(vectors: Vectors, tmp_path: Path, cut: int) -> None:
    vectors.append([key(1), key(2)], rows(1, 2))
    path = file_of(tmp_path)
    os.truncate(path, path.stat().st_size - cut)
    fresh = Vectors(tmp_path / "meaning", "a")
    assert fresh.count() == 1
    fresh.append([key(3)], rows(3))
    assert fresh.missing(map(key, (1, 2, 3))) == {key(2)}


def test_any_damaged_byte_costs_at_most_what_it_stands_in(vectors: Vectors, tmp_path: Path) -> None:
    vectors.append([key(n) for n in range(3)], rows(*range(3)))
    vectors.close_fill(3, "u")
    assert vectors.filled() == Filled(seq=3, uid="u", texts=3)
    path = file_of(tmp_path)
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
        fresh = Vectors(tmp_path / "meaning", "a")
        found = fresh.nearest(rows(0)[0], 9)
        # Of the last bytes of its head a file is told by, and no more.
        assert fresh.filled() is None or (len(found) == 3 and 12 <= place < 24)
        assert len(found) >= (0 if place < 12 else 2)
        assert all(cosine <= 1.01 for _, cosine in found)


@pytest.mark.parametrize("stamp", ["", "[]", '{"seq": 1}', "\x00" * 9])
def test_a_damaged_stamp_says_nothing(vectors: Vectors, tmp_path: Path, stamp: str) -> None:
    vectors.append([key(1)], rows(1))
    vectors.close_fill(3, "u")
    file_of(tmp_path).with_suffix(".json").write_text(stamp)
    assert vectors.filled() is None
