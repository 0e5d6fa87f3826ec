"""What went wrong elsewhere, tried over the API from the input to all that has to be right."""

import errno
import functools
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from banks import doctor, seams
from banks.services import entries
from banks.services.drafts import Draft
from banks.store.types import Category
from recall import indexer
from tests import byhand
from tests.api.conftest import Api, MakeApi
from tests.builders import World
from tests.byhand import FACTS, block
from tests.disks import UnsyncedDisk
from tests.typed import BLANK, FINDS, OTHERS, PUMPS

OUTSIDE = ["../escape", "a/../../x", "/etc/x", "..", ".", ".trash", "-rf"]


def saved(api: Api, text: str, **more: object) -> dict[str, Any]:
    """What the call answers."""
    return api.ok("POST", "/memories", {"bank": "ops", "text": text, **more})


def listed(api: Api, query: str = "") -> list[dict[str, Any]]:
    """The memories of a list; its total is their number."""
    told = api.ok("GET", f"/memories?bank=ops&limit=500&{query}")
    assert told["total"] == len(told["memories"])
    return list(told["memories"])


def ids(api: Api, query: str = "") -> list[str]:
    return [each["id"] for each in listed(api, query)]


def recalled(api: Api, query: str, **more: object) -> list[str]:
    """Texts, best first, of a recall that saw everything."""
    told = api.ok("POST", "/recall", {"bank": "ops", "query": query, **more})
    assert told["index"] == {"state": "ok", "lag": 0}
    return [hit["memory"]["text"] for hit in told["memories"]]


def findings(check: str = "files") -> list[tuple[str, int, str]]:
    """What the doctor says of the files: path, line, code."""
    found = next(each.findings for each in doctor.checks() if each.name == check)
    return [(each.path, each.line, each.code) for each in found]


@pytest.fixture(autouse=True)
def quick_disk() -> Iterator[None]:
    """Power loss is not what these tests are about."""
    with seams.replaced(disk=UnsyncedDisk()):
        yield


class SmallDisk(UnsyncedDisk):
    """Takes this many more bytes."""

    room = 100

    def write(self, fd: int, data: bytes) -> int:
        if not self.room:
            raise OSError(errno.ENOSPC, "full")
        written = super().write(fd, bytes(data[: self.room]))
        self.room -= written
        return written


# field case A03
def test_a_disk_that_fills_half_way_costs_nothing_but_the_one_save(
    world: World, editor: Api
) -> None:
    drafts = [Draft(text=f"Shift {n} was quiet.", category=Category.EVENTS) for n in range(50)]
    entries.save_many(world.editor, world.bank, drafts)
    assert recalled(editor, "quiet")
    body = {"bank": "ops", "text": "Boiler log " * 363, "category": "events"}
    before = byhand.tree(settings.DATA_DIR), byhand.tree(settings.STATE_DIR)
    with seams.replaced(disk=SmallDisk()):
        told = editor.refused(503, "store_fault", "POST", "/memories", body)
    assert "disk" in told["message"]
    assert "space" in told["message"]
    assert str(settings.DATA_DIR.parent) not in str(told)
    assert (byhand.tree(settings.DATA_DIR), byhand.tree(settings.STATE_DIR)) == before
    assert recalled(editor, "boiler") == []
    assert editor.ok("POST", "/memories", body)["created"] is True
    assert len(recalled(editor, "boiler")) == 1
    assert len(ids(editor)) == 51


# field case A04
def test_what_is_said_again_is_known_and_recalled_once(editor: Api) -> None:
    first = saved(editor, "Kiln 4 needs a 20 min purge")
    assert first["created"] is True
    repeats = ["Kiln 4 needs a 20 min purge"] * 2
    repeats += ["Kiln  4  needs a  20 min purge", "Kiln 4 needs a 20 min purge\n"]
    for number, text in enumerate(repeats, start=1):
        again = saved(editor, text)
        assert (again["created"], again["memory"]["id"]) == (False, first["memory"]["id"])
        assert again["memory"]["corroboration"] == number
    assert ids(editor, "include_superseded=true") == [first["memory"]["id"]]
    assert recalled(editor, "how long is the purge of kiln 4") == ["Kiln 4 needs a 20 min purge"]
    assert (settings.DATA_DIR / "ops" / FACTS).read_text().count("\nid: ") == 1


# field case A05
def test_of_a_replaced_fact_only_the_replacement_is_seen_unless_asked_for(editor: Api) -> None:
    old = saved(editor, "Line 2 runs at 40 Hz")["memory"]
    new = saved(editor, "Line 2 runs at 48 Hz", supersedes=old["id"])["memory"]
    assert recalled(editor, "Line 2 frequency") == ["Line 2 runs at 48 Hz"]
    assert ids(editor) == [new["id"]]
    pointers = {
        each["id"]: each.get("superseded_by") for each in listed(editor, "include_superseded=true")
    }
    assert pointers == {old["id"]: new["id"], new["id"]: None}
    told = editor.ok("GET", f"/memories/{old['id']}/history?bank=ops")["revisions"]
    assert [(each["act"], each["memory"]["text"]) for each in told] == [
        ("superseded", "Line 2 runs at 40 Hz"),
        ("created", "Line 2 runs at 40 Hz"),
    ]


# field case A06
def test_pointers_in_a_loop_are_told_and_hide_nothing(
    world: World, editor: Api, admin: Api
) -> None:
    subjects = {"m1": "Gasket", "m2": "Flange", "m3": "Burner", "m4": "Funnel"}
    pointers = {"m1": "m2", "m2": "m1", "m3": "m3", "m4": "mem_missing"}
    blocks = [
        block(key, f"{word} is new", f"superseded_by: {pointers[key]}")
        for key, word in subjects.items()
    ]
    byhand.write(FACTS, "\n".join(blocks))
    admin.ok("POST", "/reload")
    for word in subjects.values():
        assert recalled(editor, word) == [f"{word} is new"]
    assert [code for _, _, code in findings()] == ["loop", "loop", "self", "dangling"]
    one, two = saved(editor, "Hoist is new")["memory"], saved(editor, "Crane is new")["memory"]
    for loser, survivor, code in (
        (one, one, "supersede_self"),
        (one, two, ""),
        (two, one, "supersede_cycle"),
    ):
        path, body = f"/memories/{loser['id']}/supersede", {"superseded_by": survivor["id"]}
        if code:
            editor.refused(409, code, "POST", path, {"bank": "ops", **body})
        else:
            editor.ok("POST", path, {"bank": "ops", **body})
    assert {*subjects, two["id"]} == set(ids(editor))


# field case A08
def test_no_call_fails_while_somebody_else_writes_the_index(
    world: World, editor: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "catch_up", functools.partial(indexer.catch_up, wait_s=0.05))
    old = saved(editor, "Gauge 1 reads 1 bar")["memory"]
    assert recalled(editor, "gauge") == ["Gauge 1 reads 1 bar"]
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with indexer.index_of(world.bank).writing():
            taken.set()
            done.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert taken.wait(10)
        saved(editor, "Gauge 2 reads 2 bar")
        editor.ok("DELETE", f"/memories/{old['id']}?bank=ops")
        told = editor.ok("POST", "/recall", {"bank": "ops", "query": "gauge"})
        assert told["index"] == {"state": "behind", "lag": 2}
        assert told["memories"] == []
    finally:
        done.set()
        holder.join()
    assert recalled(editor, "gauge") == ["Gauge 2 reads 2 bar"]


# field case A09
@pytest.mark.parametrize("word", ["評価", "火曜", "人工知能"])
def test_a_word_inside_unspaced_text_is_recalled(editor: Api, word: str) -> None:
    saved(editor, "人工知能の評価は毎週火曜に行う")
    saved(editor, "倉庫の鍵は机の上にある")
    assert recalled(editor, word) == ["人工知能の評価は毎週火曜に行う"]


# field case A10
def test_what_people_type_is_text(editor: Api) -> None:
    for text in [*PUMPS, *OTHERS]:
        saved(editor, text)
    for query, expected in (FINDS | {blank: [] for blank in BLANK}).items():
        assert sorted(recalled(editor, query)) == sorted(expected), query


# field case A11
def test_tags_that_yaml_takes_for_booleans_stay_words(
    world: World, editor: Api, admin: Api
) -> None:
    words = ["no", "on", "yes", "off", "true"]
    first = saved(editor, "Valve 7 sticks", tags=words)["memory"]
    file = settings.DATA_DIR / "ops" / FACTS
    byhand.write(FACTS, file.read_text() + "\n" + block("m1", "Valve 8 leaks", "tags: [no, on]"))
    admin.ok("POST", "/reload")
    byhand.start_afresh(world.bank)
    assert {each["id"]: each["tags"] for each in listed(editor)} == {
        first["id"]: words,
        "m1": ["no", "on"],
    }
    assert set(ids(editor, "tag=no")) == {first["id"], "m1"}
    counts = {each["tag"]: each["count"] for each in editor.ok("GET", "/tags?bank=ops")["tags"]}
    assert counts == {"no": 2, "on": 2, "yes": 1, "off": 1, "true": 1}


# field case A12
def test_times_of_every_spelling_sort_and_impossible_ones_are_told(
    world: World, editor: Api, admin: Api
) -> None:
    spellings = [
        "2026-08-24", "2026-08-24T10:15:00", '"2026-08-24T10:15:01Z"', "2026-02-30", "soon",
    ]  # fmt: skip
    blocks = [block(f"m{n}", f"Reading {n}", created=each) for n, each in enumerate(spellings)]
    file = byhand.write(FACTS, "\n".join(blocks))
    before = file.read_bytes()
    other = saved(editor, "Answer in short sentences", category="preferences")["memory"]
    admin.ok("POST", "/reload")
    told = listed(editor)
    assert [each["id"] for each in told] == [other["id"], "m2", "m1", "m0"]
    instants = [(10, 15, 1), (10, 15, 0), (0, 0, 0)]
    assert [each["created_at"] for each in told[1:]] == [
        datetime(2026, 8, 24, *instant, tzinfo=UTC).timestamp() * 1_000 for instant in instants
    ]
    assert findings() == [(FACTS, 3 * 9 + 3, "bad_time"), (FACTS, 4 * 9 + 3, "bad_time")]
    assert file.read_bytes() == before


# field case A13
def test_an_entry_with_a_repeated_key_is_told_and_survives_its_neighbours_change(
    world: World, editor: Api, admin: Api
) -> None:
    twice = "---\nid: m1\ntags: [x]\ntags: [y]\nid: m2\n---\n\nValve 7 sticks\n"
    file = byhand.write(FACTS, f"{twice}\n{block('m3', 'Valve 8 is fine')}")
    admin.ok("POST", "/reload")
    assert findings()[0] == (FACTS, 4, "duplicate_key")
    assert ids(editor) == ["m3"]
    for key in ("m1", "m2"):
        editor.refused(404, "memory_not_found", "GET", f"/memories/{key}?bank=ops")
    editor.ok("POST", "/memories/m3/pin", {"bank": "ops", "pinned": True})
    assert file.read_text().startswith(f"{twice}\n---\nid: m3\n")
    assert "pinned: true\n" in file.read_text()


# field case A14
@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ({"text": "ok\x1b[31mred\x1b[0m"}, "text"),
        ({"text": "Lamp is red", "summary": "a\x00b"}, "summary"),
        ({"text": "Lamp is red", "tags": ["x\x1by"]}, "tags"),
    ],
)
def test_a_character_that_files_cannot_hold_is_refused_by_name(
    world: World, editor: Api, fields: dict[str, object], loc: str
) -> None:
    saved(editor, "Lamp is green")
    before = byhand.tree(settings.DATA_DIR), listed(editor)
    told = editor.refused(422, "invalid_content", "POST", "/memories", {"bank": "ops", **fields})
    assert told["errors"][0]["loc"] == loc
    byhand.start_afresh(world.bank)
    assert (byhand.tree(settings.DATA_DIR), listed(editor)) == before


# field case A14
@pytest.mark.parametrize("spoiled", ["id: m2", "summary: Lamp 2", "Lamp 2 is on"])
def test_a_raw_escape_in_a_file_harms_at_most_its_own_entry(
    world: World, editor: Api, admin: Api, spoiled: str
) -> None:
    blocks = [block(f"m{n}", f"Lamp {n} is on", summary=f"Lamp {n}") for n in (1, 2, 3)]
    text = "\n".join(blocks)
    at = text.index(f"\n{spoiled}") + 1 + len(spoiled)
    file = byhand.write(FACTS, text[:at] + "\x1b" + text[at:])
    admin.ok("POST", "/reload")
    assert {"m1", "m3"} <= set(ids(editor))
    [(path, line, _)] = findings()
    assert (path, line) == (FACTS, text[:at].count("\n") + 1)
    editor.ok("POST", "/memories/m1/pin", {"bank": "ops", "pinned": True})
    assert file.read_text().replace("pinned: true\n", "").count("\x1b") == 1


# field case A15
@pytest.mark.parametrize(
    "text",
    [
        "Start-up list\n\n---\n\nopen valve 3",
        "---\nopen valve 3",
        "open valve 3\n---",
        "Start-up list\n\n--- \n\nopen valve 3",
        "Start-up list\n\n  ---\n\nopen valve 3",
        "--- open valve 3",
        "open valve 3 ---",
    ],
)
def test_a_text_with_a_separator_is_one_memory_or_refused(
    world: World, editor: Api, text: str
) -> None:
    answer = editor.send("POST", "/memories", {"bank": "ops", "text": text})
    if "---" in text.split("\n"):
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["loc"] == "text"
        assert "hyphens" in answer.json()["message"]
        assert listed(editor) == []
        return
    path = f"/memories/{answer.json()['memory']['id']}"
    for _ in range(2):
        assert editor.ok("GET", f"{path}?bank=ops")["memory"]["text"] == text
        assert [each["text"] for each in listed(editor)] == [text]
        byhand.start_afresh(world.bank)
    longer = f"{text}\nopen valve 4"
    told = editor.ok("PATCH", path, {"bank": "ops", "text": longer})["memory"]
    byhand.start_afresh(world.bank)
    assert editor.ok("GET", f"{path}?bank=ops")["memory"] == told
    assert told["text"] == longer
    editor.ok("DELETE", f"{path}?bank=ops")
    byhand.start_afresh(world.bank)
    assert listed(editor) == []
    assert [each["text"] for each in listed(editor, "include_superseded=true")] == [longer]


# field case A16
def test_a_missing_closing_fence_costs_one_entry_and_none_of_its_text(
    world: World, editor: Api, admin: Api
) -> None:
    first, last = block("m1", "Pump 1 runs"), block("m3", "Pump 3 runs")
    damaged = block("m2", "Pump 2 runs").replace("\n---\n\n", "\n\n")
    file = byhand.write(FACTS, f"{first}\n{damaged}\n{last}")
    admin.ok("POST", "/reload")
    assert set(ids(editor)) == {"m1", "m3"}
    assert findings() == [(FACTS, first.count("\n") + 2, "unclosed_fence")]
    fourth = saved(editor, "Pump 4 runs")["memory"]
    assert fourth["path"] == FACTS
    assert file.read_text().startswith(f"{first}\n{damaged}\n{last}\n---\nid: {fourth['id']}\n")
    byhand.start_afresh(world.bank)
    assert set(ids(editor)) == {"m1", "m3", fourth["id"]}


# field case A20
def test_rules_of_similar_names_never_overwrite_each_other(world: World, api_of: MakeApi) -> None:
    api = api_of(world.maintainer)
    for name, content in (("ops_db", "Ask first."), ("ops-db", "Ask twice.")):
        api.ok("PUT", f"/rules/{name}", {"bank": "ops", "content": content})
    body = {"bank": "ops", "content": "Ask never."}
    told = api.refused(422, "invalid_name", "PUT", "/rules/ops.db", body)
    assert "64" in told["message"]
    rules = api.ok("GET", "/rules?bank=ops")["rules"]
    assert {each["name"]: each["content"] for each in rules} == {
        "ops_db": "Ask first.",
        "ops-db": "Ask twice.",
    }


# field case A20
def test_memories_that_begin_alike_are_kept_apart(editor: Api) -> None:
    drawn = iter(["aaaaaa", "bbbbbb", "bbbbbb", "cccccc"])
    texts = [f"{'The inlet valve of the second boiler in hall seven is checked'[:60]} {n}x"
             for n in range(3)]  # fmt: skip
    with seams.replaced(suffix=lambda: next(drawn)):
        keys = [saved(editor, text)["memory"]["id"] for text in texts]
    assert len(set(keys)) == 3
    for key, text in zip(keys, texts, strict=True):
        assert editor.ok("GET", f"/memories/{key}?bank=ops")["memory"]["text"] == text


# field case A21
def test_names_that_differ_in_case_alone_are_never_two(
    world: World, admin: Api, api_of: MakeApi
) -> None:
    for name, status in (("Harbor", 422), ("harbor", 200), ("HARBOR ", 422), ("Harbor", 422)):
        assert admin.send("POST", "/banks", {"name": name}).status_code == status
    assert [each["name"] for each in admin.ok("GET", "/banks")["banks"]] == ["harbor", "ops"]
    folders = {path.name.casefold() for path in settings.DATA_DIR.iterdir()}
    assert len(folders) == len(list(settings.DATA_DIR.iterdir()))
    for name, status in (("Style", 422), ("style", 200), ("STYLE", 422)):
        body = {"bank": "harbor", "content": f"Be brief, says {name}."}
        assert admin.send("PUT", f"/rules/{name}", body).status_code == status
    assert [path.name for path in (settings.DATA_DIR / "harbor" / "rules").iterdir()] == [
        "style.md"
    ]
    [rule] = admin.ok("GET", "/rules?bank=harbor")["rules"]
    assert rule["content"] == "Be brief, says style."


# field case A22
@pytest.mark.parametrize("name", OUTSIDE)
def test_no_name_in_a_call_leads_out_of_the_data_folder(
    world: World, admin: Api, name: str
) -> None:
    memory = saved(admin, "Kiln 1 is cold")["memory"]
    before = byhand.tree(settings.DATA_DIR.parent)
    folders = sorted(settings.DATA_DIR.parent.rglob("*"))
    spelled = name.replace("/", "%2F")
    rule = {"bank": "ops", "content": "Be brief."}
    answers = [
        admin.send("POST", "/banks", {"name": name}),
        admin.send("POST", "/banks/ops/rename", {"name": name}),
        admin.send("POST", "/banks/ops/restore", {"folder": name}),
        admin.send("GET", f"/banks/{spelled}"),
        admin.send("DELETE", f"/banks/{spelled}"),
        admin.send("GET", f"/memories?bank={spelled}"),
        admin.send("POST", "/recall", {"bank": name, "query": "kiln"}),
        admin.send("POST", "/memories", {"bank": name, "text": "Kiln 2 is cold"}),
        admin.send("POST", "/memories", {"bank": "ops", "text": "Kiln 3 is", "supersedes": name}),
        admin.send("PUT", f"/rules/{spelled}", rule),
        admin.send("PUT", f"/rules/{name}", rule),
        admin.send("POST", f"/memories/{memory['id']}/supersede",
                   {"bank": "ops", "superseded_by": name}),
    ]  # fmt: skip
    for act, method in (("", "GET"), ("", "DELETE"), ("/history", "GET")):
        answers.append(admin.send(method, f"/memories/{spelled}{act}?bank=ops"))
    for act in ("/restore", "/pin"):
        body = {"bank": "ops"} | ({"pinned": True} if act == "/pin" else {})
        answers.append(admin.send("POST", f"/memories/{spelled}{act}", body))
    assert [each.status_code for each in answers if each.status_code not in (404, 422)] == []
    for each in answers:
        assert str(settings.DATA_DIR.parent).encode() not in each.content
    assert byhand.tree(settings.DATA_DIR.parent) == before
    assert sorted(settings.DATA_DIR.parent.rglob("*")) == folders


# field case A23
def test_a_link_is_neither_read_nor_listed_nor_recalled_but_named(
    world: World, editor: Api, admin: Api, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "index.md").write_text("# Outside\n")
    (outside / "facts.md").write_text(block("m9", "Zirconium lies in the safe"))
    (settings.DATA_DIR / "ops" / "facts-extra.md").symlink_to(outside / "facts.md")
    (settings.DATA_DIR / "ops" / "elsewhere").symlink_to(outside)
    (settings.DATA_DIR / "away").symlink_to(outside)
    admin.ok("POST", "/reload")
    assert [each["name"] for each in admin.ok("GET", "/banks")["banks"]] == ["ops"]
    assert listed(editor, "include_superseded=true") == []
    assert recalled(editor, "zirconium") == []
    admin.refused(404, "bank_not_found", "GET", "/memories?bank=away")
    assert set(findings("ignored files")) == {
        ("away", 0, "link"),
        ("facts-extra.md", 0, "link"),
        ("elsewhere", 0, "link"),
    }
    assert sorted(path.name for path in outside.iterdir()) == ["facts.md", "index.md"]


# field case A35
def test_the_tags_that_are_asked_for_are_those_that_count(world: World, editor: Api) -> None:
    for number, tags in enumerate((["open"], ["private"], ["open", "private"])):
        saved(editor, f"Valve {number} is set", tags=tags)
    both = "tag=open&tag=private"
    assert [each["text"] for each in listed(editor, f"{both}&match=all")] == ["Valve 2 is set"]
    assert len(listed(editor, f"{both}&match=any")) == 3
    assert listed(editor, "tag=open&tag=nowhere&match=all") == []


# field case A36
def test_pinned_ones_fill_the_first_page_although_others_are_newer(
    world: World, editor: Api
) -> None:
    drafts = [Draft(text=f"Valve {n} is open", pinned=True) for n in range(5)]
    entries.save_many(world.editor, world.bank, drafts)
    pinned = ids(editor)
    drafts = [Draft(text=f"Line {n} is shut") for n in range(25)]
    entries.save_many(world.editor, world.bank, drafts)
    retired = [key for key in ids(editor) if key not in pinned]
    for old, new in zip(retired[:6], retired[6:12], strict=True):
        entries.supersede(world.editor, world.bank, old, new)
    told = editor.ok("GET", "/memories?bank=ops&pinned=true&limit=10")
    assert {each["id"] for each in told["memories"]} == set(pinned)
    assert told["total"] == 5
    assert "next_cursor" not in told


# field case A47
@pytest.mark.parametrize("title", ["窯" * 200, "con", "aux.md", "notes.", "index", "Trailing "])
def test_a_title_that_is_no_file_name_is_kept_beside_a_safe_one(editor: Api, title: str) -> None:
    body = {"category": "procedure", "title": title}
    first = saved(editor, "Open valve 2.", **body)["memory"]
    assert first["title"] == title.strip()
    name = Path(first["path"]).name
    assert len(name.encode()) <= 90
    assert name.isascii()
    assert name.removesuffix(".md") not in ("con", "aux", "index")
    assert (settings.DATA_DIR / "ops" / first["path"]).is_file()
    other = saved(editor, "Open valve 3.", category="procedure", title=f"{title[:190]} !")["memory"]
    assert other["path"] != first["path"]
    assert len(ids(editor)) == 2


# field case A47
def test_a_title_of_5000_characters_is_refused_with_the_length_that_fits(editor: Api) -> None:
    body = {"bank": "ops", "text": "Open valve 2.", "category": "procedure", "title": "x" * 5_000}
    told = editor.refused(422, "invalid_content", "POST", "/memories", body)
    assert told["errors"][0]["loc"] == "title"
    assert "200" in told["message"]
    assert listed(editor) == []
