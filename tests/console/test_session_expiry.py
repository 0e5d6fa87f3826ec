"""A browser session ends when it is idle, and when it is old."""

import time

import pytest
from django.contrib.auth import get_user_model
from django.contrib.sessions.models import Session
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client: Client) -> Client:
    client.force_login(get_user_model().objects.create_user("ada", password="not-used-here"))
    client.get("/healthz")
    return client


def shift(client: Client, **seconds: int) -> None:
    """Set marks of the stored session back by so many seconds."""
    session = client.session
    for key, back in seconds.items():
        session[key] -= back
    session.save()


def alive(client: Client) -> bool:
    client.get("/healthz")
    return Session.objects.filter(session_key=client.session.session_key).exists() and bool(
        client.session.get("_auth_user_id")
    )


def test_a_session_in_use_lives(signed_in: Client, settings: Settings) -> None:
    shift(signed_in, seen_at=settings.SESSION_IDLE_S - 60)
    assert alive(signed_in)
    assert time.time() - signed_in.session["seen_at"] < 60


def test_an_idle_session_ends(signed_in: Client, settings: Settings) -> None:
    shift(signed_in, seen_at=settings.SESSION_IDLE_S + 60)
    assert not alive(signed_in)


def test_an_old_session_ends_though_it_is_in_use(signed_in: Client, settings: Settings) -> None:
    shift(signed_in, started_at=settings.SESSION_COOKIE_AGE + 60)
    assert not alive(signed_in)


def test_a_page_read_within_the_hour_writes_nothing(
    signed_in: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):  # the session is read, and that is all
        signed_in.get("/healthz")


def test_a_request_without_the_cookie_does_not_look_at_sessions(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        client.get("/healthz")
