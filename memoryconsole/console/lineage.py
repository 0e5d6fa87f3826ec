"""What a memory replaced and what replaced it, as one line from the oldest to the newest."""

from dataclasses import dataclass

from banks import errors, queries
from banks.queries import Memory
from banks.revisions import Revision, of_entry
from banks.services import Bank

MOST = 20
"""How many memories a line shows on each side."""
SUPERSEDED = "superseded"


@dataclass(frozen=True, slots=True)
class Link:
    """One memory of the line; `memory` None = it is not in this bank.

    `replaced` tells how another one took its place, as far as that is known.
    """

    id: str
    memory: Memory | None
    is_this: bool = False
    replaced: Revision | None = None


def lineage(bank: Bank, memory: Memory) -> list[Link]:
    """The line of a memory; empty when it replaced nothing and nothing replaced it."""
    earlier, later = _earlier(bank, memory), _later(bank, memory)
    if not earlier and not later:
        return []
    this = Link(memory.id, memory, is_this=True, replaced=_replaced(bank, memory))
    return [*earlier, this, *later]


def _earlier(bank: Bank, memory: Memory) -> list[Link]:
    """What it replaced, and what that had replaced, oldest first."""
    found: dict[str, Memory | None] = {}
    wanted = _pointed(memory)
    while wanted and len(found) < MOST:
        known = _memories(bank, wanted[: MOST - len(found)])
        found |= known
        following = [key for each in known.values() if each for key in _pointed(each)]
        wanted = [key for key in dict.fromkeys(following) if key not in found and key != memory.id]
    oldest = sorted(found.items(), key=lambda pair: pair[1].created_at if pair[1] else 0)
    return [Link(key, each, replaced=_replaced(bank, each)) for key, each in oldest]


def _later(bank: Bank, memory: Memory) -> list[Link]:
    """What replaced it, and what replaced that, in this order."""
    found: dict[str, Memory | None] = {}
    key = memory.superseded_by
    while key and key not in found and key != memory.id and len(found) < MOST:
        found |= _memories(bank, [key])
        each = found[key]
        key = each.superseded_by if each else None
    return [Link(key, each, replaced=_replaced(bank, each)) for key, each in found.items()]


def _pointed(memory: Memory) -> list[str]:
    return list(dict.fromkeys([*filter(None, [memory.supersedes]), *memory.replaces]))


def _memories(bank: Bank, keys: list[str]) -> dict[str, Memory | None]:
    rows = queries.rows_by_ids(bank, keys)
    known = {each.id: each for each in queries.memories(bank, list(rows.values()))}
    return {key: known.get(key) for key in keys}


def _replaced(bank: Bank, memory: Memory | None) -> Revision | None:
    """The newest revision of a memory that says that another took its place."""
    if memory is None or not memory.superseded_by:
        return None
    try:
        revisions = of_entry(bank, memory.id)
    except errors.MemoryNotFound:
        return None
    return next((each for each in revisions if each.act == SUPERSEDED), None)
