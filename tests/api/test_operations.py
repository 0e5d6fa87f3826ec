"""POST /doctor and POST /reload."""

from django.conf import settings

from tests.api.conftest import Api, MakeApi
from tests.builders import World, save
from tests.canaries import TOKEN


def test_doctor_tells_each_check_and_whether_all_required_ones_passed(
    world: World, admin: Api
) -> None:
    told = admin.ok("POST", "/doctor")
    assert told["checks"]
    for check in told["checks"]:
        assert set(check) == {"name", "ok", "required", "checked", "detail", "findings"}
    assert told["ok"] is all(each["ok"] for each in told["checks"] if each["required"])


def test_advice_leaves_all_well_and_a_failed_required_check_does_not(
    world: World, admin: Api
) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    path = settings.DATA_DIR / "ops" / memory.path
    path.write_text(path.read_text().replace("Kiln 1 is cold.", f"The token is {TOKEN}."))
    answer = admin.send("POST", "/doctor")
    told = answer.json()
    assert [(each["name"], each["required"]) for each in told["checks"] if not each["ok"]] == [
        ("secrets", False), ("model", False), ("embedder", False),
    ]  # fmt: skip
    assert told["ok"] is True
    assert TOKEN.encode() not in answer.content
    (settings.DATA_DIR / "ops" / "bank.yaml").unlink()
    assert admin.ok("POST", "/doctor")["ok"] is False


def test_reload_reads_every_bank_again(world: World, admin: Api) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    path = settings.DATA_DIR / "ops" / "semantic_memory" / "facts.md"
    path.write_text(path.read_text().replace("Kiln 1 is cold.", "Kiln 1 is hot."))
    assert admin.ok("POST", "/reload") == {"ok": True, "banks": 1}
    told = admin.ok("GET", f"/memories/{memory.id}?bank=ops")
    assert told["memory"]["text"] == "Kiln 1 is hot."


def test_both_need_an_instance_admin_and_the_scope(world: World, api_of: MakeApi) -> None:
    for path in ("/doctor", "/reload"):
        api_of(world.owner).refused(403, "forbidden", "POST", path)
        api_of(world.admin, "memory:read").refused(403, "scope_missing", "POST", path)


def test_reload_reads_the_other_banks_when_one_is_on_hold(world: World, admin: Api) -> None:
    admin.ok("POST", "/banks", {"name": "kilns"})
    (settings.DATA_DIR / "ops" / "bank.yaml").unlink()
    assert admin.ok("POST", "/reload") == {"ok": False, "banks": 2}
    body = {"bank": "ops", "text": "Kiln 1 is cold."}
    told = admin.send("POST", "/memories", body)
    assert (told.status_code, told.json()["code"]) == (503, "bank_on_hold")
    assert told.headers["Retry-After"] == "60"
    admin.ok("GET", "/memories?bank=ops")
    admin.ok("POST", "/memories", {**body, "bank": "kilns"})


def test_what_needs_a_model_is_advice_until_it_is_switched_off(world: World, admin: Api) -> None:
    admin.ok("PATCH", "/config", {"extraction_enabled": False, "embeddings_enabled": False})
    told = {each["name"]: each for each in admin.ok("POST", "/doctor")["checks"]}
    assert all(told[name]["ok"] for name in ("model", "embedder", "configuration", "search"))
    admin.ok("PATCH", "/config", {"recall_limit": 0, "default_bank": "kilns"})
    told = {each["name"]: each for each in admin.ok("POST", "/doctor")["checks"]}
    assert len(told["configuration"]["findings"]) == 2
    assert told["configuration"]["ok"]
