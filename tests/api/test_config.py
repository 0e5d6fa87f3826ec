"""Reading and changing the configuration."""

from dataclasses import asdict

from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from banks import config
from tests.api.conftest import Api, MakeApi
from tests.builders import World, save
from tests.canaries import TOKEN


def test_an_instance_admin_reads_the_fields_and_no_path_of_the_machine(admin: Api) -> None:
    told = admin.ok("GET", "/config")
    assert told == asdict(config.current())
    assert len(told) == 16
    assert str(settings.DATA_DIR.parent) not in str(told)


def test_a_change_answers_all_fields_and_the_next_call_goes_by_it(
    world: World, admin: Api, editor: Api
) -> None:
    for number in range(3):
        save(world, f"Kiln {number} is cold.")
    told = admin.ok("PATCH", "/config", {"recall_limit": 2, "default_bank": "ops"})
    assert (told["recall_limit"], told["default_bank"], len(told)) == (2, "ops", 16)
    assert admin.ok("GET", "/config") == told
    assert len(editor.ok("POST", "/recall", {"query": "kiln"})["memories"]) == 2
    off = {"inject_memories": False, "inject_rules": False}
    assert admin.ok("PATCH", "/config", off)["inject_rules"] is False
    assert "message" not in editor.ok("POST", "/preview", {"query": "kiln"})


def test_what_a_field_does_not_take_is_refused_by_its_name_and_nothing_is_changed(
    admin: Api,
) -> None:
    before = admin.ok("GET", "/config")
    for name, value in (
        ("recall_limit", 101), ("recall_limit", "6"), ("inject_rules", 1), ("colour", "red"),
        ("default_bank", "No Bank"), ("data_dir", "memory"),
        ("embedding_model", f"https://u:{TOKEN}@models.example"), ("data_dir", f"/{TOKEN}"),
    ):  # fmt: skip
        told = admin.send("PATCH", "/config", {"max_rule_chars": 100, name: value})
        assert (told.status_code, [each["loc"] for each in told.json()["errors"]]) == (422, [name])
        assert TOKEN not in told.content.decode()
    admin.refused(409, "data_dir_refused", "PATCH", "/config", {"data_dir": "/elsewhere"})
    assert admin.ok("GET", "/config") == before


def test_a_reload_needs_no_id_and_says_whether_the_data_folder_can_be_used(
    world: World, admin: Api, api_of: MakeApi
) -> None:
    assert admin.ok("POST", "/config/reload", {"id": "memory"}) == {"ok": True}
    api_of(world.owner).refused(403, "forbidden", "POST", "/config/reload", {})
    settings.DATA_DIR.rename(settings.DATA_DIR.parent / "elsewhere")
    assert admin.ok("POST", "/config/reload") == {"ok": False}


def test_a_token_for_some_banks_has_no_part_in_the_instance(world: World, api_of: MakeApi) -> None:
    limited = api_of(world.admin, banks=["ops"])
    limited.ok("PATCH", "/banks/ops", {"description": "About pumps"})
    for method, path in (
        ("GET", "/config"), ("PATCH", "/config"), ("POST", "/config/reload"),
        ("POST", "/reload"), ("POST", "/doctor"),
    ):  # fmt: skip
        limited.refused(403, "forbidden", method, path, {} if method != "GET" else None)


def test_a_call_reads_the_configuration_once(world: World, editor: Api) -> None:
    save(world, "Kiln 1 is cold.")
    with CaptureQueriesContext(connection) as asked:
        editor.ok("POST", "/preview", {"bank": "ops", "query": "kiln"})
    assert sum("banks_configuration" in each["sql"] for each in asked) == 1
