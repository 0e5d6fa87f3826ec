"""`manage.py doctor` and `reindex`: the exit code, what people and machines read."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from recall import doctor as recall_doctor
from recall import indexer
from recall.index import Stamp
from tests import builders


@pytest.fixture
def world(transactional_db: None) -> builders.World:
    made = builders.world()
    builders.save(made, "Kiln 4 needs a 20 min purge")
    return made


def run(*args: str) -> tuple[int, str]:
    out, code = StringIO(), 0
    try:
        call_command("doctor", *args, stdout=out)
    except SystemExit as stop:
        code = int(str(stop.code))
    return code, out.getvalue()


def test_all_is_well(world: builders.World) -> None:
    code, out = run()
    assert code == 0
    assert "FAILED" not in out
    left = [path for path in Path(settings.DATA_DIR).iterdir() if path.name != "ops"]
    assert left == []
    assert [path.name for path in indexer.root().iterdir()] == [str(world.bank.pk)]


def test_damage_fails_and_is_told_with_bank_path_and_line(world: builders.World) -> None:
    path = settings.DATA_DIR / "ops" / "semantic_memory" / "rules.md"
    path.write_text("# Rules\n\n---\nid: m1\ncreated: soon\ncategory: rules\n---\n\nCheck twice\n")
    code, out = run()
    assert code == 1
    assert "ops/semantic_memory/rules.md:5  bad_time" in out
    code, out = run("--json")
    assert code == 1
    told = json.loads(out)
    assert told["ok"] is False
    files = next(check for check in told["checks"] if check["name"] == "files")
    assert (files["findings"][0]["line"], files["findings"][0]["bank"]) == (5, "ops")


def test_an_index_with_other_memories_is_told_and_rebuilt(world: builders.World) -> None:
    indexer.catch_up(world.bank)
    index = indexer.index_of(world.bank)
    stamp = index.stamp()
    index.apply([], index.ids(), Stamp(version=stamp.version, seq=stamp.seq, uid=stamp.uid))
    found = {check.name: check for check in recall_doctor.checks()}
    assert not found["index content"].ok
    call_command("reindex", "--bank", "ops", stdout=StringIO())
    found = {check.name: check for check in recall_doctor.checks()}
    assert found["index content"].ok


def test_a_folder_of_indexes_that_refuses_is_told(world: builders.World) -> None:
    indexer.root().parent.mkdir(exist_ok=True)
    indexer.root().write_text("not a folder")
    found = {check.name: check for check in recall_doctor.checks()}
    assert not found["search"].ok
    assert not found["index"].ok
    with pytest.raises(CommandError):
        call_command("reindex", stdout=StringIO())


def test_reindex_refuses_an_unknown_bank(world: builders.World) -> None:
    with pytest.raises(CommandError):
        call_command("reindex", "--bank", "nowhere", stdout=StringIO())
