"""A bank with people in each role, and browsers they are signed in with."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders import World, world

Browser = Callable[[str], Client]


@pytest.fixture
def ops(db: None) -> World:
    return world()


@pytest.fixture
def browser(ops: World) -> Browser:
    """A signed-in browser of the person with this name."""

    def signed_in(name: str) -> Client:
        client = Client()
        client.force_login(User.objects.get(username=name))
        return client

    return signed_in


def words(answer: Any) -> str:
    """What a page says, without its tags."""
    return " ".join(re.sub(r"<[^>]*>", " ", answer.content.decode()).split())
