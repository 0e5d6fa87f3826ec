"""What is derived may be deleted at any time: two commands give the same answers again."""

import shutil
from dataclasses import asdict
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command

from banks import queries, revisions
from banks.models import Entry, EntryTag, Rule, SourceFile
from banks.services import entries, rules
from banks.services.drafts import Patch
from recall.services import recall
from tests import builders
from tests.builders import World, save


@pytest.fixture
def world(db: None) -> World:
    world = builders.world()
    first = save(world, "Kiln 4 needs a purge of 20 minutes", tags=("kiln",), session="s1").memory
    save(world, "Kiln 4 stands in hall 2", session="s1", entities=("kiln 4",))
    save(world, "Kiln 4 needs a purge of 20 minutes")
    second = save(world, "Kiln 4 needs a purge of 25 minutes", supersedes=first.id).memory
    entries.update(world.editor, world.bank, second.id, Patch(tags=("kiln", "purge")))
    gone = save(world, "Kiln 5 is for rent", category="events").memory
    entries.delete(world.editor, world.bank, gone.id)
    save(world, "Open the valve", category="procedure", title="Purge the kiln", pinned=True)
    rules.set_rule(world.maintainer, world.bank, "style", "Be brief.\n")
    return world


def _answers(world: World) -> dict[str, Any]:
    everything = queries.Filters(include_superseded=True)
    listed = queries.list_memories(world.bank, everything).memories
    return {
        "list": [asdict(each) for each in listed],
        "history": {each.id: revisions.of_entry(world.bank, each.id) for each in listed},
        "recall": [
            [(hit.memory.id, round(hit.score, 6)) for hit in recall(
                world.viewer, world.bank, query, limit=10, include_superseded=True
            ).memories]
            for query in ("kiln 4 purge", "which hall", "rent", "valve")
        ],
        "tags": queries.tags(world.bank),
        "rules": queries.rules(world.bank),
    }  # fmt: skip


def test_reload_and_reindex_give_the_same_answers_as_before(world: World) -> None:
    before = _answers(world)
    assert [len(hits) for hits in before["recall"]] == [5, 2, 1, 1]
    for model in (EntryTag, Entry, Rule, SourceFile):
        model.objects.all().delete()
    shutil.rmtree(settings.STATE_DIR / "index")
    call_command("reload")
    call_command("reindex")
    assert _answers(world) == before
