"""What an acknowledgement costs: the syncs of each act, at every size of the bank."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from banks import seams, sync
from banks.models import Entry
from banks.services import entries
from banks.services.drafts import Draft, Patch
from banks.store.disk import Disk
from tests.builders import World, save

MOST_STATEMENTS = 17
"""Statements of a save into a file that is there, without those of its two transactions."""

COMMITS = ("RELEASE SAVEPOINT", "COMMIT")


class CountingDisk(Disk):
    """Counts syncs of files and folders."""

    def __init__(self) -> None:
        self.count = 0

    def fsync(self, fd: int) -> None:
        self.count += 1

    def fdatasync(self, fd: int) -> None:
        self.count += 1


def _cost(act: Callable[[], object]) -> tuple[int, int]:
    """Syncs of the disk and commits of the database that an act takes.

    The test's own transaction makes each outermost commit of the product a savepoint.
    """
    disk = CountingDisk()
    with seams.replaced(disk=disk), CaptureQueriesContext(connection) as queries:
        act()
    depth = commits = 0
    for query in queries.captured_queries:
        depth += query["sql"].startswith("SAVEPOINT")
        if query["sql"].startswith(COMMITS):
            depth -= 1
            commits += depth == 0
    return disk.count, commits


@pytest.mark.wide
@pytest.mark.parametrize("size", [1, 300])
def test_a_save_is_three_syncs_and_an_edit_five(world: World, size: int) -> None:
    drafts = [Draft(text=f"Gauge {n} is nominal") for n in range(size)]
    entries.save_many(world.editor, world.bank, drafts)
    key = Entry.objects.get(text="Gauge 0 is nominal").entry_id

    def pin(*, pinned: bool) -> None:
        entries.pin(world.editor, world.bank, key, pinned=pinned)

    assert _cost(lambda: save(world, "Pump 1 is blue")) == (1, 2)
    # a first history file needs its folder synced too
    assert _cost(lambda: pin(pinned=True)) == (4, 2)
    assert _cost(lambda: pin(pinned=False)) == (3, 2)
    patch = Patch(text="Gauge 0 is high")
    assert _cost(lambda: entries.update(world.editor, world.bank, key, patch)) == (3, 2)
    assert _cost(lambda: save(world, "Pump 1 is blue")) == (4, 2)
    assert _cost(lambda: sync.look(world.bank, force=True)) == (0, 0)


@pytest.mark.parametrize("size", [1, 40])
def test_a_save_asks_the_database_as_often_in_a_larger_bank(world: World, size: int) -> None:
    entries.save_many(world.editor, world.bank, [Draft(text=f"Dial {n}") for n in range(size)])
    with CaptureQueriesContext(connection) as queries:
        save(world, "Pump 1 is blue")
    # PostgreSQL locks by statements, too.
    own = [sql for each in queries if not re.search("SAVEPOINT|advisory", sql := each["sql"])]
    assert len(own) <= MOST_STATEMENTS


def test_a_file_that_a_person_made_is_made_to_last_before_we_add_to_it(world: World) -> None:
    path = Path(settings.DATA_DIR) / "ops" / "semantic_memory" / "facts.md"
    path.write_text("# Facts\n\nRewritten by hand.\n")
    sync.reload(world.bank)
    first, _ = _cost(lambda: save(world, "Pump 1 is blue"))
    assert first > 1
    assert _cost(lambda: save(world, "Pump 2 is red"))[0] == 1
