"""The revisions of a memory as people read them: each with what it changed."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from banks.audit import BY_HAND
from banks.queries import Memory
from banks.revisions import Revision
from banks.store import names
from memoryconsole.console.diff import Piece, pieces, shortened

SHOWN = 20
REVERTED = "reverted"
"""The act that brings an earlier state back."""
_AS_IN = re.compile(r"as in revision (\d+)")


@dataclass(frozen=True, slots=True)
class Change:
    """One field that a revision changed, in words."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Step:
    """One revision; `text` is empty when the text stayed.

    `number` counts states from 1, the oldest: a hand edit counts, too, though the file's own
    revision number stays. `reason` is in these numbers; `may_return`: it says something else than
    the newest.
    """

    number: int
    revision: Revision
    text: list[Piece]
    changes: list[Change]
    is_now: bool
    reason: str
    may_return: bool

    @property
    def is_by_hand(self) -> bool:
        """Whether somebody edited the file."""
        return self.revision.actor == BY_HAND


def steps(revisions: Sequence[Revision], start: int = 0, stop: int = SHOWN) -> list[Step]:
    """The steps of these revisions (all of a memory, newest first) from one place to another, each
    compared with the one before it."""
    found = []
    newest = revisions[0].memory
    for place, revision in enumerate(revisions[start:stop], start):
        before = revisions[place + 1].memory if place + 1 < len(revisions) else None
        text: list[Piece] = []
        if before is not None and before.text != revision.memory.text:
            text = shortened(pieces(before.text, revision.memory.text))
        changed = changes(before, revision.memory) if before else []
        number, reason = len(revisions) - place, _reason(revisions, place)
        other = revision.memory.text != newest.text or bool(changes(revision.memory, newest))
        found.append(Step(number, revision, text, changed, place == 0, reason, other))
    return found


def _reason(revisions: Sequence[Revision], place: int) -> str:
    """Why a revision was made. What was brought back is named as it is on the page."""
    revision = revisions[place]
    if revision.actor == BY_HAND:
        return ""
    if revision.act != REVERTED:
        return revision.reason or ""
    told = brought_back(revision.reason or "")
    for earlier in range(place + 1, len(revisions)):
        state = revisions[earlier]
        if state.revision == told and state.memory.text == revision.memory.text:
            return as_in(revision.reason or "", len(revisions) - earlier)
    return as_in(revision.reason or "", None)


def brought_back(reason: str) -> int | None:
    """The number that the journal has for a state that was brought back: pages count others."""
    told = _AS_IN.match(reason)
    return int(told[1]) if told else None


def as_in(reason: str, number: int | None) -> str:
    """The reason of what was brought back, with the number that the page has for that state."""
    name = f"as in r{number}" if number else "as in an earlier state"
    return _AS_IN.sub(name, reason, count=1) if _AS_IN.match(reason) else reason


def as_in_left_out(reason: str) -> str:
    """The rest of such a reason."""
    return _AS_IN.sub("", reason, count=1).lstrip("; ") if _AS_IN.match(reason) else reason


def changes(before: Memory, after: Memory) -> list[Change]:
    """The fields but the text in which two states differ."""
    return changed(
        ("Title", before.title or "", after.title or ""),
        ("Summary", *_summaries(before, after)),
        ("Tags", ", ".join(before.tags), ", ".join(after.tags)),
        ("About", ", ".join(before.entities), ", ".join(after.entities)),
        ("Confidence", before.confidence, after.confidence),
    )


def states(before: Memory, after: Memory) -> list[Change]:
    """In what else two states differ that lie apart: a single step says it by its act."""
    return changed(
        ("Pinned", _yes(before.pinned), _yes(after.pinned)),
        ("State", _state(before), _state(after)),
        ("Seen", f"{before.corroboration + 1} times", f"{after.corroboration + 1} times"),
    )


def changed(*pairs: tuple[str, str, str]) -> list[Change]:
    """Those of the fields (label, before, after) that differ."""
    return [Change(label, old or "none", new or "none") for label, old, new in pairs if old != new]


def _yes(value: bool) -> str:  # noqa: FBT001  # the value itself
    return "yes" if value else "no"


def _state(memory: Memory) -> str:
    if memory.invalid_at is None:
        return "current"
    return "replaced" if memory.superseded_by else "deleted"


def _summaries(before: Memory, after: Memory) -> tuple[str, str]:
    """Both summaries, the same twice when nobody changed it: a line that stayed, or one that
    followed the text."""
    followed = all(each.summary == names.first_sentence(each.text) for each in (before, after))
    return (before.summary, before.summary if followed else after.summary)
