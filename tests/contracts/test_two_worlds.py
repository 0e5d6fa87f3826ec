"""Nobody learns anything of a foreign bank: with it empty or full, every answer is the same.

Two worlds with the same bank `ops` and its owner. In one of them the bank `rival`, in which the
owner of `ops` has no role, is full of whatever could show through. All addresses are asked.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.http.response import HttpResponseBase
from django.test import Client
from pytest_django import Settings

from banks import queries, seams, sync
from banks.access import Principal, Role
from banks.models import Bank
from banks.services import banks, configuration, entries, members, rules, sessions, webhooks
from banks.services.drafts import Draft
from memoryconsole.console import urls
from recall import indexer
from tests import builders
from tests.api.conftest import EVERY_SCOPE, Api, token_of
from tests.console.test_every_route import address_of
from tests.console.test_posts_have_rules import FORMS
from tests.contracts.calls import NAMES, Rule, Scene, mended, scene_of
from tests.streams import ByHand, driven_by_hand

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
OURS, THEIRS, NOBODYS = "ops", "rival", "blank"
THEIR_KEY = "mem_2026-11-30_b00001"
AFTER_EACH_OTHER = re.compile(
    r"(?P<csrf>[A-Za-z0-9]{64})"
    r"|(?P<chance>[0-9a-f]{32,33})"
    r"|(?P<secret>(?:mc|whsec)_[\w+/=-]{20,})"
    r"|(?P<prefix>mc_[\w-]{4,10})"
    r"|(?P<time>\b1[0-9]{12}\b)"
    r"|(?P<cursor>(?<=\nid: )[\w-]+)"
)
"""What differs from one call to the next in any world."""

pytestmark = pytest.mark.wide

Told = tuple[int, dict[str, str], str]


def masked(answer: HttpResponseBase, hub: ByHand) -> Told:
    """Status, headers and body. Of a stream all that it says before the first ping."""
    if answer.streaming:
        said = []
        for chunk in iter(hub.opened(answer)):  # type: ignore[arg-type]  # a streaming one
            said.append(chunk.decode())
            if ": ping" in said[-1]:
                break
        body = "".join(said)
    else:
        body = answer.content.decode()  # type: ignore[attr-defined]  # not a streaming one
    headers = {name: _mask(value) for name, value in answer.items() if name != "Expires"}
    return answer.status_code, headers, _mask(body)


def _mask(text: str) -> str:
    return AFTER_EACH_OTHER.sub(lambda found: f"<{found.lastgroup}>", text)


@dataclass(frozen=True)
class Asker:
    """The owner of `ops`, with a token and with a browser."""

    api: Api
    browser: Client
    hub: ByHand

    def call(self, rule: Rule) -> Told:
        return masked(self.api.send(rule.method, rule.path, rule.body), self.hub)

    def page(self, address: str, form: dict[str, str] | None = None) -> Told:
        answer = self.browser.get(address) if form is None else self.browser.post(address, form)
        return masked(answer, self.hub)


@contextmanager
def suffixes(letter: str) -> Iterator[None]:
    """Ids that are the same in both worlds, whatever was made in between."""
    numbers = count(1)
    with seams.replaced(suffix=lambda: f"{letter}{next(numbers):05x}"):
        yield


def fill(world: builders.World, bank: Bank, rival: Principal) -> None:
    """Everything that a bank can have, as like to what `ops` has as can be."""
    with suffixes("b"):
        first = entries.save(rival, bank, Draft(text="Valve 1 is open.", tags=("new",))).memory
        for number in range(30):
            draft = Draft(text=f"Valve {number} is open and rusty.", pinned=number % 3 == 0)
            entries.save(rival, bank, draft)
        entries.pin(rival, bank, first.id, pinned=True)
        gone = entries.save(rival, bank, Draft(text="Valve 3 is gone.")).memory
        entries.delete(rival, bank, gone.id)
        rules.set_rule(rival, bank, "valves", "Never open valve 1.")
        hook, _ = webhooks.create(rival, "https://8.8.8.8/y", webhooks.Filter(banks=(THEIRS,)))
        webhooks.test(rival, hook.id)
        sessions.select(rival, "chat", bank)
        members.set_role(world.admin, bank, "stranger", Role.EDITOR)
        extra, _ = banks.create(world.admin, "rival-two")
        banks.trash(world.admin, extra)
        _edit_by_hand(bank)
    assert first.id == THEIR_KEY
    indexer.catch_up(bank)


def _edit_by_hand(bank: Bank) -> None:
    file = seams.data_folder().root / bank.name / "semantic_memory" / "facts.md"
    file.write_bytes(file.read_bytes() + b"\n---\nbroken\n")
    sync.look(bank, force=True)


def asker_of(world: builders.World, hub: ByHand) -> Asker:
    # With banks:create a save would make a missing bank, and be told that a foreign name is taken.
    scopes = [each for each in EVERY_SCOPE if each != "banks:create"]
    same = {"X-Request-Id": "the-same-in-both"}
    api, browser = Api(token_of(world.owner, *scopes)), Client(headers=same)
    api.headers |= same
    browser.force_login(User.objects.get(pk=world.owner.user_id))
    return Asker(api, browser, hub)


def renamed(rule: Rule, name: str, key: str) -> Rule:
    """The same call about another bank, and about what may be in there."""

    def other(text: str) -> str:
        return re.sub(r"mem_[\w-]+", key, re.sub(r"\bops\b", name, text))

    body = json.loads(other(json.dumps(rule.body)))
    return replace(rule, path=other(rule.path), body=body)


def calls_of(asker: Asker, scene: Scene) -> Iterator[tuple[str, Told]]:
    """Every call about `ops`; what it changes is taken back before the next one."""
    for name in NAMES:
        told = asker.call(scene.rules[name])
        yield f"{name} {OURS}", told
        if told[0] == 200:
            mended(scene, name)
    for name in ("get_memory", "memory_history", "update_memory", "pin_memory", "supersede_memory"):
        yield f"{name} by their id", asker.call(renamed(scene.rules[name], OURS, THEIR_KEY))
    in_trash = replace(scene.rules["restore_bank"], path="/banks/rival-two/restore")
    yield "restore_bank of theirs", asker.call(in_trash)


def foreign_calls(asker: Asker, scene: Scene, bank: str) -> Iterator[tuple[str, Told]]:
    """Every call that can name a bank, about one that its caller cannot see."""
    for name, rule in scene.rules.items():
        other = renamed(rule, bank, THEIR_KEY)
        if other != rule:
            yield f"{name} {bank}", asker.call(other)


def pages_of(asker: Asker, bank: str, key: str, version: str) -> Iterator[tuple[str, Told]]:
    """Every page, then every form; of a foreign bank those that name one."""
    addresses = {
        str(each.name): address_of(each, key).replace("/ops/", f"/{bank}/")
        for each in urls.urlpatterns
    }
    addresses["live"] += f"?bank={bank}"
    for name, address in addresses.items():
        if bank in (OURS, *re.split(r"[/=]", address)):
            yield f"GET {name} {bank}", asker.page(address)
    here = {"key": key, "version": version, "rule": "v", "token": "2"}
    for name in sorted(FORMS.keys() - {"sign_out"}):
        data = {each: value.format(**here) for each, value in FORMS[name].data.items()}
        form = {each: bank if value == OURS else value for each, value in data.items()}
        if bank in (OURS, *addresses[name].split("/"), *form.values()):
            yield f"POST {name} {bank}", asker.page(addresses[name], form)
    asker.page("/audit")  # what is still to be told is told here


def told(settings: Settings, folder: Path, hub: ByHand, *, full: bool) -> dict[str, Told]:
    """Every answer in a world of its own, of which nothing is left."""
    settings.DATA_DIR, settings.STATE_DIR = folder / "memory", folder / "state"
    for each in (settings.DATA_DIR, settings.STATE_DIR):
        each.mkdir(parents=True)
    before = transaction.savepoint()
    with seams.replaced(now=lambda: NOW, chance=lambda: 0.5), suffixes("a"):
        world = builders.world()
        rival = builders.person(THEIRS)
        bank, _ = banks.create(world.admin, THEIRS)
        members.set_role(world.admin, bank, THEIRS, Role.OWNER)
        scene = scene_of(world)
        asker = asker_of(world, hub)
        if full:
            fill(world, bank, rival)
        answers = dict(calls_of(asker, scene))
        version = queries.memory(world.bank, scene.live).version
        answers |= dict(pages_of(asker, OURS, scene.live, version))
        for name in (THEIRS, NOBODYS):
            answers |= dict(foreign_calls(asker, scene, name))
            answers |= dict(pages_of(asker, name, THEIR_KEY, "v"))
        configuration.change(world.admin, {"default_bank": THEIRS})
        for each in (
            "list_memories",
            "recall",
            "preview",
            "list_tags",
            "list_rules",
            "save_memory",
        ):
            answers[f"{each} of the default bank"] = asker.call(_unnamed(scene.rules[each]))
    transaction.savepoint_rollback(before)
    return answers


def _unnamed(rule: Rule) -> Rule:
    body = rule.body
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if name != "bank"}
    return replace(rule, path=rule.path.partition("?")[0], body=body)


def _as_absent(answer: Told) -> Told:
    status, headers, body = answer
    headers = {name: value.replace(THEIRS, NOBODYS) for name, value in headers.items()}
    return status, headers, body.replace(THEIRS, NOBODYS)


def test_whatever_is_in_a_foreign_bank_no_answer_shows_it(
    db: None, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with driven_by_hand(monkeypatch) as hub:
        empty = told(settings, tmp_path / "empty", hub, full=False)
        full = told(settings, tmp_path / "full", hub, full=True)
    assert empty.keys() == full.keys()
    assert {name: full[name] for name in full if full[name] != empty[name]} == {}
    theirs = {name: _as_absent(answer) for name, answer in full.items() if name.endswith(THEIRS)}
    nobodys = {name: full[name.removesuffix(THEIRS) + NOBODYS] for name in theirs}
    assert {name: theirs[name] for name in theirs if theirs[name] != nobodys[name]} == {}
    statuses = {each: full[each][0] for each in full}
    assert {status for each, status in statuses.items() if each.endswith(OURS)} >= {200, 303}
