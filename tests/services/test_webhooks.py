"""Webhooks: every change is delivered, in order, at least once, whatever the receiver does."""

import json
import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings

from banks import backlog, errors, feed, jobs, seams, sync
from banks.access import Principal, Role, Scope
from banks.jobs import queue
from banks.models import Bank, Change, Entry
from banks.outbox import Delivery, Job, Webhook
from banks.services import banks, entries, members, rules, webhooks
from banks.services.drafts import Draft
from banks.services.webhooks import Filter, Patch, Sent
from banks.webhooks import delivery, sending, signing
from tests.builders import World, person, save
from tests.receivers import OK, Receiver, receiving, status

DOWN = status(503)


class Clock:
    """Now, until a test says that time passed."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def pass_s(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Iterator[Clock]:
    clock = Clock()
    with seams.replaced(now=clock, chance=lambda: 0.5):
        yield clock


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    with receiving() as receiver:
        settings.WEBHOOK_ALLOW = [receiver.host]
        yield receiver


@pytest.fixture
def hook(world: World, clock: Clock, receiver: Receiver) -> webhooks.Hook:
    """A webhook of the bank `ops`."""
    made, _ = webhooks.create(world.maintainer, receiver.url, Filter(banks=("ops",)))
    return made


def work() -> None:
    """One round of the worker."""
    feed.follow()
    jobs.work_off()


def told(receiver: Receiver) -> list[tuple[str, int]]:
    """Types and numbers of the events that came in."""
    bodies = [json.loads(got.body) for got in receiver.got]
    return [(each["event_type"], each.get("seq", 0)) for each in bodies]


def log(world: World, hook: webhooks.Hook) -> list[Sent]:
    """Its deliveries, oldest first."""
    return webhooks.deliveries(world.maintainer, hook.id)[0][::-1]


def journal(bank: Bank, after: int = 0) -> list[tuple[str, int]]:
    rows = Change.objects.filter(bank=bank, seq__gt=after).order_by("seq")
    return list(rows.values_list("action", "seq"))


# --- what is told ---------------------------------------------------------------------------------


def test_a_save_arrives_with_the_memory_and_everything_that_proves_it(
    world: World, hook: webhooks.Hook, receiver: Receiver
) -> None:
    memory = save(world, "Pump 1 is blue").memory
    work()
    (got,) = receiver.got
    body = json.loads(got.body)
    assert body.keys() == {"event_type", "bank", "seq", "memory"}
    assert (body["event_type"], body["bank"], body["memory"]["id"]) == ("created", "ops", memory.id)
    assert (body["memory"]["text"], body["memory"]["source"]) == ("Pump 1 is blue", None)
    assert got.headers["content-type"] == "application/json"
    assert got.headers["x-memory-event"] == "item-changed"
    (sent,) = log(world, hook)
    assert (sent.state, sent.event_id, sent.seq) == ("ok", got.headers["webhook-id"], body["seq"])
    (attempt,) = sent.attempts
    assert (attempt["status"], attempt["response_body"]) == (200, "ok")
    assert attempt["request_headers"]["webhook-signature"] == sending.MASKED


def test_every_way_of_writing_is_told_in_the_order_of_the_journal(
    world: World, hook: webhooks.Hook, receiver: Receiver, settings: Settings
) -> None:
    before = world.bank.head
    one, two = save(world, "Pump 1 is blue").memory, save(world, "Pump 2 is red").memory
    entries.update(world.editor, world.bank, one.id, entries.Patch(text="Pump 1 is teal"))
    entries.supersede(world.editor, world.bank, two.id, one.id, reason="One pump is left.")
    rules.set_rule(world.maintainer, world.bank, "pumps", "Stop pump 1 first.")
    file: Path = settings.DATA_DIR / "ops" / one.path
    file.write_text(file.read_text().replace("teal", "green"))
    sync.reload(world.bank)
    banks.trash(world.owner, world.bank)
    work()
    assert told(receiver) == journal(world.bank, before)
    actions = [action for action, _ in told(receiver)]
    assert actions[-3:] == ["rules-changed", "updated", "trashed"]
    reasons = [json.loads(got.body).get("reason") for got in receiver.got]
    assert "One pump is left." in reasons


def test_what_was_there_before_is_not_told_and_a_new_bank_is_told_from_its_start(
    world: World, clock: Clock, receiver: Receiver
) -> None:
    save(world, "Pump 1 is blue")
    webhooks.create(world.admin, receiver.url, Filter())
    banks.create(world.admin, "kilns")
    work()
    assert [json.loads(got.body)["bank"] for got in receiver.got] == ["kilns"]
    assert told(receiver) == [("created", 1)]


@pytest.mark.parametrize(
    ("types", "arrive"),
    [
        (("bank-changed",), ["rules-changed"]),
        (("item-changed.created", "bank-changed.trashed"), ["created"]),
    ],
)
def test_a_filter_lets_through_what_it_names(
    world: World, clock: Clock, receiver: Receiver, types: tuple[str, ...], arrive: list[str]
) -> None:
    webhooks.create(world.maintainer, receiver.url, Filter(banks=("ops",), types=types))
    memory = save(world, "Pump 1 is blue").memory
    entries.delete(world.editor, world.bank, memory.id)
    rules.set_rule(world.maintainer, world.bank, "pumps", "Stop pump 1 first.")
    work()
    assert [action for action, _ in told(receiver)] == arrive


def test_a_secret_that_somebody_wrote_into_a_file_does_not_leave(
    world: World, hook: webhooks.Hook, receiver: Receiver, settings: Settings
) -> None:
    token = "ghp_" + "Zq7Lm2Xc9Vb4Nn8Kj3Hg6Fd1Sa5Pw0RtYuEi"
    memory = save(world, "Pump 1 is blue").memory
    file: Path = settings.DATA_DIR / "ops" / memory.path
    file.write_text(file.read_text().replace("blue", token))
    sync.reload(world.bank)
    work()
    assert len(receiver.got) == 2
    assert not any(token.encode() in got.body for got in receiver.got)
    assert not Delivery.objects.filter(body__contains=token).exists()


def test_no_text_field_of_a_memory_takes_a_secret_along(world: World) -> None:
    token = "ghp_" + "Zq7Lm2Xc9Vb4Nn8Kj3Hg6Fd1Sa5Pw0RtYuEi"
    save(world, "Pump 1 is blue")
    texts = ("text", "summary", "title", "session", "source_entry", "agent")
    Entry.objects.update(
        kind="procedural", tags=[token], entities=[token], **dict.fromkeys(texts, token)
    )
    Change.objects.filter(target=Change.Target.ENTRY).update(reason=f"It was {token}.")
    (event,) = feed.events.of_changes(world.bank, [Change.objects.latest("seq")])
    assert event.memory is not None
    assert event.memory.source is not None
    assert event.memory.tags == event.memory.entities == ["[redacted:vcs-token]"]
    assert event.memory.source.session_id == "[redacted:vcs-token]"
    assert token not in repr(event)


def test_a_subscriber_that_fails_never_fails_a_write(
    world: World, hook: webhooks.Hook, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    from banks import followers

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no events today")

    monkeypatch.setattr(feed.events, "after", broken)
    assert save(world, "Pump 1 is blue").created
    with caplog.at_level(logging.ERROR):
        followers.run_all()
    assert "follower failed name=webhooks" in caplog.text


# --- order, retries, the end ----------------------------------------------------------------------


def test_a_receiver_that_is_down_gets_everything_later_in_order(
    world: World, hook: webhooks.Hook, receiver: Receiver, clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(feed, "PENDING_MOST", 3)
    before = world.bank.head
    receiver.script = [OK, DOWN, status(429, "Retry-After: 200"), status(500)]
    for number in range(8):
        save(world, f"Gauge {number} is new")
        work()
    first = log(world, hook)
    assert [each.state for each in first] == ["ok", "retrying", "waiting", "waiting"]
    for _ in range(4):
        clock.pass_s(400)
        work()
        work()
    expected = journal(world.bank, before)
    came = told(receiver)
    assert came[:5] == [expected[0], *[expected[1]] * 4]
    assert came[4:] == expected[1:]
    ids = [got.headers["webhook-id"] for got in receiver.got]
    assert len(set(ids[1:5])) == 1
    waits = [each["status"] for each in log(world, hook)[1].attempts]
    assert waits == [503, 429, 500, 200]
    assert Webhook.objects.get().failures == 0


def test_a_receiver_says_how_long_to_wait(
    world: World, hook: webhooks.Hook, receiver: Receiver, clock: Clock
) -> None:
    receiver.script = [status(429, "Retry-After: 200")]
    save(world, "Pump 1 is blue")
    work()
    clock.pass_s(190)
    work()
    assert len(receiver.got) == 1
    clock.pass_s(20)
    work()
    assert [each.state for each in log(world, hook)] == ["ok"]


def test_after_eight_tries_in_about_a_day_the_next_event_has_its_turn(
    world: World, hook: webhooks.Hook, receiver: Receiver, clock: Clock
) -> None:
    receiver.script = [DOWN] * 8
    save(world, "Pump 1 is blue")
    save(world, "Pump 2 is red")
    work()
    begun = clock.ahead
    for _ in range(7):
        due = Job.objects.get(state=Job.State.READY).run_at
        clock.pass_s((due - clock()).total_seconds())
        work()
    assert len(receiver.got) == 9
    assert timedelta(hours=20) < clock.ahead - begun < timedelta(hours=26)
    assert [each.state for each in log(world, hook)] == ["failed", "ok"]


def check_of_webhooks() -> tuple[bool, str]:
    """How the doctor finds them."""
    found = next(each for each in backlog.checks() if each.name == "webhooks")
    return found.ok, found.detail


def test_ten_failures_in_a_row_turn_it_off_and_turned_on_it_goes_on_where_it_stood(
    world: World, hook: webhooks.Hook, receiver: Receiver, clock: Clock
) -> None:
    before = world.bank.head
    receiver.script = [DOWN] * 10
    for number in range(4):
        save(world, f"Gauge {number} is new")
    for _ in range(60):
        work()
        clock.pass_s(3_600)
    assert len(receiver.got) == 10
    (off,) = webhooks.listed(world.maintainer)
    assert (off.active, off.failures) == (False, 10)
    assert off.disabled_reason is not None
    assert "503" in off.disabled_reason
    assert check_of_webhooks() == (False, "1 turned off after failures.")
    states = [each.state for each in log(world, hook)]
    assert states == ["failed", "disabled", "disabled", "disabled"]
    save(world, "Gauge 4 is new")
    receiver.got.clear()
    work()
    assert receiver.got == []
    on, _ = webhooks.change(world.maintainer, hook.id, Patch(active=True))
    assert (on.active, on.failures, on.disabled_reason) == (True, 0, None)
    assert check_of_webhooks() == (True, "None is turned off, and none fails.")
    work()
    assert told(receiver) == journal(world.bank, before)[1:]


def test_turned_off_and_on_by_hand_it_tries_again_at_once(
    world: World, hook: webhooks.Hook, receiver: Receiver, clock: Clock
) -> None:
    receiver.script = [DOWN, DOWN]
    save(world, "Pump 1 is blue")
    work()
    clock.pass_s(6)
    work()  # the next try is a minute away
    webhooks.change(world.maintainer, hook.id, Patch(active=False))
    work()
    webhooks.change(world.maintainer, hook.id, Patch(active=True))
    work()
    assert [each.state for each in log(world, hook)] == ["ok"]


def test_gone_for_good_turns_it_off_at_once(
    world: World, hook: webhooks.Hook, receiver: Receiver
) -> None:
    receiver.script = [status(410)]
    save(world, "Pump 1 is blue")
    work()
    assert not webhooks.listed(world.maintainer)[0].active


def test_a_worker_that_dies_before_it_has_noted_the_answer_sends_the_same_event_again(
    world: World, hook: webhooks.Hook, receiver: Receiver, clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    class Killed(BaseException):
        """Nothing catches it, as nothing catches SIGKILL."""

    def dies(*_: object, **__: object) -> None:
        raise Killed

    save(world, "Pump 1 is blue")
    with monkeypatch.context() as patched:
        patched.setattr(delivery, "_record", dies)
        with pytest.raises(Killed):
            work()
    work()
    assert len(receiver.got) == 1  # the lease of the dead one still stands
    clock.pass_s(31)
    work()
    first, second = (got.headers["webhook-id"] for got in receiver.got)
    assert first == second
    assert [each.state for each in log(world, hook)] == ["ok"]


def test_no_other_worker_takes_over_while_a_long_queue_is_sent(
    world: World, hook: webhooks.Hook, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    others: list[object] = []

    def slow(*_: object) -> sending.Answer:
        clock.pass_s(sending.TOTAL_S)
        others.append(queue.claim())
        return sending.Answer(status=200)

    monkeypatch.setattr(sending, "post", slow)
    for number in range(4):
        save(world, f"Gauge {number} is new")
    work()
    assert others == [None] * 4
    assert [each.state for each in log(world, hook)] == ["ok"] * 4


def test_a_slow_receiver_with_a_long_queue_lets_others_go_first(
    world: World, hook: webhooks.Hook, receiver: Receiver, clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    other, _ = webhooks.create(world.maintainer, f"{receiver.url}&2", Filter(banks=("ops",)))
    called: list[str] = []

    def slow(url: str, *_: object) -> sending.Answer:
        clock.pass_s(sending.TOTAL_S)
        called.append(url)
        return sending.Answer(status=200)

    monkeypatch.setattr(sending, "post", slow)
    for number in range(3):
        save(world, f"Gauge {number} is new")
    work()
    assert called == [hook.url, other.url] * 3


def test_a_call_that_breaks_on_our_side_is_a_failed_attempt_and_blocks_nothing(
    world: World, hook: webhooks.Hook, receiver: Receiver, clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    def broken(*_: object) -> sending.Answer:
        raise OverflowError("no such date")

    save(world, "Pump 1 is blue")
    with monkeypatch.context() as patched:
        patched.setattr(sending, "post", broken)
        work()
    (sent,) = log(world, hook)
    assert (sent.state, [each["error"] for each in sent.attempts]) == (
        "retrying",
        [delivery.BROKE],
    )
    clock.pass_s(6)
    work()
    assert [each.state for each in log(world, hook)] == ["ok"]


def test_two_workers_make_no_event_twice(world: World, hook: webhooks.Hook) -> None:
    save(world, "Pump 1 is blue")
    (position,) = Webhook.objects.get().webhookposition_set.select_related("bank")
    found = feed.events.after(position.bank, position.seq, limit=10)
    row = Webhook.objects.get()
    assert feed._deliver(row, position, found) == 1
    assert feed._deliver(row, position, found) == 0
    assert Delivery.objects.count() == 1
    assert Job.objects.count() == 1


def test_deliveries_are_forgotten_after_two_weeks(
    world: World, hook: webhooks.Hook, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "PRUNE_EVERY_S", 0.0)
    monkeypatch.setattr(feed, "_prune_at", 0.0)
    save(world, "Pump 1 is blue")
    work()
    clock.pass_s(13 * 86_400)
    work()
    assert Delivery.objects.count() == 1
    clock.pass_s(2 * 86_400)
    work()
    assert Delivery.objects.count() == 0


# --- redeliver, test, secrets ---------------------------------------------------------------------


def test_a_redelivery_is_a_new_delivery_of_the_same_event(
    world: World, hook: webhooks.Hook, receiver: Receiver
) -> None:
    save(world, "Pump 1 is blue")
    work()
    (first,) = log(world, hook)
    again = webhooks.redeliver(world.maintainer, hook.id, first.id)
    assert (again.id != first.id, again.event_id, again.state) == (True, first.event_id, "waiting")
    with pytest.raises(errors.DeliveryPending):
        webhooks.redeliver(world.maintainer, hook.id, first.id)
    work()
    assert receiver.got[0].body == receiver.got[1].body
    assert [each.state for each in log(world, hook)] == ["ok", "ok"]


def test_an_event_that_is_being_tried_is_not_sent_beside_it(
    world: World, hook: webhooks.Hook, receiver: Receiver
) -> None:
    receiver.script = [DOWN]
    save(world, "Pump 1 is blue")
    work()
    (first,) = log(world, hook)
    with pytest.raises(errors.DeliveryPending):
        webhooks.redeliver(world.maintainer, hook.id, first.id)
    with pytest.raises(errors.NotFound):
        webhooks.redeliver(world.maintainer, hook.id, "f" * 32)


def test_a_test_is_sent_once_past_what_waits_and_even_when_it_is_off(
    world: World, hook: webhooks.Hook, receiver: Receiver
) -> None:
    receiver.script = [DOWN, DOWN]
    save(world, "Pump 1 is blue")
    work()
    webhooks.change(world.maintainer, hook.id, Patch(active=False))
    sent = webhooks.test(world.maintainer, hook.id)
    with pytest.raises(errors.DeliveryPending):
        webhooks.test(world.maintainer, hook.id)
    work()
    assert told(receiver)[-1] == ("test", 0)
    found = {each.id: each for each in log(world, hook)}[sent.id]
    assert (found.state, len(found.attempts)) == ("failed", 1)
    assert Webhook.objects.get().failures == 0


# field case A41
def test_a_test_of_an_inner_address_is_refused_before_it_is_sent(
    world: World, hook: webhooks.Hook, receiver: Receiver, settings: Settings
) -> None:
    settings.WEBHOOK_ALLOW = []
    with pytest.raises(errors.AddressRefused):
        webhooks.test(world.maintainer, hook.id)
    save(world, "Pump 1 is blue")
    work()
    assert receiver.got == []
    (sent,) = log(world, hook)
    assert "https" in sent.attempts[0]["error"]


def test_both_secrets_sign_for_a_day_after_a_rotation(
    world: World, hook: webhooks.Hook, receiver: Receiver, clock: Clock
) -> None:
    old = Webhook.objects.get().secret
    _, new = webhooks.change(world.maintainer, hook.id, Patch(new_secret=True))
    assert new is not None
    assert new != old

    def signatures() -> int:
        webhooks.test(world.maintainer, hook.id)
        work()
        return len(receiver.got[-1].headers["webhook-signature"].split(" "))

    assert signatures() == 2
    clock.pass_s(23 * 3_600)
    assert signatures() == 2
    clock.pass_s(2 * 3_600)
    assert signatures() == 1
    assert Webhook.objects.get().secret == new


def test_of_two_rotations_at_once_the_second_signs_with_the_secret_of_the_first(
    world: World, hook: webhooks.Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, between = signing.new_secret, []

    def meanwhile() -> str:
        monkeypatch.setattr(signing, "new_secret", plain)
        _, secret = webhooks.change(world.owner, hook.id, Patch(new_secret=True))
        between.append(secret)
        return plain()

    monkeypatch.setattr(signing, "new_secret", meanwhile)
    webhooks.change(world.maintainer, hook.id, Patch(new_secret=True))
    assert [Webhook.objects.get().old_secret] == between


# --- who ------------------------------------------------------------------------------------------


def test_it_is_told_nothing_more_once_its_owner_lost_the_role(
    world: World, hook: webhooks.Hook, receiver: Receiver
) -> None:
    receiver.script = [DOWN]
    save(world, "Pump 1 is blue")
    work()  # on its way, to be tried again
    members.set_role(world.admin, world.bank, "maintainer", Role.EDITOR)
    save(world, "Pump 2 is red")
    Delivery.objects.update(next_try_at=seams.now())
    Job.objects.update(run_at=seams.now())
    work()
    assert len(receiver.got) == 1
    assert Delivery.objects.get().state == "failed"
    members.set_role(world.admin, world.bank, "maintainer", Role.MAINTAINER)
    save(world, "Pump 3 is green")
    work()
    assert [json.loads(got.body)["memory"]["text"] for got in receiver.got[1:]] == [
        "Pump 3 is green"
    ]
    User.objects.filter(username="maintainer").update(is_active=False)
    save(world, "Pump 4 is gone")
    work()
    assert len(receiver.got) == 2


def limited(principal: Principal, bank: Bank) -> Principal:
    return Principal(
        handle="token:x", user_id=principal.user_id, token_id=1, is_admin=principal.is_admin,
        scopes=frozenset({Scope.ADMIN}), bank_ids=frozenset({bank.pk}),
    )  # fmt: skip


def test_a_webhook_is_seen_by_those_who_maintain_all_of_its_banks(
    world: World, hook: webhooks.Hook, receiver: Receiver
) -> None:
    banks.create(world.admin, "kilns")
    both, _ = webhooks.create(world.admin, receiver.url, Filter(banks=("ops", "kilns")))
    every, _ = webhooks.create(world.admin, receiver.url, Filter())

    def seen(principal: Principal) -> list[int]:
        return [each.id for each in webhooks.listed(principal)]

    assert seen(world.admin) == [hook.id, both.id, every.id]
    assert seen(limited(world.admin, world.bank)) == [hook.id]
    assert seen(world.owner) == seen(world.maintainer) == [hook.id]
    assert seen(world.editor) == seen(world.stranger) == []
    for call in (webhooks.test, webhooks.delete, webhooks.deliveries):
        with pytest.raises(errors.WebhookNotFound):
            call(world.editor, hook.id)
    with pytest.raises(errors.BankNotFound):
        webhooks.change(world.maintainer, hook.id, Patch(filter=Filter(banks=("kilns",))))
    changed, _ = webhooks.change(world.owner, hook.id, Patch(active=False))
    assert changed.owner == "owner"


def test_the_log_shows_no_delivery_of_a_bank_that_one_does_not_maintain(
    world: World, clock: Clock, receiver: Receiver
) -> None:
    kilns, _ = banks.create(world.admin, "kilns")
    made, _ = webhooks.create(world.admin, receiver.url, Filter(banks=("ops", "kilns")))
    entries.save(world.admin, kilns, Draft(text="Kiln 1 is cold"))
    save(world, "Pump 1 is blue")
    work()
    webhooks.change(world.admin, made.id, Patch(filter=Filter(banks=("ops",))))
    theirs, _ = webhooks.deliveries(world.admin, made.id)
    foreign = next(each for each in theirs if each.bank == "kilns")
    assert [each.bank for each in log(world, made)] == ["ops"]
    with pytest.raises(errors.NotFound):
        webhooks.redeliver(world.maintainer, made.id, foreign.id)
    members.set_role(world.admin, kilns, "maintainer", Role.VIEWER)
    assert [each.bank for each in log(world, made)] == ["ops"]
    members.set_role(world.admin, kilns, "maintainer", Role.MAINTAINER)
    assert {each.bank for each in log(world, made)} == {"ops", "kilns"}


Refused = Callable[[World], Principal]


@pytest.mark.parametrize(
    ("who", "chosen", "refusal"),
    [
        (lambda w: w.editor, Filter(banks=("ops",)), errors.Forbidden),
        (lambda w: w.stranger, Filter(banks=("ops",)), errors.BankNotFound),
        (lambda w: w.editor, Filter(), errors.Forbidden),
        (lambda w: limited(w.admin, w.bank), Filter(), errors.Invalid),
        (lambda w: w.admin, Filter(banks=("no\0pe",)), errors.Invalid),
        (lambda w: w.admin, Filter(types=("item-changed.burnt",)), errors.Invalid),
    ],
)
def test_who_may_not_or_asks_for_what_is_not_there_is_refused(
    world: World, who: Refused, chosen: Filter, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal):
        webhooks.create(who(world), "https://8.8.8.8/x", chosen)
    assert not Webhook.objects.exists()


def test_nobody_makes_webhooks_without_end(
    world: World, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "MOST", 1)
    person("other", is_admin=True)
    webhooks.create(world.admin, "https://8.8.8.8/x", Filter())
    with pytest.raises(errors.Conflict):
        webhooks.create(world.admin, "https://8.8.8.8/x", Filter())
    webhooks.create(world.owner, "https://8.8.8.8/x", Filter())
