"""The fields of the index. Whoosh pickles these classes by module path: do not move them.

One scored field holds the weighted terms of a memory; all others are for filters and look-ups.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whoosh.columns import NumericColumn
from whoosh.fields import COLUMN, FieldType, Schema
from whoosh.formats import Existence
from whoosh.util.numeric import byte_to_length, length_to_byte

FORMAT = 3
"""Raised whenever fields or terms change their meaning; another number means rebuild."""

Posting = tuple[bytes, int, float, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doc:
    """One memory as the index knows it. `terms` gives the weight (>= 1) of each term.

    `created_ms` is milliseconds since the epoch, UTC. Labels are compared as they are. `beside`
    are the ids of the memories whose text is among the terms too.
    """

    id: str
    terms: Mapping[str, int]
    category: str
    kind: str
    origin: str
    created_ms: int
    live: bool = True
    tags: Sequence[str] = ()
    entities: Sequence[str] = ()
    beside: Sequence[str] = ()


class WeightedTerms(FieldType):  # type: ignore[misc]  # Whoosh has no types
    """Scored terms, counted beforehand: takes a mapping from term to whole weight.

    No positions. The format is `Existence` since the weight of a posting is kept beside its
    value anyway, and because merging a `Frequency` field without an analyzer raises.
    """

    def __init__(self) -> None:
        super().__init__(Existence(), None, scorable=True)

    def index(self, value: Mapping[str, int], **_options: Any) -> Iterator[Posting]:
        """One posting a term. The counts add up to the length of the field, rounded as Whoosh
        keeps it: unrounded, the average length and so every score would move with each merge.
        """
        length = sum(value.values())
        rest = byte_to_length(length_to_byte(length)) - length
        for term, weight in value.items():
            yield term.encode(), weight + rest, float(weight), b""
            rest = 0


class Labels(FieldType):  # type: ignore[misc]  # Whoosh has no types
    """Unscored labels, whole and as they are: takes a sequence of strings."""

    def __init__(self, *, stored: bool = False) -> None:
        super().__init__(Existence(), None, scorable=False, stored=stored)

    def index(self, value: Sequence[str], **_options: Any) -> Iterator[Posting]:
        """One posting a label, repeats left out."""
        for label in dict.fromkeys(value):
            yield label.encode(), 1, 1.0, b""


SCHEMA = Schema(
    id=Labels(stored=True),
    terms=WeightedTerms(),
    tags=Labels(),
    entities=Labels(),
    category=Labels(),
    kind=Labels(),
    origin=Labels(),
    retired=Labels(),
    beside=Labels(),
    created=COLUMN(NumericColumn("q")),
)

RETIRED = "1"
"""The one label of `retired`: few memories are, so that leaving them out reads few postings."""


def fields(doc: Doc) -> dict[str, Any]:
    """`doc` as the keyword arguments of Whoosh's `add_document`."""
    return {
        "id": (doc.id,),
        "_stored_id": doc.id,
        "terms": doc.terms,
        "tags": doc.tags,
        "entities": doc.entities,
        "category": (doc.category,),
        "kind": (doc.kind,),
        "origin": (doc.origin,),
        "retired": () if doc.live else (RETIRED,),
        "beside": doc.beside,
        "created": doc.created_ms,
    }
