"""Runs of consolidation and rollbacks over HTTP."""

from collections.abc import Iterator
from typing import Any

import pytest

from banks import jobs
from recall.learning import llm, proposals
from tests.api.conftest import Api, MakeApi
from tests.builders import World, save
from tests.chat import Scripted, array

RUNS = "/consolidations"


@pytest.fixture
def model() -> Iterator[Scripted]:
    """A model that answers as scripted."""
    scripted = Scripted()
    with llm.replaced(scripted):
        yield scripted


@pytest.fixture
def maintainer(world: World, api_of: MakeApi) -> Api:
    return api_of(world.maintainer)


def ran(api: Api, **more: Any) -> dict[str, Any]:
    run = api.ok("POST", RUNS, {"bank": "ops", **more})["run"]
    assert run["state"] == "queued"
    jobs.work_off()
    return api.ok("GET", f"{RUNS}/{run['id']}")


def test_a_run_is_begun_looked_at_decided_about_and_taken_back(
    world: World, maintainer: Api, model: Scripted
) -> None:
    save(world, "Kiln 4 is hot.")
    save(world, "kiln 4 is hot")
    event = save(world, "Pump 1 was primed by hand.", category="events").memory
    wanted = [{"text": text, "sources": [event.id]} for text in ("Prime it.", "It hums.", "Odd.")]
    model.script = [array(*wanted)]
    told = ran(maintainer)
    run, asked = told["run"], {each["text"]: each["id"] for each in told["proposals"]}
    assert (run["state"], run["applied"], run["proposed"], run["read"]) == ("done", 1, 3, 1)
    assert "error" not in run
    assert maintainer.ok("GET", f"{RUNS}?bank=ops")["runs"] == [run]
    waiting = maintainer.ok("GET", "/proposals?bank=ops&kind=promotion")["proposals"]
    assert [each["category"] for each in waiting] == ["facts"] * 3
    assert "rule" not in waiting[0]
    done = maintainer.ok(
        "POST", f"{RUNS}/{run['id']}/apply",
        {"accept": [asked["Odd."]], "edit": {asked["Prime it."]: "Prime pump 1 by hand."},
         "reject": [asked["It hums."]]},
    )  # fmt: skip
    assert sorted(done["outcomes"].values()) == ["applied", "applied", "rejected"]
    texts = {each["text"] for each in maintainer.ok("GET", "/memories?bank=ops")["memories"]}
    assert {"Odd.", "Prime pump 1 by hand."} < texts
    undone = maintainer.ok("POST", f"{RUNS}/{run['id']}/undo")["run"]
    assert (undone["undoable"], "undone_at" in undone) == (False, True)
    assert maintainer.ok("GET", "/memories?bank=ops")["total"] == 3
    maintainer.refused(409, "conflict", "POST", f"{RUNS}/{run['id']}/undo")


def test_a_dry_run_names_the_memories_and_changes_none(world: World, maintainer: Api) -> None:
    keys = [save(world, text).memory.id for text in ("Kiln 4 is hot.", "kiln 4 is hot")]
    run = ran(maintainer, dry_run=True)["run"]
    assert run["changes"] == [{"kind": "merge", "outcome": "planned", "memories": keys[::-1]}]
    assert maintainer.ok("GET", "/memories?bank=ops")["total"] == 2


def test_a_run_says_what_it_cost_and_what_it_could_not_do(
    world: World, maintainer: Api, model: Scripted
) -> None:
    save(world, "Pump 1 was primed by hand.", category="events")
    save(world, "Kiln 4 is hot.")
    save(world, "kiln 4 is hot")
    with llm.replaced(llm.NoModel()):
        run = ran(maintainer)["run"]
    assert (run["applied"], run["read"], run["tokens"]) == (1, 0, 0)
    assert run["note"] == "No model: episodes were not read."
    assert "model" not in run
    model.tokens = 41
    run = ran(maintainer)["run"]
    assert (run["read"], run["tokens"], run["model"]) == (1, 41, "scripted")
    assert run["duration_ms"] >= 0
    assert "note" not in run


def test_runs_and_proposals_come_in_pages_whatever_is_decided_in_between(
    world: World, maintainer: Api
) -> None:
    keys = [ran(maintainer)["run"]["id"] for _ in range(3)]
    first = maintainer.ok("GET", f"{RUNS}?limit=2")
    assert [each["id"] for each in first["runs"]] == [keys[2], keys[1]]
    rest = maintainer.ok("GET", f"{RUNS}?limit=2&cursor={first['next_cursor']}")
    assert ([each["id"] for each in rest["runs"]], "next_cursor" in rest) == ([keys[0]], False)
    lines = [f"Close valve {number}." for number in range(3)]
    proposals.propose(world.bank, lines, session="s1", by="token:agent")
    page = maintainer.ok("GET", "/proposals?limit=2")
    assert [each["text"] for each in page["proposals"]] == lines[:2]
    maintainer.ok("POST", f"/proposals/{page['next_cursor']}/reject", {})
    page = maintainer.ok("GET", f"/proposals?limit=2&cursor={page['next_cursor']}")
    assert [each["text"] for each in page["proposals"]] == lines[2:]
    for path in (RUNS, "/proposals"):
        maintainer.refused(422, "invalid", "GET", f"{path}?cursor=none")
        maintainer.refused(422, "invalid", "GET", f"{path}?limit=201")


def test_a_bank_has_one_run_at_a_time(world: World, maintainer: Api) -> None:
    maintainer.ok("POST", RUNS, {"bank": "ops"})
    maintainer.refused(409, "run_pending", "POST", RUNS, {"bank": "ops"})
    jobs.work_off()
    maintainer.ok("POST", RUNS, {"bank": "ops"})


def test_a_run_that_one_does_not_maintain_is_none(world: World, editor: Api) -> None:
    editor.refused(403, "forbidden", "POST", RUNS, {"bank": "ops"})
    editor.refused(404, "run_not_found", "GET", f"{RUNS}/none")
    editor.refused(422, "invalid", "POST", RUNS, {"bank": "ops", "dry_run": "yes"})
    assert editor.ok("GET", RUNS) == {"runs": []}


def test_what_a_session_wrote_is_listed_and_taken_back(
    world: World, maintainer: Api, editor: Api
) -> None:
    kept = editor.ok("POST", "/memories", {"bank": "ops", "text": "Pump 1 is blue."})["memory"]
    body = {"bank": "ops", "text": "Pump 2 is odd.", "session_id": "chat"}
    made = editor.ok("POST", "/memories", body)["memory"]
    writes = maintainer.ok("GET", "/rollbacks?bank=ops&session_id=chat")["writes"]
    assert [(each["key"], each["moved_on"]) for each in writes] == [(made["id"], False)]
    wanted = {"bank": "ops", "session_id": "chat"}
    done = maintainer.ok("POST", "/rollbacks", wanted, headers={"Idempotency-Key": "1"})
    assert done == {"changed": [made["id"]], "left": []}
    again = maintainer.ok("POST", "/rollbacks", wanted, headers={"Idempotency-Key": "1"})
    assert again == done
    left = maintainer.ok("GET", "/memories?bank=ops")["memories"]
    assert [each["id"] for each in left] == [kept["id"]]
    maintainer.refused(422, "invalid", "POST", "/rollbacks", {"bank": "ops"})
    editor.refused(403, "forbidden", "POST", "/rollbacks", wanted)
