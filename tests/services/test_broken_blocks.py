"""A memory whose block was broken by hand is not written beside it: the file is repaired first."""

from collections.abc import Callable

import pytest

from banks import audit, errors, sync
from banks.queries import Memory
from banks.services import bulk, entries
from banks.services.drafts import Patch
from banks.services.undo import undo
from tests import byhand
from tests.builders import World, save
from tests.services.test_hand_edits import facts, found, look


@pytest.fixture
def broken(world: World) -> Memory:
    """A memory of which somebody broke the frontmatter a moment ago."""
    memory = save(world, "Pump 1 is blue").memory
    save(world, "Pump 2 is green")
    text = facts(world).read_text()
    at = text.index("category: facts", text.index(memory.id))
    byhand.write(
        byhand.FACTS, text[:at] + "category: a: fact" + text[at + len("category: facts") :]
    )
    return memory


def line_of(world: World, words: str) -> int:
    return facts(world).read_text().split("\n").index(words) + 1


def update(world: World, memory: Memory) -> object:
    patch = Patch(text="Pump 1 is red")
    expected = entries.Expected(version=memory.version)
    return entries.update(world.editor, world.bank, memory.id, patch, expected=expected)


CHANGES: dict[str, Callable[[World, Memory], object]] = {
    "update": update,
    "pin": lambda world, it: entries.pin(world.editor, world.bank, it.id, pinned=True),
    "delete": lambda world, it: entries.delete(world.editor, world.bank, it.id),
    "bulk": lambda world, it: bulk.delete_many(world.editor, world.bank, [(it.id, it.version)]),
    "undo": lambda world, it: undo(
        world.editor, world.bank, audit.of_version(world.bank, it.id, it.version) or ""
    ),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_no_change_is_written_beside_a_broken_block(
    world: World, broken: Memory, change: Callable[[World, Memory], object]
) -> None:
    before = facts(world).read_bytes()
    with pytest.raises(errors.BlockBroken) as refused:
        change(world, broken)
    assert facts(world).read_bytes() == before
    line = line_of(world, "category: a: fact")
    assert f"The block of {broken.id} in {byhand.FACTS} (line {line})" in refused.value.message
    assert "Pump" not in refused.value.message


def test_one_that_its_rows_forgot_is_named_too_and_not_written_again(
    world: World, broken: Memory
) -> None:
    sync.reload(world.bank, accept=True)
    before = facts(world).read_bytes()
    with pytest.raises(errors.BlockBroken):
        update(world, broken)
    with pytest.raises(errors.BlockBroken):
        entries.restore(world.editor, world.bank, broken.id)
    assert facts(world).read_bytes() == before


def test_a_copy_that_stands_below_its_broken_block_is_not_changed(
    world: World, broken: Memory
) -> None:
    copy = byhand.block(broken.id, "Pump 1 is blue")
    byhand.write(byhand.FACTS, f"{facts(world).read_text()}\n{copy}")
    look(world)
    with pytest.raises(errors.BlockBroken):
        entries.pin(world.editor, world.bank, broken.id, pinned=True)


def test_once_it_is_repaired_it_is_changed_in_place(world: World, broken: Memory) -> None:
    with pytest.raises(errors.BlockBroken):
        update(world, broken)
    text = facts(world).read_text()
    byhand.write(byhand.FACTS, text.replace("category: a: fact", "category: facts"))
    update(world, broken)
    assert facts(world).read_text().count(f"id: {broken.id}") == 1


def test_neighbours_of_a_broken_block_are_changed_as_ever(world: World, broken: Memory) -> None:
    text = facts(world).read_text()
    byhand.write(byhand.FACTS, f"{text}\n{byhand.block('m1', 'Pump 3 is grey')}")
    look(world)
    assert entries.pin(world.editor, world.bank, "m1", pinned=True).pinned
    unknown = "mem_2026-01-02_ffffff"
    with pytest.raises(errors.MemoryNotFound):
        entries.pin(world.editor, world.bank, unknown, pinned=True)


def test_a_broken_block_is_no_older_copy_that_gets_its_good_one_put_back(
    world: World, broken: Memory
) -> None:
    before = facts(world).read_bytes()
    look(world, 2)
    look(world, 3.5)
    assert facts(world).read_bytes() == before
    assert found(world)[-1] == ("deleted", broken.id, "found on disk")
