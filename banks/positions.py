"""Where a reader of several journals stands, as a cursor that it is given and brings back."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import F, Q

from banks.models import Bank, Change

_FORMAT = "1"
_MARK_LENGTH = 6
_CURSOR_LENGTH = 8_000


@dataclass(frozen=True, slots=True)
class Position:
    """Everything up to change `seq` is known. `mark`: the beginning of the uid of that change."""

    seq: int
    mark: str = ""

    @classmethod
    def of(cls, seq: int, uid: str) -> "Position":
        """Right behind the change with this number and uid."""
        return cls(seq, uid[:_MARK_LENGTH])


class ForeignCursorError(ValueError):
    """Not a cursor, or one of another journal, or one that is ahead of this one."""


def cursor(positions: Mapping[int, Position]) -> str:
    """The positions by bank id, as one word without meaning to others."""
    parts = [f"{bank}.{each.seq}.{each.mark}" for bank, each in sorted(positions.items())]
    return base64.urlsafe_b64encode("~".join([_FORMAT, *parts]).encode()).decode().rstrip("=")


def read(word: str) -> dict[int, Position]:
    """The positions of a cursor whose changes this journal has. Raises ForeignCursorError."""
    found = _decoded(word)
    wanted = Q(pk__in=())
    for bank, position in found.items():
        if position.seq:
            wanted |= Q(bank=bank, seq=position.seq, uid__startswith=position.mark)
    there = set(Change.objects.filter(wanted).values_list("bank", "seq"))
    if any(each.seq and (bank, each.seq) not in there for bank, each in found.items()):
        raise ForeignCursorError
    return found


def _decoded(word: str) -> dict[int, Position]:
    found = {}
    try:
        if len(word) > _CURSOR_LENGTH:
            raise ForeignCursorError
        plain = base64.urlsafe_b64decode(word + "=" * (-len(word) % 4)).decode("ascii")
        name, *parts = plain.split("~")
        for part in parts:
            bank, seq, mark = part.split(".")
            # Without a mark it would fit any journal.
            if max(len(bank), len(seq)) > 18 or (int(seq) and len(mark) != _MARK_LENGTH):
                raise ForeignCursorError
            found[int(bank)] = Position(int(seq), mark)
    except (ValueError, binascii.Error) as error:
        raise ForeignCursorError from error
    if name != _FORMAT or any(each.seq < 0 for each in found.values()):
        raise ForeignCursorError
    return found


def now(bank_ids: Iterable[int]) -> dict[int, Position]:
    """Positions at the heads of these banks."""
    heads = Change.objects.filter(bank__in=list(bank_ids), seq=F("bank__head"))
    found = dict.fromkeys(bank_ids, Position(0))
    for bank, seq, uid in heads.values_list("bank", "seq", "uid"):
        found[bank] = Position.of(seq, uid)
    return found


def heads() -> dict[int, int]:
    """The number of the last change of every bank, by id."""
    return dict(Bank.objects.values_list("pk", "head"))
