"""The calls about banks themselves."""

from pathlib import Path

import pytest
from django.conf import settings

from banks import errors
from banks.access import Role
from banks.models import Bank, Operation
from banks.services import banks, members
from tests.api.conftest import Api, MakeApi
from tests.builders import World, save

KEY = "sk-" + "0a1b2c3d4e5f6a7b8c9d"


def test_create_makes_the_tree_once_and_changes_nothing_the_second_time(admin: Api) -> None:
    told = admin.ok("POST", "/banks", {"name": "kilns", "description": "About kilns"})
    assert told == {
        "created": True,
        "bank": {
            "name": "kilns",
            "description": "About kilns",
            "memories": 0,
            "pinned": 0,
            "rules": 0,
        },
    }
    assert (settings.DATA_DIR / "kilns" / "semantic_memory" / "facts.md").is_file()
    again = admin.ok("POST", "/banks", {"name": "kilns", "description": "Something else"})
    assert again == {**told, "created": False}


def test_create_needs_the_right_and_hides_foreign_banks(world: World, api_of: MakeApi) -> None:
    body = {"name": "kilns"}
    api_of(world.owner, "memory:write").refused(403, "forbidden", "POST", "/banks", body)
    maker = api_of(world.stranger, "banks:create", "memory:read", "memory:write", "admin")
    assert maker.ok("POST", "/banks", body)["created"] is True
    maker.ok("PATCH", "/banks/kilns", {"description": "Mine"})
    maker.refused(409, "name_taken", "POST", "/banks", {"name": "ops"})
    limited = api_of(world.admin, "banks:create", banks=["ops"])
    limited.refused(403, "forbidden", "POST", "/banks", {"name": "third"})


def test_no_bank_is_made_where_the_data_folder_is_lost_or_a_disk_is_not_mounted(
    admin: Api,
) -> None:
    place = settings.DATA_DIR.parent / "elsewhere"
    settings.DATA_DIR.rename(place)
    admin.refused(503, "store_fault", "POST", "/banks", {"name": "kilns"})
    assert not settings.DATA_DIR.exists()
    settings.DATA_DIR.mkdir()  # where the disk belongs
    admin.refused(503, "store_fault", "POST", "/banks", {"name": "kilns"})
    assert admin.ok("POST", "/config/reload") == {"ok": False}
    assert not list(settings.DATA_DIR.iterdir())
    settings.DATA_DIR.rmdir()
    place.rename(settings.DATA_DIR)
    assert admin.ok("POST", "/config/reload") == {"ok": True}
    assert admin.ok("POST", "/banks", {"name": "kilns"})["created"] is True


# field cases A22 and A47
@pytest.mark.parametrize(
    "name",
    [
        "",
        "../escape",
        "a/../../x",
        "/etc/x",
        "..",
        ".",
        ".trash",
        "-rf",
        "a" * 300,
        "ops ",
        "O",
        7,
        KEY,
    ],
)
def test_a_name_that_cannot_be_a_folder_is_422_and_makes_nothing(
    world: World, admin: Api, name: object
) -> None:
    before = sorted(settings.DATA_DIR.parent.rglob("*"))
    answer = admin.send("POST", "/banks", {"name": name})
    assert answer.status_code == 422
    assert str(settings.DATA_DIR).encode() not in answer.content
    answer = admin.send("POST", "/memories", {"bank": name, "text": "Kiln 1 is cold."})
    assert answer.status_code == 422
    assert admin.send("POST", "/banks/ops/rename", {"name": name}).status_code == 422
    assert sorted(settings.DATA_DIR.parent.rglob("*")) == before


def test_list_shows_the_banks_one_may_see(world: World, admin: Api, api_of: MakeApi) -> None:
    save(world, "Kiln 1 is cold.", pinned=True)
    save(world, "Kiln 2 is cold.")
    admin.ok("POST", "/banks", {"name": "kilns"})
    one = {"name": "ops", "memories": 2, "pinned": 1, "rules": 0}
    assert api_of(world.viewer).ok("GET", "/banks") == {"banks": [one]}
    assert [each["name"] for each in admin.ok("GET", "/banks")["banks"]] == ["kilns", "ops"]
    assert api_of(world.stranger).ok("GET", "/banks") == {"banks": []}
    limited = api_of(world.admin, banks=["ops"])
    assert [each["name"] for each in limited.ok("GET", "/banks")["banks"]] == ["ops"]


def test_a_folder_that_somebody_put_there_is_listed(world: World, admin: Api) -> None:
    (settings.DATA_DIR / "found").mkdir()
    (settings.DATA_DIR / "found" / "index.md").write_text("# Found\n")
    assert [each["name"] for each in admin.ok("GET", "/banks")["banks"]] == ["found", "ops"]


def test_get_shows_one_and_a_foreign_one_is_as_an_absent_one(world: World, api_of: MakeApi) -> None:
    assert api_of(world.viewer).ok("GET", "/banks/ops")["bank"]["name"] == "ops"
    stranger = api_of(world.stranger)
    told = [
        stranger.refused(404, "bank_not_found", "GET", f"/banks/{name}") for name in ("ops", "none")
    ]
    assert [{**each, "request_id": ""} for each in told[:1]] == [{**told[1], "request_id": ""}]


def test_describe(world: World, api_of: MakeApi) -> None:
    owner = api_of(world.owner)
    told = owner.ok("PATCH", "/banks/ops", {"description": "About pumps"})
    assert told["bank"]["description"] == "About pumps"
    assert "About pumps" in (settings.DATA_DIR / "ops" / "bank.yaml").read_text()
    assert "description" not in owner.ok("PATCH", "/banks/ops", {"description": ""})["bank"]
    answer = owner.send("PATCH", "/banks/ops", {"description": "x" * 501})
    assert (answer.status_code, answer.json()["errors"][0]["loc"]) == (422, "description")


def test_delete_list_trash_and_restore(world: World, api_of: MakeApi) -> None:
    owner, viewer = api_of(world.owner), api_of(world.viewer)
    memory = save(world, "Kiln 1 is cold.").memory
    told = owner.ok("DELETE", "/banks/ops")
    assert told["ok"] is True
    assert told["trashed_to"].startswith(".trash/ops-")
    assert (settings.DATA_DIR / told["trashed_to"]).is_dir()
    owner.refused(404, "bank_not_found", "GET", f"/memories/{memory.id}?bank=ops")
    owner.refused(404, "bank_not_found", "DELETE", "/banks/ops")
    here = {"name": "ops", "trashed_to": told["trashed_to"]}
    assert owner.ok("GET", "/trash") == {"banks": [here]}
    assert viewer.ok("GET", "/trash") == {"banks": []}
    viewer.refused(404, "trash_not_found", "POST", "/banks/ops/restore")
    owner.refused(404, "trash_not_found", "POST", "/banks/ops/restore", {"folder": "ops-1999"})
    assert owner.ok("POST", "/banks/ops/restore")["bank"]["memories"] == 1
    assert viewer.ok("GET", f"/memories/{memory.id}?bank=ops")["memory"]["text"] == memory.text
    owner.refused(404, "trash_not_found", "POST", "/banks/ops/restore")


def test_restore_is_409_when_the_name_is_taken(world: World, admin: Api) -> None:
    where = admin.ok("DELETE", "/banks/ops")["trashed_to"]
    admin.ok("POST", "/banks", {"name": "ops"})
    admin.refused(409, "name_taken", "POST", "/banks/ops/restore", {"folder": where})


def test_rename_keeps_members_and_memories(world: World, admin: Api, api_of: MakeApi) -> None:
    save(world, "Kiln 1 is cold.")
    owner = api_of(world.owner)
    admin.ok("POST", "/banks", {"name": "kilns"})
    owner.refused(409, "name_taken", "POST", "/banks/ops/rename", {"name": "kilns"})
    owner.refused(422, "invalid_name", "POST", "/banks/ops/rename", {"name": "../x"})
    assert owner.ok("POST", "/banks/ops/rename", {"name": "pumps"})["bank"]["memories"] == 1
    assert api_of(world.viewer).ok("GET", "/memories?bank=pumps")["total"] == 1
    owner.refused(404, "bank_not_found", "GET", "/memories?bank=ops")


def test_ensure_makes_what_is_missing_and_nothing_else(world: World, editor: Api) -> None:
    path = settings.DATA_DIR / "ops" / "preferences.md"
    path.unlink()
    assert editor.ok("POST", "/banks/ops/ensure") == {"created": ["preferences.md"]}
    assert path.is_file()
    assert editor.ok("POST", "/banks/ops/ensure") == {"created": []}


def test_a_taken_name_is_told_alike_whether_its_bank_can_be_seen_or_not(
    world: World, admin: Api, api_of: MakeApi
) -> None:
    owner = api_of(world.owner)
    for name in ("seen", "unseen"):
        admin.ok("POST", "/banks", {"name": name})
    members.set_role(world.admin, Bank.objects.get(name="seen"), "owner", Role.VIEWER)
    told = [
        owner.refused(409, "name_taken", "POST", "/banks/ops/rename", {"name": name})
        for name in ("seen", "unseen")
    ]
    assert {**told[0], "request_id": ""} == {**told[1], "request_id": ""}


@pytest.fixture
def lost(world: World, admin: Api) -> Path:
    """Where the folder of `ops` was, beside another bank whose folder is there."""
    save(world, "Kiln 1 is cold.")
    admin.ok("POST", "/banks", {"name": "kilns"})
    folder: Path = settings.DATA_DIR / "ops"
    folder.rename(settings.DATA_DIR.parent / "aside")
    return folder


def test_a_bank_without_its_folder_says_so_to_its_owner(
    world: World, lost: Path, api_of: MakeApi
) -> None:
    owner = api_of(world.owner)
    owner.refused(503, "bank_on_hold", "POST", "/banks/ops/rename", {"name": "pumps"})
    owner.refused(503, "bank_on_hold", "PATCH", "/banks/ops", {"description": "Pumps"})
    assert owner.ok("GET", "/memories?bank=ops")["total"] == 1
    with pytest.raises(errors.BankOnHold):
        banks.accept(world.bank)
    assert not Operation.objects.filter(state="pending").exists()


def test_a_bank_without_its_folder_can_be_deleted_and_restored_when_that_turns_up(
    world: World, lost: Path, api_of: MakeApi
) -> None:
    owner = api_of(world.owner)
    where = owner.ok("DELETE", "/banks/ops")["trashed_to"]
    owner.refused(404, "bank_not_found", "GET", "/banks/ops")
    owner.refused(404, "trash_not_found", "POST", "/banks/ops/restore")
    (settings.DATA_DIR / where).parent.mkdir(exist_ok=True)
    (settings.DATA_DIR.parent / "aside").rename(settings.DATA_DIR / where)
    assert owner.ok("POST", "/banks/ops/restore")["bank"]["memories"] == 1
    assert (lost / "bank.yaml").exists()


def test_no_bank_is_deleted_while_the_folders_of_all_are_gone(
    world: World, lost: Path, api_of: MakeApi
) -> None:
    (settings.DATA_DIR / "kilns").rename(settings.DATA_DIR.parent / "kilns")
    api_of(world.owner).refused(503, "store_fault", "DELETE", "/banks/ops")
    settings.DATA_DIR.rename(settings.DATA_DIR.parent / "elsewhere")
    api_of(world.owner).refused(503, "store_fault", "DELETE", "/banks/ops")
    assert Bank.objects.get(pk=world.bank.pk).state == Bank.State.ACTIVE
