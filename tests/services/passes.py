"""Passes of consolidation over the bank of a test, and what they find there."""

import threading
from pathlib import Path
from typing import Any

from django.conf import settings

from banks import queries, sync
from banks.models import Bank, Entry
from banks.queries import Memory
from banks.store.types import Trust
from recall.learning import runs
from recall.learning.runs import Run
from tests import byhand
from tests.builders import World, save


def silent(what: str, done: int, total: int) -> None:
    """Nobody is watching."""


def consolidated(world: World, *, dry_run: bool = False) -> Run:
    """One pass over the bank in this process."""
    return runs.run_now(
        world.maintainer, world.bank, dry_run=dry_run, stop=threading.Event(), progress=silent
    )


def mode(bank: Bank, word: str) -> None:
    byhand.write("bank.yaml", f"consolidation_mode: {word}\n")
    sync.reload(bank)
    bank.refresh_from_db()


def episode(world: World, text: str, category: str = "events", **more: Any) -> Memory:
    return save(world, text, category=category, **({"trust": Trust.MEDIUM} | more)).memory


def told(text: str, *sources: Memory, **more: Any) -> dict[str, Any]:
    return {"text": text, "sources": [each.id for each in sources], **more}


def files(folder: str) -> dict[str, bytes]:
    """The files of the bank below a folder."""
    return byhand.tree(Path(settings.DATA_DIR) / "ops" / folder)


def live(bank: Bank) -> dict[str, Memory]:
    found = queries.list_memories(bank, queries.Filters(), limit=500).memories
    return {each.text: each for each in found}


def state(bank: Bank) -> list[tuple[str, str, bool]]:
    return sorted(Entry.objects.filter(bank=bank).values_list("entry_id", "version", "live"))
