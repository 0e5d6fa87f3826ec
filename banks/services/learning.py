"""What was read out of a conversation is kept: nobody asked for it, so it changes less than a save.

All of one reading is one operation, whole or absent, and a repeated one gives the first answer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from banks import errors, queries
from banks.access import Principal
from banks.models import Bank
from banks.operations import Idempotency, Plan
from banks.services import drafts, rules, saving
from banks.services.batch import Batch
from banks.services.commit import Desk, run
from banks.services.drafts import Draft
from banks.store import names, tree

BULLET = "- "


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What became of a reading: ids of memories, and how many were left as they are.

    `lines`: those that the rule was given. `kept`: what the caller gave, of the first time.
    """

    created: list[str]
    reinforced: list[str]
    left: int
    lines: list[str]
    kept: list[str]


def learn(
    principal: Principal,
    bank: Bank,
    wanted: Sequence[Draft],
    *,
    rule: str,
    lines: Sequence[str] = (),
    kept: Sequence[str] = (),
    idempotency: Idempotency | None = None,
) -> Learned:
    """Keep memories, and put lines into a rule.

    New ones are created; known ones are reinforced when a user said so; those that are pinned or
    dead stay as they are. One that cannot be kept is left out alone. Raises as `commit.run`.
    """
    cleaned = [draft for each in wanted if (draft := drafts.usable(principal, each)) is not None]

    def planner(desk: Desk) -> Plan:
        batch = Batch(desk)
        created: list[str] = []
        reinforced: list[str] = []
        for draft in cleaned:
            try:
                outcome, item = saving.observe(batch, principal, draft)
            except errors.Conflict:
                continue
            if outcome is saving.Outcome.CREATED:
                created.append(item.after.id)
            elif outcome is saving.Outcome.REINFORCED:
                reinforced.append(item.after.id)
        plan = batch.plan("learn", {"created": created, "reinforced": reinforced})
        plan.answer["left"] = len(wanted) - len(created) - len(reinforced)
        plan.answer["lines"] = _add_lines(plan, desk, rule, lines)
        plan.answer["kept"] = list(kept)
        return plan

    return Learned(**run(bank, principal, planner, idempotency=idempotency))


def add_line(principal: Principal, bank: Bank, rule: str, line: str) -> bool:
    """Put one line into a rule; false when it is there. Raises Invalid when it does not fit."""
    rules.wish(rule, line, seen=None)

    def planner(desk: Desk) -> Plan:
        plan = Plan("learn", {})
        plan.answer["lines"] = _add_lines(plan, desk, rule, [line])
        return plan

    answer: dict[str, Any] = run(bank, principal, planner)
    return bool(answer["lines"])


def has_line(bank: Bank, rule: str, line: str) -> bool:
    """Whether the rule, as its row has it, holds this line."""
    return folded(line) in {folded(each) for each in _content(bank, rule).splitlines()}


def _content(bank: Bank, rule: str) -> str:
    return next((each.content for each in queries.rules(bank) if each.name == rule), "")


def _add_lines(plan: Plan, desk: Desk, rule: str, lines: Sequence[str]) -> list[str]:
    """Add to a plan the lines that the rule lacks, each as a bullet at its end; which those are.

    What does not fit into a rule any more is left out.
    """
    if not lines:
        return []
    desk.fresh(tree.rule_path(rule))
    content = _content(desk.bank, rule)
    known = {folded(each) for each in content.splitlines()}
    added: list[str] = []
    for line in lines:
        longer = f"{content.rstrip()}\n{BULLET}{line}\n".lstrip("\n")
        if folded(line) not in known and len(longer) <= rules.RULE_LENGTH:
            known.add(folded(line))
            added.append(line)
            content = longer
    if added:
        reason = "learned from a conversation"
        rules.put(plan, desk, rules.wish(rule, content, seen=None, reason=reason))
    return added


def folded(line: str) -> str:
    """The form in which two lines of a rule count as the same one."""
    return names.normalise(line.lstrip().removeprefix(BULLET)).rstrip(".!")
