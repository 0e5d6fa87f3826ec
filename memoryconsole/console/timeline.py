"""The revisions of a memory as people read them: each with what it changed."""

from collections.abc import Sequence
from dataclasses import dataclass

from banks.journal import DISK
from banks.queries import Memory
from banks.revisions import Revision
from banks.store import names
from memoryconsole.console.diff import Piece, pieces, shortened

SHOWN = 20


@dataclass(frozen=True, slots=True)
class Change:
    """One field that a revision changed, in words."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Step:
    """One revision; `text` is empty when the text stayed."""

    revision: Revision
    text: list[Piece]
    changes: list[Change]
    is_now: bool

    @property
    def is_by_hand(self) -> bool:
        """Whether somebody edited the file: the number of the revision is then that before it."""
        return self.revision.actor == DISK


def steps(revisions: Sequence[Revision]) -> list[Step]:
    """The steps of these revisions (newest first), each compared with the one before it."""
    found = []
    for number, revision in enumerate(revisions):
        before = revisions[number + 1].memory if number + 1 < len(revisions) else None
        text: list[Piece] = []
        if before is not None and before.text != revision.memory.text:
            text = shortened(pieces(before.text, revision.memory.text))
        changed = changes(before, revision.memory) if before else []
        found.append(Step(revision, text, changed, is_now=number == 0))
    return found


def changes(before: Memory, after: Memory) -> list[Change]:
    """The fields but the text in which two states differ."""
    pairs = (
        ("Title", before.title or "", after.title or ""),
        ("Summary", *_summaries(before, after)),
        ("Tags", ", ".join(before.tags), ", ".join(after.tags)),
        ("About", ", ".join(before.entities), ", ".join(after.entities)),
        ("Confidence", before.confidence, after.confidence),
    )
    return [Change(label, old or "none", new or "none") for label, old, new in pairs if old != new]


def _summaries(before: Memory, after: Memory) -> tuple[str, str]:
    """Both summaries, the same twice when nobody changed it: a line that stayed, or one that
    followed the text."""
    followed = all(each.summary == names.first_sentence(each.text) for each in (before, after))
    return (before.summary, before.summary if followed else after.summary)
