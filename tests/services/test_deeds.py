"""The journal as deeds: newest first, over the banks that one may see, with what can be undone."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from banks import access, audit, errors, queries, sync
from banks.access import Role, Scope
from banks.audit import Deed
from banks.models import Change
from banks.services import banks, entries, members, rules
from banks.services.drafts import Draft, Patch
from banks.services.undo import undo
from tests.builders import World, agent, save
from tests.byhand import write


def deeds(world: World, **filters: str) -> list[Deed]:
    return audit.page(world.maintainer, **filters).deeds  # type: ignore[arg-type]  # strings only


def test_each_act_is_one_deed_newest_first_with_who_what_and_why(world: World) -> None:
    old = save(world, "Line 2 runs at 40 Hz").memory
    new = save(world, "Line 2 runs at 48 Hz").memory
    entries.supersede(world.editor, world.bank, old.id, new.id, reason="It was retuned.")
    told = [(each.act, each.actor, each.count, each.reason) for each in deeds(world)]
    assert told == [
        ("supersede", "user:editor", 2, "It was retuned."),
        ("save", "user:editor", 1, ""),
        ("save", "user:editor", 1, ""),
        ("bank created", "user:admin", 1, ""),
    ]
    last = deeds(world)[0]
    touched = {(each.key, each.action, each.version_before) for each in last.changes}
    assert touched == {
        (old.id, "superseded", old.version),
        (new.id, "updated", new.version),
    }
    assert (last.bank, last.undoable, last.undone_by) == ("ops", True, None)


def test_a_large_operation_is_one_deed_that_shows_twenty_and_the_one_asked_for(
    world: World,
) -> None:
    drafts = [Draft(text=f"Valve {n} is open") for n in range(23)]
    saved = entries.save_many(world.editor, world.bank, drafts)
    last = deeds(world)[0]
    assert (last.count, len(last.changes)) == (23, 20)
    key = saved[22].memory.id  # type: ignore[union-attr]  # none was refused
    assert key not in [each.key for each in last.changes]
    (found,) = deeds(world, key=key)
    assert (found.uid, found.changes[0].key, len(found.changes)) == (last.uid, key, 20)


def test_what_one_look_found_on_disk_is_one_deed_without_an_operation(world: World) -> None:
    for name in ("style", "tone"):
        write(f"rules/{name}.md", "Be brief.\n")
    sync.look(world.bank, force=True)
    last = deeds(world)[0]
    assert (last.uid, last.actor, last.count, last.undoable) == ("", "disk", 2, False)
    assert (last.act, last.reason) == ("rules-changed", "found on disk")


def test_pages_follow_each_other_without_a_gap_over_several_banks(world: World) -> None:
    other, _ = banks.create(world.admin, "mill")
    members.set_role(world.admin, other, "viewer", Role.VIEWER)
    for number in range(3):
        save(world, f"Pump {number} is blue")
        entries.save(world.admin, other, Draft(text=f"Mill {number} is red"))
    whole = audit.page(world.viewer).deeds
    assert [each.bank for each in whole[:6]] == ["mill", "ops"] * 3
    parts, cursor = [], None
    while True:
        page = audit.page(world.viewer, after=cursor, limit=3)
        parts += page.deeds
        cursor = page.next_cursor
        if cursor is None:
            break
        assert len(page.deeds) == 3
    assert parts == whole
    for broken in ("x", "-1", "٣", "9" * 30, ""):
        with pytest.raises(errors.Invalid):
            audit.page(world.viewer, after=broken)


def test_filters_narrow_to_a_bank_an_actor_and_a_key(world: World) -> None:
    first = save(world, "Pump 1 is blue").memory
    entries.pin(world.maintainer, world.bank, first.id, pinned=True)
    save(world, "Pump 2 is red")
    acts = [each.act for each in deeds(world, key=first.id)]
    assert acts == ["pin", "save"]
    assert [each.act for each in deeds(world, actor="user:maintainer")] == ["pin"]
    assert deeds(world, actor="user:editor", key=first.id)[0].act == "save"
    assert len(deeds(world, bank="ops")) == 4
    assert deeds(world, key="nothing") == []


def test_deeds_in_banks_that_one_may_not_see_are_not_there(world: World) -> None:
    save(world, "Pump 1 is blue")
    assert audit.page(world.stranger).deeds == []
    with pytest.raises(errors.BankNotFound):
        audit.page(world.stranger, bank="ops")
    narrow = access.Principal(handle="token:n", token_id=2, is_admin=True, scopes=frozenset())
    with pytest.raises(errors.ScopeMissing):
        audit.page(narrow)
    banks.trash(world.owner, world.bank)
    assert deeds(world) == []


def test_only_what_undo_would_take_is_undoable(world: World) -> None:
    first = save(world, "Pump 1 is blue").memory
    rules.set_rule(world.maintainer, world.bank, "style", "Be brief.\n")
    entries.pin(world.editor, world.bank, first.id, pinned=True)
    by_act = {each.act: each.undoable for each in deeds(world)}
    assert by_act == {"pin": True, "set rule": True, "save": False, "bank created": False}
    seen = {
        each.act: each.undoable for each in audit.page(world.editor).deeds if each.act != "save"
    }
    assert seen == {"pin": True, "set rule": False, "bank created": False}
    assert not any(each.undoable for each in audit.page(world.viewer).deeds)
    assert not any(each.undoable for each in audit.page(agent(world)).deeds)
    curator = agent(world, Scope.MEMORY_CURATE)
    assert [each.act for each in audit.page(curator).deeds if each.undoable] == ["pin"]
    rules.set_rule(world.maintainer, world.bank, "style", "")
    assert [each.undoable for each in deeds(world, key="style")] == [True, False]


def test_an_undone_deed_names_the_undo(world: World) -> None:
    save(world, "Pump 1 is blue")
    done = deeds(world)[0]
    undo(world.editor, world.bank, done.uid)
    undone, before = deeds(world)[:2]
    assert (undone.act, undone.undoable) == ("undo", True)
    assert (before.uid, before.undoable, before.undone_by) == (done.uid, False, undone.uid)


def test_the_operation_behind_a_version_is_known(world: World) -> None:
    first = save(world, "Pump 1 is blue").memory
    patch = Patch(text="Pump 1 is teal")
    changed = entries.update(world.editor, world.bank, first.id, patch)
    uid = audit.of_version(world.bank, first.id, changed.version)
    assert uid == deeds(world)[0].uid
    assert audit.of_version(world.bank, first.id, first.version) == deeds(world)[1].uid
    assert audit.of_version(world.bank, first.id, "0" * 16) is None
    for content in ("Be brief.\n", "Be long.\n", "Be brief.\n"):
        rules.set_rule(world.maintainer, world.bank, "style", content)
    version = queries.rule(world.bank, "style").version
    assert audit.of_version(world.bank, "style", version) == deeds(world)[0].uid


def test_a_page_costs_the_same_however_long_the_journal_is(world: World) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Be brief.\n")
    for batch in range(3):
        drafts = [Draft(text=f"Valve {batch}-{n} is open") for n in range(3)]
        entries.save_many(world.editor, world.bank, drafts)
    newest = str(Change.objects.order_by("-pk")[0].pk + 1)
    for filters in ({}, {"actor": "user:editor"}, {"key": "style"}, {"bank": "ops"}):
        with CaptureQueriesContext(connection) as asked:
            assert deeds(world, **filters, after=newest)
        assert len(asked) <= 10
        if connection.vendor == "sqlite":
            assert [plan for plan in _plans(asked) if "banks_change" in plan and _walks(plan)] == []


def _plans(asked: CaptureQueriesContext) -> list[str]:
    plans = []
    for each in asked.captured_queries:
        with connection.cursor() as cursor:
            cursor.execute("EXPLAIN QUERY PLAN " + each["sql"])
            plans += [row[3] for row in cursor.fetchall()]
    return plans


def _walks(plan: str) -> bool:
    """Whether more rows are read than those of a key or a bank's newest."""
    return "SCAN" in plan or "rowid<" in plan or "rowid>" in plan


def test_journals_from_before_deeds_are_counted_together(world: World) -> None:
    drafts = [Draft(text=f"Valve {n} is open") for n in range(3)]
    entries.save_many(world.editor, world.bank, drafts)
    for name in ("style", "tone"):
        write(f"rules/{name}.md", "Be brief.\n")
    sync.look(world.bank, force=True)
    kept = list(Change.objects.order_by("pk").values_list("pk", "together"))
    assert [count for _, count in kept] == [1, 3, None, None, 2, None]
    Change.objects.update(together=None)
    import_module("banks.migrations.0002_journal_as_deeds").count_together(apps, None)
    assert list(Change.objects.order_by("pk").values_list("pk", "together")) == kept
