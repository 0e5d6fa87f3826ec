"""The doctor: what is wrong is named with file and line, what is well is not."""

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings

from banks import doctor, seams, sync
from banks.models import Change, Entry, EntryTag, Operation, SourceFile
from banks.store import tree
from banks.store.files import Disk
from tests.builders import World, save

FACTS = "semantic_memory/facts.md"


def path_of(world: World, path: str) -> Path:
    return Path(settings.DATA_DIR / world.bank.name / path)


def block(key: str, text: str, *lines: str, category: str = "facts") -> str:
    extra = "".join(f"{line}\n" for line in lines)
    return (
        f"---\nid: {key}\ncreated: 2024-03-01T08:00:00+00:00\ncategory: {category}\n"
        f"{extra}summary: {text}\n---\n\n{text}\n\n"
    )


def written(world: World, path: str, text: str) -> None:
    """Write a file as an editor would, long ago."""
    file = path_of(world, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (1_700_000_000, 1_700_000_000))


def check(name: str) -> doctor.Check:
    return next(each for each in doctor.checks() if each.name == name)


def told(findings: list[doctor.Finding]) -> list[tuple[str, int, str]]:
    return [(each.path, each.line, each.code) for each in findings]


def test_a_healthy_bank_passes_every_check(world: World) -> None:
    save(world, "Kiln 4 needs a 20 min purge")
    save(world, "Kiln 5 needs none", supersedes=save(world, "Kiln 5 needs 10 min").memory.id)
    before = sorted(settings.DATA_DIR.rglob("*"))
    assert [each.name for each in doctor.checks() if not each.ok or each.findings] == []
    assert sorted(settings.DATA_DIR.rglob("*")) == before


# field case A13
def test_an_entry_that_cannot_be_read_is_named_with_its_line(world: World) -> None:
    text = block("m1", "Valve 7 sticks") + block("m2", "Twice", "tags: [x]", "tags: [y]")
    written(world, FACTS, "# Facts\n\n" + text)
    found = check("files")
    assert not found.ok
    assert told(found.findings) == [(FACTS, 3 + 9 + 5, "duplicate_key")]
    assert found.findings[0].bank == "ops"


def test_lines_are_those_of_the_file_as_it_is_now(world: World) -> None:
    written(world, FACTS, block("m1", "Valve 7 sticks", "pinned: maybe"))
    sync.look(world.bank, force=True)
    assert told(doctor.problems(world.bank)) == [(FACTS, 5, "bad_value")]
    path = path_of(world, FACTS)
    path.write_text("# one\n# two\n" + path.read_text())
    assert told(doctor.problems(world.bank)) == [(FACTS, 7, "bad_value")]


def test_warnings_are_told_and_do_not_fail(world: World) -> None:
    assert check("files").detail == "Every entry can be read."
    written(world, FACTS, block("m1", "Likes tea", "source: rumour", category="preferences"))
    found = check("files")
    assert (found.ok, found.detail) == (True, "Every entry can be read, with warnings: 2.")
    assert told(found.findings) == [(FACTS, 1, "wrong_file"), (FACTS, 5, "unknown_source")]


def test_pointers_that_lead_nowhere_are_told(world: World) -> None:
    texts = [
        block("m1", "One", "superseded_by: m9"),
        block("m2", "Two", "superseded_by: m2"),
        block("m3", "Three", "superseded_by: m4"),
        block("m4", "Four", "superseded_by: m3"),
        block("m5", "Five"),
        block("m6", "Six", "supersedes: m8"),
        block("m7", "Seven", "supersedes: m6"),
    ]
    written(world, FACTS, "".join(texts))
    sync.look(world.bank, force=True)
    lines = {line: code for _, line, code in told(doctor.problems(world.bank))}
    assert lines == {
        1: "dangling", 11: "self", 21: "loop", 31: "loop", 50: "lost_loser", 60: "half_link",
    }  # fmt: skip


def test_an_id_that_an_earlier_file_has_is_told(world: World) -> None:
    written(world, FACTS, block("m1", "Valve 7 sticks"))
    written(world, "semantic_memory/more.md", "\n\n" + block("m1", "Valve 8 sticks"))
    assert told(check("files").findings) == [("semantic_memory/more.md", 3, "duplicate_id")]
    assert check("rows").ok


def test_rules_and_the_bank_file_are_looked_at_too(world: World) -> None:
    path_of(world, "rules").mkdir(exist_ok=True)
    path_of(world, "rules/style.md").write_bytes(b"\xff\xfe")
    bank_file = path_of(world, tree.BANK_FILE)
    bank_file.write_text(bank_file.read_text() + "recall_limit: many\n")
    assert {(path, code) for path, _, code in told(check("files").findings)} == {
        ("rules/style.md", "not_utf8"),
        ("bank.yaml", "bad_value"),
    }


# field case A23
def test_links_are_named_as_ignored(world: World, tmp_path: Path) -> None:
    (tmp_path / "out.md").write_text(block("m9", "From outside"))
    path_of(world, "facts-extra.md").symlink_to(tmp_path / "out.md")
    (settings.DATA_DIR / "beside").symlink_to(tmp_path)
    path_of(world, f"{FACTS}~").write_text("x")
    found = check("ignored files")
    assert {(each.bank, each.path, each.code) for each in found.findings} == {
        ("", "beside", "link"),
        ("ops", "facts-extra.md", "link"),
        ("ops", f"{FACTS}~", "dropping"),
    }
    assert not found.required
    assert not Entry.objects.filter(entry_id="m9").exists()


@pytest.mark.parametrize(
    "damage",
    [
        lambda: Entry.objects.update(text="Otherwise"),
        lambda: Entry.objects.update(tags=["other"]),
        lambda: EntryTag.objects.all().delete(),
        lambda: Entry.objects.all().delete(),
        lambda: Entry.objects.update(position=5),
        lambda: Entry.objects.update(live=False),
        lambda: SourceFile.objects.update(blocks=9),
    ],
)
def test_rows_that_differ_from_the_files_are_found(world: World, damage) -> None:  # type: ignore[no-untyped-def]
    save(world, "Kiln 4 needs a 20 min purge", tags=("kiln",))
    assert check("rows").ok
    damage()
    assert not check("rows").ok


def test_a_bank_on_hold_is_told(world: World) -> None:
    path_of(world, tree.BANK_FILE).unlink()
    found = check("holds")
    assert not found.ok
    assert found.findings[0].message == "On hold: bank.yaml is not there."


def test_an_operation_that_was_left_behind_is_told(world: World) -> None:
    Operation.objects.create(
        uid="x", bank=world.bank, act="save", actor="user:editor",
        created_at=seams.now() - timedelta(minutes=5),
    )  # fmt: skip
    assert told(check("operations").findings) == [("", 0, "pending")]


def test_a_gap_in_the_journal_is_told(world: World) -> None:
    save(world, "Kiln 4 needs a 20 min purge")
    save(world, "Valve 7 sticks")
    assert check("journal").ok
    Change.objects.filter(bank=world.bank, seq=2).delete()
    assert told(check("journal").findings) == [("", 0, "journal_gap")]


def test_a_lost_end_of_the_journal_is_told(world: World) -> None:
    save(world, "Kiln 4 needs a 20 min purge")
    Change.objects.filter(bank=world.bank, seq=world.bank.head).delete()
    Change.objects.filter(bank=world.bank).order_by("-seq")[0].delete()
    assert not check("journal").ok


def test_a_secret_in_a_hand_written_file_is_told_without_its_text(world: World) -> None:
    text = "The gate opens with password=Tr0ub4dor-and-three"
    written(world, FACTS, block("m1", "Fine") + block("m2", "Gate").replace("\nGate", f"\n{text}"))
    found = check("secrets")
    assert [(each.path, each.line) for each in found.findings] == [(FACTS, 17)]
    assert "Tr0ub" not in repr(found)
    assert not found.required


class BrokenDisk(Disk):
    """Refuses every write."""

    def write(self, fd: int, data: bytes) -> int:
        raise OSError(30, "read-only")


def test_a_data_folder_that_takes_no_writes_is_told_and_left_clean(world: World) -> None:
    with seams.replaced(disk=BrokenDisk()):
        found = check("data folder")
    assert (found.ok, found.required) == (False, True)
    assert "EROFS" in found.detail
    assert [path.name for path in settings.DATA_DIR.iterdir()] == ["ops"]


def test_a_missing_data_folder_is_told(world: World) -> None:
    settings.DATA_DIR.rename(settings.DATA_DIR.parent / "elsewhere")
    assert not check("data folder").ok


class FullDisk(Disk):
    """Has room for a few more pages."""

    def free_bytes(self, fd: int) -> int:
        return doctor.LITTLE_ROOM - 1


def test_a_disk_that_is_nearly_full_is_told_as_advice(world: World) -> None:
    assert check("disk space").ok
    with seams.replaced(disk=FullDisk()):
        found = check("disk space")
    assert (found.ok, found.required) == (False, False)
    assert found.detail == "0.3 GB are free."


def test_a_check_that_breaks_is_told_and_leaves_the_others_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "_holds", lambda banks: banks / 0)
    found = {each.name: each for each in doctor.checks()}
    assert (found["holds"].checked, found["holds"].ok) == (False, False)
    assert found["files"].ok
    assert [each.name for each in doctor.checks()] == list(found)


def test_a_glance_tells_what_cannot_be_read_without_writing_anything(world: World) -> None:
    written(
        world, FACTS, block("m1", "Valve 7 sticks") + block("m2", "Twice", "tags: [x]", "tags: [y]")
    )
    sync.look(world.bank, force=True)
    before = sorted(settings.DATA_DIR.rglob("*"))
    found = {each.name: each for each in doctor.glance()}
    assert told(found["files"].findings)[0][:2] == (FACTS, 15)
    assert found["data folder"].ok
    assert sorted(settings.DATA_DIR.rglob("*")) == before
