"""All that one session or one token wrote, taken back in one action.

What somebody else has changed since stays as it is, and is told: of each memory and rule only the
last changes in a row that come from there are taken back.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from banks import access, errors, links
from banks.access import Principal, Role, Scope
from banks.models import Bank, Change, Entry
from banks.operations import Idempotency, Plan
from banks.queries import milliseconds
from banks.services import past, rules, undo
from banks.services.batch import Batch
from banks.services.commit import Desk, run

MOST = 500
"""So many memories and rules at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where writes came from: a session, or a token by its name. One of the two is given."""

    session: str | None = None
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """A memory or rule that was written from there. `at`: milliseconds of the last time.

    `moved_on`: somebody else has changed it since. `before`: the version that would come back, ""
    for not there. `version`: the one that it has to have then.
    """

    target: str
    key: str
    action: str
    at: int
    moved_on: bool
    before: str
    version: str


@dataclass(frozen=True, slots=True)
class RolledBack:
    """Keys of what was taken back, and of what was left because it cannot be any more."""

    changed: list[str]
    left: list[str]


def listed(principal: Principal, bank: Bank, origin: Origin) -> list[Written]:
    """What was written in an opened bank from there and not taken back, newest first, at most 500.

    Raises Invalid unless one of session and token is given.
    """
    if bool(origin.session) == bool(origin.token):
        raise errors.Invalid("Name a session_id or a token.", loc="session_id")
    found = _by_session(bank, origin.session) if origin.session else _by_token(bank, origin.token)
    if not access.can(principal, bank, Role.MAINTAINER, Scope.RULES_WRITE):
        found = (each for each in found if each.target == Change.Target.ENTRY)
    return sorted(islice(found, MOST), key=lambda each: (-each.at, each.key))


def roll_back(
    principal: Principal, bank: Bank, origin: Origin, *, idempotency: Idempotency | None = None
) -> RolledBack:
    """Take it back, as one operation that can be undone. Raises as `listed` and `commit.run`, and
    TextExists or TitleExists when another memory has taken the place of one."""

    def planner(desk: Desk) -> Plan:
        batch, wishes = Batch(desk), []
        changed: list[str] = []
        left: list[str] = []
        for each in listed(principal, bank, origin):
            try:
                if each.moved_on:
                    raise errors.StaleRevision
                if each.target == Change.Target.RULE:
                    content = past.rule(desk.locked, each.key, each.before)
                    wishes.append(rules.wish(each.key, content, seen=each.version, act="undone"))
                else:
                    undo.bring_back(batch, principal, each.key, each.version, each.before)
            except (errors.Conflict, errors.NotFound, errors.Forbidden):
                left.append(each.key)
            else:
                changed.append(each.key)
        undo.check_places(batch)
        plan = batch.plan("roll back", {"changed": changed, "left": left})
        for wish in wishes:
            rules.put(plan, desk, wish)
        return plan

    return RolledBack(**run(bank, principal, planner, idempotency=idempotency))


def _by_token(bank: Bank, token: str | None) -> Iterator[Written]:
    actor = f"token:{token}"
    mine = Change.objects.filter(bank=bank, actor=actor).exclude(target=Change.Target.BANK)
    for history in _histories(bank, mine.values_list("key", flat=True).distinct()):
        last = [each for each in history if each.actor == actor][-1]
        if not _is_taken_back(history, last):
            yield _written(last, history, _tail(history, actor))


def _by_session(bank: Bank, session: str | None) -> Iterator[Written]:
    """Memories that the session made; whoever made one may have changed it since."""
    keys = Entry.objects.filter(bank=bank, session=session, live=True)
    for history in _histories(bank, keys.values_list("entry_id", flat=True)):
        tail = _tail(history, history[0].actor)
        is_whole = len(tail) == len(history) and not history[0].version_before
        yield _written(history[0], history, tail if is_whole else [])


def _histories(bank: Bank, keys: Iterable[str]) -> Iterator[list[Change]]:
    """The changes of each key, oldest first."""
    for part in links.chunks(keys):
        by_key: dict[tuple[str, str], list[Change]] = defaultdict(list)
        rows = Change.objects.filter(bank=bank, key__in=part).select_related("operation")
        rows = rows.exclude(target=Change.Target.BANK).defer("operation__answer")
        for row in rows.order_by("seq"):
            by_key[row.target, row.key].append(row)
        yield from by_key.values()


def _tail(history: list[Change], actor: str) -> list[Change]:
    """The last changes in a row by this actor."""
    tail: list[Change] = []
    for each in reversed(history):
        if each.actor != actor:
            break
        tail.insert(0, each)
    return tail


def _is_taken_back(history: list[Change], last: Change) -> bool:
    """Whether the change after the last one from there took it back."""
    after = history[history.index(last) + 1 :]
    return any(each.operation is not None and each.operation.act == "roll back" for each in after)


def _written(last: Change, history: list[Change], tail: list[Change]) -> Written:
    return Written(
        target=last.target,
        key=last.key,
        action=last.action,
        at=milliseconds(last.at),
        moved_on=not tail,
        before=tail[0].version_before if tail else "",
        version=history[-1].version_after,
    )
