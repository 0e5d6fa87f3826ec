"""The words that went and came, with which the console shows an edit."""

from hypothesis import given
from hypothesis import strategies as st

from memoryconsole.console.diff import Piece, pieces, shortened


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
