"""What spans both apps: the doctor's findings joined, and everything read from disk again."""

import logging
from dataclasses import dataclass

from banks import doctor as banks_doctor
from banks import errors, sync
from banks.doctor import Check
from banks.services import opening
from recall import doctor as recall_doctor

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Every check; `ok` when all required ones passed."""

    checks: list[Check]
    ok: bool


def doctor() -> Diagnosis:
    """Run every check of both apps. Repairs nothing, leaves nothing behind."""
    checks = [*banks_doctor.checks(), *recall_doctor.checks()]
    return Diagnosis(checks, all(check.ok for check in checks if check.required))


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
