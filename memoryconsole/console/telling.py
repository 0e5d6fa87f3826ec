"""What the page of one memory shows, and what people are told after a change."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest
from django.urls import reverse

from banks import audit, errors, queries
from banks.access import Principal, Role, Scope
from banks.queries import Memory, RuleText
from banks.revisions import of_entry
from banks.services import Bank, entries, open_bank
from memoryconsole.console import context
from memoryconsole.console.comparing import are_reworded, last_changed
from memoryconsole.console.context import Place, SeeOther
from memoryconsole.console.lineage import Link, lineage
from memoryconsole.console.timeline import SHOWN, Step, steps

MASK = "[redacted:"
UNDO, REDO, LINK, LOG = "undo", "redo", "link", "log"
"""What the tags of a message begin with: the address of an Undo form, with what was changed first,
the same after an undo, the address of another memory, or that of a part of the audit log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One memory and how it came about. `is_gone`: its block is no longer in the files.

    `steps` are some of its `revisions`, newest first; `older` is how many more there are below
    them, `shown` how many there are above and with them. `last_changed`: the number of the last
    one that says something else than the one before it.
    """

    place: Place
    memory: Memory
    steps: list[Step]
    revisions: int
    shown: int
    is_gone: bool
    last_changed: int
    lineage: list[Link]

    @property
    def older(self) -> int:
        """How many revisions are older than these."""
        return max(0, self.revisions - self.shown)

    @property
    def following(self) -> int:
        """How many revisions the next part of the history shows."""
        return min(SHOWN, self.older)

    @property
    def then_shown(self) -> int:
        """How many revisions may be shown when that part is shown too."""
        return self.shown + SHOWN

    @property
    def is_live(self) -> bool:
        """Whether agents see it."""
        return not self.is_gone and self.memory.invalid_at is None

    @property
    def successor(self) -> Memory | None:
        """What replaced it; None when nothing did or that is not in this bank."""
        wanted = self.memory.superseded_by
        return next((link.memory for link in self.lineage if link.id == wanted), None)


def told(request: HttpRequest, name: str, key: str, *, shown: int = SHOWN, above: int = 0) -> Told:
    """The memory with its newest revisions, without the first `above` of them. Raises what
    `open_bank` raises, MemoryNotFound and AmbiguousId."""
    bank = open_bank(context.person(request), name, Role.VIEWER, Scope.MEMORY_READ)
    revisions = of_entry(bank, key)
    memory, is_gone = last_seen(bank, key)
    return Told(
        place=context.place(request, name),
        memory=memory,
        steps=steps(revisions, above, shown),
        revisions=len(revisions),
        shown=min(shown, len(revisions)),
        is_gone=is_gone,
        last_changed=last_changed(revisions, are_reworded),
        lineage=lineage(bank, memory),
    )


def last_seen(bank: Bank, key: str) -> tuple[Memory, bool]:
    """The memory as it is, or as it was last; and whether its block is no longer in the files.
    Raises MemoryNotFound and AmbiguousId."""
    try:
        return queries.memory(bank, key), False
    except errors.MemoryNotFound:
        return of_entry(bank, key)[0].memory, True


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


def tell_done(request: HttpRequest, bank: Bank, key: str, version: str, *, said: str) -> None:
    """Tell of a change that brought a memory or a rule to this version, with its Undo."""
    uid = audit.of_version(bank, key, version)
    messages.success(request, said, extra_tags=_undo_tags(UNDO, bank, uid, key) if uid else "")


def tell_undone(request: HttpRequest, bank: Bank, key: str) -> None:
    """Tell that an operation was undone which had changed this memory or rule, or done again."""
    page = audit.page(context.person(request), bank=bank.name, key=key, limit=1)
    uid = page.deeds[0].uid if page.deeds else ""
    said, kind = ("Done again.", UNDO) if "again" in request.POST else ("Undone.", REDO)
    messages.success(request, said, extra_tags=_undo_tags(kind, bank, uid, key) if uid else "")


def tell_overtaken(request: HttpRequest, bank: Bank, current: object) -> None:
    """Tell that an undo came too late. `current`: the memory or rule that was changed since, as it
    is now; of a rule that is gone nothing."""
    wanted = {"bank": bank.name}
    if isinstance(current, Memory):
        wanted["key"] = current.id
    elif isinstance(current, RuleText):
        wanted["key"] = current.name
    said = "A later change is on top of it: undo that one first."
    messages.error(request, said, extra_tags=f"{LOG} {reverse('audit')}?{urlencode(wanted)}")


def _undo_tags(kind: str, bank: Bank, uid: str, key: str) -> str:
    return f"{kind} {reverse('undo', args=[bank.name, uid])} {key}"


def tell_changed(request: HttpRequest, bank: Bank, memory: Memory, *, said: str) -> None:
    """Tell of a change of a memory; what was so already has no Undo of its own."""
    if memory.version in (request.POST.get("version"), request.POST.get("base")):
        messages.success(request, said)
    else:
        tell_done(request, bank, memory.id, memory.version, said=said)


def tell_dead(request: HttpRequest, memory: Memory) -> None:
    """Tell that a memory cannot be edited since it is not live, with a link to it."""
    what = "replaced by another" if memory.superseded_by else "deleted"
    said = f"This memory was {what}, so it cannot be edited. Restore it first."
    there = reverse("memory", args=[memory.bank, memory.id])
    messages.warning(request, said, extra_tags=f"{LINK} {there}")


def tell_masked(request: HttpRequest, typed: str, written: str) -> None:
    """Tell when a secret was masked on the way to the file."""
    if MASK in written and MASK not in typed:
        messages.warning(request, "It held a secret, which was masked before it was written.")


def successor_of(principal: Principal, memory: Memory) -> Memory | None:
    """What a memory points at as its successor; None when that is nothing or not there."""
    bank = open_bank(principal, memory.bank, Role.VIEWER, Scope.MEMORY_READ)
    try:
        return queries.memory(bank, memory.superseded_by) if memory.superseded_by else None
    except errors.MemoryNotFound:
        return None


def tell_restored(
    request: HttpRequest, bank: Bank, memory: Memory, successor: Memory | None
) -> None:
    """Tell that it is back; that what took its place is live too, with a link to that."""
    said = "Restored. Agents see it again."
    if successor is None or successor.invalid_at is not None:
        tell_changed(request, bank, memory, said=said)
        return
    said += f" Its successor {successor.id} is live too: agents see both."
    there = reverse("memory", args=[successor.bank, successor.id])
    messages.success(request, said, extra_tags=f"{LINK} {there}")


def back(request: HttpRequest, bank: str, key: str) -> SeeOther:
    """To the page that the form was on, at this memory."""
    home = reverse("memory", args=[bank, key])
    wanted = context.safe_next(request, home)
    return SeeOther(wanted if wanted.partition("?")[0] == home else f"{wanted}#m-{key}")
