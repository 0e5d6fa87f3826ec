"""Any text is a query: thousands of odd ones find nothing wrong with the search."""

import random

import pytest

from recall.services import recall
from tests.builders import World, save
from tests.odd import odd_queries


# field case A10
@pytest.mark.wide
def test_two_thousand_odd_queries_are_answered(world: World) -> None:
    for number in range(40):
        save(world, f"Pump {number} of line {number % 7} leaks, says BENCH-{number:06} (C++).")
    for query in odd_queries(random.Random(5), 2_000):
        told = recall(world.viewer, world.bank, query)
        assert told.index.state == "ok"
        for hit in told.memories:
            assert sum(hit.signals.values()) == pytest.approx(hit.score, abs=1e-3)
