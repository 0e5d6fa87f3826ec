"""Hand edits are equal: seen, journalled, kept, and never overwritten by an older view."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings

from banks import errors, queries, revisions, seams, sync
from banks.models import Bank, Change, Entry, SourceFile
from banks.services import banks, entries, rules
from banks.services.drafts import Patch
from banks.store import parse
from tests.builders import World, save

BLOCK = """
---
id: {id}
created: {created}
category: facts
{more}summary: {text}
---

{text}
"""


def folder(world: World) -> Path:
    return Path(settings.DATA_DIR) / world.bank.name


def facts(world: World) -> Path:
    return folder(world) / "semantic_memory" / "facts.md"


def block(
    key: str, text: str, *, created: str = "2026-01-02T03:04:05+00:00", more: str = ""
) -> str:
    return BLOCK.format(id=key, created=created, text=text, more=more)


@contextmanager
def later(seconds: float) -> Iterator[None]:
    """So many seconds from now."""
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    with seams.replaced(now=lambda: moment):
        yield


def look(world: World, after_s: float = 0) -> None:
    with later(after_s):
        sync.look(world.bank, force=True)


def found(world: World) -> list[tuple[str, str, str]]:
    changes = Change.objects.filter(bank=world.bank, actor="disk").order_by("seq")
    return [(each.action, each.key, each.reason) for each in changes]


def texts(world: World) -> list[str]:
    page = queries.list_memories(world.bank, queries.Filters())
    return sorted(each.text for each in page.memories)


def assert_rows_equal_files(world: World) -> None:
    """The rows are what a projection of the files from nothing gives."""
    before = _state(world)
    Entry.objects.filter(bank=world.bank).delete()
    SourceFile.objects.filter(bank=world.bank).delete()
    sync.reload(world.bank)
    assert _state(world) == before


def _state(world: World) -> list[tuple[object, ...]]:
    fields = ("file__path", "position", "entry_id", "version", "live", "invalid_at", "link_problem")
    return sorted(Entry.objects.filter(bank=world.bank).values_list(*fields))


def test_an_entry_written_by_hand_is_found_and_journalled(world: World) -> None:
    with facts(world).open("a") as file:
        file.write(block("m1", "Pump 1 is blue"))
    look(world)
    assert texts(world) == ["Pump 1 is blue"]
    assert found(world) == [("created", "m1", "found on disk")]
    assert_rows_equal_files(world)


def test_a_good_edit_is_found_and_the_old_block_is_in_the_history(world: World) -> None:
    saved = save(world, "Pump 1 is blue").memory
    facts(world).write_text(facts(world).read_text().replace("is blue", "is green"))
    look(world)
    assert texts(world) == ["Pump 1 is green"]
    now = queries.memory(world.bank, saved.id)
    assert (now.revision, now.version != saved.version) == (0, True)
    told = revisions.of_entry(world.bank, saved.id)
    assert [(each.act, each.actor, each.memory.text) for each in told] == [
        ("changed on disk", "disk", "Pump 1 is green"),
        ("created", "user:editor", "Pump 1 is blue"),
    ]


@pytest.mark.wide
def test_a_write_never_overwrites_an_edit_that_no_look_has_seen(world: World) -> None:
    saved = save(world, "Pump 1 is blue").memory
    facts(world).write_text(facts(world).read_text().replace("is blue", "is green"))
    with pytest.raises(errors.StaleRevision):
        entries.update(
            world.editor,
            world.bank,
            saved.id,
            Patch(text="Pump 1 is red"),
            expected=entries.Expected(version=saved.version),
        )
    pinned = entries.pin(world.editor, world.bank, saved.id, pinned=True)
    assert pinned.text == "Pump 1 is green"


# field case A17
def test_a_broken_edit_is_a_problem_that_the_next_save_leaves_alone(world: World) -> None:
    with facts(world).open("a") as file:
        file.write(block("m1", "Pump 1") + block("m2", "pump: north side") + block("m3", "Pump 3"))
    os.utime(facts(world), (1_700_000_000, 1_700_000_000))  # settled: no write waits for it
    look(world)
    assert texts(world) == ["Pump 1", "Pump 3"]
    row = SourceFile.objects.get(bank=world.bank, path="semantic_memory/facts.md")
    assert [each["code"] for each in row.problems] == ["bad_yaml"]
    broken = block("m2", "pump: north side").strip().encode()
    entries.pin(world.editor, world.bank, "m1", pinned=True)
    save(world, "Pump 4 is blue")
    sync.reload(world.bank)
    assert broken in facts(world).read_bytes()
    assert facts(world).read_bytes().count(b"id: m2") == 1


def test_a_vanished_block_is_believed_at_the_second_look(world: World) -> None:
    with facts(world).open("a") as file:
        file.write(block("m1", "Pump 1") + block("m2", "Pump 2"))
    look(world)
    facts(world).write_text(facts(world).read_text().replace(block("m2", "Pump 2"), ""))
    look(world, 2)
    assert texts(world) == ["Pump 1", "Pump 2"]
    look(world, 3.5)
    assert texts(world) == ["Pump 1"]
    assert found(world)[-1] == ("deleted", "m2", "found on disk")
    back = entries.restore(world.editor, world.bank, "m2")
    assert back.text == "Pump 2"
    assert texts(world) == ["Pump 1", "Pump 2"]


def test_a_truncating_editor_that_is_at_work_loses_nothing(world: World) -> None:
    saved = save(world, "Pump 1 is blue").memory
    whole = facts(world).read_bytes()
    facts(world).write_bytes(b"")
    look(world)
    facts(world).write_bytes(whole)
    look(world, 2)
    assert queries.memory(world.bank, saved.id) == saved
    assert found(world) == []


def test_what_was_just_acknowledged_comes_back_once(world: World) -> None:
    with facts(world).open("a") as file:
        file.write(block("m1", "Pump 1"))
    look(world)
    older = facts(world).read_bytes()
    saved = save(world, "Pump 2 is blue").memory
    facts(world).write_bytes(older)
    look(world, 2)
    look(world, 3.5)
    assert texts(world) == ["Pump 1", "Pump 2 is blue"]
    assert found(world)[-1] == ("restored", saved.id, sync.PUT_BACK)
    assert saved.id.encode() in facts(world).read_bytes()
    facts(world).write_bytes(older)
    look(world, 6)
    look(world, 7.5)
    assert texts(world) == ["Pump 1"]
    assert found(world)[-1] == ("deleted", saved.id, "found on disk")


def test_a_deletion_of_older_and_newer_ones_together_stands(world: World) -> None:
    empty = facts(world).read_bytes()
    with facts(world).open("a") as file:
        file.write(block("m1", "Pump 1"))
    look(world)
    save(world, "Pump 2 is blue")
    facts(world).write_bytes(empty)
    look(world, 2)
    look(world, 3.5)
    assert texts(world) == []


def test_an_entry_moved_to_another_file_is_neither_new_nor_gone(world: World) -> None:
    with facts(world).open("a") as file:
        file.write(block("m1", "Pump 1") + block("m2", "Pump 2"))
    look(world)
    head = Change.objects.filter(bank=world.bank).count()
    text = facts(world).read_text()
    facts(world).write_text(text.replace(block("m2", "Pump 2"), ""))
    with (folder(world) / "semantic_memory" / "rules.md").open("a") as file:
        file.write(block("m2", "Pump 2"))
    look(world, 3)
    assert Entry.objects.get(entry_id="m2").file.path == "semantic_memory/rules.md"
    assert Change.objects.filter(bank=world.bank).count() == head
    assert_rows_equal_files(world)


def test_an_entry_that_changed_places_in_its_session_is_a_change(world: World) -> None:
    names = ("One", "Two", "Three")
    blocks = {name: block(name.lower(), f"{name} of all", more="session: s1\n") for name in names}
    facts(world).write_text("# Facts\n" + "".join(blocks.values()))
    look(world)
    head = Change.objects.filter(bank=world.bank).count()
    facts(world).write_text("# Facts\n" + blocks["Three"] + blocks["One"] + blocks["Two"])
    look(world, 3)
    changes = Change.objects.filter(bank=world.bank, seq__gt=head)
    assert {each.key for each in changes} <= {"one", "two", "three"}
    assert all(each.version_before == each.version_after for each in changes)
    assert changes


def test_an_id_that_stands_twice_belongs_to_the_first_block(world: World) -> None:
    other = folder(world) / "semantic_memory" / "rules.md"
    with other.open("a") as file:
        file.write(block("m1", "Later file"))
    look(world)
    with facts(world).open("a") as file:
        file.write(block("m1", "Earlier file") + block("m1", "Same file"))
    look(world, 3)
    assert texts(world) == ["Earlier file"]
    files = SourceFile.objects.filter(bank=world.bank).exclude(duplicates=[])
    assert sorted(files.values_list("path", flat=True)) == [
        "semantic_memory/facts.md",
        "semantic_memory/rules.md",
    ]
    assert_rows_equal_files(world)
    facts(world).write_text("# Facts\n")
    look(world, 6)
    look(world, 8)
    assert texts(world) == ["Later file"]
    assert_rows_equal_files(world)


# field case A06
def test_loops_and_dead_ends_hide_nothing(world: World) -> None:
    with facts(world).open("a") as file:
        for key, to in (
            ("m1", "m2"),
            ("m2", "m1"),
            ("m3", "m3"),
            ("m4", "mem_missing"),
            ("m5", "m1"),
        ):
            file.write(block(key, f"Subject {key}", more=f"superseded_by: {to}\n"))
    look(world)
    assert texts(world) == ["Subject m1", "Subject m2", "Subject m3", "Subject m4"]
    told = dict(Entry.objects.values_list("entry_id", "link_problem"))
    assert told == {"m1": "loop", "m2": "loop", "m3": "self", "m4": "dangling", "m5": ""}
    with pytest.raises(errors.SupersedeFork):
        entries.supersede(world.editor, world.bank, "m1", "m4")
    facts(world).write_text(
        facts(world).read_text().replace("superseded_by: m1", "superseded_by: m3", 1)
    )
    look(world, 3)
    assert texts(world) == ["Subject m3", "Subject m4"]
    assert_rows_equal_files(world)


def test_a_pointer_without_a_date_reports_its_successors(world: World) -> None:
    with facts(world).open("a") as file:
        file.write(block("m1", "Old", more="superseded_by: m2\n"))
        file.write(block("m2", "New", created="2026-02-01", more="supersedes: m1\n"))
    look(world)
    old = queries.memory(world.bank, "m1")
    assert old.invalid_at == queries.memory(world.bank, "m2").created_at
    assert texts(world) == ["New"]


def test_a_bank_that_lost_most_of_its_memories_is_on_hold(world: World) -> None:
    with facts(world).open("a") as file:
        file.writelines(block(f"m{n}", f"Pump {n} is blue") for n in range(80))
    look(world)
    whole = facts(world).read_bytes()
    facts(world).write_text("# Facts\n")
    look(world, 3)
    look(world, 6)
    assert len(texts(world)) == 50
    assert Bank.objects.get(pk=world.bank.pk).hold
    with pytest.raises(errors.BankOnHold):
        save(world, "Pump 99 is blue")
    facts(world).write_bytes(whole)
    look(world, 9)
    assert not Bank.objects.get(pk=world.bank.pk).hold
    assert save(world, "Pump 99 is blue").created


def test_a_hold_ends_when_somebody_accepts_the_disk(world: World) -> None:
    with facts(world).open("a") as file:
        file.writelines(block(f"m{n}", f"Pump {n} is blue") for n in range(80))
    look(world)
    facts(world).write_text("# Facts\n")
    look(world, 3)
    sync.reload(world.bank, accept=True)
    assert texts(world) == []
    assert not Bank.objects.get(pk=world.bank.pk).hold
    assert revisions.of_entry(world.bank, "m7")[0].memory.text == "Pump 7 is blue"


@pytest.mark.parametrize("what", ["bank.yaml", ""])
def test_an_unmounted_volume_is_a_hold_and_no_deletion(world: World, what: str) -> None:
    saved = save(world, "Pump 1 is blue").memory
    away = folder(world).parent / "away"
    if what:
        (folder(world) / what).rename(away)
    else:
        folder(world).rename(away)
    look(world, 3)
    assert Bank.objects.get(pk=world.bank.pk).hold
    assert texts(world) == ["Pump 1 is blue"]
    with pytest.raises(errors.BankOnHold):
        save(world, "Pump 2 is red")
    away.rename(folder(world) / what if what else folder(world))
    look(world, 6)
    assert not Bank.objects.get(pk=world.bank.pk).hold
    assert queries.memory(world.bank, saved.id) == saved


def test_rules_edited_by_hand_are_found(world: World) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Be brief.\n")
    path = folder(world) / "rules" / "style.md"
    path.write_text("Be very brief.\n")
    (folder(world) / "rules" / "tone.md").write_text("Be kind.\n")
    look(world)
    assert [(each.name, each.content) for each in queries.rules(world.bank)] == [
        ("style", "Be very brief.\n"),
        ("tone", "Be kind.\n"),
    ]
    path.unlink()
    look(world, 3)
    assert [each.name for each in queries.rules(world.bank)] == ["tone"]
    assert (folder(world) / ".history" / "rules" / "style.log").read_bytes().count(b"brief") == 2
    assert [each[0] for each in found(world)] == ["rules-changed"] * 3


def test_the_description_edited_by_hand_is_found(world: World) -> None:
    path = folder(world) / "bank.yaml"
    path.write_text(path.read_text() + "description: The kiln hall\n")
    look(world)
    assert queries.summary(world.bank).description == "The kiln hall"


def test_a_bank_put_there_by_hand_is_adopted(world: World) -> None:
    shutil.copytree(folder(world), folder(world).parent / "copy")
    with (folder(world).parent / "copy" / "semantic_memory" / "facts.md").open("a") as file:
        file.write(block("m1", "Pump 1"))
    sync.look_at_all()
    names = [each.name for each in queries.summaries(world.admin)]
    assert names == ["copy", "ops"]
    assert queries.summaries(world.owner)[0].name == "ops"
    copy = Bank.objects.get(name="copy")
    assert queries.list_memories(copy, queries.Filters()).total == 1


def test_an_adoption_that_died_half_way_is_ended_by_the_next(world: World) -> None:
    shutil.copytree(folder(world), folder(world).parent / "copy")
    half = Bank.objects.create(name="copy", state=Bank.State.HIDDEN, created_at=seams.now())
    sync.look_at_all()
    half.refresh_from_db()
    assert half.state == Bank.State.ACTIVE
    assert half.files.count() > 3


# field case A23
def test_links_are_not_read(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(block("m1", "Secret of another folder"))
    (folder(world) / "semantic_memory" / "facts-2.md").symlink_to(outside)
    look(world)
    sync.reload(world.bank)
    assert texts(world) == []


# field case A19
def test_a_file_with_windows_line_ends_keeps_them(world: World) -> None:
    text = facts(world).read_text() + block("m1", "Pump 1", more="tags: [pump, blue]\n")
    facts(world).write_bytes(text.replace("\n", "\r\n").encode())
    look(world)
    assert queries.memory(world.bank, "m1").tags == ["pump", "blue"]
    entries.pin(world.editor, world.bank, "m1", pinned=True)
    save(world, "Pump 2 is blue")
    data = facts(world).read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n")
    assert [each.entry.text for each in parse.document(data).blocks if each.entry] == [
        "Pump 1",
        "Pump 2 is blue",
    ]


# field case A24
def test_times_with_and_without_zone_sort_together(world: World) -> None:
    stamps = (
        "2026-03-31T23:30:00Z",
        "2026-04-01T00:30:00+02:00",
        "2026-03-31T23:59:59",
        "2026-04-01T00:00:00Z",
    )
    with facts(world).open("a") as file:
        for number, stamp in enumerate(stamps):
            file.write(block(f"m{number}", f"Gauge {number}", created=stamp))
    look(world)
    march = queries.Filters(
        since=datetime(2026, 1, 1, tzinfo=UTC), until=datetime(2026, 4, 1, tzinfo=UTC)
    )
    page = queries.list_memories(world.bank, march)
    assert [each.id for each in page.memories] == ["m2", "m0", "m1"]


def test_a_file_that_settles_slowly_is_read_again(world: World) -> None:
    with facts(world).open("a") as file:
        file.write(block("m1", "Pump 1 is blue"))
    look(world)
    status = facts(world).stat()
    data = facts(world).read_bytes().replace(b"blue", b"pink")
    with facts(world).open("r+b") as file:
        file.write(data)
    os.utime(facts(world), ns=(status.st_atime_ns, status.st_mtime_ns))
    look(world, 3)
    assert texts(world) == ["Pump 1 is pink"]


def test_a_trashed_bank_comes_back_with_its_members(world: World) -> None:
    saved = save(world, "Pump 1 is blue").memory
    trashed_to = banks.trash(world.owner, world.bank)
    assert trashed_to.startswith(".trash/ops-")
    assert not folder(world).exists()
    assert queries.summaries(world.owner) == []
    fresh, created = banks.create(world.admin, "ops")
    assert created
    assert queries.list_memories(fresh, queries.Filters(include_superseded=True)).total == 0
    with pytest.raises(errors.NameTaken):
        banks.restore(world.owner, "ops")
    banks.rename(world.admin, fresh, "other")
    back = banks.restore(world.owner, "ops")
    assert queries.memory(back, saved.id) == saved
    assert [each.name for each in queries.summaries(world.owner)] == ["ops"]
    with pytest.raises(errors.TrashNotFound):
        banks.restore(world.stranger, "ops")


def test_reading_all_files_again_mends_rows_beside_files_that_nobody_touched(world: World) -> None:
    kept, lost, other = [save(world, f"Valve {n} is shut").memory for n in (1, 2, 3)]
    Entry.objects.filter(entry_id=lost.id).delete()
    sync.reload(world.bank)
    assert queries.memory(world.bank, lost.id).text == lost.text
    Entry.objects.filter(entry_id=other.id).update(version="stale", text="Valve 3 is open")
    sync.reload(world.bank)
    assert queries.memory(world.bank, other.id) == other
    assert queries.memory(world.bank, kept.id) == kept
