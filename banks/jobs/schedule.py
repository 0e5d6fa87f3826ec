"""Jobs that begin by themselves: at the times of cron, or every so often.

Any number of workers tick. The job is put in and the time moved in one transaction, so that each
time counts once; a time that passed while nobody ticked is made up for once, not once for each.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from django.db import transaction

from banks import errors, seams
from banks.jobs import queue
from banks.outbox import Schedule

LEAST = timedelta(minutes=5)
MOST = timedelta(days=366)

_EVERY = re.compile(r"every ([1-9][0-9]{0,4})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


@dataclass(frozen=True, slots=True)
class Planned:
    """When something begins by itself, and who said so."""

    rule: str
    zone: str
    next_at: datetime
    changed_by: str
    changed_at: datetime


def planned(kind: str) -> Planned | None:
    """When jobs of this kind begin by themselves; None for never."""
    row = Schedule.objects.filter(kind=kind).first()
    if row is None:
        return None
    return Planned(row.rule, row.zone, row.next_at, row.changed_by, row.changed_at)


def plan(kind: str, rule: str, *, zone: str = "UTC", by: str) -> Planned:
    """Let jobs of this kind begin by the rule from now on. Raises Invalid.

    `rule`: the five fields of cron in that time zone, or `every` with a number and m, h or d. The
    rule that holds already keeps its next time: one that was missed is made up for, and one that
    was kept does not come again when the clock was put back.
    """
    now = seams.now()
    rule = " ".join(rule.split())
    first = next_time(rule, zone, now)
    before = planned(kind)
    # A time later than the one after the next was noted by a clock that was wrong.
    if before and (before.rule, before.zone) == (rule, zone):
        first = before.next_at if before.next_at <= next_time(rule, zone, first) else first
    values = {
        "rule": rule, "zone": zone, "next_at": first, "changed_by": by, "changed_at": now,
    }  # fmt: skip
    Schedule.objects.update_or_create(kind=kind, defaults=values)
    return Planned(**values)  # type: ignore[arg-type]  # the same names


def stop(kind: str) -> bool:
    """Let them begin by themselves no more; false when they did not."""
    return bool(Schedule.objects.filter(kind=kind).delete()[0])


def tick() -> int:
    """Put in a job for each time that has come; how many. Workers call it once a second."""
    now = seams.now()
    return sum(_begin(row, now) for row in Schedule.objects.filter(next_at__lte=now))


def _begin(row: Schedule, now: datetime) -> bool:
    with transaction.atomic():
        # Whoever moves the time puts the job in; all others find it moved.
        mine = Schedule.objects.filter(pk=row.pk, next_at=row.next_at, rule=row.rule)
        if not mine.update(next_at=next_time(row.rule, row.zone, now)):
            return False
        return queue.enqueue(row.kind, {}, dedup="schedule")


def next_time(rule: str, zone: str, after: datetime) -> datetime:
    """The first time of a rule after this one, in UTC. Raises Invalid.

    Where clocks are put back or forward it is as Debian's cron has it: what is skipped runs at
    once, what comes twice runs once.
    """
    found = _EVERY.fullmatch(rule)
    if found:
        pause = timedelta(**{_UNITS[found[2]]: int(found[1])})
        if not LEAST <= pause <= MOST:
            raise errors.Invalid("Use every 5m to every 366d.", loc="schedule")
        return after + pause
    place = _zone(zone)
    if len(rule.split()) != 5:
        raise _not_understood()
    try:
        return next(CronSim(rule, after.astimezone(place))).astimezone(UTC)
    except (CronSimError, StopIteration) as error:
        raise _not_understood() from error


def _not_understood() -> errors.Invalid:
    return errors.Invalid(
        'Use the five fields of cron, as in "0 3 * * *", or a pause like 6h.', loc="schedule"
    )


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise errors.Invalid(
            "That is no time zone: use one like Europe/Vienna.", loc="tz"
        ) from error
