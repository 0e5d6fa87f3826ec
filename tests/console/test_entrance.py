"""The first account, signing in and out, and the fence around every page."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from banks import auth, errors, seams
from banks.services import people
from tests.builders import World, agent, save
from tests.console.conftest import Browser, words

PASSWORD = "a long enough one"
OPEN = {"setup", "sign_in", "sign_out", "theme"}

pytestmark = pytest.mark.django_db


def signed_in(client: Client) -> bool:
    return client.get("/banks").status_code == 200


def try_to_sign_in(
    client: Client, name: str, password: str = PASSWORD, *, address: str = "127.0.0.1"
) -> int:
    typed = {"username": name, "password": password}
    return client.post("/sign-in", typed, REMOTE_ADDR=address).status_code


@pytest.fixture
def clock() -> Iterator[list[datetime]]:
    now = [datetime(2026, 11, 30, 12, tzinfo=UTC)]
    with seams.replaced(now=lambda: now[0]):
        yield now


# --- the first account ------------------------------------------------------------------------


def set_up(client: Client, link: str, **changed: str) -> int:
    typed = {"username": "ada", "password": PASSWORD, "again": PASSWORD} | changed
    return client.post(f"/setup/{link}", typed).status_code


def test_looking_at_the_link_does_not_use_it_up(client: Client) -> None:
    link = auth.make_setup_token()
    assert client.get(f"/setup/{link}").status_code == 200
    assert client.get(f"/setup/{link}").status_code == 200
    assert not User.objects.exists()


def test_the_link_makes_an_instance_admin_and_signs_in(client: Client) -> None:
    assert set_up(client, auth.make_setup_token()) == 303
    assert User.objects.get().is_superuser
    assert signed_in(client)


def test_the_first_account_has_the_bank_that_saves_go_to(
    client: Client, settings: Settings
) -> None:
    set_up(client, auth.make_setup_token())
    assert client.get("/")["Location"] == "/welcome"
    assert "owner" in words(client.get("/b/main/memories"))
    assert (settings.DATA_DIR / "main" / "index.md").exists()


def test_a_bank_that_cannot_be_made_is_told_and_the_account_is_there(
    client: Client, settings: Settings
) -> None:
    settings.DATA_DIR.rmdir()
    settings.DATA_DIR.write_text("a file where the folder should be")
    typed = {"username": "ada", "password": PASSWORD, "again": PASSWORD}
    answer = client.post(f"/setup/{auth.make_setup_token()}", typed, follow=True)
    assert User.objects.get().username == "ada"
    assert 'class="strip strip-error"' in answer.content.decode()


def test_a_short_password_and_a_differing_one_are_told_together(client: Client) -> None:
    typed = {"username": "ada", "password": "short", "again": "other"}
    answer = client.post(f"/setup/{auth.make_setup_token()}", typed)
    assert set(answer.context["form"].errors) == {"password", "again"}


def test_the_page_of_the_first_account_promises_no_page_that_is_not_there(client: Client) -> None:
    said = words(client.get(f"/setup/{auth.make_setup_token()}"))
    assert not any(word in said for word in ("invite", "token", "issue"))


def test_a_used_link_works_no_more(client: Client) -> None:
    link = auth.make_setup_token()
    set_up(client, link)
    assert Client().get(f"/setup/{link}").status_code == 404
    assert set_up(Client(), link, username="eve") == 404
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    "changed", [{"again": "another long one"}, {"password": "short", "again": "short"},
                {"username": ""}, {"username": "a\x00b"}],
)  # fmt: skip
def test_a_refused_first_account_leaves_the_link_open(
    client: Client, changed: dict[str, str]
) -> None:
    link = auth.make_setup_token()
    assert set_up(client, link, **changed) == 422
    assert not User.objects.exists()
    assert set_up(client, link) == 303


# --- signing in -------------------------------------------------------------------------------


def test_name_and_password_sign_in(client: Client, ops: World) -> None:
    assert try_to_sign_in(client, "editor") == 303
    assert signed_in(client)


def test_an_unknown_name_is_answered_like_a_wrong_password(client: Client, ops: World) -> None:
    wrong = client.post("/sign-in", {"username": "editor", "password": "not it at all"})
    unknown = client.post("/sign-in", {"username": "nobody", "password": "not it at all"})
    assert wrong.status_code == unknown.status_code == 422
    assert words(wrong) == words(unknown)
    assert not signed_in(client)


def test_the_sixth_try_waits_even_with_the_right_password(
    client: Client, ops: World, clock: list[datetime]
) -> None:
    for _ in range(5):
        assert try_to_sign_in(client, "editor", "not it at all") == 422
    answer = client.post("/sign-in", {"username": "Editor ", "password": PASSWORD})
    assert (answer.status_code, answer["Retry-After"]) == (429, "900")
    assert not signed_in(client)


def test_other_accounts_and_addresses_do_not_wait(client: Client, ops: World) -> None:
    for _ in range(5):
        try_to_sign_in(client, "editor", "not it at all")
    assert try_to_sign_in(Client(), "viewer") == 303
    assert try_to_sign_in(Client(), "editor", address="203.0.113.9") == 303


def test_one_network_of_the_long_addresses_counts_as_one(client: Client, ops: World) -> None:
    for number in range(5):
        try_to_sign_in(client, "editor", "not it at all", address=f"2001:db8::{number + 1}")
    assert try_to_sign_in(client, "editor", address="2001:db8::ff") == 429
    assert try_to_sign_in(client, "editor", address="2001:db8:0:1::1") == 303


def test_a_quarter_of_an_hour_later_it_works_again(
    client: Client, ops: World, clock: list[datetime]
) -> None:
    for _ in range(7):
        try_to_sign_in(client, "editor", "not it at all")
    clock[0] += timedelta(minutes=15)
    assert try_to_sign_in(client, "editor") == 303


def test_who_gets_in_starts_anew(client: Client, ops: World) -> None:
    for _ in range(2):
        for _ in range(4):
            assert try_to_sign_in(client, "editor", "not it at all") == 422
        assert try_to_sign_in(client, "editor") == 303
        client.post("/sign-out")


def test_after_signing_in_one_is_where_one_wanted_to_go(client: Client, ops: World) -> None:
    asked = client.get("/b/ops/memories?tag=firing")
    assert (asked.status_code, asked["Location"]) == (
        303, "/sign-in?next=%2Fb%2Fops%2Fmemories%3Ftag%3Dfiring")  # fmt: skip
    typed = {"username": "editor", "password": PASSWORD, "next": "/b/ops/memories?tag=firing"}
    assert client.post("/sign-in", typed)["Location"] == "/b/ops/memories?tag=firing"


@pytest.mark.parametrize(
    "elsewhere",
    ["//evil.example", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"],
)
def test_signing_in_leads_to_no_other_site(client: Client, ops: World, elsewhere: str) -> None:
    typed = {"username": "editor", "password": PASSWORD, "next": elsewhere}
    assert client.post("/sign-in", typed)["Location"] == "/"


def test_without_any_account_the_page_points_at_the_printed_link(client: Client) -> None:
    page = client.get("/sign-in")
    assert "one-time link" in words(page)
    assert "<form" not in page.content.decode()


# --- another password -------------------------------------------------------------------------

NEW = "another long one"


def change_password(client: Client, **changed: str) -> Any:
    typed = {"old": PASSWORD, "password": NEW, "again": NEW} | changed
    return client.post("/settings/password", typed)


def test_another_password_ends_the_other_sessions_and_keeps_this_one(
    ops: World, browser: Browser
) -> None:
    here, there = browser("editor"), browser("editor")
    assert 'href="/settings/password"' in here.get("/banks").content.decode()
    assert change_password(here)["Location"] == "/settings/password"
    assert "Your password is changed." in words(here.get("/settings/password"))
    assert signed_in(here)
    assert not signed_in(there)
    assert try_to_sign_in(Client(), "editor") == 422
    assert try_to_sign_in(Client(), "editor", NEW) == 303
    assert try_to_sign_in(Client(), "viewer") == 303


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [({"old": "not it at all"}, "old", "not your password"), ({"old": ""}, "old", "required"),
     ({"again": "yet another one"}, "again", "differ"),
     ({"password": "short", "again": "short"}, "password", "at least 10"),
     ({"password": "password123", "again": "password123"}, "password", "common")],
)  # fmt: skip
def test_a_password_that_is_refused_changes_nothing_and_is_explained(
    ops: World, browser: Browser, changed: dict[str, str], field: str, said: str
) -> None:
    answer = change_password(browser("editor"), **changed)
    assert answer.status_code == 422
    assert said in str(answer.context["form"].errors[field])
    assert not any(value in answer.content.decode() for value in (PASSWORD, NEW))
    assert try_to_sign_in(Client(), "editor") == 303


def test_guessing_the_password_from_inside_waits_like_signing_in(
    ops: World, browser: Browser, clock: list[datetime]
) -> None:
    client = browser("editor")
    for _ in range(5):
        assert change_password(client, old="not it at all").status_code == 422
    answer = change_password(client)
    assert (answer.status_code, answer["Retry-After"]) == (429, "900")
    assert try_to_sign_in(Client(), "editor") == 429
    clock[0] += timedelta(minutes=15)
    assert change_password(client).status_code == 303


def test_the_right_password_with_a_poor_new_one_is_no_guess(ops: World, browser: Browser) -> None:
    client = browser("editor")
    for _ in range(6):
        assert change_password(client, password="short", again="short").status_code == 422


def test_a_token_has_no_password_to_change(ops: World) -> None:
    with pytest.raises(errors.Forbidden):
        people.change_own_password(agent(ops), PASSWORD, NEW)


# --- the fence --------------------------------------------------------------------------------


# field case A43
@pytest.mark.parametrize("name", ["sign_out", "theme", "pin", "delete", "restore"])
def test_nothing_changes_by_following_a_link(ops: World, browser: Browser, name: str) -> None:
    client = browser("owner")
    memory = save(ops, "The valve of pump 2 sticks.").memory
    arguments = [] if name in OPEN else ["ops", memory.id]
    assert client.get(reverse(name, args=arguments)).status_code == 405
    assert signed_in(client)
    assert client.get(f"/m/ops/{memory.id}").context["told"].memory == memory


def test_signing_out_ends_the_session(ops: World, browser: Browser) -> None:
    client = browser("editor")
    assert client.post("/sign-out").status_code == 303
    assert not signed_in(client)


def test_a_session_that_ended_hands_back_what_was_typed(client: Client, ops: World) -> None:
    answer = client.post("/b/ops/memories/new", {"text": "Half an hour of <b>typing</b>."})
    assert answer.status_code == 403
    assert "Half an hour of &lt;b&gt;typing&lt;/b&gt;." in answer.content.decode()


def test_somebody_whose_account_was_closed_is_out(ops: World, browser: Browser) -> None:
    client = browser("editor")
    User.objects.filter(username="editor").update(is_active=False)
    assert client.get("/b/ops/memories").status_code == 303


def test_pages_are_kept_by_no_cache(ops: World, browser: Browser) -> None:
    answer = browser("viewer").get("/b/ops/memories")
    assert "no-store" in answer["Cache-Control"]


# --- theme ------------------------------------------------------------------------------------


def test_the_theme_is_kept_in_a_cookie(ops: World, browser: Browser) -> None:
    client = browser("viewer")
    assert (
        client.post("/theme", {"theme": "dark", "next": "/banks/new"})["Location"] == "/banks/new"
    )
    assert client.cookies["theme"]["httponly"]
    assert '<html lang="en" data-theme="dark">' in client.get("/banks/new").content.decode()
    client.post("/theme", {"theme": "system"})
    assert '<html lang="en">' in client.get("/banks/new").content.decode()


def test_a_theme_that_does_not_exist_reaches_no_page(ops: World, browser: Browser) -> None:
    client = browser("viewer")
    client.cookies["theme"] = '"><b>x'
    assert '<html lang="en">' in client.get("/banks/new").content.decode()
