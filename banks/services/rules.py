"""Injected rules: whole markdown files, set, removed, or brought back."""

from dataclasses import dataclass

from banks import errors, queries, revisions
from banks.access import Principal
from banks.journal import Effect
from banks.models import Bank, Change
from banks.operations import Idempotency, Plan, store_errors
from banks.services import drafts, past
from banks.services.commit import Desk, run
from banks.services.past import BOM
from banks.steps import Put
from banks.store import names, parse, redact, tree

RULE_LENGTH = 50_000

_ALLOWED_CONTROLS = "\t\n\r"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a rule is to be: masked content with plain line ends, blank for "not there".

    `seen`: the version that the caller saw, None for whatever it is now. `act`: the word for the
    history, "" for what it comes to.
    """

    name: str
    content: str
    reason: str
    seen: str | None
    act: str = ""


def wish(
    name: str, content: str, *, seen: str | None, reason: str | None = None, act: str = ""
) -> Wish:
    """A wish made fit to be written. Raises Invalid."""
    with store_errors():
        names.rule_name(name)
    if content.strip():
        drafts.refuse_secret(name)
    masked = redact.mask(_clean(content))
    told = (drafts.clean_reason(reason), drafts.redaction_reason(masked.labels))
    return Wish(
        name=name,
        content=masked.text,
        reason="; ".join(filter(None, told))[: drafts.REASON_LENGTH],
        seen=seen,
        act=act,
    )


def set_rule(
    principal: Principal,
    bank: Bank,
    name: str,
    content: str,
    *,
    version: str | None = None,
    reason: str | None = None,
    idempotency: Idempotency | None = None,
) -> bool:
    """Write or, with blank content, remove a rule; whether it exists afterwards.

    The line ends of a file that is there are kept. `version`: the one the caller saw ("" = there
    was none). Raises Invalid, StaleRevision.
    """
    wanted = wish(name, content, seen=version, reason=reason)

    def planner(desk: Desk) -> Plan:
        plan = Plan("set rule", {})
        plan.answer["exists"] = put(plan, desk, wanted)
        return plan

    exists: bool = run(bank, principal, planner, idempotency=idempotency)["exists"]
    return exists


def revert(
    principal: Principal,
    bank: Bank,
    name: str,
    version: str,
    *,
    expected: str | None = None,
    idempotency: Idempotency | None = None,
) -> bool:
    """Give a rule the content of an earlier version ("" = not there); whether it exists then.

    Secrets in it are masked. `expected`: the version the caller saw. Raises RuleNotFound, Conflict
    for a version that the history does not hold, StaleRevision, Invalid.
    """

    def planner(desk: Desk) -> Plan:
        desk.fresh(tree.rule_path(name))
        known = revisions.of_rule(bank, name)
        earlier = next((each for each in known if each.version == version), None)
        if earlier is None:
            raise errors.Conflict(past.GONE)
        content = past.rule(desk.locked, name, version) if earlier is not known[0] else None
        plan = Plan("revert rule", {"exists": known[0].version != ""})
        told = f"as in revision {earlier.number}"
        if content is not None:
            wanted = wish(name, content, seen=expected, reason=told, act="reverted")
            plan.answer["exists"] = put(plan, desk, wanted)
        return plan

    exists: bool = run(bank, principal, planner, idempotency=idempotency)["exists"]
    return exists


def put(plan: Plan, desk: Desk, wanted: Wish) -> bool:
    """Add to a plan what makes the rule so; whether it exists then. Raises StaleRevision."""
    path = tree.rule_path(wanted.name)
    is_there = desk.fresh(path) is not None
    old = desk.locked.read(path)[0] if is_there else b""
    before = parse.version(old) if is_there else ""
    if wanted.seen is not None and wanted.seen != before:
        raise errors.StaleRevision(current=_current(desk.bank, wanted.name))
    data = _bytes(wanted.content, old)
    if data == (old if is_there else None):
        return data is not None
    if is_there or desk.locked.history(tree.rule_history_path(wanted.name)):
        # A rule that comes back gets a record without content, so that its history tells who
        # brought it back; without one, the next change would look like that of the removed rule.
        act = ("replaced" if data is not None else "removed") if is_there else "created"
        plan.steps[:0] = desk.log(
            "rule",
            wanted.name,
            revision=0,
            act=wanted.act or act,
            data=old,
            reason=wanted.reason or None,
        )
    plan.steps.append(Put(path, before, data))
    plan.effects.append(
        Effect(
            action=Change.Action.RULES_CHANGED,
            target=Change.Target.RULE,
            key=wanted.name,
            before=before,
            after=parse.version(data) if data is not None else "",
            reason=wanted.reason,
        )
    )
    return data is not None


def _current(bank: Bank, name: str) -> queries.RuleText | None:
    return next((rule for rule in queries.rules(bank) if rule.name == name), None)


def _clean(content: str) -> str:
    """The content with plain line ends. Raises Invalid for what a text file should not hold."""
    if len(content) > RULE_LENGTH:
        raise errors.Invalid(
            f"The rule has {len(content)} characters; {RULE_LENGTH} are allowed.", loc="content"
        )
    for character in content:
        control = ord(character) < 32 or ord(character) == 127
        if (control and character not in _ALLOWED_CONTROLS) or "\ud800" <= character <= "\udfff":
            raise errors.Invalid(
                "The rule holds a control character: take it out and save again.", loc="content"
            )
    return content.replace("\r\n", "\n").replace("\r", "\n")


def _bytes(content: str, old: bytes) -> bytes | None:
    if not content.strip():
        return None
    if parse.newline(old) == b"\r\n":
        content = content.replace("\n", "\r\n")
    return (BOM if old.startswith(BOM) else b"") + content.encode()
