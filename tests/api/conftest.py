"""A bank with its people, and clients that call the API as one of them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client

from banks.access import Principal, Scope
from banks.services import tokens
from tests import builders

BASE = "/api/v1"
EVERY_SCOPE = tuple(scope.value for scope in Scope)


class Api:
    """Calls with one token. Answers are checked for their status and given as values."""

    def __init__(self, secret: str) -> None:
        self.headers = {"Authorization": f"Bearer {secret}"}
        self.client = Client()

    def send(
        self, method: str, path: str, body: object = None, *, headers: dict[str, str] | None = None
    ) -> HttpResponse:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.client.generic(
            method,
            BASE + path,
            b"" if body is None else data,
            content_type="application/json",
            headers=self.headers | (headers or {}),
        )

    def ok(self, method: str, path: str, body: object = None, **more: Any) -> dict[str, Any]:
        answer = self.send(method, path, body, **more)
        assert answer.status_code == 200, answer.content
        told: dict[str, Any] = json.loads(answer.content)
        return told

    def refused(
        self, status: int, code: str, method: str, path: str, body: object = None, **more: Any
    ) -> dict[str, Any]:
        answer = self.send(method, path, body, **more)
        told: dict[str, Any] = json.loads(answer.content)
        assert (answer.status_code, told["code"]) == (status, code), told
        return told


MakeApi = Callable[..., Api]


def token_of(principal: Principal, *scopes: str, banks: list[str] | None = None) -> str:
    """A token that this person owns."""
    _, secret = tokens.create(
        principal, "a token", scopes or EVERY_SCOPE, banks=banks, owner_id=principal.user_id
    )
    return secret


@pytest.fixture
def world(db: None) -> builders.World:
    """One bank `ops` with a person in each role."""
    return builders.world()


@pytest.fixture
def api_of() -> MakeApi:
    """Makes clients: of a person, with all scopes or these, for all banks or these."""

    def make(principal: Principal, *scopes: str, banks: list[str] | None = None) -> Api:
        return Api(token_of(principal, *scopes, banks=banks))

    return make


@pytest.fixture
def editor(world: builders.World, api_of: MakeApi) -> Api:
    """A client of the editor, with every scope."""
    return api_of(world.editor)


@pytest.fixture
def admin(world: builders.World, api_of: MakeApi) -> Api:
    """A client of the instance admin, with every scope."""
    return api_of(world.admin)


def signed_in(principal: Principal) -> Client:
    """A browser in which this person is signed in; CSRF is checked as for real."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(pk=principal.user_id))
    return client
