"""Memories that say much the same."""

import pytest

from banks.services import entries
from recall.services import similar
from tests.builders import World, save


def test_similar_memories_come_likest_first(world: World) -> None:
    this = save(world, "Line 2 runs at 40 Hz.").memory
    near = save(world, "Line 2 runs at 48 Hz").memory
    same = save(world, "At 40 Hz: line 2 runs!", category="preferences").memory
    save(world, "The crane has 2 hooks and a cable of 30 metres.")
    save(world, "Fans are new.")
    told = similar(world.bank, this.text, without=this.id)
    assert [each.memory.id for each in told] == [same.id, near.id]
    assert [each.likeness for each in told] == [1.0, pytest.approx(5 / 7)]
    assert [each.percent for each in told] == [100, 71]
    assert similar(world.bank, this.text, without=this.id, limit=1) == told[:1]
    assert len(similar(world.bank, this.text, without=this.id, least=0.0)) == 3
    entries.delete(world.editor, world.bank, near.id)
    assert similar(world.bank, this.text, without=this.id) == told[:1]


def test_a_text_without_words_is_like_nothing(world: World) -> None:
    save(world, "The kiln is hot.")
    assert similar(world.bank, "...") == []
