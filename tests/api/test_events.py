"""The stream of events for programs: complete, in order, resumable, for those who may see it."""

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple, cast

import pytest
from pytest_django import Settings

from banks import positions, stream, sync
from banks.access import Role
from banks.models import AccessToken, Bank, Change
from banks.services import banks, entries, members, rules
from banks.services.drafts import Draft
from tests.api.conftest import Api, MakeApi
from tests.builders import World, save
from tests.streams import ByHand, driven_by_hand


class Event(NamedTuple):
    id: str
    name: str
    data: dict[str, Any]


@pytest.fixture(autouse=True)
def hub(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[ByHand]:
    with driven_by_hand(monkeypatch) as hub:
        yield hub


@pytest.fixture
def api(world: World, api_of: MakeApi) -> Api:
    return api_of(world.viewer)


def words(api: Api, query: str = "", after: str = "") -> Iterator[str]:
    headers = {"Last-Event-ID": after} if after else {}
    hub = cast("ByHand", stream.hub)
    answer = hub.opened(api.send("GET", f"/events{query}", headers=headers))
    return (word.decode() for word in cast("Iterator[bytes]", iter(answer)))


def started(api: Api, query: str = "", after: str = "") -> tuple[str, Iterator[Event]]:
    """The cursor of the opening, and the events up to the first ping."""
    said = words(api, query, after)
    opening = next(said).split("\n")
    assert opening[0] == "retry: 3000"

    def events() -> Iterator[Event]:
        for word in said:
            if word.startswith(": ping"):
                return
            number, name, data, *rest = word.split("\n")
            assert rest == ["", ""]
            yield Event(number[4:], name[7:], json.loads(data[6:]))

    return opening[2].removeprefix("id: "), events()


def told(events: Iterator[Event]) -> list[tuple[str, str, int]]:
    return [(each.name, each.data["event_type"], each.data["seq"]) for each in events]


def test_every_change_is_told_once_in_order_with_the_memory_as_it_is(
    world: World, api: Api, settings: Settings
) -> None:
    _, events = started(api)
    text = "Kiln 1 is cold.\r\n\r\nevent: bank-deleted\ndata: {}"  # field case A40
    memory = save(world, text).memory
    entries.pin(world.editor, world.bank, memory.id, pinned=True)
    rules.set_rule(world.maintainer, world.bank, "kilns", "Wear gloves.")
    file = settings.DATA_DIR / "ops" / "semantic_memory" / "facts.md"
    file.write_text(file.read_text().replace("Kiln 1 is cold.", "Kiln 1 is hot."))
    sync.look(world.bank, force=True)
    entries.delete(world.editor, world.bank, memory.id)
    found = list(events)
    assert [(each.name, each.data["event_type"]) for each in found] == [
        ("item-changed", "created"),
        ("item-changed", "updated"),
        ("bank-changed", "rules-changed"),
        ("item-changed", "updated"),
        ("item-changed", "deleted"),
    ]
    first = found[0].data["seq"]
    assert [each.data["seq"] for each in found] == list(range(first, first + 5))
    assert found[0].data["memory"]["text"].startswith("Kiln 1 is hot.")
    assert {each.data["bank"] for each in found} == {"ops"}


def test_a_reader_goes_on_where_it_left_and_misses_nothing(world: World, api: Api) -> None:
    annex, _ = banks.create(world.admin, "annex")
    members.set_role(world.admin, annex, "viewer", Role.VIEWER)
    cursor, events = started(api)
    for number in range(3):
        save(world, f"Kiln {number} is cold.")
        entries.save(world.admin, annex, Draft(text=f"Pump {number} is off."))
    whole = list(events)
    assert len(whole) == 6
    for place in range(6):
        after = whole[place - 1].id if place else cursor
        rest = list(started(api, after=after)[1])
        assert sorted(told(iter(rest))) == sorted(told(iter(whole[place:])))
        for name in ("ops", "annex"):
            of_bank = [each.data["seq"] for each in rest if each.data["bank"] == name]
            assert of_bank == sorted(of_bank)


def test_more_than_fits_at_once_is_told_to_the_end(
    world: World, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryconsole.events.EVENTS_AT_ONCE", 2)
    _, events = started(api)
    for number in range(5):
        save(world, f"Kiln {number} is cold.")
    assert len(list(events)) == 5


def alien(world: World, cursor: str) -> str:
    Change.objects.filter(bank=world.bank, seq=world.bank.head).update(uid="0" * 32)
    return cursor


def ahead(world: World, cursor: str) -> str:
    here = positions.read(cursor)[world.bank.pk]
    return positions.cursor({world.bank.pk: positions.Position(here.seq + 5, here.mark)})


def unmarked(world: World, cursor: str) -> str:
    return positions.cursor({world.bank.pk: positions.Position(1)})


def garbled(world: World, cursor: str) -> str:
    return "bm90LWEtY3Vyc29y"


def oversized(world: World, cursor: str) -> str:
    return cursor + "A" * 9_000


def wrong_letters(world: World, cursor: str) -> str:
    return "\u0663.\u0663"


@pytest.mark.parametrize("spoil", [alien, ahead, unmarked, garbled, oversized, wrong_letters])
def test_a_cursor_that_does_not_fit_gets_one_reset_and_then_what_is_new(
    world: World, api: Api, spoil: Callable[[World, str], str]
) -> None:
    save(world, "Kiln 1 is cold.")
    world.bank.refresh_from_db()
    cursor, _ = started(api)
    fresh, events = started(api, after=spoil(world, cursor))
    assert next(events)[1:] == ("reset", {"event_type": "reset"})
    save(world, "Kiln 2 is cold.")
    assert [each.data["event_type"] for each in events] == ["created"]
    assert [each.name for each in started(api, after=fresh)[1]] == ["item-changed"]


def test_filters_choose_banks_and_types_and_unknown_ones_are_refused(
    world: World, api: Api
) -> None:
    annex, _ = banks.create(world.admin, "annex")
    members.set_role(world.admin, annex, "viewer", Role.VIEWER)
    _, of_bank = started(api, "?bank=annex")
    _, of_type = started(api, "?bank=ops&type=item-changed.deleted&type=bank-changed")
    memory = save(world, "Kiln 1 is cold.").memory
    entries.delete(world.editor, world.bank, memory.id)
    rules.set_rule(world.maintainer, world.bank, "kilns", "Wear gloves.")
    assert told(of_bank) == []
    assert [each[1] for each in told(of_type)] == ["deleted", "rules-changed"]
    api.refused(422, "invalid", "GET", "/events?type=item-deleted")
    api.refused(422, "invalid", "GET", "/events?banks=ops")
    api.refused(404, "bank_not_found", "GET", "/events?bank=ops&bank=absent")


def test_banks_come_and_go_while_a_stream_of_all_is_open(world: World, api_of: MakeApi) -> None:
    _, events = started(api_of(world.admin))
    made, _ = banks.create(world.admin, "annex")
    banks.trash(world.admin, made)
    assert [each[:2] for each in told(events)] == [
        ("bank-changed", "created"),
        ("bank-changed", "trashed"),
    ]


def test_what_happens_out_of_sight_is_never_told(world: World, api_of: MakeApi) -> None:
    _, events = started(api_of(world.stranger))
    save(world, "Kiln 1 is cold.")
    said = islice(events, 1)
    members.set_role(world.admin, world.bank, "stranger", Role.VIEWER)
    members.remove(world.admin, world.bank, "stranger")
    assert list(said) == []


def revoke(world: World) -> None:
    AccessToken.objects.update(revoked_at=world.bank.created_at)


def lose_the_scope(world: World) -> None:
    AccessToken.objects.update(scopes=["memory:write"])


def lose_the_role(world: World) -> None:
    members.remove(world.admin, world.bank, "viewer")


@pytest.mark.parametrize("with_change", [True, False])
@pytest.mark.parametrize("end", [revoke, lose_the_scope, lose_the_role])
def test_a_stream_ends_with_the_right_to_it(
    world: World, api: Api, end: Callable[[World], None], with_change: bool
) -> None:
    said = words(api, "?bank=ops")
    next(said)
    end(world)
    if with_change:
        save(world, "Kiln 1 is cold.")
    assert list(islice(said, 2)) == []


def test_streams_need_a_right_and_a_slot(world: World, api_of: MakeApi, settings: Settings) -> None:
    settings.STREAMS_PER_PERSON = 1
    api_of(world.admin, "memory:write").refused(403, "scope_missing", "GET", "/events")
    Api("mc_wrong").refused(401, "unauthenticated", "GET", "/events")
    api = api_of(world.viewer)
    held = cast("ByHand", stream.hub).opened(api.send("GET", "/events"))
    api.refused(503, "streams_full", "GET", "/events")
    held.close()
    assert stream.hub.listeners == 0


def test_tokens_of_one_name_take_no_streams_from_each_other(
    world: World, api_of: MakeApi, settings: Settings
) -> None:
    settings.STREAMS_PER_PERSON = 1
    hub = cast("ByHand", stream.hub)
    held = [hub.opened(api_of(who).send("GET", "/events")) for who in (world.viewer, world.editor)]
    assert stream.hub.listeners == 2
    for each in held:
        each.close()


def test_a_secret_that_was_written_by_hand_does_not_leave(
    world: World, api: Api, settings: Settings
) -> None:
    save(world, "Kiln 1 is cold.")
    _, events = started(api)
    file = settings.DATA_DIR / "ops" / "semantic_memory" / "facts.md"
    file.write_text(file.read_text().replace("is cold.", "key sk-test-" + "0" * 28))
    sync.look(world.bank, force=True)
    (event,) = list(events)
    assert "0" * 20 not in json.dumps(event.data)
    assert Bank.objects.count() == 1
