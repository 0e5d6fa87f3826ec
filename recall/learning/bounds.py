"""What bounds learning in one bank, bank.yaml before the configuration, and whether it is on."""

from dataclasses import dataclass
from enum import StrEnum

from banks import config
from banks.models import Bank
from recall.learning import llm

NO_MODEL = "skipped: no model"
OFF = "skipped: extraction is off"


class RuleMode(StrEnum):
    """What becomes of a standing instruction: a proposal, a line of the rule, or a memory alone."""

    REVIEW = "review"
    AUTO = "auto"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of one bank. `window`: messages that are read at once; `most`: of one turn."""

    is_on: bool
    rules: RuleMode
    window: int
    timeout_s: float
    most: int


def of(bank: Bank) -> Bounds:
    """The bounds that hold in a bank now."""
    current = config.current()
    return Bounds(
        is_on=bool(bank.settings.get("extraction_enabled", current.extraction_enabled)),
        rules=_rules(bank, configured=current.rule_learning_enabled),
        window=current.extraction_window,
        timeout_s=current.extraction_timeout_ms / 1_000,
        most=current.max_memories_per_turn,
    )


def why_not(bank: Bank | None) -> str:
    """Why nothing is learned in this bank, in a few words; "" when something is.

    Without a bank: as far as the installation decides it.
    """
    if not llm.current().name:
        return NO_MODEL
    is_on = of(bank).is_on if bank else config.current().extraction_enabled
    return "" if is_on else OFF


def _rules(bank: Bank, *, configured: bool) -> RuleMode:
    if not bank.settings.get("rule_learning_enabled", configured):
        return RuleMode.OFF
    wanted = str(bank.settings.get("learned_rules", "")).strip().lower()
    # A word that is none of them asks a person: that harms least.
    return RuleMode(wanted) if wanted in set(RuleMode) else RuleMode.REVIEW
