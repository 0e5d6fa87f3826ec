"""What fits into a budget, and what becomes of the rest."""

import pytest

from recall.engine.packing import Fit, PackedRules, pack_memories, pack_rules, rule_size, tokens


def shown(packed: PackedRules) -> dict[str, tuple[Fit, str]]:
    return {rule.name: (rule.fit, rule.kept) for rule in packed.rules}


def test_rules_that_fit_are_kept_whole_in_order_of_name() -> None:
    packed = pack_rules([("b", "\n\n  two\nlines \n\n"), ("a", "one")], budget_chars=14)
    assert shown(packed) == {"a": (Fit.WHOLE, "one"), "b": (Fit.WHOLE, "  two\nlines")}
    assert [rule.name for rule in packed.rules] == ["a", "b"]
    assert (packed.total_chars, packed.kept_chars, packed.over_chars) == (14, 14, 0)
    assert (packed.included, packed.truncated) == (2, False)
    assert [(rule.lines, rule.kept_lines) for rule in packed.rules] == [(1, 1), (2, 2)]


def test_a_blank_rule_is_no_rule() -> None:
    assert pack_rules([("a", " \n\n"), ("b", "")], budget_chars=9).rules == ()


# field case A28
def test_a_rule_that_does_not_fit_is_cut_at_a_line_end_and_later_small_ones_still_fit() -> None:
    long = "\n".join(["first line", "second line", "third line"])
    packed = pack_rules([("a", long), ("b", "x" * 30), ("c", "small")], budget_chars=28)
    assert shown(packed) == {
        "a": (Fit.CUT, "first line\nsecond line"),
        "b": (Fit.OMITTED, ""),
        "c": (Fit.WHOLE, "small"),
    }
    assert (packed.total_chars, packed.kept_chars, packed.over_chars) == (68, 27, 40)
    assert (packed.included, packed.truncated) == (2, True)
    assert [rule.kept_lines for rule in packed.rules] == [2, 0, 1]


@pytest.mark.parametrize(
    ("room", "fit", "kept"),
    [
        (9, Fit.OMITTED, ""),
        (10, Fit.CUT, "first line"),
        (20, Fit.CUT, "first line"),
        (21, Fit.WHOLE, "first line\nthe second"),
    ],
)
def test_a_line_is_kept_whole_or_not_at_all(room: int, fit: Fit, kept: str) -> None:
    packed = pack_rules([("a", "first line\nthe second")], budget_chars=room)
    assert shown(packed) == {"a": (fit, kept)}


def test_blank_lines_before_the_cut_do_not_make_a_rule() -> None:
    packed = pack_rules([("learned", "- older\n\n\n\n" + "x" * 30)], budget_chars=31)
    assert shown(packed) == {"learned": (Fit.CUT, "x" * 30)}


# field case A28
def test_of_learned_lines_the_newest_are_kept() -> None:
    learned = "\n".join(f"- correction {number}" for number in range(1, 10))
    packed = pack_rules([("learned", learned)], budget_chars=40)
    assert shown(packed) == {"learned": (Fit.CUT, "- correction 8\n- correction 9")}


# field case A28
@pytest.mark.parametrize("name", ["a-house", "z-house"])
def test_long_rules_before_or_behind_leave_room_for_the_newest_correction(name: str) -> None:
    house = "\n".join("h" * 99 for _ in range(20))
    newest = "- " + "n" * 298
    packed = pack_rules(
        [(name, house), ("learned", f"- older\n{'o' * 900}\n{newest}")], budget_chars=2_000
    )
    told = shown(packed)
    assert told["learned"] == (Fit.CUT, newest)
    assert told[name] == (Fit.CUT, "\n".join("h" * 99 for _ in range(17)))
    assert packed.kept_chars <= 2_000


@pytest.mark.parametrize(
    ("newest", "learned", "house"), [(90, Fit.WHOLE, Fit.CUT), (101, Fit.OMITTED, Fit.WHOLE)]
)
def test_a_newest_line_longer_than_its_share_is_kept_unless_it_is_longer_than_all(
    newest: int, learned: Fit, house: Fit
) -> None:
    lines = "\n".join("h" * 9 for _ in range(4))
    packed = pack_rules([("house", lines), ("learned", "n" * newest)], budget_chars=100)
    told = shown(packed)
    assert (told["learned"][0], told["house"][0]) == (learned, house)


def test_learned_takes_what_others_leave() -> None:
    learned = "\n".join("x" * 9 for _ in range(8))
    packed = pack_rules([("a", "a" * 20), ("learned", learned)], budget_chars=100)
    assert {fit for fit, _ in shown(packed).values()} == {Fit.WHOLE}


def test_a_memory_that_does_not_fit_is_skipped_and_not_the_end() -> None:
    packed = pack_memories([40, 70, 40, 20], [], limit=4, room_chars=100)
    assert packed.hits == (0, 2, 3)


def test_no_more_hits_than_the_limit_are_taken() -> None:
    assert pack_memories([1, 200, 1, 1], [1], limit=3, room_chars=100).hits == (0, 2)


@pytest.mark.parametrize(
    ("hits", "limit", "ambient"),
    [(0, 6, 3), (1, 6, 2), (2, 6, 1), (3, 6, 0), (0, 2, 2), (1, 2, 1), (0, 0, 0)],
)
def test_ambient_memories_fill_up_to_three_or_the_limit(
    hits: int, limit: int, ambient: int
) -> None:
    packed = pack_memories([1] * hits, [1] * 9, limit=limit, room_chars=100)
    assert (len(packed.hits), len(packed.ambient)) == (hits, ambient)


def test_an_ambient_memory_that_does_not_fit_gives_way_to_the_next() -> None:
    packed = pack_memories([60], [50, 30, 20, 10], limit=6, room_chars=100)
    assert packed.ambient == (1, 3)


def test_hits_that_were_skipped_are_not_replaced() -> None:
    assert pack_memories([200, 200, 1], [1], limit=6, room_chars=100).ambient == ()


def test_tokens_are_rounded_up() -> None:
    assert [tokens(chars) for chars in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_blank_lines_around_a_rule_do_not_count() -> None:
    assert rule_size("\n\n  - Wait.\n- Look.\n\n") == len("  - Wait.\n- Look.")
    assert rule_size(" \n") == 0
