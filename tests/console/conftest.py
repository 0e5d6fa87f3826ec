"""A bank with people in each role, and browsers they are signed in with."""

import html
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


def merge_of(answer: Any) -> dict[str, str]:
    """The form with the merge of two edits, as a browser would send it."""
    form = answer.content.decode().split('<form class="form merge"')[1].partition("</form>")[0]
    texts = re.findall(r'(?s)<textarea[^>]*name="([^"]+)"[^>]*>\n(.*?)</textarea>', form)
    inputs = re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', form)
    chosen = re.findall(
        r'(?s)<select[^>]*name="([^"]+)"(?:(?!</select>).)*?value="(\w+)" selected', form
    )
    return {name: html.unescape(value) for name, value in [*chosen, *inputs, *texts]}
