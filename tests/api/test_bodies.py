"""What is refused before a call looks at it: size, depth, and what is no JSON."""

import pytest
from django.test import Client

from tests.api.conftest import BASE, Api
from tests.builders import World
from tests.canaries import TOKEN

MEGABYTE = 1024 * 1024


FACT = b'"text": "Kiln 1 is cold."'


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"", "missing"),
        (b"[]", "object"),
        (b'"text"', "object"),
        (b"{", "not JSON"),
        (b"text", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"{" + FACT + b', "tags": NaN}', "not JSON"),
        (b"{" + FACT + b', "tags": Infinity}', "not JSON"),
        (b"{" + FACT + b', "created_at": 1e999}', "not JSON"),
        (b"{" + FACT + b', "created_at": ' + b"9" * 5000 + b"}", "not JSON"),
        (b"{" + FACT + b"} more", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a":' * 40 + b"1" + b"}" * 40, "nested deeper"),
        (b"[" * 40 + b"]" * 40, "nested deeper"),
        (b'{"text": "half \\ud800 a character"}', "half a character"),
        (b"{" + FACT + b', "\\udfff": 1}', "half a character"),
        (b"{" + FACT + b", " + FACT + b"}", "names a field twice"),
    ],
    ids=range(17),
)
def test_a_body_that_is_no_object_of_ours_is_422_and_says_why(
    editor: Api, body: bytes, word: str
) -> None:
    for method, path in (("POST", "/memories"), ("POST", "/recall"), ("PUT", "/rules/valves")):
        told = editor.refused(422, "invalid", method, path, body)
        assert word in told["message"]
        assert set(told) == {"code", "message", "errors", "request_id"}


def test_an_ordinary_call_takes_one_megabyte(editor: Api) -> None:
    filler = b'{"bank": "ops", "text": "' + b"x" * MEGABYTE + b'"}'
    editor.refused(413, "too_large", "POST", "/memories", filler)
    editor.refused(413, "too_large", "POST", "/recall", filler)


def test_bulk_takes_sixteen_megabytes(world: World, editor: Api) -> None:
    one = b'{"text": "' + b"x" * 2_000_000 + b'"}'
    body = b'{"bank": "ops", "memories": [' + one + b"]}"
    [result] = editor.ok("POST", "/memories/bulk", body)["results"]
    assert result["error"]["code"] == "invalid_content"
    editor.refused(413, "too_large", "POST", "/memories/bulk", b"x" * (16 * MEGABYTE + 1))


def test_the_size_is_judged_after_the_caller(world: World) -> None:
    answer = Client().post(f"{BASE}/memories", b"x" * (2 * MEGABYTE), content_type="text/plain")
    assert answer.status_code == 401


@pytest.mark.parametrize("path", ["/api/v1/none", "/api/v1/", "/api/", "/api", "/api/v2/banks"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_address_that_is_none_is_404_in_the_one_shape(path: str, method: str) -> None:
    answer = Client(enforce_csrf_checks=True).generic(method, path)
    assert (answer.status_code, answer.json()["code"]) == (404, "no_such_call")


def test_the_answer_carries_the_request_id(editor: Api) -> None:
    told = editor.refused(
        404, "bank_not_found", "GET", "/banks/none", headers={"X-Request-Id": "abc-1"}
    )
    assert told["request_id"] == "abc-1"


def test_no_answer_is_kept_by_a_browser_or_a_proxy(world: World, editor: Api) -> None:
    for path in ("/memories?bank=ops", "/memories?bank=none"):
        assert editor.send("GET", path).headers["Cache-Control"] == "no-store"


def test_a_secret_that_stands_where_a_name_should_is_not_told_again(admin: Api) -> None:
    for method, path, body in (
        ("GET", f"/banks?{TOKEN}=1", None),
        ("POST", "/banks", {TOKEN: 1}),
        ("PATCH", "/config", {TOKEN: 1}),
    ):
        told = str(admin.refused(422, "invalid", method, path, body))
        assert (TOKEN in told, "[redacted:vcs-token]" in told) == (False, True)
