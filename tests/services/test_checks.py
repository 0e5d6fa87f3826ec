"""What the system checks refuse."""

from pathlib import Path

import pytest
from pytest_django import Settings

from memoryconsole import checks
from memoryconsole.env import BadEnvironmentError
from memoryconsole.settings import SQLITE_OPTIONS, database


@pytest.fixture
def exposed(settings: Settings) -> Settings:
    """A set-up that other machines may reach, and that is all right."""
    settings.ALLOWED_HOSTS = ["memory.example"]
    settings.SECRET_KEY_GIVEN = settings.DATA_DIR_GIVEN = settings.HTTPS = True
    settings.DEBUG = False
    return settings


def ids() -> list[str | None]:
    return [found.id for found in checks.exposure(None)]


def test_a_well_configured_exposure_passes(exposed: Settings) -> None:
    assert ids() == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("SECRET_KEY_GIVEN", False, "memoryconsole.E001"),
        ("DATA_DIR_GIVEN", False, "memoryconsole.E002"),
        ("HTTPS", False, "memoryconsole.E003"),
        ("DEBUG", True, "memoryconsole.E004"),
    ],
)
def test_an_exposure_that_misses_one_thing_is_refused(
    exposed: Settings, name: str, value: bool, expected: str
) -> None:
    setattr(exposed, name, value)
    assert ids() == [expected]
    exposed.ALLOWED_HOSTS = ["localhost"]
    assert ids() == []


@pytest.mark.parametrize("name", ["Main!", "", "../escape"])
def test_a_default_bank_without_a_possible_name_is_refused(settings: Settings, name: str) -> None:
    assert checks.configuration(None) == []
    settings.DEFAULT_BANK = name
    assert [found.id for found in checks.configuration(None)] == ["memoryconsole.E007"]


def test_plain_http_can_be_accepted_by_name(exposed: Settings) -> None:
    exposed.HTTPS, exposed.ALLOW_HTTP = False, True
    assert ids() == []


@pytest.mark.parametrize(("data", "state"), [("a", "a/b"), ("a/b", "a"), ("a", "a")])
def test_folders_inside_each_other_are_refused(
    settings: Settings, tmp_path: Path, data: str, state: str
) -> None:
    settings.DATA_DIR, settings.STATE_DIR = tmp_path / data, tmp_path / state
    assert [found.id for found in checks.folders(None)] == ["memoryconsole.E005"]
    settings.STATE_DIR = tmp_path / "elsewhere"
    assert checks.folders(None) == []


MOUNTS = """\
overlay / overlay rw 0 0
server:/vol /srv/shared\\040disk nfs4 rw 0 0
tmpfs /srv/shared\\040disk/fast tmpfs rw 0 0
/dev/sdb /mnt ext4 rw 0 0
server:/b /mnt nfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/x", "overlay"),
        ("/srv/shared disk/state", "nfs4"),
        ("/srv/shared disk/fast/state", "tmpfs"),
        ("/srv/shared disk2", "overlay"),
        ("/mnt/a", "nfs"),
    ],
)
def test_the_innermost_mount_tells_the_file_system(path: str, kind: str) -> None:
    assert checks.file_system(Path(path), MOUNTS) == kind


def test_a_sqlite_address_gives_a_durable_database(tmp_path: Path) -> None:
    made = database(f"sqlite:///{tmp_path}/a%20b.sqlite3")
    assert made["NAME"] == f"{tmp_path}/a b.sqlite3"
    assert made["OPTIONS"] == SQLITE_OPTIONS
    assert "synchronous=FULL" in str(SQLITE_OPTIONS["init_command"])


def test_a_postgres_address_is_taken_apart() -> None:
    made = database("postgres://me:p%40ss@db.example:5433/memory?sslmode=require")
    assert made["ENGINE"].endswith("postgresql")
    assert (made["USER"], made["PASSWORD"]) == ("me", "p@ss")
    assert (made["HOST"], made["PORT"], made["NAME"]) == ("db.example", "5433", "memory")
    assert made["OPTIONS"] == {"sslmode": "require"}


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hunter2@h/n",
        "sqlite://",
        "sqlite:///",
        "sqlite://host/db",
        "postgres://host",
        "postgres://u:hunter2@h:port/n",
        "postgres://u:hunter2@[h/n",
        "",
        "db.sqlite3",
    ],
)
def test_another_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(BadEnvironmentError, match="DATABASE_URL") as caught:
        database(url)
    assert "hunter2" not in str(caught.value)
