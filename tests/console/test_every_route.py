"""What holds at every address of the console, whichever come later: all of them are asked."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, get_resolver
from pytest_django import Settings

from banks.services import rules
from memoryconsole.console import urls
from tests.builders import World, save
from tests.console.conftest import Browser, words

OPEN = {"setup", "sign_in", "sign_out", "theme"}
"""What somebody who is not signed in may ask for: the way in, and what changes nothing."""

PATTERNS: list[URLPattern] = urls.urlpatterns


def address_of(pattern: URLPattern, key: str) -> str:
    """The address with something that exists in each place, where a name alone can tell."""
    values = {"bank": "ops", "key": key, "token": "none", "uid": "none", "name": "style"}
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: values[found[1]], str(pattern.pattern))


@pytest.fixture
def addresses(ops: World) -> dict[str, str]:
    """An address for every name, with a memory and a rule behind them."""
    key = save(ops, "Pump 1 leaks at the seal.").memory.id
    rules.set_rule(ops.maintainer, ops.bank, "style", "Close valve 3 first.")
    found = {str(pattern.name): address_of(pattern, key) for pattern in PATTERNS}
    assert len(found) == len(PATTERNS)
    return found


def test_the_console_has_no_address_that_is_not_asked_here() -> None:
    mounted = [each for each in get_resolver().url_patterns if not isinstance(each, URLPattern)]
    assert urls in [each.urlconf_module for each in mounted]


def test_who_is_not_signed_in_is_led_to_the_sign_in_page(addresses: dict[str, str]) -> None:
    client = Client()
    for name in addresses.keys() - OPEN - {"live"}:
        answer = client.get(addresses[name])
        if answer.status_code == 405:
            answer = client.post(addresses[name])
        assert answer.status_code == 303, name
        assert answer["Location"].startswith("/sign-in"), name
        assert client.post(addresses[name]).status_code in (303, 405), name
    assert client.get(addresses["live"]).status_code == 401


@pytest.fixture
def strict(ops: World) -> Client:
    """A browser of the admin that sends no token with its forms."""
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(username="admin"))
    return client


# field case A43
@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "text/plain"])
def test_a_form_without_its_token_is_refused_everywhere(
    addresses: dict[str, str], strict: Client, content_type: str
) -> None:
    for client in (strict, Client(enforce_csrf_checks=True)):
        for name, address in addresses.items():
            answer = client.post(
                address, "text=x&name=x&theme=dark&bank=ops", content_type=content_type,
                headers={"Origin": "https://elsewhere.example"},
            )  # fmt: skip
            assert answer.status_code == 403, name
            assert "That form is out of date" in words(answer), name
    assert strict.get("/banks/new").status_code == 200


def test_every_page_says_how_it_may_be_kept_and_what_it_may_load(
    addresses: dict[str, str], browser: Browser
) -> None:
    client = browser("admin")
    for name in addresses.keys() - {"live"}:
        answer = client.get(addresses[name])
        assert answer.status_code in (200, 303, 404, 405, 422), name
        assert "default-src 'none'" in answer["Content-Security-Policy"], name
        assert "unsafe" not in answer["Content-Security-Policy"], name
        if answer.status_code == 200:
            assert "no-store" in answer["Cache-Control"], name
            assert answer.content.count(b"<h1") == 1, name
            assert b"style=" not in answer.content, name
            assert not re.search(rb"<script(?![^>]* src=)", answer.content), name


def test_the_cookies_are_out_of_reach_for_scripts_and_other_sites(
    ops: World, settings: Settings
) -> None:
    client = Client()
    secret = "a long enough one"
    client.get("/sign-in")
    client.post("/sign-in", {"username": "viewer", "password": secret})
    session = client.cookies[settings.SESSION_COOKIE_NAME]
    assert session["httponly"]
    assert session["samesite"] == "Lax"
    client.post("/theme", {"theme": "dark", "next": "/audit"})
    for cookie in client.cookies.values():
        assert cookie["samesite"] in ("Lax", "Strict"), cookie.key
        assert cookie["httponly"], cookie.key


def test_a_host_that_is_not_ours_gets_nothing(addresses: dict[str, str], browser: Browser) -> None:
    for name in ("home", "memories", "audit", "live"):
        assert browser("admin").get(addresses[name], HTTP_HOST="evil.example").status_code == 400
