"""The words that went and came, with which the console shows an edit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryconsole.console.diff import (
    MOST_COMPARED,
    Line,
    Piece,
    Side,
    lines,
    opcodes,
    pieces,
    shortened,
)


def test_only_the_words_that_differ_are_marked() -> None:
    assert pieces("close the valve by hand", "close the gate by hand") == [
        Piece("same", "close the "),
        Piece("gone", "valve"),
        Piece("new", "gate"),
        Piece("same", " by hand"),
    ]


@given(st.text(max_size=60), st.text(max_size=60))
def test_the_pieces_hold_both_texts_whole(before: str, after: str) -> None:
    found = pieces(before, after)
    assert "".join(piece.text for piece in found if piece.kind != "new") == before
    assert "".join(piece.text for piece in found if piece.kind != "gone") == after


def test_a_long_text_is_compared_by_lines_and_stays_whole() -> None:
    before = "turn the valve and wait\n" * 600
    found = pieces(before, before + "then close it\n")
    assert [piece.kind for piece in found] == ["same", "new"]
    assert found[0].text == before


def test_long_runs_that_stayed_are_left_out_in_the_middle() -> None:
    long = "steam " * 100
    first, gone, *_, last = shortened(pieces(f"{long}valve {long}", f"{long}gate {long}"))
    assert first.text.startswith("…")
    assert last.text.endswith("…")
    assert gone == Piece("gone", "valve")
    assert len(first.text) < 80


some_lines = st.lists(st.sampled_from(["", "oil it", "shut the valve", "wait"]), max_size=30)


@given(some_lines, some_lines)
def test_the_lines_are_numbered_as_in_their_texts(old: list[str], new: list[str]) -> None:
    before, after = "\n".join(old), "\n".join(new)
    found = lines(before, after)
    for whole, sides in (
        (before, [line.old for line in found if line.old]),
        (after, [line.new for line in found if line.new]),
    ):
        wanted = whole.split("\n")
        assert [side.number for side in sides] == sorted({side.number for side in sides})
        for side in sides:
            assert "".join(piece.text for piece in side.pieces) == wanted[side.number - 1]
        left_out = sum(line.left_out for line in found)
        assert len(sides) + left_out == len(wanted)


def test_a_changed_line_shows_its_words_and_a_new_one_stands_alone() -> None:
    assert lines("shut the valve\nwait", "open the valve\nwait\nlook") == [
        Line(
            "changed",
            Side(1, [Piece("gone", "shut"), Piece("same", " the valve")]),
            Side(1, [Piece("new", "open"), Piece("same", " the valve")]),
        ),
        Line("same", Side(2, [Piece("same", "wait")]), Side(2, [Piece("same", "wait")])),
        Line("new", new=Side(3, [Piece("new", "look")])),
    ]


def test_words_of_lines_with_little_in_common_are_not_mixed() -> None:
    (line,) = lines("the pump hums", "close every gate by hand")
    assert line.old == Side(1, [Piece("gone", "the pump hums")])
    assert line.new == Side(1, [Piece("new", "close every gate by hand")])


def test_only_lines_near_a_change_are_shown() -> None:
    long = [f"step {number}" for number in range(40)]
    found = lines("\n".join(long), "\n".join([*long[:20], "a new one", *long[20:]]))
    assert [line.kind for line in found] == ["fold", *["same"] * 3, "new", *["same"] * 3, "fold"]
    assert (found[0].left_out, found[-1].left_out) == (17, 17)


@pytest.mark.parametrize("count", [3, 30_000])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ab", "ab"),
        ("ab", "ba"),
        ("abc", "abbc"),
        ("abbc", "abc"),
        ("a", "aa"),
        ("", "a"),
        ("a", ""),
    ],
)
def test_long_texts_are_compared_by_where_they_begin_and_end(
    count: int, old: str, new: str
) -> None:
    left = [*"xy", *old * count, *"z"]
    right = [*"xy", *new * count, *"z"]
    found = opcodes(left, right)
    assert [place for _, i, j, _, _ in found for place in left[i:j]] == left
    assert [place for _, _, _, i, j in found for place in right[i:j]] == right
    assert all((left[i:j] == right[k:n]) == (tag == "equal") for tag, i, j, k, n in found)
    assert found[0][0] == "equal"
    if max(len(left), len(right)) > MOST_COMPARED:
        assert len(found) <= 3
