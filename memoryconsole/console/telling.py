"""What the page of one memory shows, and what people are told after a change."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse

from banks import errors, queries
from banks.access import Principal, Role, Scope
from banks.queries import Memory
from banks.revisions import Revision, of_entry
from banks.services import entries, open_bank
from memoryconsole.console import context
from memoryconsole.console.context import Place, SeeOther
from memoryconsole.console.diff import Piece, pieces
from memoryconsole.console.timeline import SHOWN, Change, Step, changes, steps

MASK = "[redacted:"
UNDO, LINK = "undo", "link"
"""What the tags of a message begin with: the address and version of an Undo form, or the address of
another memory."""
REPLACED_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Other:
    """Another memory that this one names. `memory` None = it is not in this bank."""

    id: str
    memory: Memory | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One memory and how it came about. `is_gone`: its block is no longer in the files.

    `replaces` and `replaced_by` are the memories at the other end of its pointers.
    """

    place: Place
    memory: Memory
    steps: list[Step]
    older: int
    is_gone: bool
    replaces: list[Other]
    replaced_by: Other | None


def told(principal: Principal, name: str, key: str, *, whole: bool) -> Told:
    """The memory with its newest revisions, or with all. Raises what `open_bank` raises,
    MemoryNotFound and AmbiguousId."""
    bank = open_bank(principal, name, Role.VIEWER, Scope.MEMORY_READ)
    revisions = of_entry(bank, key)
    try:
        memory, is_gone = queries.memory(bank, key), False
    except errors.MemoryNotFound:
        memory, is_gone = revisions[0].memory, True
    shown = len(revisions) if whole else SHOWN
    losers = list(dict.fromkeys([*filter(None, [memory.supersedes]), *memory.replaces]))
    wanted = [*losers[:REPLACED_SHOWN], *filter(None, [memory.superseded_by])]
    rows = queries.rows_by_ids(bank, wanted)
    known = {each.id: each for each in queries.memories(bank, list(rows.values()))}
    successor = memory.superseded_by
    return Told(
        place=context.place(principal, name),
        memory=memory,
        # One more than is shown: the oldest shown is compared with it.
        steps=steps(revisions[: shown + 1])[:shown],
        older=max(0, len(revisions) - shown),
        is_gone=is_gone,
        replaces=[Other(key, known.get(key)) for key in losers[:REPLACED_SHOWN]],
        replaced_by=Other(successor, known.get(successor)) if successor else None,
    )


@dataclass(frozen=True, slots=True)
class Clash:
    """An edit that met another: what was, what is now (and who did it), and the differences."""

    was: Memory | None
    now: Memory
    latest: Revision
    theirs: list[Piece]
    changes: list[Change]


def clash(revisions: Sequence[Revision], base: str, now: Memory) -> Clash:
    """What happened between the version `base` and now."""
    was = next((each.memory for each in revisions if each.memory.version == base), None)
    theirs = pieces(was.text, now.text) if was else []
    return Clash(was, now, revisions[0], theirs, changes(was, now) if was else [])


def seen(request: HttpRequest) -> entries.Expected:
    """The version that the page showed; a form that sends none has seen nothing."""
    return entries.Expected(version=request.POST.get("version", ""))


@contextmanager
def refusals_told(request: HttpRequest) -> Iterator[None]:
    """Tell a refusal on the next page."""
    try:
        yield
    except (errors.Conflict, errors.Unavailable) as error:
        messages.error(request, error.message)


def tell_saved(request: HttpRequest, text: str, saved: Memory, *, said: str) -> None:
    """Tell that it is saved, and when a secret was masked on the way."""
    messages.success(request, said)
    if MASK in saved.text and MASK not in text:
        messages.warning(request, "It held a secret, which was masked before it was written.")


def tell_deleted(request: HttpRequest, memory: Memory) -> None:
    """Tell that it is deleted, with the way back: address and version for an Undo form."""
    undo = reverse("restore", args=[memory.bank, memory.id])
    said = "Deleted. Agents stop seeing it. You can restore it."
    messages.success(request, said, extra_tags=f"{UNDO} {undo} {memory.version}")


def successor_of(principal: Principal, memory: Memory) -> Memory | None:
    """What a memory points at as its successor; None when that is nothing or not there."""
    bank = open_bank(principal, memory.bank, Role.VIEWER, Scope.MEMORY_READ)
    try:
        return queries.memory(bank, memory.superseded_by) if memory.superseded_by else None
    except errors.MemoryNotFound:
        return None


def tell_restored(request: HttpRequest, successor: Memory | None) -> None:
    """Tell that it is back; that what took its place is live too, with a link to that."""
    said = "Restored. Agents see it again."
    if successor is None or successor.invalid_at is not None:
        messages.success(request, said)
        return
    said += f" Its successor {successor.id} is live too: agents see both."
    there = reverse("memory", args=[successor.bank, successor.id])
    messages.success(request, said, extra_tags=f"{LINK} {there}")


def back(request: HttpRequest, bank: str, key: str) -> SeeOther:
    """To the page that the form was on, at this memory."""
    home = reverse("memory", args=[bank, key])
    wanted = context.safe_next(request, home)
    return SeeOther(wanted if wanted == home else f"{wanted}#m-{key}")
