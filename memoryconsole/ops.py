"""What spans both apps: the doctor's findings joined, and everything read from disk again."""

import logging
from dataclasses import dataclass

from django.conf import settings

from banks import backlog, config, errors, sync
from banks import doctor as banks_doctor
from banks.access import SYSTEM, visible_banks
from banks.doctor import Check, Finding
from banks.services import opening
from banks.store.types import Severity
from recall import doctor as recall_doctor

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Every check; `ok` when all required ones passed."""

    checks: list[Check]
    ok: bool


def doctor() -> Diagnosis:
    """Run every check of both apps. Repairs nothing, leaves nothing behind."""
    checks = [
        *banks_doctor.checks(),
        *recall_doctor.checks(),
        *backlog.checks(),
        banks_doctor.made("configuration", _configuration),
    ]
    return Diagnosis(checks, all(check.ok for check in checks if check.required))


def glance() -> Diagnosis:
    """The checks that a page can make while somebody waits."""
    checks = [*banks_doctor.glance(), *recall_doctor.glance(), *backlog.checks()]
    return Diagnosis(checks, all(check.ok for check in checks if check.required))


def _configuration() -> Check:
    """What was set can be used, and its parts go together."""
    was_set, now = config.stored(), config.current()
    names = {bank.name for bank in visible_banks(SYSTEM)}
    doubts = {
        "data_dir is set, but the environment says where the banks are.": (
            settings.DATA_DIR_GIVEN and "data_dir" in was_set
        ),
        f"The default bank {now.default_bank} is not there: the first save makes it.": (
            now.default_bank not in names
        ),
        "inject_memories is on, but recall_limit or recall_budget_tokens is 0.": (
            now.inject_memories and not (now.recall_limit and now.recall_budget_tokens)
        ),
        "inject_rules is on, but max_rule_chars is 0.": now.inject_rules and not now.max_rule_chars,
    }
    unusable = [
        f"{each.loc} counts as not set. {each.message}" for each in config.refusals(was_set)
    ]
    findings = [Finding("", 0, "config_value", message) for message in unusable]
    findings += [
        Finding("", 0, "config_doubt", message, Severity.WARNING)
        for message, holds in doubts.items()
        if holds
    ]
    detail = f"{len(unusable)} values cannot be used." if unusable else "Its values can be used."
    return Check("configuration", ok=not unusable, required=True, detail=detail, findings=findings)


@dataclass(frozen=True, slots=True)
class Reloaded:
    """How many banks were read again; `ok` when none was busy, refused by the disk or on hold."""

    banks: int
    ok: bool


def reload() -> Reloaded:
    """Read every file of every bank again. A bank that cannot be read stops no other one."""
    done, ok = 0, True
    for bank in opening.all_banks():
        try:
            sync.reload(bank)
        except (errors.Unavailable, errors.BankNotFound) as error:
            logger.warning("reload failed bank=%s code=%s", bank.name, error.code)
            ok = False
        else:
            done += 1
            ok = ok and not bank.hold
    return Reloaded(done, ok)
