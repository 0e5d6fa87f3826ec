"""The stream of counters: who gets it, what it says, when it ends."""

import gc
import json
import re
import socket
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, cast

import pytest
from django.contrib.auth.models import User
from django.http import StreamingHttpResponse
from django.test import Client
from pytest_django import Settings

from banks import stream, sync
from banks.access import Role
from banks.services import banks, entries, members
from memoryconsole import sse
from tests.builders import World, save
from tests.console.conftest import Browser
from tests.streams import ByHand, driven_by_hand


@pytest.fixture(autouse=True)
def hub(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[ByHand]:
    with driven_by_hand(monkeypatch) as hub:
        yield hub


def opened(client: Client, query: str = "bank=ops", **more: Any) -> StreamingHttpResponse:
    hub = cast("ByHand", stream.hub)
    return hub.opened(client.get(f"/events?{query}", **more))


def words(answer: StreamingHttpResponse) -> Iterator[str]:
    """What comes after the opening."""
    said = (word.decode() for word in cast("Iterator[bytes]", iter(answer)))
    assert re.fullmatch(r'retry: 3000\n\nid: (\d+)\nevent: head\ndata: {"rev": \1}\n\n', next(said))
    return said


def counters(word: str) -> dict[str, object]:
    """The data of an event of the bank, whose id is its number."""
    number, name, data, *rest = word.split("\n")
    told: dict[str, object] = json.loads(data.removeprefix("data: "))
    assert (number, name, rest) == (f"id: {told['rev']}", "event: bank", ["", ""])
    return told


def head(ops: World) -> int:
    ops.bank.refresh_from_db()
    return ops.bank.head


def test_a_stream_counts_what_changed_and_holds_no_text(ops: World, browser: Browser) -> None:
    one = save(ops, "Kiln 1 is cold.\n\nevent: bank-deleted").memory
    two = save(ops, "Kiln 2 is cold.").memory
    said = words(opened(browser("viewer")))
    save(ops, "Kiln 3 is cold.\r\nevent: forged\ndata: {}")  # field case A40
    entries.pin(ops.editor, ops.bank, one.id, pinned=True)
    entries.delete(ops.editor, ops.bank, two.id)
    told = next(said)
    assert counters(told) == {
        "bank": "ops", "created": 1, "changed": 1, "retired": 1, "rev": head(ops),
    }  # fmt: skip
    assert "Kiln" not in told
    assert "forged" not in told


@pytest.mark.parametrize("way", ["since", "Last-Event-ID"])
def test_who_is_behind_is_told_at_once_what_was_missed(
    ops: World, browser: Browser, hub: ByHand, way: str
) -> None:
    save(ops, "Kiln 1 is cold.")
    before = head(ops)
    save(ops, "Kiln 2 is cold.")
    if way == "since":
        answer = opened(browser("viewer"), f"bank=ops&since={before}")
    else:
        answer = opened(browser("viewer"), "bank=ops&since=0", headers={way: str(before)})
    assert counters(next(words(answer)))["created"] == 1
    assert hub.now == 0.0


def test_a_head_of_another_journal_gets_the_one_of_this_bank(ops: World, browser: Browser) -> None:
    told = counters(next(words(opened(browser("viewer"), "bank=ops&since=999999"))))
    assert told == {"bank": "ops", "created": 0, "changed": 0, "retired": 0, "rev": head(ops)}


def test_many_changes_are_one_event_a_second_and_silence_a_ping(
    ops: World, browser: Browser, hub: ByHand
) -> None:
    said = words(opened(browser("viewer")))
    save(ops, "Kiln 1 is cold.")
    next(said)
    for number in range(2, 5):
        save(ops, f"Kiln {number} is cold.")
    assert counters(next(said))["created"] == 3
    assert hub.now == 1.0
    assert next(said) == ": ping\n\n"
    assert hub.now == 16.0


def test_a_hand_edit_is_told_as_soon_as_somebody_looked(
    ops: World, browser: Browser, settings: Settings
) -> None:
    memory = save(ops, "Kiln 1 is cold.").memory
    said = words(opened(browser("viewer")))
    path = settings.DATA_DIR / "ops" / "semantic_memory" / "facts.md"
    assert memory.id in path.read_text()
    path.write_text(path.read_text().replace("Kiln 1 is cold.", "Kiln 1 is hot."))
    sync.look(ops.bank, force=True)
    assert counters(next(said))["changed"] == 1


# --- who ---------------------------------------------------------------------------------------


def test_nobody_without_a_session_and_nobody_elses_bank(
    ops: World, browser: Browser, client: Client
) -> None:
    assert client.get("/events?bank=ops").status_code == 401
    assert client.get("/events?bank=ops", headers={"Authorization": "Bearer x"}).status_code == 401
    answers = {
        name: browser("stranger").get("/events", {"bank": name})
        for name in ("ops", "absent", "", "a\0b")
    }
    assert {answer.status_code for answer in answers.values()} == {404}
    bodies = [json.loads(answer.content) for answer in answers.values()]
    assert len({body["message"] for body in bodies}) == 1
    assert browser("viewer").post("/events?bank=ops").status_code == 405
    for number in ("-1", "x", "9" * 19, "٣"):
        assert browser("viewer").get("/events", {"bank": "ops", "since": number}).status_code == 422
    assert stream.hub.listeners == 0


def leave(ops: World, client: Client) -> None:
    members.remove(ops.admin, ops.bank, "viewer")


def sign_out(ops: World, client: Client) -> None:
    client.post("/sign-out")


def grow_old(ops: World, client: Client) -> None:
    session = client.session
    session["started_at"] = 0
    session.save()


def be_locked_out(ops: World, client: Client) -> None:
    User.objects.filter(username="viewer").update(is_active=False)


def change_password(ops: World, client: Client) -> None:
    user = User.objects.get(username="viewer")
    user.set_password("another long enough one")
    user.save()


def reuse_the_name(ops: World, client: Client) -> None:
    banks.trash(ops.admin, ops.bank)
    again, _ = banks.create(ops.admin, "ops")
    members.set_role(ops.admin, again, "viewer", Role.VIEWER)


@pytest.mark.parametrize("with_change", [True, False])
@pytest.mark.parametrize(
    "end", [leave, sign_out, grow_old, be_locked_out, change_password, reuse_the_name]
)
def test_a_stream_ends_with_the_right_to_it(
    ops: World,
    browser: Browser,
    hub: ByHand,
    end: Callable[[World, Client], None],
    with_change: bool,
) -> None:
    client = browser("viewer")
    client.get("/healthz")
    said = words(opened(client))
    end(ops, client)
    if with_change and end is not reuse_the_name:
        save(ops, "Kiln 1 is cold.")
    assert list(islice(said, 2)) == []
    assert hub.now <= 16.0


# --- slots -------------------------------------------------------------------------------------


def test_a_person_and_a_process_have_so_many_slots(
    ops: World, browser: Browser, settings: Settings
) -> None:
    settings.STREAMS, settings.STREAMS_PER_PERSON = 3, 2
    viewer, owner = browser("viewer"), browser("owner")
    held = [opened(viewer), opened(viewer)]
    refused = viewer.get("/events?bank=ops")
    assert (refused.status_code, refused["Retry-After"]) == (503, "10")
    assert json.loads(refused.content)["code"] == "streams_full"
    held.append(opened(owner))
    assert owner.get("/events?bank=ops").status_code == 503
    held.pop(0).close()
    held.append(opened(owner))


# field case A39
def test_a_slot_is_free_again_however_the_stream_ends(
    ops: World, browser: Browser, hub: ByHand
) -> None:
    client = browser("viewer")
    never_begun = opened(client)
    broken_off = opened(client)
    next(words(broken_off))
    forgotten = opened(client)
    assert hub.listeners == 3
    never_begun.close()
    broken_off.close()
    assert hub.listeners == 1
    hub.answers.remove(forgotten)
    del forgotten
    gc.collect()
    assert hub.listeners == 0


def test_a_stream_ends_with_its_connection_and_nobody_is_told_anything(
    ops: World, browser: Browser
) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        said = words(opened(browser("viewer"), "bank=ops&since=0", **{"gunicorn.socket": ours}))
        assert counters(next(said))["created"] == 0
        save(ops, "Kiln 1 is cold.")
        theirs.close()
        assert list(islice(said, 2)) == []


def test_the_end_of_an_answer_that_was_never_begun_is_told() -> None:
    ends: list[str] = []
    sse.response(iter(()), close=lambda: ends.append("closed")).close()
    assert ends == ["closed"]


def test_a_stopping_process_ends_its_streams_and_opens_none(
    ops: World, browser: Browser, hub: ByHand
) -> None:
    client = browser("viewer")
    said = words(opened(client))
    hub.stop()
    assert list(islice(said, 2)) == []
    assert client.get("/events?bank=ops").status_code == 503


def test_streams_end_when_the_parent_process_is_gone(
    ops: World, browser: Browser, hub: ByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = words(opened(browser("viewer")))
    assert next(said) == sse.PING
    monkeypatch.setattr("os.getppid", lambda: 1)
    assert list(islice(said, 2)) == []


def test_no_intermediary_keeps_a_stream(ops: World, browser: Browser) -> None:
    answer = opened(browser("viewer"))
    assert answer["Content-Type"] == "text/event-stream"
    assert (answer["Cache-Control"], answer["X-Accel-Buffering"]) == ("no-store", "no")
