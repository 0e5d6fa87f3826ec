"""The fences around every test hold."""

import socket
from pathlib import Path

import pytest
from pytest_django import Settings

from tests.conftest import NetworkBlockedError


@pytest.mark.parametrize("call", ["connect", "connect_ex"])
def test_a_test_cannot_reach_another_machine(call: str) -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
        pytest.raises(NetworkBlockedError),
    ):
        getattr(probe, call)(("192.0.2.1", 9))


def test_a_test_has_empty_folders_of_its_own(settings: Settings, tmp_path: Path) -> None:
    for folder in (settings.DATA_DIR, settings.STATE_DIR):
        assert folder.is_relative_to(tmp_path)
        assert list(folder.iterdir()) == []
