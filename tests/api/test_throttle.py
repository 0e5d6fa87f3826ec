"""Too many calls: with a wrong token from one address, and with one token where that is limited."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from banks import seams
from banks.access import Principal
from memoryconsole import throttle
from memoryconsole.models import Tally
from tests.api.conftest import BASE, token_of
from tests.builders import World

NOON = datetime(2031, 3, 1, 12, 0, 20, tzinfo=UTC)
"""Minutes of their own, so that no other test of this process is over the limit."""


def ask(secret: str, address: str = "203.0.113.7", path: str = "/banks") -> HttpResponse:
    method = "POST" if path.startswith("/hooks") else "GET"
    return Client(REMOTE_ADDR=address).generic(
        method, BASE + path, b"{}", content_type="application/json",
        headers={"Authorization": f"Bearer {secret}"},
    )  # fmt: skip


def test_wrong_tokens_are_answered_thirty_times_a_minute_and_a_valid_one_always(
    world: World,
) -> None:
    with seams.replaced(now=lambda: NOON):
        secret = token_of(world.viewer)
        assert {ask("mc_wrong").status_code for _ in range(30)} == {401}
        refused = ask("mc_wrong")
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_wrong_tokens")
        assert refused.headers["Retry-After"] == "40"
        assert ask("mc_wrong", path="/hooks/pre-generate").status_code == 429
        assert ask(secret).status_code == 200
        assert ask("mc_wrong", "203.0.113.8").status_code == 401
        with CaptureQueriesContext(connection) as asked:
            ask("mc_wrong")
        assert [each["sql"][:6] for each in asked] == ["SELECT"]
    with seams.replaced(now=lambda: NOON + timedelta(minutes=1)):
        assert ask("mc_wrong").status_code == 401
    assert Tally.objects.count() == 1


def test_other_processes_count_too_and_one_network_is_one_caller(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with seams.replaced(now=lambda: NOON + timedelta(hours=1)):
        for number in range(30):
            ask("mc_wrong", f"2001:db8::{number:x}")
        monkeypatch.setattr(throttle, "_over", {})
        assert ask("mc_wrong", "2001:db8::ffff").status_code == 429


def test_a_token_makes_as_many_calls_as_it_likes_unless_that_is_limited(
    world: World, settings: Settings
) -> None:
    with seams.replaced(now=lambda: NOON + timedelta(hours=2)):
        secret, other = token_of(world.viewer), token_of(world.editor)
        assert ask(secret).status_code == 200
        assert not Tally.objects.exists()
        settings.TOKEN_RATE = 2
        assert [ask(secret).status_code for _ in range(3)] == [200, 200, 429]
        refused = ask(secret)
        assert (refused.json()["code"], refused.headers["Retry-After"]) == ("too_many", "40")
        assert ask(other).status_code == 200
        throttle.spend(Principal(handle="user:ada", user_id=1))
    with seams.replaced(now=lambda: NOON + timedelta(hours=2, minutes=1)):
        assert ask(secret).status_code == 200
