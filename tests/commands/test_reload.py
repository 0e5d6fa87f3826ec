"""`manage.py reload`: the rows as a fresh reading gives them."""

import shutil
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from banks import doctor
from banks.models import Bank, Entry
from banks.store import router
from tests import builders

FACTS = "semantic_memory/facts.md"


@pytest.fixture
def world(transactional_db: None) -> builders.World:
    made = builders.world()
    builders.save_all(made, (f"Reading {number} of pump 2 is fine" for number in range(60)))
    return made


def path_of(path: str) -> Path:
    return Path(settings.DATA_DIR / "ops" / path)


def test_deleted_rows_are_rebuilt_and_equal(world: builders.World) -> None:
    before = list(Entry.objects.order_by("position").values_list("entry_id", "version", "text"))
    Entry.objects.all().delete()
    out = StringIO()
    call_command("reload", stdout=out)
    after = list(Entry.objects.order_by("position").values_list("entry_id", "version", "text"))
    assert after == before
    assert doctor.stale_rows(world.bank) == []
    assert out.getvalue() == "ops: 60 live memories\n"


def test_a_bank_found_on_disk_is_read_too(world: builders.World) -> None:
    shutil.copytree(settings.DATA_DIR / "ops", settings.DATA_DIR / "found")
    call_command("reload", stdout=StringIO())
    assert Entry.objects.filter(bank__name="found").count() == 60


def test_routers_are_written_anew_on_request(world: builders.World) -> None:
    call_command("reload", stdout=StringIO())
    index = path_of("semantic_memory/index.md")
    index.write_bytes(router.drop_row(index.read_bytes(), "facts.md"))
    call_command("reload", stdout=StringIO())
    assert "facts.md" not in index.read_text()
    call_command("reload", "--routers", stdout=StringIO())
    assert "| facts.md | Reading 59 of pump 2 is fine" in index.read_text()


def test_a_bank_on_hold_fails_the_command_until_it_is_accepted(world: builders.World) -> None:
    path_of(FACTS).write_text("# Facts\n")
    err = StringIO()
    with pytest.raises(CommandError):
        call_command("reload", stdout=StringIO(), stderr=err)
    assert "on hold" in err.getvalue()
    assert Entry.objects.count() == 60
    call_command("reload", "--accept", "ops", stdout=StringIO())
    assert Entry.objects.count() == 0
    assert Bank.objects.get().hold == ""


def test_an_unknown_bank_is_refused(world: builders.World) -> None:
    with pytest.raises(CommandError):
        call_command("reload", "--accept", "nowhere")
