"""The index under readers and writers of several processes; a minute of it is `bench/soak.py`."""

from pathlib import Path

import pytest

from tests.soaking import soak

GROWTH = 1.3
"""Memory at the end beside that of the beginning, in a run so short that caches still fill."""


@pytest.mark.wide  # takes seconds by what it is
def test_readers_and_writers_side_by_side_get_right_answers(tmp_path: Path) -> None:
    told = soak(tmp_path / "1", seconds=5, processes=2, threads=2, writers=2, documents=200)
    assert [(each.wrong, each.faults) for each in told] == [([], [])] * 4
    assert all(each.compared > 10 for each in told[:2])
    assert all(each.written for each in told[2:])
    assert all(each.resident[1] < GROWTH * each.resident[0] for each in told[:2])
