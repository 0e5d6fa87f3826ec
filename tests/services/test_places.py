"""The place of a memory in a list counts what the list shows before it."""

from functools import partial

from banks import queries, seams
from banks.services import entries, places
from tests.builders import World, save


def test_each_memory_of_a_list_has_its_own_place_though_many_share_one_time(world: World) -> None:
    start = seams.now()
    for number in range(6):
        with seams.replaced(now=partial(start.replace, second=number // 3)):
            save(world, f"Pump {number} is blue", tags=("even",) if number % 2 == 0 else ())
    for filters in (queries.Filters(), queries.Filters(tags=("even",))):
        listed = queries.list_memories(world.bank, filters).memories
        found = [places.place_of(world.bank, filters, each.id) for each in listed]
        assert found == list(range(1, len(listed) + 1))


def test_what_the_list_does_not_show_takes_no_place(world: World) -> None:
    old, new = save(world, "Pump 1 is blue").memory, save(world, "Pump 2 is green").memory
    entries.delete(world.editor, world.bank, new.id)
    assert places.place_of(world.bank, queries.Filters(), old.id) == 1
    assert places.place_of(world.bank, queries.Filters(include_superseded=True), old.id) == 2
    assert places.place_of(world.bank, queries.Filters(), "mem_2020-01-01_aaaaaa") == 1
