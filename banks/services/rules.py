"""Injected rules: whole markdown files, set or removed."""

from banks import errors, queries, seams
from banks.access import Principal
from banks.journal import Effect
from banks.models import Bank, Change
from banks.operations import Idempotency, Plan, store_errors
from banks.services import drafts
from banks.services.commit import Desk, run
from banks.steps import Put
from banks.store import history, names, parse, redact, tree

RULE_LENGTH = 50_000
BOM = b"\xef\xbb\xbf"

_ALLOWED_CONTROLS = "\t\n\r"


def set_rule(
    principal: Principal,
    bank: Bank,
    name: str,
    content: str,
    *,
    version: str | None = None,
    idempotency: Idempotency | None = None,
) -> bool:
    """Write or, with blank content, remove a rule; whether it exists afterwards.

    The line ends of a file that is there are kept. `version`: the one the caller saw ("" = there
    was none). Raises Invalid, StaleRevision.
    """
    with store_errors():
        path = tree.rule_path(names.rule_name(name))
    masked = redact.mask(_clean(content))
    reason = drafts.redaction_reason(masked.labels)

    def planner(desk: Desk) -> Plan:
        is_there = desk.fresh(path) is not None
        old = desk.locked.read(path)[0] if is_there else b""
        before = parse.version(old) if is_there else ""
        if version is not None and version != before:
            raise errors.StaleRevision(current=_current(bank, name))
        data = _bytes(masked.text, old)
        plan = Plan("set rule", {"exists": data is not None})
        if data == (old if is_there else None):
            return plan
        if is_there:
            act = "replaced" if data is not None else "removed"
            plan.steps += desk.log("rule", name, revision=0, act=act, data=old, reason=None)
        plan.steps.append(Put(path, before, data))
        plan.effects.append(
            Effect(
                action=Change.Action.RULES_CHANGED,
                target=Change.Target.RULE,
                key=name,
                before=before,
                after=parse.version(data) if data is not None else "",
                reason=reason,
            )
        )
        return plan

    exists: bool = run(bank, principal, planner, idempotency=idempotency)["exists"]
    return exists


def _current(bank: Bank, name: str) -> queries.RuleText | None:
    return next((rule for rule in queries.rules(bank) if rule.name == name), None)


def earlier(bank: Bank, name: str, version: str) -> str:
    """The content of a rule at an earlier version, out of its history; "" for version "".

    Raises Conflict when the history does not hold it.
    """
    if not version:
        return ""
    with store_errors():
        log = seams.data_folder().bank(bank.name).history(tree.rule_history_path(name))
    for record in reversed(history.decode(log)[0]):
        if parse.version(record.data) == version:
            return record.data.removeprefix(BOM).decode()
    raise errors.Conflict("The history does not hold the earlier state any more.")


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
