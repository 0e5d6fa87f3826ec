"""One change of many memories: all of them in one operation, or none, and each reason told."""

import pytest

from banks import audit, errors, queries
from banks.models import Change
from banks.queries import Memory
from banks.services import bulk, entries
from banks.services.undo import undo
from tests.builders import World, agent, save


def three(world: World) -> list[Memory]:
    return [save(world, f"Pump {number} is blue").memory for number in range(3)]


def seen(memories: list[Memory]) -> list[tuple[str, str]]:
    return [(each.id, each.version) for each in memories]


def live(world: World) -> int:
    return queries.list_memories(world.bank, queries.Filters()).total


def test_many_are_deleted_in_one_operation_and_come_back_with_one_undo(world: World) -> None:
    memories = three(world)
    done = bulk.delete_many(world.editor, world.bank, seen(memories), reason="Sold.")
    assert done.changed == [each.id for each in memories]
    assert (live(world), {each.invalid_at is None for each in done.memories}) == (0, {False})
    last = audit.page(world.editor).deeds[0]
    assert (last.act, last.count, last.reason, last.undoable) == ("delete many", 3, "Sold.", True)
    uid = audit.of_version(world.bank, done.changed[0], done.memories[0].version)
    assert uid == last.uid
    undo(world.editor, world.bank, uid)
    assert live(world) == 3


def test_many_are_pinned_and_those_that_are_so_already_stay(world: World) -> None:
    memories = three(world)
    memories[1] = entries.pin(world.editor, world.bank, memories[1].id, pinned=True)
    wanted = [*seen(memories), seen(memories)[0]]
    done = bulk.pin_many(world.editor, world.bank, wanted, pinned=True)
    assert done.changed == [memories[0].id, memories[2].id]
    assert [each.pinned for each in done.memories] == [True] * 4
    assert done.memories[1] == memories[1]
    changes = Change.objects.count()
    assert bulk.pin_many(world.editor, world.bank, seen(done.memories), pinned=True).changed == []
    assert bulk.delete_many(world.editor, world.bank, []).changed == []
    assert Change.objects.count() == changes


def test_one_that_cannot_be_changed_stops_all_and_is_named(world: World) -> None:
    memories = three(world)
    entries.pin(world.editor, world.bank, memories[1].id, pinned=True)
    entries.delete(world.editor, world.bank, memories[2].id)
    wanted = [*seen(memories), ("20200101-000000-aaaa", "0" * 16)]
    with pytest.raises(errors.BulkRefused) as refused:
        bulk.pin_many(world.editor, world.bank, wanted, pinned=True)
    told = [(each.loc, each.message) for each in refused.value.details]
    assert told == [
        (memories[1].id, errors.StaleRevision.default),
        (memories[2].id, errors.StaleRevision.default),
        ("20200101-000000-aaaa", errors.MemoryNotFound.default),
    ]
    assert not queries.memory(world.bank, memories[0].id).pinned
    now = [queries.memory(world.bank, each.id) for each in memories]
    with pytest.raises(errors.BulkRefused) as refused:
        bulk.pin_many(world.editor, world.bank, seen(now), pinned=True)
    assert [each.message for each in refused.value.details] == [errors.MemoryDead.default]
    with pytest.raises(errors.BulkRefused) as refused:
        bulk.delete_many(agent(world), world.bank, seen(now))
    assert [each.message for each in refused.value.details] == [errors.PinnedProtected.default]
    assert live(world) == 2
    with pytest.raises(errors.Invalid):
        bulk.delete_many(world.editor, world.bank, seen(now) * 200)
