"""Jobs that begin by themselves: each time counts once, and a missed one is made up for once."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from banks import errors, seams
from banks.jobs import schedule
from banks.outbox import Job, Schedule

KIND = "sweep"
NOON = datetime(2026, 3, 20, 12, 0, tzinfo=UTC)


class Clock:
    """A clock that stands until it is moved."""

    at = NOON

    def __call__(self) -> datetime:
        return self.at


@pytest.fixture
def clock(db: None) -> Iterator[Clock]:
    standing = Clock()
    with seams.replaced(now=standing):
        yield standing


def next_at(rule: str, after: datetime, zone: str = "UTC") -> str:
    return f"{schedule.next_time(rule, zone, after):%m-%d %H:%M}"


def test_times_are_those_of_cron_in_a_time_zone_or_a_pause() -> None:
    assert next_at("0 3 * * *", NOON) == "03-21 03:00"
    assert next_at("0 13 * * *", NOON, "Europe/Vienna") == "03-21 12:00"
    assert next_at("*/30 * * * MON-FRI", NOON) == "03-20 12:30"
    assert next_at("every 6h", NOON) == "03-20 18:00"
    assert next_at("every 30m", NOON) == "03-20 12:30"


def test_an_hour_that_is_skipped_or_comes_twice_is_one_run() -> None:
    spring = datetime(2026, 3, 28, 12, 0, tzinfo=UTC)
    autumn = datetime(2026, 10, 24, 12, 0, tzinfo=UTC)
    assert next_at("30 2 * * *", spring, "Europe/Vienna") == "03-29 01:00"
    first = schedule.next_time("30 2 * * *", "Europe/Vienna", autumn)
    assert f"{first:%m-%d %H:%M}" == "10-25 00:30"
    assert next_at("30 2 * * *", first, "Europe/Vienna") == "10-26 01:30"


@pytest.mark.parametrize(
    ("rule", "zone"),
    [
        ("", "UTC"),
        ("0 3 * *", "UTC"),
        ("0 3 * * * *", "UTC"),
        ("61 3 * * *", "UTC"),
        ("0 0 30 2 *", "UTC"),
        ("every 1m", "UTC"),
        ("every 400d", "UTC"),
        ("every 6 h", "UTC"),
        ("0 3 * * *", "Mars/Crater"),
        ("0 3 * * *", "../etc/passwd"),
        ("0 3 * * *", "Europe"),
        ("0 3 * * *", ""),
    ],
)
def test_what_is_no_time_is_refused(db: None, rule: str, zone: str) -> None:
    with pytest.raises(errors.Invalid):
        schedule.plan(KIND, rule, zone=zone, by="ada")
    assert schedule.planned(KIND) is None


def test_a_time_puts_one_job_in_whoever_ticks(clock: Clock) -> None:
    schedule.plan(KIND, "every 6h", by="ada")
    assert (schedule.tick(), Job.objects.count()) == (0, 0)
    clock.at = NOON + timedelta(hours=6)
    assert (schedule.tick(), schedule.tick()) == (1, 0)
    assert Job.objects.get().kind == KIND
    planned = schedule.planned(KIND)
    assert planned is not None
    assert planned.next_at == NOON + timedelta(hours=12)


def test_times_that_passed_while_nobody_ticked_are_made_up_for_once(clock: Clock) -> None:
    schedule.plan(KIND, "0 3 * * *", by="ada")
    clock.at = NOON + timedelta(days=9)
    assert (schedule.tick(), schedule.tick(), Job.objects.count()) == (1, 0, 1)


def test_a_tick_that_saw_an_older_time_does_nothing(clock: Clock) -> None:
    schedule.plan(KIND, "every 6h", by="ada")
    seen = Schedule.objects.get()
    clock.at = NOON + timedelta(hours=6)
    schedule.tick()
    Job.objects.update(state=Job.State.DONE)
    assert not schedule._begin(seen, clock.at)
    assert Job.objects.count() == 1


def test_while_a_job_of_the_last_time_lives_there_is_no_second_one(clock: Clock) -> None:
    schedule.plan(KIND, "every 6h", by="ada")
    for hours in (6, 12):
        clock.at = NOON + timedelta(hours=hours)
        schedule.tick()
    assert Job.objects.count() == 1


def test_there_is_one_schedule_and_it_can_end(clock: Clock) -> None:
    schedule.plan(KIND, "every 6h", by="ada")
    planned = schedule.plan(KIND, "0  3 * * *", zone="Europe/Vienna", by="ada")
    assert (planned.rule, planned.zone, Schedule.objects.count()) == (
        "0 3 * * *",
        "Europe/Vienna",
        1,
    )
    assert schedule.planned(KIND) == planned
    assert (schedule.stop(KIND), schedule.stop(KIND), schedule.planned(KIND)) == (True, False, None)


def test_the_same_rule_again_makes_up_for_what_was_missed(clock: Clock) -> None:
    schedule.plan(KIND, "0 3 * * *", by="ada")
    clock.at = NOON + timedelta(days=2)
    schedule.plan(KIND, "0 3 * * *", by="ada")
    assert (schedule.tick(), schedule.tick()) == (1, 0)


def test_a_clock_that_is_put_back_repeats_nothing(clock: Clock) -> None:
    schedule.plan(KIND, "0 3 * * *", by="ada")
    clock.at = NOON + timedelta(hours=16)
    assert schedule.tick() == 1
    Job.objects.update(state=Job.State.DONE)
    for hours in (15, 14.9, 15):
        clock.at = NOON + timedelta(hours=hours)
        assert schedule.tick() == 0
        planned = schedule.plan(KIND, "0 3 * * *", by="ada")
        assert planned.next_at == datetime(2026, 3, 22, 3, tzinfo=UTC)
    clock.at = NOON + timedelta(hours=40)
    assert schedule.tick() == 1


def test_a_time_of_a_clock_that_was_years_ahead_does_not_hold(clock: Clock) -> None:
    clock.at = NOON + timedelta(days=3_000)
    schedule.plan(KIND, "0 3 * * *", by="ada")
    clock.at = NOON
    assert schedule.plan(KIND, "0 3 * * *", by="ada").next_at == NOON + timedelta(hours=15)
