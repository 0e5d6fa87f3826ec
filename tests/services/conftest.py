"""A bank with its people, for every test of a service, and a model that answers as scripted."""

from collections.abc import Iterator

import pytest

from banks import seams
from recall.learning import llm
from tests import builders
from tests.chat import Scripted
from tests.receivers import Receiver, receiving


@pytest.fixture
def world(db: None) -> builders.World:
    """One bank `ops` with a person in each role."""
    return builders.world()


@pytest.fixture
def model() -> Iterator[Scripted]:
    """A model that answers as scripted."""
    scripted = Scripted()
    with llm.replaced(scripted), seams.replaced(chance=lambda: 0.5):
        yield scripted


@pytest.fixture
def server() -> Iterator[Receiver]:
    """A server on this machine that answers as scripted."""
    with receiving() as receiver:
        yield receiver
