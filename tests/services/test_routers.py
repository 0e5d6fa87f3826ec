"""Routers: rows follow the files, the rest of an index.md is nobody's business."""

import os
from pathlib import Path

import pytest
from django.conf import settings

from banks import routers, sync
from banks.models import SourceFile
from banks.services import entries
from banks.store import router, tree
from tests.builders import World, save


def path_of(world: World, path: str) -> Path:
    return Path(settings.DATA_DIR / world.bank.name / path)


def settled(world: World) -> None:
    """Make the routers look as if nobody had touched them for a while."""
    for path in tree.SEED_FILES:
        os.utime(path_of(world, path), (1_700_000_000, 1_700_000_000))


def row(world: World, path: str, file: str) -> router.Row:
    found = router.rows(path_of(world, path).read_bytes())
    return next(each for each in found if each.file == file)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routers, "EVERY_S", 0.0)
    monkeypatch.setattr(routers, "_next", {})


def test_a_save_gives_its_file_a_row_and_moves_the_folders_day(world: World) -> None:
    saved = save(world, "Kiln 4 needs a 20 min purge", tags=("kiln",))
    settled(world)
    assert routers.follow() == 1
    day = saved.memory.id.split("_")[1]
    assert row(world, "semantic_memory/index.md", "facts.md") == router.Row(
        "facts.md", "Kiln 4 needs a 20 min purge", ("kiln",), day
    )
    assert row(world, "index.md", "semantic_memory/index.md") == router.Row(
        "semantic_memory/index.md", "Facts and remembered rules", ("semantic",), day
    )
    assert not SourceFile.objects.filter(routed=False).exists()


def test_a_new_months_file_gets_a_row_of_its_own(world: World) -> None:
    saved = save(world, "Pump 2 was replaced", category="events")
    settled(world)
    routers.follow()
    file = saved.memory.path.removeprefix("episodic_memory/")
    assert row(world, "episodic_memory/index.md", file).description == "Pump 2 was replaced"


def test_only_the_known_rows_change(world: World) -> None:
    path = path_of(world, "semantic_memory/index.md")
    before = path.read_bytes().replace(b"\n", b"\r\n") + b"\r\n<!-- keep | me -->\r\nlast, no end"
    path.write_bytes(before)
    save(world, "Valve 7 opens at 3 bar")
    settled(world)
    routers.follow()
    old, new = before.split(b"\r\n"), path.read_bytes().split(b"\r\n")
    assert [line for line in new if line not in old] == [
        line for line in new if line.startswith(b"| facts.md | Valve 7")
    ]
    assert len(old) == len(new)


def test_pinning_on_the_same_day_touches_no_router(world: World) -> None:
    saved = save(world, "Kiln 4 needs a 20 min purge")
    settled(world)
    routers.follow()
    settled(world)
    before = {path: path_of(world, path).stat() for path in tree.SEED_FILES}
    entries.pin(world.editor, world.bank, saved.memory.id, pinned=True)
    assert routers.follow() == 1
    for path in ("index.md", "semantic_memory/index.md"):
        assert path_of(world, path).stat().st_ino == before[path].st_ino


def test_a_router_that_somebody_is_editing_waits_a_round(world: World) -> None:
    save(world, "Kiln 4 needs a 20 min purge")
    settled(world)
    path = path_of(world, "semantic_memory/index.md")
    path.write_bytes(b"# half a fi")
    assert routers.follow() == 0
    assert path.read_bytes() == b"# half a fi"
    settled(world)
    assert routers.follow() == 1
    assert path.read_bytes().startswith(b"# half a fi\n")


def test_a_caller_who_is_about_to_read_does_not_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routers, "EVERY_S", 3600.0)
    save(world, "Kiln 4 needs a 20 min purge")
    routers.follow()
    assert routers.catch_up(world.bank, force=True)
    assert row(world, "semantic_memory/index.md", "facts.md").description.startswith("Kiln 4")


def test_a_missing_router_comes_back_with_its_rows(world: World) -> None:
    path_of(world, "semantic_memory/index.md").unlink()
    save(world, "Kiln 4 needs a 20 min purge")
    routers.catch_up(world.bank, force=True)
    assert row(world, "semantic_memory/index.md", "facts.md").description.startswith("Kiln 4")


def test_a_link_in_place_of_a_router_is_not_followed(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("| File | Description | Tags | Updated |\n| --- | --- | --- | --- |\n")
    path = path_of(world, "semantic_memory/index.md")
    path.unlink()
    path.symlink_to(outside)
    save(world, "Kiln 4 needs a 20 min purge")
    routers.catch_up(world.bank, force=True)
    assert "Kiln" not in outside.read_text()
    assert path.is_symlink()


def test_rebuilt_rows_equal_the_followed_ones(world: World) -> None:
    save(world, "Kiln 4 needs a 20 min purge", tags=("kiln",))
    save(world, "Pump 2 was replaced", category="events")
    routers.catch_up(world.bank, force=True)
    paths = [path for path in tree.SEED_FILES if tree.is_router(path)]
    kept = {path: path_of(world, path).read_bytes() for path in paths}
    for path in paths:
        rows = router.rows(kept[path])
        data = kept[path]
        for each in rows:
            if path != "index.md":
                data = router.drop_row(data, each.file)
        path_of(world, path).write_bytes(data)
    routers.rebuild(world.bank)
    assert {path: path_of(world, path).read_bytes() for path in paths} == kept


def test_rebuild_drops_rows_of_files_that_are_gone(world: World) -> None:
    path = path_of(world, "semantic_memory/index.md")
    data = router.set_row(path.read_bytes(), router.Row("facts-9.md", "gone", (), ""))
    data = router.set_row(data, router.Row("notes.txt", "not ours", (), ""))
    path.write_bytes(data)
    routers.rebuild(world.bank)
    files = [each.file for each in router.rows(path.read_bytes())]
    assert files == ["facts.md", "notes.txt", "rules.md"]


def test_a_hand_edit_leaves_the_rows_alone(world: World) -> None:
    save(world, "Kiln 4 needs a 20 min purge")
    routers.catch_up(world.bank, force=True)
    before = path_of(world, "semantic_memory/index.md").read_bytes()
    facts = path_of(world, "semantic_memory/facts.md")
    facts.write_bytes(facts.read_bytes().replace(b"20 min", b"25 min"))
    sync.look(world.bank, force=True)
    routers.catch_up(world.bank, force=True)
    assert path_of(world, "semantic_memory/index.md").read_bytes() == before


def test_a_bank_on_hold_is_left_alone(world: World) -> None:
    save(world, "Kiln 4 needs a 20 min purge")
    settled(world)
    world.bank.hold = "nothing there"
    world.bank.save()
    before = path_of(world, "semantic_memory/index.md").read_bytes()
    assert routers.follow() == 0
    assert path_of(world, "semantic_memory/index.md").read_bytes() == before
    world.bank.hold = ""
    world.bank.save()
    assert routers.follow() == 1
