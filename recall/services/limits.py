"""What bounds an injection in one bank: its bank.yaml, else the configuration."""

from dataclasses import dataclass

from banks import config
from banks.models import Bank

LIMIT_MOST = config.FIELDS["recall_limit"].most


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of one bank. `rules_off`: names of rules that are kept but not injected."""

    inject_rules: bool
    inject_memories: bool
    recall_limit: int
    recall_budget_tokens: int
    max_rule_chars: int
    rules_off: frozenset[str]


def of(bank: Bank) -> Limits:
    """The bounds that hold in a bank now. A number of its file that is too large is the largest."""
    current = config.current()
    return Limits(
        inject_rules=current.inject_rules,
        inject_memories=current.inject_memories,
        recall_limit=_own(bank, "recall_limit", current.recall_limit),
        recall_budget_tokens=_own(bank, "recall_budget_tokens", current.recall_budget_tokens),
        max_rule_chars=_own(bank, "max_rule_chars", current.max_rule_chars),
        rules_off=frozenset(bank.settings.get("rules_off", ())),
    )


def _own(bank: Bank, field: str, configured: int) -> int:
    value: int = bank.settings.get(field, configured)
    return min(value, config.FIELDS[field].most)
