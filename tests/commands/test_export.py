"""`manage.py export`: what goes out is what `import` takes back."""

import errno
import json
import os
import zipfile
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from banks import errors, queries, revisions, seams, sync
from banks.models import Bank, Entry
from banks.schemas.memories import MemoryOut
from banks.services import banks, entries, rules
from banks.services import export as service
from banks.services.drafts import Patch
from tests.builders import World, save, world
from tests.disks import UnsyncedDisk

FACTS = "semantic_memory/facts.md"
BY_HAND = (
    "\n---\nid: m1\ncreated: 2024-03-01T08:00:00.250+02:00\ntype: semantic\ncategory: facts\n"
    "owner_team: kiln   # ours\nscore: 0.10\npinned: true\nsummary: Kiln 4\n---\n\n"
    "Kiln 4 is hot  \n\n  and stays so   \n"
)


@pytest.fixture
def ops(transactional_db: None) -> World:
    """A bank with everything that a copy could lose."""
    made = world()
    old = save(made, "Pump 1 is blue", tags=("pump",)).memory
    new = save(made, "Pump 1 is teal", tags=("pump",)).memory
    entries.supersede(made.editor, made.bank, old.id, new.id, reason="repainted")
    gone = save(made, "Valve 7 sticks", category="events").memory
    entries.delete(made.editor, made.bank, gone.id)
    save(made, "Purge the kiln.", category="procedure", title="Purge")
    entries.update(made.editor, made.bank, new.id, Patch(entities=("pump-1",)))
    rules.set_rule(made.maintainer, made.bank, "valves", "Close valve 2 first.")
    rules.set_rule(made.maintainer, made.bank, "valves", "Close valve 3 first.")
    with path_of(FACTS).open("a", encoding="utf-8", newline="") as file:
        file.write(BY_HAND)
    return made


def path_of(path: str) -> Path:
    return Path(settings.DATA_DIR / "ops" / path)


def export(path: Path | str, **options: Any) -> str:
    out = StringIO()
    call_command("export", path, bank="ops", stdout=out, **options)
    return out.getvalue()


def contents(top: Path) -> dict[str, bytes]:
    return {
        path.relative_to(top).as_posix(): path.read_bytes()
        for path in sorted(top.rglob("*"))
        if path.is_file()
    }


def rows() -> list[dict[str, Any]]:
    """All that the rows say of the bank's entries, but for keys of the database."""
    found = Entry.objects.filter(bank__name="ops", bank__state="active").order_by("entry_id")
    keys = {field.name for field in Entry._meta.fields} - {"id", "bank", "file"}
    return list(found.values("file__path", *keys))


def histories() -> dict[str, object]:
    """Every state that each memory was in. Who brought the present one about is in the journal."""
    bank = Bank.objects.get(name="ops", state="active")
    keys = Entry.objects.filter(bank=bank).values_list("entry_id", flat=True)
    return {
        key: [(each.revision, each.memory) for each in revisions.of_entry(bank, key)]
        for key in keys
    }


# field cases A20 and A37
def test_a_bank_that_was_exported_deleted_and_imported_is_the_same_to_the_byte(
    ops: World, tmp_path: Path
) -> None:
    told = export(tmp_path / "copy")
    before = (contents(path_of("")), rows(), histories(), queries.rules(ops.bank)[0].content)
    assert contents(tmp_path / "copy") == before[0]
    assert b"| purge.md |" in before[0]["procedural_memory/index.md"]
    sizes = [len(data) for data in before[0].values()]
    assert told == f"ops: {len(sizes)} files, {sum(sizes)} bytes\n"
    export(tmp_path / "copy.zip")
    banks.trash(ops.owner, ops.bank)
    call_command("import", tmp_path / "copy", bank="ops", stdout=StringIO())
    again = Bank.objects.get(name="ops", state="active")
    assert (contents(path_of("")), rows(), histories(), queries.rules(again)[0].content) == before
    export(tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "copy.zip").read_bytes()


def test_a_zip_holds_the_same_files_below_one_folder(ops: World, tmp_path: Path) -> None:
    export(tmp_path / "copy.zip")
    with zipfile.ZipFile(tmp_path / "copy.zip") as archive:
        archive.extractall(tmp_path / "out")
        assert archive.testzip() is None
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["ops"]
    assert contents(tmp_path / "out" / "ops") == contents(path_of(""))


# field case A23
def test_links_and_files_of_others_stay_behind(ops: World, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("not ours")
    path_of("semantic_memory/extra.md").symlink_to(secret)
    path_of(".history/m1.log").symlink_to(secret)
    path_of(".history/notes.txt").write_text("not ours")
    path_of("README.txt").write_text("not ours")
    export(tmp_path / "copy")
    there = contents(tmp_path / "copy")
    assert not {"semantic_memory/extra.md", ".history/m1.log", ".history/notes.txt"} & set(there)
    assert not any(b"not ours" in data for data in there.values())


def test_lines_have_the_fields_of_the_api_dead_memories_too(ops: World, tmp_path: Path) -> None:
    assert export(tmp_path / "ops.jsonl", format="jsonl") == "ops: 5 memories\n"
    text = (tmp_path / "ops.jsonl").read_text(encoding="utf-8")
    told = [json.loads(line) for line in text.splitlines()]
    assert export("-", format="jsonl") == text
    assert told[0]["created_at"] == 1_709_272_800_250
    assert told[0]["text"] == "Kiln 4 is hot  \n\n  and stays so   "
    for each in told:
        memory = queries.memory(ops.bank, each["id"])
        assert each == json.loads(MemoryOut.model_validate(memory).model_dump_json())
    [survivor] = [each for each in told if each["replaces"]]
    assert survivor["replaces"] == [each["id"] for each in told if "superseded_by" in each]


def test_what_is_there_is_never_overwritten(ops: World, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "way").symlink_to(settings.DATA_DIR)
    before = sorted(tmp_path.rglob("*"))
    for name in (
        "way/copy",
        "folder",
        "file",
        "link",
        "missing/copy",
        "memory/copy",
        "memory/ops/copy",
    ):
        for format in ("files", "jsonl"):
            with pytest.raises(CommandError) as caught:
                export(tmp_path / name, format=format)
            assert str(tmp_path) not in str(caught.value)
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "mine"


class FullDisk(UnsyncedDisk):
    """A disk that has no room when it comes to it."""

    def fsync(self, fd: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_an_export_that_fails_leaves_nothing(ops: World, tmp_path: Path) -> None:
    export(tmp_path / "first")
    before = sorted(tmp_path.iterdir())
    for name, format in (("copy", "files"), ("copy.zip", "files"), ("lines", "jsonl")):
        with (
            seams.replaced(disk=FullDisk()),
            pytest.raises(CommandError, match=r"The disk is full\. .* Nothing was changed\."),
        ):
            export(tmp_path / name, format=format)
        assert sorted(tmp_path.iterdir()) == before


def test_files_are_copied_while_nobody_writes(
    ops: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(tmp_path / "before")
    monkeypatch.setattr(sync, "LOCK_TIMEOUT_S", 0)
    with seams.data_folder().bank("ops").lock(0):
        with pytest.raises(CommandError, match="busy"):
            export(tmp_path / "copy")
        export(tmp_path / "ops.jsonl", format="jsonl")
    assert not (tmp_path / "copy").exists()
    export(tmp_path / "copy")


def test_a_bank_on_hold_is_exported_as_lines_only(ops: World, tmp_path: Path) -> None:
    sync.look(ops.bank, force=True)
    path_of("bank.yaml").unlink()
    with pytest.raises(CommandError, match="look lost"):
        export(tmp_path / "copy")
    assert export(tmp_path / "ops.jsonl", format="jsonl") == "ops: 5 memories\n"


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("-", {"bank": "ops"}, "--format jsonl"),
        ("copy.zip", {"bank": "ops", "format": "jsonl"}, "leave --format away"),
        ("copy", {"bank": "unknown"}, "no bank of that name"),
        ("copy", {"bank": "../escape"}, "A bank name"),
    ],
)
@pytest.mark.usefixtures("transactional_db")
def test_a_wish_that_cannot_be_is_told_with_the_next_step(
    path: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("export", path, **options)
    assert not Path(path).exists()


def test_an_editor_may_not_export_and_a_stranger_sees_no_bank(ops: World) -> None:
    with pytest.raises(errors.Forbidden):
        service.opened(ops.editor, "ops")
    with pytest.raises(errors.BankNotFound):
        service.opened(ops.stranger, "ops")
    assert service.opened(ops.maintainer, "ops") == ops.bank
