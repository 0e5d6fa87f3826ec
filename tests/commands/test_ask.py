"""`manage.py ask`: what people read, what machines read, and when nothing is remembered."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from tests import builders


@pytest.fixture
def world(transactional_db: None) -> builders.World:
    made = builders.world()
    builders.save(made, "Kiln 4 needs a 20 min purge\nbefore it is lit")
    builders.save(made, "Kiln 5 has a new door")
    return made


def ask(question: str, **options: Any) -> str:
    out = StringIO()
    call_command("ask", question, stdout=out, **options)
    return out.getvalue()


def test_hits_come_best_first_with_id_day_and_confidence(world: builders.World) -> None:
    told = ask("purge of kiln 4", bank="ops").splitlines()
    assert told[0].split()[0] == "1"
    assert told[0].endswith("Kiln 4 needs a 20 min purge")
    key, day, confidence = told[1].split()
    assert (key[4:14], confidence) == (day, "stated")
    assert told[2].endswith("Kiln 5 has a new door")
    assert told[-1] == "ops: retrieval bm25-entity, index ok"
    assert len(told) == 5


def test_a_limit_holds_and_one_out_of_bounds_is_refused(world: builders.World) -> None:
    assert len(ask("kiln", bank="ops", limit=1).splitlines()) == 3
    with pytest.raises(CommandError, match="0 to 100"):
        ask("kiln", bank="ops", limit=101)


def test_machines_get_the_answer_of_the_api(world: builders.World) -> None:
    told = json.loads(ask("purge", bank="ops", json=True))
    assert set(told) == {"bank", "memories", "retrieval", "index"}
    assert told["memories"][0]["memory"]["text"].startswith("Kiln 4")


def test_nothing_remembered_is_said_and_is_no_failure(world: builders.World) -> None:
    assert ask("glaze", bank="ops").splitlines()[0] == "Nothing remembered."
    assert ask("kiln") == "Nothing remembered.\nmain: retrieval none, index ok\n"


def test_a_missing_bank_is_refused(world: builders.World) -> None:
    with pytest.raises(CommandError, match="no bank of that name"):
        ask("kiln", bank="unknown")


def test_a_text_cannot_give_orders_to_the_terminal(world: builders.World) -> None:
    file = Path(settings.DATA_DIR / "ops" / "preferences.md")
    file.write_text(
        "---\nid: m1\ncreated: 2024-03-01\ncategory: preferences\nsummary: Glaze\n---\n\n"
        "Glaze \x1b[2J\u202e thin " + "x" * 200 + "\n"
    )
    line = ask("glaze", bank="ops").splitlines()[0]
    assert "Glaze  [2J  thin" in line
    assert line.isprintable()
    assert line.endswith("x…")
