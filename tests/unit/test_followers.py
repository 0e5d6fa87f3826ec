"""Followers run one after the other; one that fails stops nobody."""

import logging

import pytest

from banks import followers


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(followers, "_followers", {})
    monkeypatch.setattr(followers, "_at_stop", {})
    told: list[str] = []

    def good() -> int:
        told.append("ran")
        return 2

    def bad() -> int:
        raise RuntimeError("no")

    followers.register("bad", bad, at_stop=bad)
    followers.register("good", good, at_stop=good)
    followers.register("quiet", lambda: 1)
    return told


def test_one_that_fails_is_logged_and_the_others_run(
    told: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        assert followers.run_all() == 3
    assert told == ["ran"]
    assert "follower failed name=bad" in caplog.text


def test_only_those_with_something_to_finish_run_at_the_stop(told: list[str]) -> None:
    assert followers.stop_all() == 2
    assert told == ["ran"]
