"""Errors that keep coming back, and whether a procedure names them."""

from datetime import UTC, datetime, timedelta

import pytest

from banks.store import procedure
from recall.learning.failures import Recurring, Seen, is_named, recurring

DAY = datetime(2026, 3, 1, tzinfo=UTC)


def seen(*texts: str, summary: str = "Valve stuck", times: int = 1) -> list[Seen]:
    return [
        Seen(f"m{n}", f"fp{n}", summary, text, times, DAY + timedelta(days=n))
        for n, text in enumerate(texts)
    ]


def stuck() -> Recurring:
    return next(recurring(seen(*(f"Valve {n} was stuck at {n} bar." for n in range(3)))))


def listing(*items: str) -> str:
    return procedure.shape("## Known failures\n\n" + "\n".join(f"- {each}" for each in items))


def test_an_error_recurs_when_it_was_seen_three_times_whatever_the_numbers() -> None:
    error = stuck()
    assert [each.id for each in error.entries] == ["m0", "m1", "m2"]
    assert error.item == "Valve stuck: Valve 0 was stuck at 0 bar."
    assert list(recurring(seen("A pump leaks.", "A pump leaks!", "A kiln leaks."))) == []
    assert [each.times for each in recurring(seen("A pump leaks.", times=4))] == [4]


def test_an_item_does_not_say_its_name_twice() -> None:
    error = next(recurring(seen("Pump leaks.", summary="Pump leaks.", times=3)))
    assert error.item == "Pump leaks."


@pytest.mark.parametrize(
    "item", ["valve stuck: close the main first", "Valve stuck", "the valve was stuck again"]
)
def test_a_procedure_names_it_by_an_item_or_the_name_before_its_colon(item: str) -> None:
    assert is_named(stuck(), listing("other things fail", item))
    assert is_named(stuck(), listing(stuck().item))


@pytest.mark.parametrize("item", ["valve leaks: tighten it", "the kiln was too hot", "---", ""])
def test_another_failure_does_not_name_it(item: str) -> None:
    assert not is_named(stuck(), listing(item))
    assert not is_named(stuck(), procedure.shape("1. The valve is stuck."))


def test_an_item_goes_to_the_end_of_its_section_and_nothing_else_moves() -> None:
    text = procedure.shape("## Steps\n\n1. Look.\n\n## Known failures\n\n- too hot")
    longer = procedure.with_item(text, procedure.FAILURES, "valve stuck")
    assert longer == text + "\n- valve stuck"
    empty = procedure.with_item(procedure.shape("Look."), procedure.FAILURES, "valve stuck")
    assert empty.endswith("## Known failures\n\n- valve stuck")
    assert procedure.shape(empty) == empty
    assert procedure.section(empty, procedure.FAILURES) == "- valve stuck"
