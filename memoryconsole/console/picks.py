"""What was picked in a list, and why nothing was done with it."""

from collections.abc import Sequence
from dataclasses import dataclass

from banks import errors, queries
from banks.queries import Memory
from banks.services import Bank
from memoryconsole.errors import status_of

SHOWN = 5


@dataclass(frozen=True, slots=True)
class Fault:
    """Why one of them could not be changed; `memory` None = there is none of this id."""

    key: str
    memory: Memory | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A change of many that was refused: the ids that were `picked`, the first faults, and how
    many `more` there are. `status` is that of the answer."""

    message: str
    picked: frozenset[str]
    faults: list[Fault]
    more: int
    status: int


def refused(bank: Bank, picked: Sequence[tuple[str, str]], error: errors.Conflict) -> Refused:
    """What is to be told of the refusal of a change of these memories (id and version)."""
    told = error.details[:SHOWN]
    rows = queries.rows_by_ids(bank, [each.loc for each in told])
    known = {each.id: each for each in queries.memories(bank, list(rows.values()))}
    count = len(error.details)
    message = f"Nothing was changed: {count:,} of the {len(picked):,} could not be."
    return Refused(
        message=message if count else f"Nothing was changed. {error.message}",
        picked=frozenset(key for key, _ in picked),
        faults=[Fault(each.loc, known.get(each.loc), each.message) for each in told],
        more=count - len(told),
        status=status_of(type(error)),
    )
