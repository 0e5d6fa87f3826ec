"""A bank with its people, for every test of a service."""

import pytest

from tests import builders


@pytest.fixture
def world(db: None) -> builders.World:
    """One bank `ops` with a person in each role."""
    return builders.world()
