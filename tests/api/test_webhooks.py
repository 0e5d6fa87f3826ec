"""The calls about webhooks: shapes, what is refused by name, and a secret that is shown once."""

import json
import re

import pytest

from banks import feed, jobs
from banks.outbox import Webhook
from tests.api.conftest import Api, MakeApi
from tests.builders import World, save

URL = "https://8.8.8.8/hook"
HOOK = {"url": URL, "filter": {"banks": ["ops"], "types": ["item-changed"]}}


@pytest.fixture
def maintainer(world: World, api_of: MakeApi) -> Api:
    return api_of(world.maintainer)


def test_a_webhook_is_made_shown_changed_and_deleted(maintainer: Api) -> None:
    made = maintainer.ok("POST", "/webhooks", HOOK)
    secret, hook = made["secret"], made["webhook"]
    assert secret.startswith("whsec_")
    assert hook == {
        "id": hook["id"], "url": URL, "filter": HOOK["filter"], "active": True,
        "owner": "maintainer", "failures": 0, "pending": 0, "created_at": hook["created_at"],
    }  # fmt: skip
    listed = maintainer.ok("GET", "/webhooks")
    assert listed == {"webhooks": [hook]}
    assert secret not in json.dumps(listed)
    path = f"/webhooks/{hook['id']}"
    off = maintainer.ok("PATCH", path, {"active": False})
    assert off == {"webhook": hook | {"active": False}}
    new = maintainer.ok("PATCH", path, {"new_secret": True, "filter": {}})["webhook"]
    assert new["filter"] == {"banks": [], "types": []}
    assert maintainer.ok("DELETE", path) == {"ok": True}
    maintainer.refused(404, "webhook_not_found", "DELETE", path)
    assert not Webhook.objects.exists()


@pytest.mark.parametrize(
    ("body", "code", "loc", "said"),
    [
        (HOOK | {"filter": {"bnks": ["ops"]}}, "invalid", "filter.bnks", "not known"),
        (HOOK | {"filter": {"types": ["burnt"]}}, "invalid", "filter.types", "'burnt'"),
        (HOOK | {"url": "http://127.0.0.1/"}, "address_refused", "url", "https"),
        (HOOK | {"url": "https://10.0.0.8/"}, "address_refused", "url", "private"),
        ({}, "invalid", "url", "missing"),
    ],
)
def test_what_is_wrong_is_named(
    maintainer: Api, body: object, code: str, loc: str, said: str
) -> None:
    told = maintainer.refused(422, code, "POST", "/webhooks", body)
    assert told["errors"][0]["loc"] == loc
    assert said in told["message"]
    assert "10.0.0.8" not in json.dumps(told)


def test_deliveries_come_in_pages_newest_first(world: World, maintainer: Api) -> None:
    hook = maintainer.ok("POST", "/webhooks", HOOK)["webhook"]["id"]
    for number in range(3):
        save(world, f"Gauge {number} is new")
    feed.follow()
    assert maintainer.ok("GET", "/webhooks")["webhooks"][0]["pending"] == 3
    first = maintainer.ok("GET", f"/webhooks/{hook}/deliveries?limit=2")
    rest = maintainer.ok("GET", f"/webhooks/{hook}/deliveries?cursor={first['next_cursor']}")
    shown = [*first["deliveries"], *rest["deliveries"]]
    assert "next_cursor" not in rest
    assert [each["seq"] for each in shown] == sorted((each["seq"] for each in shown), reverse=True)
    assert [each["state"] for each in shown] == ["waiting"] * 3
    assert json.loads(shown[0]["body"])["memory"]["text"] == "Gauge 2 is new"
    sent = shown[-1]["id"]
    path = f"/webhooks/{hook}/deliveries/{sent}/redeliver"
    maintainer.refused(409, "delivery_pending", "POST", path)
    for unknown in ("f" * 32, "1", "%00", "%ED%A0%80"):
        path = f"/webhooks/{hook}/deliveries/{unknown}/redeliver"
        maintainer.refused(404, "not_found", "POST", path)
    path = f"/webhooks/{hook}/deliveries?cursor={'f' * 32}"
    told = maintainer.refused(422, "invalid", "GET", path)
    assert told["errors"][0]["loc"] == "cursor"


def test_ids_say_nothing_of_how_many_there_are(world: World, maintainer: Api) -> None:
    hooks = [maintainer.ok("POST", "/webhooks", HOOK)["webhook"]["id"] for _ in range(2)]
    save(world, "Gauge 1 is new")
    feed.follow()
    told = [maintainer.ok("GET", f"/webhooks/{hook}/deliveries")["deliveries"] for hook in hooks]
    test = maintainer.ok("POST", f"/webhooks/{hooks[0]}/test")["delivery"]
    ids = {*hooks, test["id"], *(each["id"] for page in told for each in page)}
    assert len(ids) == 5
    assert all(re.fullmatch("[0-9a-f]{32}", each) for each in ids)
    assert json.loads(test["body"])["webhook"] == hooks[0]


def test_a_test_tells_how_it_goes_and_nothing_of_the_target(
    maintainer: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = maintainer.ok("POST", "/webhooks", HOOK)["webhook"]["id"]
    sent = maintainer.ok("POST", f"/webhooks/{hook}/test")["delivery"]
    assert (sent["event_type"], sent["state"], sent["attempts"]) == ("test", "waiting", [])
    maintainer.refused(409, "delivery_pending", "POST", f"/webhooks/{hook}/test")

    def refuses(*_: object, **__: object) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr("socket.create_connection", refuses)
    jobs.work_off()
    (told,) = maintainer.ok("GET", f"/webhooks/{hook}/deliveries")["deliveries"]
    assert (told["state"], told["attempts"][0]["error"]) == ("failed", "Nobody listens there.")
