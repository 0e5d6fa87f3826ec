"""The 23 functions and 2 triggers: every one is here, takes and answers what it should, and has a
test that the documents name."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from banks import events
from banks.models import Bank
from banks.schemas import events as shapes
from tests import builders
from tests.api.conftest import Api, token_of
from tests.contracts.functions import FUNCTIONS, TRIGGERS, misfits

ROOT = Path(__file__).resolve().parent.parent.parent
EVERY_EVENT = 1_000


class Agent:
    """Calls functions by their names, and looks at every answer."""

    def __init__(self, api: Api) -> None:
        self.api = api
        self.sent: dict[str, set[str]] = {name: set() for name in FUNCTIONS}

    def request(self, name: str, fields: dict[str, Any]) -> tuple[str, str, dict[str, Any] | None]:
        """Method, address and body: fields of the path, then those of the query or the body."""
        method, _, path = FUNCTIONS[name].call.partition(" ")
        in_path = set(re.findall(r"{(\w+)}", path))
        rest = {each: value for each, value in fields.items() if each not in in_path}
        address = path.format(**fields)
        if method in ("GET", "DELETE"):
            return method, address + (f"?{urlencode(rest)}" if rest else ""), None
        return method, address, rest if FUNCTIONS[name].takes else None

    def call(self, name: str, /, **fields: Any) -> dict[str, Any]:
        """Call it; its answer has to have the fields and types of the function."""
        function = FUNCTIONS[name]
        assert misfits(fields, function.takes) == []
        assert fields.keys() <= {each.removesuffix("!") for each in function.takes}
        answer = self.api.ok(*self.request(name, fields))
        assert misfits(answer, function.answers) == [], (name, answer)
        self.sent[name] |= fields.keys()
        return answer


@pytest.fixture
def agent(db: None) -> Agent:
    world = builders.world()
    return Agent(Api(token_of(world.admin)))


def a_life(agent: Agent) -> None:
    """Every function once at least, and each of its fields."""
    call = agent.call
    call("memory::bank::create", name="kilns", description="What the kilns need.")
    call("memory::rule::set", bank="kilns", name="heat", content="Heat slowly.")
    call("memory::rule::set", bank="kilns", name="gone", content="")
    call("memory::rule::list", bank="kilns")
    words = {"tags": ["kiln"], "entities": ["Kiln 1"]}
    first = call(
        "memory::save", bank="kilns", text="Kiln 1 is cold.", session_id="s1", pinned=True, **words
    )["memory"]
    second = call("memory::save", bank="kilns", text="Kiln 1 is hot.", **words)["memory"]
    third = call("memory::save", bank="kilns", text="Kiln 2 is hot.")["memory"]
    call("memory::get", bank="kilns", id=first["id"])
    call("memory::pin", bank="kilns", id=first["id"], pinned=False)
    new = {"text": "Kiln 1 was cold.", "tags": ["past"], "entities": [], "pinned": False}
    call("memory::update", bank="kilns", id=first["id"], **new)
    retired = call(
        "memory::supersede", bank="kilns", id=first["id"], superseded_by=second["id"],
        reason="It was heated.", reinforce=True,
    )  # fmt: skip
    assert retired["reinforced"]
    assert retired["memory"]["superseded_by"] == second["id"]
    assert "invalid_at" in call("memory::delete", bank="kilns", id=third["id"])["memory"]
    page = {"limit": 5, "offset": 0, "tag": "past", "include_superseded": True}
    assert call("memory::list", bank="kilns", **page)["total"] == 2  # the survivor took the tag
    tags = call("memory::tags", bank="kilns")["tags"]
    assert {"tag": "kiln", "count": 1} in tags
    wanted = {"query": "hot kiln", "limit": 3, "tag": "kiln", "include_superseded": True}
    for mode in ("hybrid", "lexical", "semantic"):
        call("memory::recall", bank="kilns", mode=mode, **wanted)
    assert call("memory::recall", bank="kilns", query="hot kiln")["memories"]
    assert "message" in call("memory::preview", bank="kilns", query="hot kiln")
    generate = {"messages": [{"role": "user", "content": "hot kiln?"}], "system_prompt": "Be kind."}
    given = call(
        "memory::hook::pre-generate", session_id="s1", turn_id="t1", step=0, generate=generate,
        metadata={"memory_bank": "kilns"},
    )  # fmt: skip
    assert (given["decision"], bool(given["mutations"]["append_messages"])) == ("continue", True)
    assert call("memory::hook::pre-generate")["mutations"] is None
    a_turn_ends(agent)
    call("memory::bank::list")
    call("memory::ui-content", path="css/app.css")
    call("memory::on-config-change", id="memory")
    call("memory::doctor")
    call("memory::reload")
    call("memory::bank::delete", name="kilns")


def a_turn_ends(agent: Agent) -> None:
    """And that of its sub-agent; then the session is no more."""
    call = agent.call
    call("memory::on-turn-completed", session_id="s1", turn_id="t1")
    below = {"session_id": "s2", "turn_id": "t2", "parent_session_id": "s1"}
    call("memory::on-turn-completed", parent={"session_id": "s1", "turn_id": "t1"}, **below)
    call("memory::extract-job", session_id="s1")
    call("memory::extract-job", session_id="s2", bank="kilns", until="e1", skip=True)
    call("memory::on-session-deleted", session_id="s1")


def test_every_function_takes_and_answers_what_it_should(agent: Agent) -> None:
    a_life(agent)
    named = {
        name: {each.removesuffix("!") for each in function.takes}
        for name, function in FUNCTIONS.items()
    }
    assert agent.sent == named


def test_what_a_function_needs_cannot_be_left_out(agent: Agent) -> None:
    for name, function in FUNCTIONS.items():
        in_path = re.findall(r"{(\w+)}", function.call)
        needed = [each[:-1] for each in function.takes if each.endswith("!")]
        for left_out in set(needed) - set(in_path):
            fields = {each: "x" for each in needed if each != left_out}
            fields |= {"bank": "ops"} if "bank" in function.takes else {}
            answer = agent.api.refused(422, "invalid", *agent.request(name, fields))
            assert left_out in [each["loc"] for each in answer["errors"]], (name, answer)


def test_every_event_says_what_its_trigger_should(agent: Agent) -> None:
    a_life(agent)
    bank = Bank.objects.get(name="kilns")
    seen = set()
    for event in events.after(bank, 0, limit=EVERY_EVENT):
        name = f"memory::{event.trigger.value}"
        assert misfits(json.loads(shapes.line(event)), TRIGGERS[name]) == [], event
        seen.add((name, event.event_type))
    assert seen >= {
        ("memory::bank-changed", "created"),
        ("memory::bank-changed", "trashed"),
        ("memory::item-changed", "created"),
        ("memory::item-changed", "updated"),
        ("memory::item-changed", "superseded"),
        ("memory::item-changed", "deleted"),
    }


def test_the_documents_name_every_function_with_its_call_and_a_test_that_exists() -> None:
    page = (ROOT / "docs/functions.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(memory::[a-z:-]+)` \| (.*) \| (.*) \|$", page, re.MULTILINE)
    assert [name for name, _, _ in rows] == sorted(FUNCTIONS) + sorted(TRIGGERS)
    for name, call, proof in rows:
        if name in FUNCTIONS:
            assert call == f"`{FUNCTIONS[name].call}`", name
        found = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", proof)
        assert found, name
        for path, test in found:
            assert f"\ndef {test}(" in (ROOT / path).read_text(encoding="utf-8"), (name, test)
    assert len(FUNCTIONS) == 23
