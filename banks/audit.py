"""The journal as people read it: deeds, newest first. One deed is what was journalled at once.

A page costs the same whatever the length of the journal: leads (the first change of each deed) are
found in indexes of their own, and everything else is looked up by their keys.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Exists, Max, OuterRef, Q, QuerySet, Subquery

from banks import access, errors, journal, links
from banks.access import Principal, Role, Scope
from banks.models import Bank, Change, Entry, Operation, Rule
from banks.queries import milliseconds

BY_HAND = journal.DISK
"""The actor of a deed, or of a revision, that was found in the files."""
FOUND = journal.FOUND
"""The reason of such a deed."""

PAGE_LENGTH = 50
PAGE_MOST = 200
CHANGES_SHOWN = 20

_CURSOR_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Touch:
    """What one deed did to one entry, rule or bank; versions are `""` for "not there"."""

    target: str
    key: str
    action: str
    version_before: str
    version_after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """One act and what it changed. `at` is in milliseconds.

    `uid` names the operation, `""` for what was found on disk. `changes` are at most 20 of the
    `count`; one that was asked for by its key comes first. `undoable`: as far as rows tell, `undo`
    would do it for this caller. `undone_by`: the uid of the last undo.
    """

    uid: str
    bank: str
    at: int
    actor: str
    act: str
    changes: tuple[Touch, ...]
    count: int
    reason: str
    request_id: str
    undoable: bool
    undone_by: str | None


@dataclass(frozen=True, slots=True)
class Page:
    """Deeds, newest first, and where the next page begins (None: there is none)."""

    deeds: list[Deed]
    next_cursor: str | None = None


def page(
    principal: Principal,
    *,
    bank: str | None = None,
    actor: str | None = None,
    key: str | None = None,
    after: str | None = None,
    limit: int = PAGE_LENGTH,
) -> Page:
    """Deeds in the banks that the caller may see, or in one of them; at most 200.

    `actor` and `key` (of an entry, rule or bank) are exact; `after` is a page's `next_cursor`.
    Raises BankNotFound, ScopeMissing, Invalid for a broken cursor.
    """
    access.require(principal, Scope.MEMORY_READ)
    limit = max(1, min(limit, PAGE_MOST))
    seen = access.visible_banks(principal).order_by()
    if bank is not None:
        seen = seen.filter(pk=access.bank_for(principal, bank, Role.VIEWER).pk)
    leads = _leads(actor, _read_cursor(after))
    asked = _leads_of(key, seen, leads) if key is not None else {}
    found = list(asked) if key is not None else _newest(seen, leads, limit + 1)
    newest = heapq.nlargest(limit + 1, found)
    shown = newest[:limit]
    deeds = _deeds(principal, shown, {lead: asked[lead] for lead in shown if lead in asked})
    return Page(deeds, str(shown[-1]) if len(newest) > limit else None)


def of_version(bank: Bank, key: str, version: str) -> str | None:
    """The uid of the operation that last brought an entry or rule to this version.

    None for what was found on disk and for a version that the journal does not know.
    """
    # No order: with one, SQLite would walk the whole journal in it.
    changes = Change.objects.filter(bank=bank, key=key, version_after=version)
    pairs = changes.exclude(operation=None).order_by().values_list("seq", "operation__uid")
    return max(pairs, default=(0, None))[1]


def _read_cursor(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= _CURSOR_DIGITS):
        raise errors.Invalid(
            "That cursor is not one of ours: start from the first page.", loc="cursor"
        )
    return int(cursor)


def _leads(actor: str | None, before: int | None) -> QuerySet[Change]:
    """The first changes of deeds, in no order."""
    leads = Change.objects.filter(together__isnull=False).order_by()
    if actor is not None:
        leads = leads.filter(actor=actor)
    return leads if before is None else leads.filter(pk__lt=before)


def _newest(seen: QuerySet[Bank], leads: QuerySet[Change], count: int) -> list[int]:
    """Primary keys of leads in these banks, the newest `count` among them, in no order.

    At most `count` of each bank are read: the bank whose last `count` deeds are the latest tells
    how far back anything can matter. An order in the statement would make SQLite walk the journal,
    the deeds of all other banks too.
    """
    mine = leads.filter(bank=OuterRef("pk")).order_by("-pk").values("pk")[count - 1 : count]
    edge = seen.annotate(edge=Subquery(mine)).aggregate(latest=Max("edge"))["latest"]
    if edge is not None:
        leads = leads.filter(pk__gte=edge)
    return list(leads.filter(bank__in=seen.values("pk")).values_list("pk", flat=True))


def _leads_of(key: str, seen: QuerySet[Bank], leads: QuerySet[Change]) -> dict[int, int]:
    """The primary keys of the deeds that touched a key, each with that of its change."""
    mine = Change.objects.filter(bank=OuterRef("bank"), together__isnull=False)
    lead = mine.filter(pk__lte=OuterRef("pk")).order_by("-pk").values("pk")[:1]
    touching = Change.objects.filter(bank__in=seen.values("pk"), key=key).order_by()
    pairs = dict(touching.annotate(lead=Subquery(lead)).values_list("lead", "pk"))
    fitting = leads.filter(pk__in=list(pairs)).values_list("pk", flat=True)
    return {each: pairs[each] for each in fitting}


def _deeds(principal: Principal, keys: Sequence[int], asked: dict[int, int]) -> list[Deed]:
    rows = Change.objects.filter(pk__in=keys).select_related("bank", "operation")
    large = ("operation__steps", "operation__effects", "operation__answer")
    leads = sorted(rows.defer(*large), key=lambda row: row.pk, reverse=True)
    changes = _changes(leads, asked)
    undoable = _undoable(principal, leads)
    ids = [lead.operation_id for lead in leads if lead.operation_id is not None]
    undone = Operation.objects.filter(undoes__in=ids, state=Operation.State.DONE)
    undone_by = dict(undone.order_by("pk").values_list("undoes", "uid"))
    return [
        Deed(
            uid=lead.operation.uid if lead.operation else "",
            bank=lead.bank.name,
            at=milliseconds(lead.at),
            actor=lead.actor,
            act=lead.operation.act if lead.operation else lead.action,
            changes=tuple(_touch(each) for each in changes[lead.pk]),
            count=lead.together or 1,
            reason=next((each.reason for each in changes[lead.pk] if each.reason), ""),
            request_id=lead.request_id,
            undoable=lead.operation_id in undoable,
            undone_by=undone_by.get(lead.operation_id),
        )
        for lead in leads
    ]


def taken_back(uids: Iterable[str]) -> set[str]:
    """Those of these operations that an undo has taken back."""
    found: set[str] = set()
    for part in links.chunks(uids):
        undone = Operation.objects.filter(undoes__uid__in=part, state=Operation.State.DONE)
        found.update(undone.values_list("undoes__uid", flat=True))
    return found


def _touch(change: Change) -> Touch:
    return Touch(
        change.target, change.key, change.action, change.version_before, change.version_after
    )


def _changes(leads: Sequence[Change], asked: dict[int, int]) -> dict[int, list[Change]]:
    """By the primary keys of the leads, the changes to show: the one that was asked for first."""
    wanted = Q(pk__in=list(asked.values()))
    for lead in leads:
        if lead.together and lead.together > 1:
            last = lead.seq + min(lead.together, CHANGES_SHOWN)
            wanted |= Q(bank=lead.bank_id, seq__gt=lead.seq, seq__lt=last)
    others = {(row.bank_id, row.seq): row for row in Change.objects.filter(wanted).order_by()}
    by_key = {row.pk: row for row in [*others.values(), *leads]}
    shown = {}
    for lead in leads:
        numbers = range(lead.seq + 1, lead.seq + min(lead.together or 1, CHANGES_SHOWN))
        rows = [lead, *(others[lead.bank_id, number] for number in numbers)]
        first = by_key[asked.get(lead.pk, lead.pk)]
        rest = [row for row in rows if row.pk != first.pk]
        shown[lead.pk] = [first, *rest][:CHANGES_SHOWN]
    return shown


def _undoable(principal: Principal, leads: Iterable[Change]) -> set[int]:
    """The operations that `undo` would take back for this caller, as far as rows tell."""
    banks = {
        lead.operation_id: lead.bank
        for lead in leads
        if lead.operation is not None and lead.operation.state == Operation.State.DONE
    }
    roles = access.roles_in(principal, banks.values())
    changes = Change.objects.filter(operation__in=list(banks)).order_by()
    targets: dict[int | None, set[str]] = {}
    for operation, target in changes.values_list("operation", "target").distinct():
        targets.setdefault(operation, set()).add(target)
    moved_on = set(
        changes.exclude(_as_it_left_it(principal)).values_list("operation", flat=True).distinct()
    )
    return {
        operation
        for operation, bank in banks.items()
        if operation is not None
        and operation not in moved_on
        and not bank.hold
        and _may_undo(principal, roles.get(bank.pk), targets[operation])
    }


def _as_it_left_it(principal: Principal) -> Q:
    """Of a change: its entry or rule is still what the change made of it, and may be touched."""
    here = Q(bank=OuterRef("bank"))
    entry = Entry.objects.filter(here, entry_id=OuterRef("key"), version=OuterRef("version_after"))
    if not principal.has(Scope.MEMORY_CURATE):
        entry = entry.filter(pinned=False)
    rule = Rule.objects.filter(here, name=OuterRef("key"))
    same = Q(Exists(rule.filter(version=OuterRef("version_after"))))
    removed = Q(~Exists(rule), version_after="")
    return Q(Exists(entry), target=Change.Target.ENTRY) | (
        Q(target=Change.Target.RULE) & (same | removed)
    )


def _may_undo(principal: Principal, role: Role | None, targets: set[str]) -> bool:
    if role is None:
        return False
    needed = {
        Change.Target.ENTRY.value: (Role.EDITOR, Scope.MEMORY_WRITE),
        Change.Target.RULE.value: (Role.MAINTAINER, Scope.RULES_WRITE),
    }
    return all(
        target in needed and role >= needed[target][0] and principal.has(needed[target][1])
        for target in targets
    )
