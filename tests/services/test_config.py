"""The sixteen fields: what is in force, what each of them takes, and how they are changed."""

import re
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from banks import config, errors, queries, seams, sync
from banks.access import Role, Scope
from banks.models import Bank, Configuration
from banks.services import banks, configuration, entries, open_bank, rules
from banks.store.errors import LockTimeout
from memoryconsole import ops
from tests.builders import World, save

DEFAULTS = {
    "data_dir": "(setting)",
    "default_bank": "main",
    "inject_rules": True,
    "inject_memories": True,
    "recall_limit": 6,
    "recall_budget_tokens": 1_200,
    "extraction_enabled": True,
    "extraction_model": "",
    "extraction_window": 12,
    "extraction_timeout_ms": 60_000,
    "max_memories_per_turn": 8,
    "rule_learning_enabled": True,
    "max_rule_chars": 6_000,
    "decay_half_life_days": 30,
    "embeddings_enabled": True,
    "embedding_model": "",
}


@pytest.mark.django_db
def test_the_defaults_are_what_the_documents_promise_and_each_passes_its_own_check() -> None:
    assert asdict(config.current()) == DEFAULTS
    assert config.FIELDS.keys() == DEFAULTS.keys()
    assert config.checked(DEFAULTS) == config.Config()


@pytest.mark.django_db
def test_the_environment_names_the_default_bank(settings: Settings) -> None:
    settings.DEFAULT_BANK = "kilns"
    assert config.current().default_bank == "kilns"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("recall_limit", 101),
        ("recall_limit", -1),
        ("recall_limit", True),
        ("recall_limit", "6"),
        ("recall_limit", 6.0),
        ("inject_rules", 1),
        ("embedding_model", None),
        ("extraction_model", "x" * 201),
        ("default_bank", ""),
        ("default_bank", "../escape"),
        ("colour", "blue"),
    ],
)
def test_a_wrong_name_type_or_size_is_refused_by_its_field(name: str, value: object) -> None:
    with pytest.raises(errors.Invalid) as caught:
        config.checked({"max_rule_chars": 100, name: value})
    assert [each.loc for each in caught.value.details] == [name]


def test_every_wrong_field_is_named_at_once() -> None:
    with pytest.raises(errors.Invalid) as caught:
        config.checked({"recall_limit": 101, "inject_rules": "yes"})
    assert [each.loc for each in caught.value.details] == ["recall_limit", "inject_rules"]


def test_a_change_is_partial_and_the_next_call_has_it(world: World) -> None:
    with config.once():
        assert config.current().recall_limit == 6
        told = configuration.change(world.admin, {"recall_limit": 9, "inject_rules": False})
        assert (told.recall_limit, told.inject_rules, told.max_rule_chars) == (9, False, 6_000)
        assert config.current() == told
    configuration.change(world.admin, {"max_rule_chars": 100})
    assert config.stored() == {"recall_limit": 9, "inject_rules": False, "max_rule_chars": 100}
    assert Configuration.objects.get().changed_by == "user:admin"


def test_a_call_reads_the_row_once_and_keeps_to_one_state(world: World) -> None:
    with CaptureQueriesContext(connection) as asked, config.once():
        before = config.current()
        Configuration.objects.create(
            pk=Configuration.ONE,
            values={"recall_limit": 9},
            changed_at=seams.now(),
            changed_by="another process",
        )
        assert config.current() == before
    assert sum(each["sql"].startswith("SELECT") for each in asked) == 1
    with config.once():
        assert config.current().recall_limit == 9


def test_one_bad_field_leaves_all_as_it_was(world: World) -> None:
    for values in ({"recall_limit": 9, "max_rule_chars": -1}, {"recall_limit": 9, "colour": "red"}):
        with pytest.raises(errors.Invalid):
            configuration.change(world.admin, values)
    with pytest.raises(errors.Forbidden):
        configuration.change(world.owner, {"recall_limit": 9})
    assert not Configuration.objects.exists()


def test_a_page_that_showed_another_value_is_told_and_another_field_is_no_clash(
    world: World,
) -> None:
    shown = asdict(config.current())
    configuration.change(world.admin, {"recall_limit": 9})
    with pytest.raises(errors.StaleRevision, match="recall_limit is 9"):
        configuration.change(world.admin, {"recall_limit": 7}, seen=shown)
    told = configuration.change(world.admin, {"max_rule_chars": 100}, seen=shown)
    assert (told.recall_limit, told.max_rule_chars) == (9, 100)


def test_a_value_that_no_field_takes_any_more_counts_as_not_set_and_the_doctor_says_so(
    world: World,
) -> None:
    values = {"recall_limit": 5_000, "colour": "red", "max_rule_chars": 100}
    Configuration.objects.create(
        pk=Configuration.ONE, values=values, changed_at=seams.now(), changed_by="x"
    )
    assert (config.current().recall_limit, config.current().max_rule_chars) == (6, 100)
    found = next(each for each in ops.doctor().checks if each.name == "configuration")
    told = [each.message for each in found.findings if each.code == "config_value"]
    assert (found.ok, len(told)) == (False, 2)
    assert any(each.startswith("recall_limit counts as not set.") for each in told)


# --- another data folder ------------------------------------------------------------------------


@pytest.fixture
def free(world: World, settings: Settings) -> Path:
    """Where the banks could be instead: the environment names no data folder."""
    settings.DATA_DIR_GIVEN = False
    save(world, "Kiln 1 is cold.")
    return Path(settings.DATA_DIR.parent / "moved")


def moves_to(world: World, folder: Path) -> None:
    configuration.change(world.admin, {"data_dir": str(folder), "recall_limit": 9})


def texts(world: World) -> set[str]:
    bank = open_bank(world.editor, "ops", Role.VIEWER, Scope.MEMORY_READ)
    return {each.text for each in queries.list_memories(bank, queries.Filters()).memories}


@pytest.mark.parametrize("way", ["moved", "copied"])
def test_a_store_that_was_moved_goes_on_in_its_new_folder(
    world: World, free: Path, settings: Settings, way: str
) -> None:
    if way == "moved":
        settings.DATA_DIR.rename(free)
        sync.look(world.bank, force=True)
        assert Bank.objects.get().hold
    else:
        shutil.copytree(settings.DATA_DIR, free)
    moves_to(world, free)
    sync.look(world.bank, force=True)
    assert not Bank.objects.get().hold
    save(world, "Kiln 2 is hot.")
    assert "Kiln 2 is hot." in (free / "ops/semantic_memory/facts.md").read_text()
    assert texts(world) == {"Kiln 1 is cold.", "Kiln 2 is hot."}
    assert config.current().recall_limit == 9
    if way == "copied":
        assert "Kiln 2" not in (settings.DATA_DIR / "ops/semantic_memory/facts.md").read_text()
        shutil.rmtree(settings.DATA_DIR)
        shutil.copytree(free, settings.DATA_DIR)
        configuration.change(world.admin, {"data_dir": config.SETTING})
        assert "data_dir" not in config.stored()
        assert seams.data_folder().root == settings.DATA_DIR


def test_a_folder_without_all_that_is_remembered_is_refused_and_the_old_one_goes_on(
    world: World, free: Path, settings: Settings
) -> None:
    def refused(folder: Path, reason: str) -> None:
        with pytest.raises(errors.DataFolderRefused, match=reason) as caught:
            moves_to(world, folder)
        assert str(folder.parent) not in caught.value.message

    refused(free, "cannot be used")
    free.mkdir()
    refused(free, "does not hold the bank ops")
    shutil.copytree(settings.DATA_DIR / "ops", free / "ops")
    save(world, "Kiln 2 is hot.")
    refused(free, "Of the bank ops 1 memories")
    shutil.copy(settings.DATA_DIR / "ops/semantic_memory/facts.md", free / "ops/semantic_memory")
    shutil.copytree(free / "ops", free / "kilns")
    refused(free, "kilns, which is none of these")
    shutil.rmtree(free / "kilns")
    (free / "ops/preferences.md").unlink()
    refused(free, "the file preferences.md")
    refused(settings.STATE_DIR / "memory", "lie in each other")
    assert (config.current(), texts(world)) == (
        config.Config(),
        {"Kiln 1 is cold.", "Kiln 2 is hot."},
    )
    save(world, "Kiln 3 is new.")


@pytest.mark.parametrize("old", ["there", "gone"])
def test_a_file_that_is_the_same_by_name_and_size_alone_is_refused(
    world: World, free: Path, settings: Settings, old: str
) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Be brief.")
    shutil.copytree(settings.DATA_DIR, free)
    if old == "gone":
        settings.DATA_DIR.rename(settings.DATA_DIR.parent / "aside")
    for path, reason in (
        ("semantic_memory/facts.md", "1 memories"),
        ("rules/style.md", "rules/style.md"),
        ("bank.yaml", "bank.yaml"),
    ):
        file = free / "ops" / path
        whole = file.read_bytes()
        file.write_bytes(bytes(len(whole)))  # what an interrupted copy leaves
        with pytest.raises(errors.DataFolderRefused, match=reason):
            moves_to(world, free)
        file.write_bytes(whole)
    (free / "ops/rules/style.md").write_text("Be brief and kind.")  # a hand edit
    moves_to(world, free)
    assert config.stored()["data_dir"] == str(free)


@pytest.mark.parametrize(
    ("place", "name"), [("ops/.history", "mem_*.log"), (".trash", "bank.yaml")]
)
def test_a_history_or_deleted_bank_that_is_another_is_refused(
    world: World, free: Path, settings: Settings, place: str, name: str
) -> None:
    memory = save(world, "Kiln 2 is hot.").memory
    entries.pin(world.maintainer, world.bank, memory.id, pinned=True)
    gone, _ = banks.create(world.admin, "gone")
    banks.trash(world.admin, gone)
    shutil.copytree(settings.DATA_DIR, free)
    (file,) = (free / place).rglob(name)
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"e", b"x"))
    with pytest.raises(errors.DataFolderRefused, match=re.escape(place.rpartition("/")[2])):
        moves_to(world, free)
    assert texts(world) == {"Kiln 1 is cold.", "Kiln 2 is hot."}
    file.write_bytes(whole)
    if place == "ops/.history":  # what another server that writes there adds
        file.write_bytes(whole + whole)
    moves_to(world, free)


def test_where_the_environment_names_the_folder_it_cannot_be_set(
    world: World, settings: Settings
) -> None:
    with pytest.raises(errors.DataFolderRefused, match="environment"):
        moves_to(world, settings.DATA_DIR.parent / "moved")
    configuration.change(world.admin, {"data_dir": config.SETTING})
    assert not config.stored()


def test_a_writer_that_waited_for_the_old_folder_writes_nothing_there(
    world: World, free: Path, settings: Settings
) -> None:
    shutil.copytree(settings.DATA_DIR, free)
    with config.once():
        waiting = seams.data_folder()
        moves_to(world, free)
        for lock in (waiting.lock, waiting.bank("ops").lock):
            with pytest.raises(LockTimeout), lock(0):
                pass
    with seams.data_folder().bank("ops").lock(0):
        pass


def test_nobody_writes_while_the_folder_changes(
    world: World, free: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(settings.DATA_DIR, free)
    monkeypatch.setattr(sync, "LOCK_TIMEOUT_S", 0.0)
    with (
        seams.data_folder().bank("ops").lock(0),
        pytest.raises(errors.StoreBusy),
    ):
        moves_to(world, free)
    assert not config.stored()
