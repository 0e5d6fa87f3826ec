"""What every test gets: folders of its own, no network, one set of hypothesis profiles."""

import gc
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings as hypothesis_settings
from pytest_django import Settings

hypothesis_settings.register_profile("dev", max_examples=15, deadline=None)
hypothesis_settings.register_profile("long", max_examples=100, deadline=None)
hypothesis_settings.register_profile("deep", max_examples=5_000, deadline=None)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

# Thousands of modules live as long as the run: looking through them for garbage again and again
# takes a tenth of its time.
_USUAL_GC = gc.get_threshold()
_SELDOM_GC = (50_000, 20, 100)
gc.set_threshold(*_SELDOM_GC)

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PURE = frozenset({"unit", "property"})


class NetworkBlockedError(AssertionError):
    """A test tried to leave the machine."""


@pytest.fixture
def usual_gc() -> Iterator[None]:
    """Garbage is looked for as often as in a server: what is open closes with it."""
    gc.set_threshold(*_USUAL_GC)
    yield
    gc.set_threshold(*_SELDOM_GC)


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let sockets reach this machine and nothing else."""

    def checked(name: str) -> None:
        original = getattr(socket.socket, name)

        def call(self: socket.socket, address: Any) -> Any:
            outside = self.family in (socket.AF_INET, socket.AF_INET6)
            if outside and address[0] not in _LOOPBACK:
                raise NetworkBlockedError(f"{name} to {address[0]}")
            return original(self, address)

        monkeypatch.setattr(socket.socket, name, call)

    checked("connect")
    checked("connect_ex")


@pytest.fixture(autouse=True)
def own_folders(request: pytest.FixtureRequest) -> Iterator[None]:
    """Give a test that uses Django a data and a state folder of its own, both made and empty.

    Files are not synced: that is what the crash tests and those with a disk of their own are for.
    """
    if _PURE.intersection(request.path.relative_to(request.config.rootpath).parts):
        yield
        return
    folder: Path = request.getfixturevalue("tmp_path")
    settings: Settings = request.getfixturevalue("settings")
    settings.DATA_DIR = folder / "memory"
    settings.STATE_DIR = folder / "state"
    settings.DATA_DIR.mkdir()
    settings.STATE_DIR.mkdir(mode=0o700)
    from banks import seams
    from tests.disks import UnsyncedDisk

    with seams.replaced(disk=UnsyncedDisk()):
        yield
