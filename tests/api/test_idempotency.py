"""The Idempotency-Key header."""

import secrets

import pytest

from banks import seams
from banks.models import Change, Operation
from tests.api.conftest import Api, MakeApi
from tests.builders import World, save
from tests.canaries import TOKEN

BODY = {"bank": "ops", "text": "Kiln 1 is cold."}
KEY = {"Idempotency-Key": "first-1"}


def test_the_same_call_answers_the_first_result_again(world: World, editor: Api) -> None:
    first = editor.ok("POST", "/memories", BODY, headers=KEY)
    before = Change.objects.count()
    assert editor.ok("POST", "/memories", BODY, headers=KEY) == first
    assert first["created"] is True
    assert Change.objects.count() == before


@pytest.mark.parametrize("body", [{**BODY, "tags": ["x"]}, {**BODY, "bank": "other"}])
def test_another_body_is_422(
    world: World, editor: Api, admin: Api, body: dict[str, object]
) -> None:
    admin.ok("POST", "/banks", {"name": "other"})
    admin.ok("POST", "/memories", BODY, headers=KEY)
    admin.refused(422, "idempotency_mismatch", "POST", "/memories", body, headers=KEY)


def test_another_call_with_the_key_is_422(world: World, editor: Api) -> None:
    memory = editor.ok("POST", "/memories", BODY, headers=KEY)["memory"]
    path = f"/memories/{memory['id']}?bank=ops"
    editor.refused(422, "idempotency_mismatch", "DELETE", path, headers=KEY)


def test_keys_belong_to_their_token(world: World, editor: Api, api_of: MakeApi) -> None:
    editor.ok("POST", "/memories", BODY, headers=KEY)
    other = api_of(world.editor)
    assert other.ok("POST", "/memories", BODY, headers=KEY)["created"] is False


def test_a_key_whose_first_call_still_runs_is_409(world: World, editor: Api) -> None:
    editor.ok("POST", "/memories", BODY, headers=KEY)
    # What another process leaves while it still writes: it holds the bank's lock all the while,
    # so here the row alone is put back in that state, with a step that nothing can end.
    row = Operation.objects.get(idempotency_key__isnull=False)
    Operation.objects.filter(pk=row.pk).update(state="pending", act="bank renamed")
    editor.refused(409, "idempotency_in_progress", "POST", "/memories", BODY, headers=KEY)


def test_of_a_key_only_a_digest_is_kept(world: World, editor: Api) -> None:
    first = editor.ok("POST", "/memories", BODY, headers={"Idempotency-Key": TOKEN})
    assert editor.ok("POST", "/memories", BODY, headers={"Idempotency-Key": TOKEN}) == first
    assert TOKEN not in str(list(Operation.objects.values()))


@pytest.mark.parametrize("key", ["", "k" * 256, "naïve", "tab\there"])
def test_a_key_that_cannot_be_kept_is_422(editor: Api, key: str) -> None:
    told = editor.refused(
        422, "invalid", "POST", "/memories", BODY, headers={"Idempotency-Key": key}
    )
    assert told["errors"][0]["loc"] == "Idempotency-Key"


def test_every_change_of_a_memory_takes_a_key(world: World, editor: Api) -> None:
    one, two = save(world, "Kiln 1 is cold.").memory, save(world, "Kiln 2 is cold.").memory
    path = f"/memories/{one.id}"
    for number, (method, where, body) in enumerate(
        [
            ("PATCH", path, {"bank": "ops", "tags": ["x"]}),
            ("POST", f"{path}/pin", {"bank": "ops", "pinned": True}),
            ("POST", f"{path}/pin", {"bank": "ops", "pinned": False}),
            ("DELETE", f"{path}?bank=ops", None),
            ("POST", f"{path}/restore", {"bank": "ops"}),
            ("POST", f"{path}/supersede", {"bank": "ops", "superseded_by": two.id}),
            ("POST", "/memories/bulk", {"bank": "ops", "memories": [{"text": "Kiln 3."}]}),
        ]
    ):
        key = {"Idempotency-Key": f"key {number}"}
        first = editor.ok(method, where, body, headers=key)
        before = Change.objects.count()
        assert editor.ok(method, where, body, headers=key) == first
        assert Change.objects.count() == before


def test_the_same_body_to_another_address_is_422(world: World, editor: Api) -> None:
    one, two = save(world, "Kiln 1 is cold.").memory, save(world, "Kiln 2 is cold.").memory
    body = {"bank": "ops", "pinned": True}
    editor.ok("POST", f"/memories/{one.id}/pin", body, headers=KEY)
    path = f"/memories/{two.id}/pin"
    editor.refused(422, "idempotency_mismatch", "POST", path, body, headers=KEY)


def test_the_same_body_from_another_session_is_another_call(
    world: World, editor: Api, admin: Api
) -> None:
    admin.ok("POST", "/banks", {"name": "kilns"})
    for session, bank in (("one", "ops"), ("two", "kilns")):
        admin.ok("PUT", f"/sessions/{session}", {"bank": bank})
    body = {"text": "Kiln 1 is cold."}
    admin.ok("POST", "/memories", body, headers={**KEY, "X-Session-Id": "one"})
    other = {**KEY, "X-Session-Id": "two"}
    admin.refused(422, "idempotency_mismatch", "POST", "/memories", body, headers=other)


def test_of_two_calls_at_once_in_two_banks_the_second_is_409(
    world: World, editor: Api, admin: Api
) -> None:
    """Each bank has a lock of its own, so nothing but the key stands between them."""
    admin.ok("POST", "/banks", {"name": "kilns"})
    between: list[object] = []

    def meanwhile() -> str:
        if not between:
            between.append("begun")
            theirs = {"bank": "kilns", "text": "Kiln 2 is hot."}
            between.append(admin.ok("POST", "/memories", theirs, headers=KEY)["created"])
        return secrets.token_hex(3)

    with seams.replaced(suffix=meanwhile):
        admin.refused(409, "idempotency_in_progress", "POST", "/memories", BODY, headers=KEY)
    assert between == ["begun", True]
    admin.refused(422, "idempotency_mismatch", "POST", "/memories", BODY, headers=KEY)
    assert admin.ok("GET", "/memories?bank=ops")["total"] == 0
