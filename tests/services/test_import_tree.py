"""Import of a tree of markdown files: the bytes as they came, or entries behind what is there."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from django.conf import settings

from banks import access, errors, queries, revisions, routers, seams, sync
from banks.access import SYSTEM, Scope
from banks.models import Bank, Change, Entry, Operation, SourceFile
from banks.services import banks as bank_service
from banks.services import transfer
from banks.store import history, parse, tree
from banks.store.files import Disk
from banks.store.types import Severity
from tests.builders import World, save

pytestmark = pytest.mark.usefixtures("transactional_db")

FACTS = "semantic_memory/facts.md"


def block(key: str, text: str, *lines: str, category: str = "facts") -> str:
    extra = "".join(f"{line}\n" for line in lines)
    return (
        f"---\nid: {key}\ncreated: 2024-03-01T08:00:00+00:00\ntype: semantic\n"
        f"category: {category}\nsource: agent\nconfidence: medium\ntags: [kiln]\n"
        f"{extra}summary: {text}\n---\n\n{text}\n"
    )


def source(tmp_path: Path, **files: str) -> Path:
    """A folder with an `index.md` and these files, `/` in a name written as `__`."""
    top = tmp_path / "source"
    for name, text in {"index.md": "# Mine\n", **files}.items():
        path = top / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return top


def facts(text: str) -> dict[str, str]:
    return {"semantic_memory__facts.md": text}


def contents(top: Path) -> dict[str, bytes]:
    return {
        path.relative_to(top).as_posix(): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file()
    }


def bank_folder(name: str) -> Path:
    return Path(settings.DATA_DIR / name)


def test_a_tree_becomes_a_bank_byte_for_byte(tmp_path: Path) -> None:
    top = source(tmp_path, **facts("# Facts\r\n\r\n" + block("m1", "Kiln 4 is hot")))
    report = transfer.import_folder(SYSTEM, top, "ops")
    assert (report.entries, report.live, report.added, report.is_new) == (1, 1, 1, True)
    assert report.is_complete
    there = contents(bank_folder("ops"))
    assert {path: there[path] for path in contents(top)} == contents(top)
    assert set(there) == {*tree.SEED_FILES, tree.BANK_FILE}
    bank = Bank.objects.get(name="ops")
    assert queries.memory(bank, "m1").text == "Kiln 4 is hot"
    assert not Operation.objects.filter(state="pending").exists()
    assert sorted(Change.objects.filter(bank=bank).values_list("seq", flat=True)) == list(
        range(1, bank.head + 1)
    )


def test_a_bank_that_came_by_command_belongs_to_the_instance_admins(tmp_path: Path) -> None:
    transfer.import_folder(SYSTEM, source(tmp_path), "ops")
    bank = Bank.objects.get(name="ops")
    assert access.role_in(SYSTEM, bank) is access.Role.OWNER
    assert not bank.memberships.exists()


def test_a_dry_run_tells_the_same_and_writes_nothing(tmp_path: Path) -> None:
    top = source(tmp_path, **facts(block("m1", "Kiln 4 is hot") + "\n" + block("m1", "Twice")))
    report = transfer.import_folder(SYSTEM, top, "ops", dry_run=True)
    assert not bank_folder("ops").exists()
    assert not Bank.objects.exists()
    done = transfer.import_folder(SYSTEM, top, "ops")
    assert (report.entries, report.live, report.added, report.findings) == (
        done.entries, done.live, done.added, done.findings,
    )  # fmt: skip


# field case A12
def test_impossible_dates_are_told_with_their_lines_and_kept(tmp_path: Path) -> None:
    dates = ["2026-08-24", "2026-08-24T10:15:00", '"2026-08-24T10:15:00Z"', "2026-02-30", "soon"]
    blocks = [
        block(f"m{number}", f"Reading {number}").replace("2024-03-01T08:00:00+00:00", date)
        for number, date in enumerate(dates)
    ]
    top = source(tmp_path, **facts("\n".join(blocks)))
    report = transfer.import_folder(SYSTEM, top, "ops")
    told = [(each.path, each.line, each.code) for each in report.findings]
    assert told == [(FACTS, 3 * 13 + 3, "bad_time"), (FACTS, 4 * 13 + 3, "bad_time")]
    assert not report.is_complete
    bank = Bank.objects.get(name="ops")
    page = queries.list_memories(bank, queries.Filters())
    assert [memory.id for memory in page.memories] == ["m2", "m1", "m0"]
    assert bank_folder("ops").joinpath(FACTS).read_bytes() == (top / FACTS).read_bytes()


# field case A13
def test_a_repeated_key_is_told_and_its_entry_not_taken(tmp_path: Path) -> None:
    twice = block("m1", "Valve 7 sticks", "tags: [y]", "id: m2")
    top = source(tmp_path, **facts(twice + "\n" + block("m3", "Valve 8 is fine")))
    report = transfer.import_folder(SYSTEM, top, "ops")
    assert [(each.line, each.code) for each in report.findings] == [(9, "duplicate_key")]
    assert list(Entry.objects.values_list("entry_id", flat=True)) == ["m3"]


def test_an_id_that_stands_in_two_files_is_told_and_the_first_has_it(tmp_path: Path) -> None:
    files = {"semantic_memory__more.md": "\n" + block("m1", "Kiln 5 is hot")}
    top = source(tmp_path, **facts(block("m1", "Kiln 4 is hot")), **files)
    report = transfer.import_folder(SYSTEM, top, "ops")
    assert (report.entries, report.added) == (1, 1)
    assert [(each.path, each.line, each.code) for each in report.findings] == [
        ("semantic_memory/more.md", 2, "duplicate_id")
    ]
    assert queries.memory(Bank.objects.get(name="ops"), "m1").text == "Kiln 4 is hot"
    assert Entry.objects.count() == 1


# field case A22
@pytest.mark.parametrize("name", ["../escape", "a/../../x", "/etc/x", "..", ".", ".trash", "-rf"])
def test_a_bad_bank_name_is_refused_before_anything_is_read(tmp_path: Path, name: str) -> None:
    before = contents(tmp_path)
    with pytest.raises(errors.Invalid) as caught:
        transfer.import_folder(SYSTEM, tmp_path / "nowhere", name)
    assert str(tmp_path) not in caught.value.message
    assert contents(tmp_path) == before


# field case A23
def test_links_and_droppings_are_named_and_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text(block("m9", "From outside"))
    top = source(tmp_path, **facts(block("m1", "Kiln 4 is hot")), **{"notes.txt": "mine"})
    (top / "extra.md").symlink_to(outside / "secret.md")
    (top / "procedural_memory").symlink_to(outside)
    (top / "semantic_memory" / "facts.md~").write_text(block("m8", "Old copy"))
    (top / ".git").mkdir()
    (top / ".git" / "config").write_text("x")
    report = transfer.import_folder(SYSTEM, top, "ops")
    assert {each.path: each.code for each in report.findings} == {
        "extra.md": "link",
        "procedural_memory": "link",
        "semantic_memory/facts.md~": "dropping",
        "notes.txt": "not_ours",
    }
    assert report.is_complete
    assert list(Entry.objects.values_list("entry_id", flat=True)) == ["m1"]
    assert "outside" not in b"".join(contents(bank_folder("ops")).values()).decode()


def test_a_folder_without_memory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "photo.jpg").write_text("x")
    for path in (tmp_path / "empty", tmp_path / "nowhere"):
        with pytest.raises(errors.Invalid):
            transfer.import_folder(SYSTEM, path, "ops")
    assert not Bank.objects.exists()


def test_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("banks.services.sources.LARGEST_BYTES", 100)
    with pytest.raises(errors.TooLarge):
        transfer.import_folder(SYSTEM, source(tmp_path, **facts(block("m1", "Kiln"))), "ops")


# field case A37
def test_a_bank_of_ours_comes_back_with_all_it_had(world: World, tmp_path: Path) -> None:
    first = save(world, "Kiln 4 needs a 20 min purge", tags=("kiln",), pinned=True)
    save(world, "Kiln 4 needs a 20 min purge")
    save(world, "Kiln 5 needs none", supersedes=save(world, "Kiln 5 needs 10 min").memory.id)
    path = bank_folder("ops") / FACTS
    path.write_bytes(path.read_bytes().replace(b"tags: [kiln]", b"tags: [kiln]\nwidget: 7", 1))
    sync.look(world.bank, force=True)
    routers.catch_up(world.bank, force=True)
    top = tmp_path / "copy"
    bank_folder("ops").rename(top)
    # The bank's folder went to another place by hand; its row follows it to the trash.
    world.bank.state = Bank.State.TRASHED
    world.bank.save()
    report = transfer.import_folder(SYSTEM, top, "ops")
    assert report.is_complete
    assert contents(bank_folder("ops")) == contents(top)
    bank = Bank.objects.get(name="ops", state="active")
    told = [memory.id for memory in queries.list_memories(bank, queries.Filters()).memories]
    assert len(told) == report.live == 2
    assert len(revisions.of_entry(bank, first.memory.id)) == 3
    assert queries.memory(bank, first.memory.id).pinned


def test_entries_join_a_bank_behind_what_it_has(world: World, tmp_path: Path) -> None:
    save(world, "Pump 2 was replaced")
    before = contents(bank_folder("ops"))
    text = block("m1", "Kiln 4 is hot", "superseded_by: m2", "widget: 7") + "\n"
    text += block("m2", "Kiln 4 is cold", "supersedes: m1  # by hand")
    top = source(tmp_path, **facts("# Theirs\n\n" + text), **{"rules__style.md": "Be brief.\n"})
    report = transfer.import_folder(SYSTEM, top, "ops")
    assert (report.added, report.same, report.differing) == (2, 0, 0)
    after = contents(bank_folder("ops"))
    assert after[FACTS].startswith(before[FACTS])
    assert b"widget: 7" in after[FACTS]
    assert b"supersedes: m1  # by hand" in after[FACTS]
    assert {path for path in after if after[path] != before.get(path)} == {FACTS}
    assert [each.code for each in report.findings] == ["rule_left_out"]
    memory = queries.memory(world.bank, "m1")
    assert (memory.superseded_by, memory.invalid_at is not None) == ("m2", True)
    change = Change.objects.get(bank=world.bank, key="m2")
    assert (change.action, change.version_after) == (
        "created",
        queries.memory(world.bank, "m2").version,
    )
    assert SourceFile.objects.get(bank=world.bank, path=FACTS).routed is False


# field case A38
def test_a_second_import_changes_nothing(world: World, tmp_path: Path) -> None:
    texts = [block(f"m{number}", f"Reading {number} is fine") for number in range(5)]
    bad = texts[2].replace("2024-03-01T08:00:00+00:00", "yesterday-ish")
    top = source(tmp_path, **facts("\n".join([*texts[:2], bad, *texts[3:]])))
    first = transfer.import_folder(SYSTEM, top, "ops")
    assert (first.added, first.is_complete) == (4, False)
    assert [(each.line, each.code) for each in first.findings] == [(29, "bad_time")]
    (top / FACTS).write_text("\n".join(texts))
    second = transfer.import_folder(SYSTEM, top, "ops")
    assert (second.added, second.same) == (1, 4)
    before, head = contents(bank_folder("ops")), Change.objects.count()
    third = transfer.import_folder(SYSTEM, top, "ops")
    assert (third.added, third.same, third.is_complete) == (0, 5, True)
    assert contents(bank_folder("ops")) == before
    assert Change.objects.count() == head
    assert Entry.objects.filter(bank=world.bank).count() == 5


def test_an_entry_in_another_state_is_left_alone_and_told(world: World, tmp_path: Path) -> None:
    top = source(tmp_path, **facts(block("m1", "Kiln 4 is hot")))
    transfer.import_folder(SYSTEM, top, "ops")
    (top / FACTS).write_text(block("m1", "Kiln 4 is cold"))
    report = transfer.import_folder(SYSTEM, top, "ops", dry_run=True)
    assert (report.added, report.differing) == (0, 1)
    report = transfer.import_folder(SYSTEM, top, "ops")
    assert [(each.path, each.line, each.code) for each in report.findings] == [
        (FACTS, 1, "differs")
    ]
    assert queries.memory(world.bank, "m1").text == "Kiln 4 is hot"


def test_blocks_take_the_line_ends_of_the_file_they_join(world: World, tmp_path: Path) -> None:
    path = bank_folder("ops") / FACTS
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    top = source(tmp_path, **facts(block("m1", "Kiln 4 is hot")))
    transfer.import_folder(SYSTEM, top, "ops")
    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n")
    change = Change.objects.get(bank=world.bank, key="m1")
    assert change.version_after == queries.memory(world.bank, "m1").version
    assert transfer.import_folder(SYSTEM, top, "ops").same == 1


def test_a_large_import_goes_in_portions(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "MOST_ENTRIES", 3)
    monkeypatch.setattr(tree, "SHARD_BYTES", 900)
    texts = [block(f"m{number}", f"Reading {number} is fine") for number in range(10)]
    top = source(tmp_path, **facts("\n".join(texts)))
    report = transfer.import_folder(SYSTEM, top, "ops")
    assert report.added == 10
    assert Operation.objects.filter(bank=world.bank, act="import").count() == 4
    sizes = [
        path.stat().st_size for path in sorted((bank_folder("ops") / "semantic_memory").glob("f*"))
    ]
    assert len(sizes) > 1
    assert max(sizes) < 900 + len(texts[0])


def test_a_second_procedure_of_a_title_is_left_out(world: World, tmp_path: Path) -> None:
    def steps(key: str) -> str:
        return block(key, "Restart pump", category="procedure").replace("semantic", "procedural")

    top = source(tmp_path, **{"procedural_memory__restart-pump.md": steps("p1")})
    transfer.import_folder(SYSTEM, top, "ops")
    (top / "procedural_memory/restart-pump.md").write_text(steps("p2"))
    report = transfer.import_folder(SYSTEM, top, "ops")
    assert [each.code for each in report.findings] == ["title_exists"]
    assert report.added == 0


class FullDisk(Disk):
    """Takes four writes."""

    left = 4

    def write(self, fd: int, data: bytes) -> int:
        self.left -= 1
        if self.left < 0:
            raise OSError(28, "full")
        return super().write(fd, data)


def test_a_full_disk_leaves_no_bank_and_no_rest(tmp_path: Path) -> None:
    top = source(tmp_path, **facts(block("m1", "Kiln 4 is hot")))
    with seams.replaced(disk=FullDisk()), pytest.raises(errors.StoreFault):
        transfer.import_folder(SYSTEM, top, "ops")
    assert list(settings.DATA_DIR.iterdir()) == []
    assert not Bank.objects.exists()
    assert transfer.import_folder(SYSTEM, top, "ops").added == 1


def test_a_person_who_may_not_create_banks_may_not_import_one(world: World, tmp_path: Path) -> None:
    top = source(tmp_path, **facts(block("m1", "Kiln 4 is hot")))
    with pytest.raises(errors.Forbidden):
        transfer.import_folder(world.editor, top, "ops")
    for who, name in ((world.editor, "fresh"), (world.stranger, "ops")):
        with pytest.raises(errors.BankNotFound):  # alike: a foreign one is as an absent one
            transfer.import_folder(who, top, name)
    assert transfer.import_folder(world.maintainer, top, "ops").added == 1


def test_a_trial_says_that_a_name_is_taken_by_a_bank_that_cannot_be_seen(
    world: World, tmp_path: Path
) -> None:
    scopes = frozenset({Scope.MEMORY_CURATE, Scope.BANKS_CREATE})
    maker = replace(world.stranger, scopes=scopes)
    for dry_run in (True, False):
        top = source(tmp_path / str(dry_run), **facts(block("m1", "Kiln 4 is hot")))
        with pytest.raises(errors.NameTaken):
            transfer.import_folder(maker, top, "ops", dry_run=dry_run)


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_data_folder_that_was_lost_is_not_made_anew(
    world: World, tmp_path: Path, *, dry_run: bool
) -> None:
    top = source(tmp_path, **facts(block("m1", "Kiln 4 is hot")))
    settings.DATA_DIR.rename(tmp_path / "elsewhere")
    with pytest.raises(errors.StoreFault, match="Nothing was changed"):
        transfer.import_folder(SYSTEM, top, "fresh", dry_run=dry_run)
    assert not settings.DATA_DIR.exists()
    settings.DATA_DIR.mkdir()  # a place where nothing is mounted
    with pytest.raises(errors.StoreFault, match="none of the banks"):
        transfer.import_folder(SYSTEM, top, "fresh", dry_run=dry_run)
    assert list(settings.DATA_DIR.iterdir()) == []


def test_secrets_of_a_hand_written_tree_stay_and_a_warning_is_no_refusal(tmp_path: Path) -> None:
    text = "The gate opens with password=Tr0ub4dor-and-three"
    top = source(tmp_path, **facts(block("m1", "Gate").replace("\nGate\n", f"\n{text}\n")))
    report = transfer.import_folder(SYSTEM, top, "ops")
    assert report.is_complete
    assert not [each for each in report.findings if each.severity is Severity.PROBLEM]
    assert text.encode() in (bank_folder("ops") / FACTS).read_bytes()


def test_the_order_of_records_in_a_history_is_kept(world: World, tmp_path: Path) -> None:
    saved = save(world, "Kiln 4 needs a 20 min purge")
    save(world, "Kiln 4 needs a 20 min purge")
    top = tmp_path / "copy"
    bank_folder("ops").rename(top)
    world.bank.state = Bank.State.TRASHED
    world.bank.save()
    bank_service.create(SYSTEM, "ops")
    transfer.import_folder(SYSTEM, top, "ops")
    path = tree.history_path(saved.memory.id)
    log = (bank_folder("ops") / path).read_bytes()
    assert log == (top / path).read_bytes()
    records, whole = history.decode(log)
    assert (len(records), whole) == (1, len(log))
    assert parse.block(records[0].data).entry is not None


def test_a_folder_of_other_notes_makes_no_bank(world: World, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "README.md").write_text("# Notes\n\nNothing to remember.\n")
    with pytest.raises(errors.Invalid):
        transfer.import_folder(world.admin, notes, "notes")
    assert [each.name for each in queries.summaries(world.admin)] == ["ops"]
