"""What answers without sign-in, and the headers that every answer carries."""

import shutil
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from pytest_django import Settings

from memoryconsole.middleware import CONTENT_SECURITY_POLICY
from tests.canaries import TOKEN


def test_healthz_answers_without_a_database(client: Client) -> None:
    answer = client.get("/healthz")
    assert (answer.status_code, answer.content) == (200, b"ok")
    assert "no-store" in answer["Cache-Control"]


def test_healthz_changes_nothing_by_post(client: Client) -> None:
    assert client.post("/healthz").status_code == 405


@pytest.mark.django_db
def test_readyz_says_ok_when_database_and_folder_are_there(client: Client) -> None:
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content) == (200, b"ok")


@pytest.mark.django_db
def test_readyz_tells_nothing_but_503_when_the_data_folder_is_gone(
    client: Client, settings: Settings
) -> None:
    folder: Path = settings.DATA_DIR
    shutil.rmtree(folder)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.content) == (503, b"unavailable")
    assert answer["Retry-After"] == "5"


@pytest.mark.django_db
def test_readyz_says_503_when_the_database_does_not_answer(client: Client) -> None:
    def refuse(*args: object) -> None:
        from django.db import OperationalError

        raise OperationalError("gone")

    with connection.execute_wrapper(refuse):
        assert client.get("/readyz").status_code == 503


def test_every_answer_is_fenced_in(client: Client) -> None:
    answer = client.get("/healthz")
    assert answer["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] == "same-origin"
    assert answer["X-Frame-Options"] == "DENY"
    assert "camera=()" in answer["Permissions-Policy"]


def test_a_missing_page_is_fenced_in_too(client: Client) -> None:
    answer = client.get("/nothing/here")
    assert answer.status_code == 404
    assert answer["Content-Security-Policy"] == CONTENT_SECURITY_POLICY


def test_the_policy_allows_nothing_inline_and_nothing_foreign() -> None:
    assert CONTENT_SECURITY_POLICY.startswith("default-src 'none'")
    for word in ("unsafe", "http", "*"):
        assert word not in CONTENT_SECURITY_POLICY


def test_a_sane_request_id_is_kept(client: Client) -> None:
    answer = client.get("/healthz", headers={"X-Request-Id": "turn-7.a_B"})
    assert answer["X-Request-Id"] == "turn-7.a_B"


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, 'a"b', "ä", "a\tb", TOKEN])
def test_another_request_id_is_replaced(client: Client, given: str) -> None:
    answer = client.get("/healthz", headers={"X-Request-Id": given})
    assert answer["X-Request-Id"] != given
    assert len(answer["X-Request-Id"]) == 16


def test_a_foreign_host_name_is_refused(client: Client) -> None:
    assert client.get("/healthz", headers={"Host": "evil.example"}).status_code == 400


# field case A26
def test_the_log_of_a_request_holds_no_query_string(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    client.get(f"/healthz?token={TOKEN}")
    lines = [entry.getMessage() for entry in caplog.records]
    assert any("route=/healthz status=200" in line for line in lines)
    assert TOKEN not in "\n".join(lines)
