"""Jobs: claimed by one, tried again when it makes sense, given back, never lost."""

import threading
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from banks import backlog, errors, jobs, seams
from banks.jobs import Running, handlers, queue
from banks.outbox import Job
from banks.services import jobs as given_up
from tests.builders import person

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
LIMIT_S = 60.0


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def pass_s(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Iterator[Clock]:
    clock = Clock()
    with seams.replaced(now=clock, chance=lambda: 0.5):
        yield clock


Do = Callable[..., list[Running]]


@pytest.fixture
def do(monkeypatch: pytest.MonkeyPatch) -> Do:
    """Handle jobs of the kind `pump`: each run does the next of these, the last one for ever."""
    monkeypatch.setattr(handlers, "_handlers", {})

    def register(*acts: Exception | datetime | None, tries: int = 3) -> list[Running]:
        runs: list[Running] = []

        def work(running: Running) -> datetime | None:
            act = acts[min(len(runs), len(acts) - 1)]
            runs.append(running)
            if isinstance(act, Exception):
                raise act
            return act

        jobs.handler("pump", limit_s=LIMIT_S, tries=tries)(work)
        return runs

    return register


def put(key: str = "1") -> Job:
    assert jobs.enqueue("pump", {"number": key}, dedup=key)
    return Job.objects.latest("pk")


def test_a_key_is_taken_while_its_job_is_ready_or_runs(clock: Clock, do: Do) -> None:
    do(None)
    put()
    assert not jobs.enqueue("pump", {}, dedup="1")
    assert queue.claim()
    assert not jobs.enqueue("pump", {}, dedup="1")
    assert jobs.enqueue("valve", {}, dedup="1")
    Job.objects.filter(kind="pump").update(state=Job.State.DONE)
    assert jobs.enqueue("pump", {}, dedup="1")


def test_a_job_exists_exactly_when_the_callers_transaction_does(clock: Clock, do: Do) -> None:
    runs = do(None)
    try:
        with transaction.atomic():
            put()
            raise errors.Conflict("rolled back")
    except errors.Conflict:
        pass
    assert (jobs.work_off(), runs, Job.objects.count()) == (0, [], 0)


def test_it_runs_once_and_is_forgotten_a_day_later(clock: Clock, do: Do) -> None:
    runs = do(None)
    job = put()
    assert (jobs.work_off(), jobs.work_off()) == (1, 0)
    job.refresh_from_db()
    assert (job.state, job.attempts, runs[0].payload) == ("done", 1, {"number": "1"})
    clock.pass_s(23 * 3_600)
    assert queue.prune() == 0
    clock.pass_s(2 * 3_600)
    assert (queue.prune(), Job.objects.count()) == (1, 0)


def test_nothing_runs_before_its_time_and_the_longest_waiting_goes_first(
    clock: Clock, do: Do
) -> None:
    runs = do(None)
    jobs.enqueue("pump", {"number": "late"}, dedup="a", run_at=NOON + timedelta(seconds=20))
    jobs.enqueue("pump", {"number": "soon"}, dedup="b", run_at=NOON + timedelta(seconds=10))
    assert jobs.work_off() == 0
    clock.pass_s(30)
    assert jobs.work_off() == 2
    assert [each.payload["number"] for each in runs] == ["soon", "late"]


def test_an_error_of_the_program_spends_tries_and_keeps_no_text(clock: Clock, do: Do) -> None:
    do(ValueError("the text of a memory"), tries=2)
    job = put()
    assert jobs.work_off() == 1
    job.refresh_from_db()
    assert (job.state, job.attempts, job.run_at) == ("ready", 1, NOON + timedelta(seconds=10))
    clock.pass_s(11)
    assert jobs.work_off() == 1
    job.refresh_from_db()
    assert (job.state, job.attempts) == ("dead", 2)
    assert job.error.startswith("ValueError: at tests/services/test_jobs.py:")


def test_a_permanent_fault_is_the_end_at_once_and_its_secret_is_masked(
    clock: Clock, do: Do
) -> None:
    do(jobs.PermanentFault("refused: password=Tr0ub4dor&3"))
    job = put()
    jobs.work_off()
    job.refresh_from_db()
    assert (job.state, job.error) == ("dead", "refused: password=[redacted:password]")


def test_a_passing_fault_spends_no_try_for_a_day_then_it_does(clock: Clock, do: Do) -> None:
    runs = do(jobs.RetryableFault("the provider is down"), tries=2)
    job = put()
    while clock.now < NOON + timedelta(hours=24):
        assert jobs.work_off() == 1
        job.refresh_from_db()
        assert (job.state, job.attempts) == ("ready", 0)
        clock.now = job.run_at
    waits = len(runs)
    assert 25 < waits < 40  # once an hour in the end
    jobs.work_off()
    clock.pass_s(3_601)
    jobs.work_off()
    job.refresh_from_db()
    assert (job.state, len(runs)) == ("dead", waits + 2)


@pytest.mark.parametrize(
    "fault",
    [
        jobs.RetryableFault("slow down", retry_after_s=500),
        errors.StoreFault("The disk refused."),
        TimeoutError(),
        OSError(28, "No space left on device"),
    ],
)
def test_what_may_pass_is_waited_for_as_long_as_it_asks(
    clock: Clock, do: Do, fault: Exception
) -> None:
    do(fault)
    job = put()
    jobs.work_off()
    job.refresh_from_db()
    asked = getattr(fault, "retry_after_s", 10)
    assert (job.state, job.attempts) == ("ready", 0)
    assert job.run_at == NOON + timedelta(seconds=max(asked, 10))


def test_a_job_can_go_on_later_with_all_its_tries(clock: Clock, do: Do) -> None:
    runs = do(NOON + timedelta(hours=1), None)
    job = put()
    assert jobs.work_off() == 1
    job.refresh_from_db()
    assert (job.state, job.attempts) == ("ready", 0)
    clock.pass_s(3_600)
    assert (jobs.work_off(), len(runs)) == (1, 2)


def test_whoever_lost_the_lease_changes_nothing_any_more(clock: Clock, do: Do) -> None:
    do(None)
    job = put()
    first = queue.claim()
    assert first is not None
    assert queue.claim() is None
    clock.pass_s(LIMIT_S - 1)
    first.extend()
    clock.pass_s(LIMIT_S - 1)
    assert queue.claim() is None  # it was extended
    clock.pass_s(2)
    second = queue.claim()
    assert second is not None
    ends: list[Callable[[], None]] = [first.extend, first.finish, first.release]
    ends += [lambda: first.fail(handlers.Verdict(error="x")), lambda: first.again(NOON)]
    for end in ends:
        with pytest.raises(jobs.LeaseLostError):
            end()
    job.refresh_from_db()
    assert (job.state, job.lease, job.attempts) == ("running", second.lease, 2)
    second.finish()


def test_a_worker_that_dies_at_the_last_try_leaves_a_dead_job(clock: Clock, do: Do) -> None:
    do(None, tries=2)
    job = put()
    for _ in range(2):
        assert queue.claim()
        clock.pass_s(LIMIT_S + 1)
    assert queue.claim() is None
    job.refresh_from_db()
    assert (job.state, job.error) == ("dead", queue.DIED)


def test_jobs_of_a_kind_that_this_worker_does_not_know_are_left_alone(clock: Clock, do: Do) -> None:
    do(None)
    jobs.enqueue("unheard-of", {}, dedup="1")
    assert jobs.work_off() == 0
    assert Job.objects.get().state == "ready"


def test_what_failed_together_does_not_come_back_together() -> None:
    with seams.replaced(chance=lambda: 0.0):
        least = [handlers.pause_s(faults) for faults in (1, 2, 3, 40)]
    with seams.replaced(chance=lambda: 0.999):
        most = [handlers.pause_s(faults) for faults in (1, 2, 3, 40)]
    assert least == [7.5, 15, 30, 2_700]
    assert most == pytest.approx([12.5, 25, 50, 4_500], rel=0.01)


def test_an_admin_runs_a_dead_job_again_and_nobody_else_does(clock: Clock, do: Do) -> None:
    runs = do(jobs.PermanentFault("no"), None)
    job = put()
    jobs.work_off()
    admin, other = person("root", is_admin=True), person("other")
    with pytest.raises(errors.Forbidden):
        given_up.run_again(other, job.pk)
    given_up.run_again(admin, job.pk)
    with pytest.raises(errors.Conflict):
        given_up.run_again(admin, job.pk)
    assert (jobs.work_off(), len(runs)) == (1, 2)
    with pytest.raises(errors.NotFound):
        given_up.forget(admin, job.pk)


def test_a_dead_job_whose_work_waits_anew_is_not_run_again(clock: Clock, do: Do) -> None:
    do(jobs.PermanentFault("no"))
    job = put()
    jobs.work_off()
    put()
    admin = person("root", is_admin=True)
    with pytest.raises(errors.Conflict):
        given_up.run_again(admin, job.pk)
    given_up.forget(admin, job.pk)
    assert Job.objects.count() == 1


def test_the_doctor_sees_jobs_that_wait_and_jobs_that_are_dead(clock: Clock, do: Do) -> None:
    do(jobs.PermanentFault("the model is gone"))
    put("dead")
    jobs.work_off()
    put("waits")
    clock.pass_s(200)
    found = {each.name: each for each in backlog.checks()}
    assert (found["queue"].ok, found["dead jobs"].ok) == (True, False)
    assert "the model is gone" in found["dead jobs"].findings[0].message
    clock.pass_s(200)
    late = next(each for each in backlog.checks() if each.name == "queue")
    assert (late.ok, late.required, "6 minutes" in late.detail) == (False, True, True)


def test_jobs_that_wait_for_others_leave_a_thread_to_the_rest(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "_handlers", {})
    crew, ran = jobs.Crew(threads=2), []

    def call(running: Running) -> None:
        ran.append(running.payload["number"])
        if len(ran) == 1:  # while it waits, the other thread of the crew looks for work
            assert [crew._run_one(), crew._run_one()] == [True, False]
            assert not queue.due(outside=False).exists()
            assert queue.due().exists()

    def pump(running: Running) -> None:
        ran.append(running.payload["number"])

    jobs.handler("call", limit_s=LIMIT_S, tries=3, is_outside=True)(call)
    jobs.handler("pump", limit_s=LIMIT_S, tries=3)(pump)
    for kind, number in (("call", 1), ("call", 2), ("pump", 3)):
        jobs.enqueue(kind, {"number": number}, dedup=str(number))
    assert [crew._run_one(), crew._run_one(), crew._run_one()] == [True, True, False]
    assert ran == [1, 3, 2]


@pytest.mark.django_db(transaction=True)
def test_at_a_stop_what_runs_is_waited_for_and_then_given_back_unspent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(handlers, "_handlers", {})
    began, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def work(running: Running) -> None:
        began.set()
        go_on.wait(5)
        assert running.stopping
        ended.set()

    kind = uuid.uuid4().hex
    jobs.handler(kind, limit_s=LIMIT_S, tries=3)(work)
    jobs.enqueue(kind, {}, dedup="1")
    crew = jobs.Crew()
    crew.tick()
    assert began.wait(5)
    assert crew.stop(within_s=0.01) == 1
    job = Job.objects.get()
    assert (job.state, job.attempts, job.lease) == ("ready", 0, "")
    crew.tick()  # a stopped crew takes nothing
    go_on.set()
    assert ended.wait(5)
    assert crew.stop(within_s=5) == 0
    assert Job.objects.get().state == "ready"
