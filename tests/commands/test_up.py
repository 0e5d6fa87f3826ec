"""The `up` command before it serves: what it makes, and what it refuses to make again."""

import socket
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from memoryconsole.management.commands import up
from tests.builders import world


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What would have been served; nothing is."""
    started: list[object] = []

    class Quiet:
        def __init__(self, **given: object) -> None:
            started.append(given)

        def run(self) -> None:
            """Not in a test."""

    monkeypatch.setattr(up, "Server", Quiet)
    monkeypatch.setattr("memoryconsole.assets.collect", lambda: None)
    monkeypatch.setattr("django.db.connections.close_all", lambda: None)
    return started


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.django_db
def test_the_first_start_makes_the_data_folder(settings: Settings, served: list[object]) -> None:
    Path(settings.DATA_DIR).rmdir()
    call_command("up", "--port", free_port())
    assert (Path(settings.DATA_DIR).is_dir(), len(served)) == (True, 1)


@pytest.mark.django_db
def test_a_data_folder_that_is_gone_is_not_made_anew(
    settings: Settings, served: list[object]
) -> None:
    world()
    folder = Path(settings.DATA_DIR)
    folder.rename(folder.parent / "elsewhere")
    with pytest.raises(CommandError, match=r"MEMORYCONSOLE_DATA_DIR"):
        call_command("up", "--port", free_port())
    assert (folder.exists(), served) == (False, [])
