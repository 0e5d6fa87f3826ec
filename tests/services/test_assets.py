"""Static files: hashed when collected, plain when not, collected only when they changed."""

from pathlib import Path

import pytest
from django.core.files.storage import storages
from pytest_django import Settings

from memoryconsole import assets

SHEET = "body { color: black }"


@pytest.fixture
def sheet(settings: Settings, tmp_path: Path) -> Path:
    """The only static file there is."""
    source = tmp_path / "source"
    source.mkdir()
    (source / "valve.css").write_text(SHEET)
    settings.STATICFILES_FINDERS = ["django.contrib.staticfiles.finders.FileSystemFinder"]
    settings.STATICFILES_DIRS = [source]
    settings.STATIC_ROOT = tmp_path / "collected"
    settings.STORAGES = settings.STORAGES | {
        "staticfiles": {"BACKEND": "memoryconsole.assets.HashedFiles"}
    }
    return source / "valve.css"


def url(name: str) -> str:
    found: str = storages.create_storage({"BACKEND": "memoryconsole.assets.HashedFiles"}).url(name)
    return found


def test_a_file_that_was_not_collected_keeps_its_plain_name(sheet: Path) -> None:
    assert url("valve.css") == "/static/valve.css"


def test_a_collected_file_has_the_hash_of_its_content_in_its_name(
    sheet: Path, settings: Settings
) -> None:
    assert assets.collect()
    name = url("valve.css").removeprefix("/static/")
    assert name != "valve.css"
    assert (Path(settings.STATIC_ROOT) / name).read_text() == SHEET


def test_files_are_collected_again_only_when_one_changed(sheet: Path) -> None:
    assert assets.collect()
    first = url("valve.css")
    assert not assets.collect()
    sheet.write_text("body { color: navy }")
    assert assets.collect()
    assert url("valve.css") != first


def test_a_file_that_is_gone_is_not_served_any_more(sheet: Path, settings: Settings) -> None:
    assets.collect()
    sheet.rename(sheet.with_name("pump.css"))
    assert assets.collect()
    assert not (Path(settings.STATIC_ROOT) / "valve.css").exists()
