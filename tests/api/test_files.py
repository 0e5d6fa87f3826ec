"""GET /files and GET /files/{path}: a bank is read by its router, file by file."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings

from banks import files
from banks.services import rules
from tests.api.conftest import Api, MakeApi
from tests.builders import World, save

FACTS = "semantic_memory/facts.md"


def path_of(path: str) -> Path:
    return Path(settings.DATA_DIR / "ops" / path)


def write(path: str, data: bytes) -> None:
    path_of(path).parent.mkdir(parents=True, exist_ok=True)
    path_of(path).write_bytes(data)


def lines(api: Api, path: str, query: str = "") -> dict[str, Any]:
    return api.ok("GET", f"/files/{quote(path)}?bank=ops{query}")


@pytest.fixture
def viewer(world: World, api_of: MakeApi) -> Api:
    return api_of(world.viewer)


def test_the_router_of_a_kind_tells_of_a_save_at_once(world: World, viewer: Api) -> None:
    made = save(world, "Kiln 4 needs a 20 min purge", tags=("kiln",)).memory
    told = viewer.ok("GET", "/files?bank=ops&kind=semantic")
    assert (told["bank"], told["path"]) == ("ops", "semantic_memory/index.md")
    row, empty = told["files"]
    assert row == {
        "file": "facts.md",
        "path": FACTS,
        "description": "Kiln 4 needs a 20 min purge",
        "tags": ["kiln"],
        "updated": made.id[4:14],
    }
    assert "updated" not in empty


def test_the_router_of_the_bank_leads_to_files_that_can_be_read(world: World, viewer: Api) -> None:
    rows = viewer.ok("GET", "/files?bank=ops")["files"]
    assert [row["path"] for row in rows] == [
        "episodic_memory/index.md",
        "preferences.md",
        "procedural_memory/index.md",
        "semantic_memory/index.md",
    ]
    for row in rows:
        assert lines(viewer, row["path"])["lines"][0].startswith("# ")


def test_a_row_that_leads_nowhere_of_ours_is_told_without_a_path(world: World, viewer: Api) -> None:
    write("index.md", path_of("index.md").read_bytes() + b"| ../../notes.md | Mine | a |  |\n")
    told = viewer.ok("GET", "/files?bank=ops")["files"][-1]
    assert told == {"file": "../../notes.md", "description": "Mine", "tags": ["a"]}


def test_a_default_bank_that_is_not_there_has_no_files(viewer: Api) -> None:
    told = viewer.ok("GET", "/files?kind=procedural")
    assert told == {"bank": "main", "path": "procedural_memory/index.md", "files": []}
    viewer.refused(404, "file_not_found", "GET", "/files/index.md")


def test_lines_come_in_pages_without_their_ends(world: World, viewer: Api) -> None:
    write("preferences.md", b"\xef\xbb\xbfone\r\ntwo\n\nfour")
    told = lines(viewer, "preferences.md")
    assert told["lines"] == ["one", "two", "", "four"]
    assert (told["offset"], told["total_lines"], told["size_bytes"]) == (0, 4, 17)
    assert (told["lossy"], told["cut"]) == (False, False)
    assert "next_offset" not in told
    first = lines(viewer, "preferences.md", "&limit=2")
    assert (first["lines"], first["total_lines"], first["next_offset"]) == (["one", "two"], 4, 2)
    rest = lines(viewer, "preferences.md", f"&offset={first['next_offset']}&limit=2")
    assert (rest["lines"], "next_offset" in rest) == (["", "four"], False)
    assert lines(viewer, "preferences.md", "&limit=0")["total_lines"] == 4
    assert lines(viewer, "preferences.md", "&offset=9")["lines"] == []


def test_bytes_that_are_no_utf_8_are_shown_and_said(world: World, viewer: Api) -> None:
    write("preferences.md", b"warm\ncaf\xe9\n")
    told = lines(viewer, "preferences.md")
    assert (told["lines"], told["lossy"]) == (["warm", "caf\ufffd"], True)
    assert lines(viewer, "preferences.md", "&limit=1")["lossy"] is False


def test_a_page_has_a_size_and_a_large_file_is_read_no_further_than_needed(
    world: World, viewer: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PAGE_BYTES", 10)
    write("preferences.md", b"123456\n7890\n" + b"x" * 30 + b"\nlast\n")
    first = lines(viewer, "preferences.md")
    assert (first["lines"], first["next_offset"], first["total_lines"]) == (
        ["123456", "7890"], 2, 4,
    )  # fmt: skip
    long = lines(viewer, "preferences.md", "&offset=2")
    assert (long["lines"], long["cut"], long["next_offset"]) == (["x" * 10], True, 3)
    monkeypatch.setattr(files, "COUNTED_BYTES", 20)
    first = lines(viewer, "preferences.md", "&limit=1")
    assert (first["lines"], first["next_offset"]) == (["123456"], 1)
    assert "total_lines" not in first
    assert lines(viewer, "preferences.md", "&offset=3")["total_lines"] == 4


def test_an_injected_rule_needs_its_own_scope_besides(world: World, api_of: MakeApi) -> None:
    rules.set_rule(world.maintainer, world.bank, "valves", "Close valve 2 first.")
    reader = api_of(world.viewer, "memory:read", "rules:read")
    assert lines(reader, "rules/valves.md")["lines"] == ["Close valve 2 first."]
    without = api_of(world.viewer, "memory:read")
    for name in ("valves", "unknown"):
        without.refused(403, "scope_missing", "GET", f"/files/rules/{name}.md?bank=ops")


# field cases A22 and A23
@pytest.mark.parametrize(
    "path",
    [
        ".history/mem_1.log",
        ".git/config",
        "../other/index.md",
        "semantic_memory/../index.md",
        "/etc/hostname",
        "rules/Not A Rule.md",
        "README.txt",
        "semantic_memory/facts.md~",
        "semantic_memory/.facts.md",
        "semantic_memory/notes.bak/facts.md",
        "semantic_memory",
        "semantic_memory/unknown.md",
        "semantic_memory/link.md",
        "semantic_memory/linked/facts.md",
        "semantic_memory/pipe.md",
        "semantic_memory/" + "x" * 300 + ".md",
        "semantic_memory/" + "a/" * 9 + "deep.md",
        "semantic_memory\\facts.md",
        "facts.md\0",
    ],
)
def test_whatever_is_no_file_of_the_bank_is_404_and_says_no_more(
    world: World, viewer: Api, path: str
) -> None:
    save(world, "Kiln 4 needs a 20 min purge")
    for other in ("README.txt", "semantic_memory/facts.md~", "semantic_memory/notes.bak/facts.md",
                  ".history/mem_1.log", "semantic_memory/" + "a/" * 9 + "deep.md"):  # fmt: skip
        write(other, b"not for you\n")
    path_of("semantic_memory/link.md").symlink_to(path_of(FACTS))
    path_of("semantic_memory/linked").symlink_to(path_of("semantic_memory"))
    os.mkfifo(path_of("semantic_memory/pipe.md"))
    told = viewer.refused(404, "file_not_found", "GET", f"/files/{quote(path, safe='/')}?bank=ops")
    assert (set(told), told["errors"]) == ({"code", "message", "errors", "request_id"}, [])
    assert "facts" not in told["message"]


def test_a_bank_that_is_away_is_503_and_not_an_empty_one(world: World, viewer: Api) -> None:
    path_of("").rename(settings.DATA_DIR.parent / "away")
    viewer.refused(503, "bank_on_hold", "GET", f"/files/{FACTS}?bank=ops")
    viewer.refused(503, "bank_on_hold", "GET", "/files?bank=ops")


@pytest.mark.parametrize("query", ["offset=-1", "limit=2001", "limit=x", "kind=facts"])
def test_a_parameter_out_of_bounds_is_422(viewer: Api, query: str) -> None:
    viewer.refused(422, "invalid", "GET", f"/files/{FACTS}?bank=ops&{query}")
