"""A secret of each kind goes through every way in, and then is nowhere: not in a file, a row, the
index, a log line, an event, a webhook's body or an answer. What only looks like one stays."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from banks import events, feed, jobs
from banks.access import SYSTEM, Scope
from banks.models import Bank
from banks.schemas import events as shapes
from banks.services import transfer
from banks.store import names
from banks.store.redact import mask
from recall.learning import llm
from recall.learning.llm import Answer
from tests import builders
from tests.api.conftest import Api, token_of
from tests.canaries import FOUND, LEFT_ALONE, written
from tests.chat import Scripted, array, element

pytestmark = pytest.mark.wide

AT_ONCE = 500
LINE = {label: (secret, around) for secret, around, label in reversed(FOUND) if "\n" not in secret}
"""For each kind one that fits into a line."""


def needles() -> set[str]:
    """What to look for, in small letters: each secret, of a long one its longest line, and its
    longest word, which is how an index would keep it."""
    found = set()
    for secret, _, _ in FOUND:
        line = max(re.split(r"\n|\\n", secret), key=len)
        word = max(re.findall(r"\w+", line), key=len)
        found |= {line, word if len(word) > 14 else line}
    return {each.lower() for each in found if "PRIVATE KEY-" not in each}


def places() -> Iterator[tuple[str, str]]:
    """Every place where something is kept, with all that is in it."""
    for root in (settings.DATA_DIR, settings.STATE_DIR):
        for path in Path(root).rglob("*"):
            content = path.read_bytes().decode("latin-1") if path.is_file() else ""
            yield str(path.relative_to(root)), f"{path.name}\n{content}"
    for model in apps.get_models():
        for row in model.objects.values():
            yield model.__name__, "\n".join(map(str, row.values()))
    for bank in Bank.objects.all():
        for event in events.after(bank, 0, limit=AT_ONCE):
            yield f"event {event.seq}", shapes.line(event)


class Writer:
    """Sends secrets, and looks into each answer."""

    def __init__(self, world: builders.World) -> None:
        self.api = Api(token_of(world.admin))
        self.browser = Client()
        self.browser.force_login(User.objects.get(pk=world.admin.user_id))
        self.answers: list[tuple[str, str]] = []

    def send(self, method: str, path: str, body: object, **headers: str) -> dict[str, Any]:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self.api.send(method, path, body, headers=names)
        assert answer.status_code in (200, 404, 409, 422), (path, answer.content)
        self.answers.append((f"{method} {path}", f"{answer.headers}{answer.content.decode()}"))
        told: dict[str, Any] = json.loads(answer.content)
        return told

    def post(self, address: str, **form: str) -> None:
        answer = self.browser.post(address, form)
        assert answer.status_code == 303, address
        page = self.browser.get(answer["Location"])
        self.answers.append((address, page.content.decode()))


class Leaky(Scripted):
    """A model that says all secrets it was never shown, and calls each message a rule."""

    def complete(self, system: str, user: str, *, timeout_s: float) -> Answer:
        told = super().complete(system, user, timeout_s=timeout_s)
        number = len(self.asked) % len(LINE)
        secret, around = list(LINE.values())[number]
        says = written(around, secret)
        found = [element(f"Model {number}. {says}", tags=[says], entities=[says], quote=says)]
        found += [element(text, "rules") for text in self.texts[-2:]]
        return replace(told, text=array(*found))


def through_the_api(writer: Writer, hook: int) -> None:
    """Every call that takes words, with a secret in each of its fields."""
    texts = [f"Note {n}.\n{written(around, secret)}" for n, (secret, around, _) in enumerate(FOUND)]
    items = [{"text": text} for text in texts]
    told = writer.send("POST", "/memories/bulk", {"bank": "ops", "memories": items})
    keys = [each["memory"]["id"] for each in told["results"]]
    for number, (label, (secret, around)) in enumerate(LINE.items()):
        says, key = written(around, secret), keys[number]
        words = {"summary": says, "tags": [says], "entities": [says]}
        who = {"session_id": says, "entry_id": says, "agent": says}
        text = f"Once more {label}.\n{says}"
        saved = writer.send("POST", "/memories", {"bank": "ops", "text": text, **words, **who})
        if "memory" not in saved:  # a label may be too long, or have signs that a label cannot have
            item = {"bank": "ops", "text": text, "summary": says}
            saved = writer.send("POST", "/memories", item)
        steps = {
            "bank": "ops",
            "category": "procedure",
            "title": f"No. {number}, {says}",
            "text": says,
        }
        writer.send("POST", "/memories", steps)
        writer.send("PATCH", f"/memories/{key}", {"bank": "ops", "text": f"Two. {text}", **words})
        writer.send("PATCH", f"/memories/{key}", {"bank": "ops", "text": f"Three. {text}"})
        survivor = {"bank": "ops", "superseded_by": saved["memory"]["id"], "reason": says}
        writer.send("POST", f"/memories/{key}/supersede", survivor)
        rule = {"bank": "ops", "content": says}
        writer.send("PUT", f"/rules/kind-{number}", rule)
        shown = secret if mask(secret).labels else "not-to-be-known-by-its-form"
        names = {"Idempotency_Key": secret, "X_Request_Id": shown, "X_Session_Id": says}
        writer.send(
            "PATCH", f"/memories/{key}", {"bank": "ops", "tags": [f"tag-{number}"]}, **names
        )
        writer.send("PUT", f"/rules/{quote(shown, safe='')}", rule)
        for field in ("extraction_model", "embedding_model", "data_dir", says):
            writer.send("PATCH", "/config", {field: says})
        writer.send("POST", "/banks", {"name": f"bank-{number}", "description": says})
        writer.send("PATCH", "/banks/ops", {"description": says})
        step = {"session_id": says, "metadata": {"memory_bank": "ops", "x": says}}
        messages = [{"role": "user", "content": f"{says}, and what of the valve?"}]
        generate = {"system_prompt": says, "messages": messages}
        given = writer.api.ok("POST", "/hooks/pre-generate", {**step, "generate": generate})
        assert given["mutations"]["system_prompt"].startswith(says)  # it is the caller's own
        spoken = [{"id": f"{who}-{says}", "role": who, "text": says} for who in ("user", "tool")]
        turn = {"session_id": says, "turn_id": says, "messages": spoken, "parent": says}
        for each in ({**turn, "parent": None}, turn, {**turn, "messages": None}):
            writer.send("POST", "/hooks/turn-completed", each)
        writer.send("POST", "/recall", {"bank": "ops", "query": says})
        hidden = quote(secret, safe="")
        for address in (f"https://u:{hidden}@8.8.8.8/x", f"https://8.8.8.8/x?token={hidden}"):
            if label != "url-password" or "@" in address:
                writer.send("PATCH", f"/webhooks/{hook}", {"url": address})


def through_the_console(writer: Writer) -> None:
    """The forms that make and change what is remembered."""
    for label, (secret, around) in LINE.items():
        says = written(around, secret)
        once = {"once": label}
        writer.post("/b/ops/memories/new", text=f"Typed.\n{says}", category="facts", **once)
        writer.post("/welcome", text=f"First.\n{says}", bank="ops", **once)
        writer.post("/b/ops/new-rule", name=f"typed-{label}", text=says, reason=says)


def through_an_import(folder: Path) -> None:
    """A log of another program."""
    folder.mkdir()
    lines = []
    for secret, around, _ in FOUND:
        text = written(around, secret)
        record = {"id": names.fingerprint(text), "text": text, "confidence": "stated"}
        times = dict.fromkeys(("created_at", "updated_at", "stated_at"), 1_780_000_000_000)
        lines.append(json.dumps({**record, **times, "entities": [], "tags": [], "revision": 0}))
    (folder / "memories.jsonl").write_text("\n".join(lines))
    report = transfer.import_folder(SYSTEM, folder, "taken-in")
    assert report.entries == len(FOUND)


# field case A25
def test_no_secret_is_left_anywhere_whichever_way_it_came(
    transactional_db: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    world = builders.world()
    writer = Writer(world)
    hook = {"url": "https://8.8.8.8/x", "filter": {"banks": ["ops"]}}
    told = writer.send("POST", "/webhooks", hook)
    with llm.replaced(Leaky()):
        through_the_api(writer, told["webhook"]["id"])
        jobs.work_off()
    writer.answers.append(("proposals", writer.api.send("GET", "/proposals").content.decode()))
    through_the_console(writer)
    through_an_import(tmp_path / "log")
    feed.follow()
    wanted = needles()
    leaks = {
        (place, needle)
        for place, content in [*places(), *writer.answers, ("log", caplog.text)]
        for needle in wanted
        if needle in content.lower()
    }
    assert leaks == set()
    kept = [content for place, content in places() if place == "Delivery"]
    assert any("[redacted:" in each for each in kept)


def test_what_only_looks_like_a_secret_stays_as_it_was(db: None) -> None:
    world = builders.world()
    api = Api(token_of(world.editor, Scope.MEMORY_WRITE.value))
    texts = [names.clean_text(text) for text in LEFT_ALONE if text]
    items = [{"text": text} for text in texts]
    told = api.ok("POST", "/memories/bulk", {"bank": "ops", "memories": items})["results"]
    assert [each["memory"]["text"] for each in told] == texts
