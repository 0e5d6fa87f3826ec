"""Update, pin, delete, supersede, restore: what is allowed, and what is on disk afterwards."""

import pytest

from banks import errors, queries, revisions, sync
from banks.access import Scope
from banks.models import Change
from banks.queries import Memory
from banks.services import entries
from banks.services.drafts import Patch
from banks.services.entries import Expected
from tests import byhand
from tests.builders import World, agent, save
from tests.services.test_hand_edits import facts


def now(world: World, key: str) -> Memory:
    sync.reload(world.bank)
    return queries.memory(world.bank, key)


def test_update_changes_the_text_in_place_and_the_summary_follows(world: World) -> None:
    first = save(world, "Valve 7 opens at 3 bar").memory
    after = entries.update(world.editor, world.bank, first.id, Patch(text="Valve 7 opens at 4 bar"))
    assert (after.text, after.summary) == ("Valve 7 opens at 4 bar", "Valve 7 opens at 4 bar")
    assert (after.id, after.revision, after.path) == (first.id, 1, first.path)
    assert after.stated_at == after.updated_at
    assert now(world, first.id) == after


def test_a_summary_that_a_hand_edit_left_behind_follows_the_next_change(world: World) -> None:
    key = save(world, "Valve 7 opens at 3 bar").memory.id
    entries.update(world.editor, world.bank, key, Patch(text="Valve 7 opens at 4 bar"))
    by_hand = facts(world).read_text().replace("\n\nValve 7 opens at 4", "\n\nValve 7 opens at 5")
    byhand.write(byhand.FACTS, by_hand)
    assert now(world, key).summary == "Valve 7 opens at 4 bar"  # the file says so
    after = entries.update(world.editor, world.bank, key, Patch(text="Valve 7 opens at 6 bar"))
    assert after.summary == "Valve 7 opens at 6 bar"


def test_update_keeps_a_summary_that_somebody_wrote(world: World) -> None:
    first = save(world, "Valve 7 opens at 3 bar", summary="Valve 7").memory
    patch = Patch(text="Valve 7 opens at 4 bar")
    assert entries.update(world.editor, world.bank, first.id, patch).summary == "Valve 7"
    cleared = entries.update(world.editor, world.bank, first.id, Patch(summary=""))
    assert cleared.summary == "Valve 7 opens at 4 bar"


def test_update_with_nothing_new_changes_nothing(world: World) -> None:
    first = save(world, "Valve 7 opens at 3 bar", tags=("valve",)).memory
    head = Change.objects.filter(bank=world.bank).count()
    patch = Patch(text="Valve 7 opens at 3 bar", tags=("valve",), pinned=False)
    assert entries.update(world.editor, world.bank, first.id, patch) == first
    assert Change.objects.filter(bank=world.bank).count() == head


def test_retagging_does_not_restate(world: World) -> None:
    first = save(world, "Valve 7 opens at 3 bar").memory
    after = entries.update(world.editor, world.bank, first.id, Patch(tags=("b", "a")))
    assert after.tags == ["b", "a"]
    assert after.stated_at == first.stated_at
    assert entries.update(world.editor, world.bank, first.id, Patch(tags=())).tags == []


def test_update_to_the_text_of_another_is_refused(world: World) -> None:
    first = save(world, "Valve 7 opens at 3 bar").memory
    other = save(world, "Valve 8 opens at 3 bar").memory
    with pytest.raises(errors.TextExists) as caught:
        entries.update(world.editor, world.bank, other.id, Patch(text="VALVE 7 opens at 3 bar"))
    assert caught.value.entry_id == first.id


def test_look_up_is_by_the_current_text(world: World) -> None:
    first = save(world, "Line 2 runs at 40 Hz").memory
    entries.update(world.editor, world.bank, first.id, Patch(text="Line 2 runs at 48 Hz"))
    assert save(world, "Line 2 runs at 40 Hz").created
    assert not save(world, "Line 2 runs at 48 Hz").created


def test_a_stale_version_is_refused_with_the_current_state(world: World) -> None:
    first = save(world, "Valve 7 opens at 3 bar").memory
    seen = Expected(version=first.version)
    after = entries.pin(world.editor, world.bank, first.id, pinned=True, expected=seen)
    for act in (
        lambda: entries.update(
            world.editor, world.bank, first.id, Patch(text="other text"), expected=seen
        ),
        lambda: entries.pin(world.editor, world.bank, first.id, pinned=False, expected=seen),
        lambda: entries.delete(world.editor, world.bank, first.id, expected=Expected(revision=0)),
    ):
        with pytest.raises(errors.StaleRevision) as caught:
            act()
        assert caught.value.current == after


def test_an_episode_is_never_rewritten(world: World) -> None:
    first = save(world, "Restarted the mixer", category="events").memory
    other = save(world, "Restarted the pump", category="events").memory
    with pytest.raises(errors.EpisodeFixed):
        entries.update(world.editor, world.bank, first.id, Patch(text="Restarted nothing"))
    with pytest.raises(errors.LoserEpisodic):
        entries.supersede(world.editor, world.bank, first.id, other.id)
    tagged = entries.update(world.editor, world.bank, first.id, Patch(tags=("mixer",), pinned=True))
    assert (tagged.tags, tagged.pinned) == (["mixer"], True)
    assert entries.delete(world.editor, world.bank, first.id).invalid_at


def test_delete_keeps_the_text_and_a_second_one_changes_nothing(world: World) -> None:
    first = save(world, "Valve 7 opens at 3 bar").memory
    dead = entries.delete(world.editor, world.bank, first.id)
    assert (dead.text, dead.revision) == (first.text, 1)
    assert dead.invalid_at == dead.updated_at
    assert entries.delete(world.editor, world.bank, first.id) == dead
    assert queries.list_memories(world.bank, queries.Filters()).total == 0
    everything = queries.Filters(include_superseded=True)
    assert queries.list_memories(world.bank, everything).memories == [dead]
    with pytest.raises(errors.MemoryDead):
        entries.pin(world.editor, world.bank, first.id, pinned=True)
    with pytest.raises(errors.MemoryDead):
        entries.update(world.editor, world.bank, first.id, Patch(text="other text"))


# field case A46
def test_an_unknown_id_is_an_error_and_no_success(world: World) -> None:
    for key in ("mem_2026-01-01_000000", "fp0000000000000000", "../x", ""):
        with pytest.raises(errors.MemoryNotFound):
            entries.delete(world.editor, world.bank, key)


# field case A05
def test_supersede_retires_one_in_favour_of_the_other(world: World) -> None:
    old = save(world, "Line 2 runs at 40 Hz").memory
    new = save(world, "Line 2 runs at 48 Hz").memory
    result = entries.supersede(world.editor, world.bank, old.id, new.id, reason="  new\nmotor ")
    assert (result.memory.superseded_by, result.reinforced) == (new.id, False)
    survivor = now(world, new.id)
    assert (survivor.supersedes, survivor.replaces, survivor.corroboration) == (old.id, [old.id], 0)
    assert queries.list_memories(world.bank, queries.Filters()).total == 1
    told = Change.objects.get(bank=world.bank, key=old.id, action="superseded")
    assert told.reason == "new motor"
    assert [each.act for each in revisions.of_entry(world.bank, old.id)] == [
        "superseded",
        "created",
    ]


def test_a_merge_absorbs_observations_tags_and_entities(world: World) -> None:
    old = save(world, "Line 2 runs at 40 Hz", tags=("a",), entities=("line 2",)).memory
    save(world, "Line 2 runs at 40 Hz")
    new = save(world, "Line two runs at 40 Hz", tags=("b",)).memory
    result = entries.supersede(world.editor, world.bank, old.id, new.id, reinforce=True)
    assert result.reinforced
    survivor = now(world, new.id)
    assert (survivor.corroboration, survivor.tags, survivor.entities) == (2, ["b", "a"], ["line 2"])


def test_a_pinned_survivor_is_not_written(world: World) -> None:
    old = save(world, "Line 2 runs at 40 Hz").memory
    new = save(world, "Line 2 runs at 48 Hz", pinned=True).memory
    result = entries.supersede(world.editor, world.bank, old.id, new.id, reinforce=True)
    assert not result.reinforced
    survivor = now(world, new.id)
    assert (survivor.version, survivor.replaces) == (new.version, [old.id])


def test_each_wrong_supersession_has_its_own_error(world: World) -> None:
    a, b, c, d = (save(world, f"Line {n} runs at 40 Hz").memory for n in range(4))
    pinned = save(world, "Line 9 runs at 40 Hz", pinned=True).memory
    entries.supersede(world.editor, world.bank, a.id, b.id)
    entries.delete(world.editor, world.bank, d.id)
    for loser, survivor, error in (
        (c.id, c.id, errors.SupersedeSelf),
        (c.id, "mem_2026-01-01_000000", errors.SurvivorNotFound),
        ("mem_2026-01-01_000000", c.id, errors.MemoryNotFound),
        (c.id, d.id, errors.SurvivorDead),
        (d.id, c.id, errors.LoserDead),
        (pinned.id, c.id, errors.LoserPinned),
        (a.id, c.id, errors.SupersedeFork),
        (b.id, a.id, errors.SupersedeCycle),
    ):
        head = Change.objects.filter(bank=world.bank).count()
        with pytest.raises(error):
            entries.supersede(world.editor, world.bank, loser, survivor)
        assert Change.objects.filter(bank=world.bank).count() == head


def test_restore_of_a_superseded_one_removes_both_pointers(world: World) -> None:
    old = save(world, "Line 2 runs at 40 Hz").memory
    new = save(world, "Line 2 runs at 48 Hz", supersedes=old.id).memory
    back = entries.restore(world.editor, world.bank, old.id)
    assert (back.superseded_by, back.invalid_at) == (None, None)
    assert now(world, new.id).supersedes is None
    with pytest.raises(errors.MemoryAlive):
        entries.restore(world.editor, world.bank, old.id)


def test_restore_is_refused_while_a_live_one_has_the_text(world: World) -> None:
    old = save(world, "Line 2 runs at 40 Hz").memory
    new = save(world, "Line 2 runs at 48 Hz", supersedes=old.id).memory
    save(world, "Line 2 runs at 40 Hz", supersedes=new.id)
    with pytest.raises(errors.TextExists):
        entries.restore(world.editor, world.bank, old.id)


def test_agents_may_not_touch_a_pinned_memory(world: World) -> None:
    pinned = save(world, "Line 2 runs at 40 Hz", pinned=True).memory
    for act in (
        lambda who: entries.update(who, world.bank, pinned.id, Patch(text="Line 2 is off")),
        lambda who: entries.update(who, world.bank, pinned.id, Patch(tags=("x",))),
        lambda who: entries.update(who, world.bank, pinned.id, Patch(pinned=False)),
        lambda who: entries.pin(who, world.bank, pinned.id, pinned=False),
        lambda who: entries.delete(who, world.bank, pinned.id),
    ):
        with pytest.raises(errors.PinnedProtected):
            act(agent(world))
    curator = agent(world, Scope.MEMORY_CURATE)
    assert not entries.pin(curator, world.bank, pinned.id, pinned=False).pinned


def test_history_holds_every_state_of_a_memory(world: World) -> None:
    first = save(world, "Valve 7 opens at 3 bar").memory
    entries.update(world.editor, world.bank, first.id, Patch(text="Valve 7 opens at 4 bar"))
    entries.pin(world.admin, world.bank, first.id, pinned=True)
    entries.delete(world.admin, world.bank, first.id, reason="sold")
    told = [
        (
            each.revision,
            each.act,
            each.actor,
            each.reason,
            each.memory.text[-5:],
            each.memory.pinned,
        )
        for each in revisions.of_entry(world.bank, first.id)
    ]
    assert told == [
        (3, "deleted", "user:admin", "sold", "4 bar", True),
        (2, "pinned", "user:admin", None, "4 bar", True),
        (1, "updated", "user:editor", None, "4 bar", False),
        (0, "created", "user:editor", None, "3 bar", False),
    ]


def test_fingerprints_and_former_ids_name_a_memory_too(world: World) -> None:
    first = save(world, "Valve 7 opens at 3 bar").memory
    assert queries.memory(world.bank, first.fingerprint).id == first.id
    twin = save(world, "Valve 7 opens at 3 bar", category="rules").memory
    with pytest.raises(errors.AmbiguousId) as caught:
        queries.memory(world.bank, first.fingerprint)
    assert set(caught.value.ids) == {first.id, twin.id}
    entries.delete(world.editor, world.bank, first.id)
    assert queries.memory(world.bank, first.fingerprint).id == twin.id
