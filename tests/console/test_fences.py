"""Who sees what, what a stored text may do to a page, and pages of errors."""

import re
from html.parser import HTMLParser

import pytest
from django.test import Client
from pytest_django import Settings

from banks import sync
from banks.access import Role
from banks.models import Bank
from banks.services import banks, members
from banks.services.entries import Saved
from tests.builders import World, person, save
from tests.console.conftest import Browser, words

ATTACKS = [
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "<svg/onload=alert(1)>",
    "```\n</code></pre><script>alert(1)</script>\n```",
    "</textarea><script>alert(1)</script>",
    "{{ settings.SECRET_KEY }} {% debug %}",
    '"><b hx-get="/sign-out" hx-trigger="load">x</b>',
]
FORBIDDEN_TAGS = {"script", "img", "b", "pre", "iframe", "style"}


class Markup(HTMLParser):
    """Every element of a page, as a browser would find them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def dangers(self) -> list[str]:
        """What our own templates never write."""
        found = sorted(self.tags & FORBIDDEN_TAGS)
        for name, value in self.attributes:
            bad = name.startswith(("on", "hx-", "data-hx")) or name == "style" or '"' in name
            found += [name] if bad else []
            leads_away = name in ("href", "src", "action") and not value.startswith(("/", "?", "#"))
            found += [f"{name}={value}"] if leads_away else []
        return found


def forms(client: Client, *addresses: str) -> set[str]:
    """The addresses of all forms that send something, on these pages."""
    found: set[str] = set()
    for address in addresses:
        page = client.get(address).content.decode()
        for tag in re.findall(r'<form[^>]*method="post"[^>]*>', page):
            action = re.search(r'action="([^"]*)"', tag)
            found.add(action[1] if action else address)
    return found - {"/theme", "/sign-out"}


# --- roles ------------------------------------------------------------------------------------


@pytest.fixture
def leak(ops: World) -> Saved:
    return save(ops, "Pump 1 leaks at the seal.", tags=("pumps",))


def test_a_reader_is_offered_no_change_and_told_why(
    ops: World, leak: Saved, browser: Browser
) -> None:
    client = browser("viewer")
    pages = ("/b/ops/memories", f"/m/ops/{leak.memory.id}")
    assert forms(client, *pages) == set()
    for address in pages:
        assert "You can read this bank." in words(client.get(address))
        assert "/edit" not in client.get(address).content.decode()


@pytest.mark.parametrize("name", ["editor", "maintainer", "owner", "admin"])
def test_every_form_that_is_offered_is_allowed(
    ops: World, leak: Saved, browser: Browser, name: str
) -> None:
    client = browser(name)
    key = leak.memory.id
    offered = forms(
        client, "/b/ops/memories", f"/m/ops/{key}", f"/m/ops/{key}/edit", "/b/ops/memories/new"
    )
    assert len(offered) == 4
    for address in offered:
        assert client.post(address).status_code in (303, 422)


@pytest.mark.parametrize("act", ["edit", "pin", "delete", "restore"])
def test_a_reader_who_posts_by_hand_is_refused_and_told_the_role(
    ops: World, leak: Saved, browser: Browser, act: str
) -> None:
    answer = browser("viewer").post(f"/m/ops/{leak.memory.id}/{act}", {"text": "typed for long"})
    assert answer.status_code == 403
    assert "role editor" in words(answer)
    assert "typed for long" in answer.content.decode()


@pytest.mark.parametrize(
    "address", ["/b/{}/memories", "/b/{}/memories/new", "/m/{}/mem_2026-01-01_000000"]
)
def test_a_foreign_bank_looks_like_none(ops: World, browser: Browser, address: str) -> None:
    client = browser("stranger")

    def answer(name: str) -> tuple[int, str]:
        got = client.get(address.format(name))
        page = re.sub(r'(csrfmiddlewaretoken" value=")[^"]*', r"\1", got.content.decode())
        return got.status_code, page.replace(name, "NAME")

    assert answer("ops") == answer("absent")
    assert answer("ops")[0] == 404


def test_the_rail_lists_only_ones_own_banks(ops: World, browser: Browser) -> None:
    banks.create(ops.admin, "annex")
    assert "annex" in words(browser("admin").get("/b/ops/memories"))
    assert "annex" not in words(browser("owner").get("/b/ops/memories"))


# --- hold ------------------------------------------------------------------------------------


def test_a_bank_on_hold_can_be_read_and_offers_no_change(
    ops: World, leak: Saved, browser: Browser, settings: Settings
) -> None:
    sync.look(ops.bank, force=True)
    (settings.DATA_DIR / "ops" / "bank.yaml").unlink()
    sync.look(ops.bank, force=True)
    client = browser("owner")
    answer = client.get("/b/ops/memories")
    assert answer.status_code == 200
    assert "on hold" in words(answer)
    assert leak.memory.text in words(answer)
    assert forms(client, "/b/ops/memories", f"/m/ops/{leak.memory.id}") == set()
    kept = client.post("/b/ops/memories/new", {"text": "Typed all the same.", "category": "facts"})
    assert kept.status_code == 503
    assert "Typed all the same." in kept.content.decode()


# --- what a stored text may do -------------------------------------------------------------------


# field case A42
@pytest.mark.parametrize("attack", ATTACKS)
def test_markup_in_a_memory_is_shown_as_text(ops: World, browser: Browser, attack: str) -> None:
    label = '"><b>x'
    memory = save(
        ops, attack, tags=(label,), entities=(label,), agent=label, session=label,
        source_entry=label, summary=label,
    ).memory  # fmt: skip
    client = browser("editor")
    for address in (
        "/b/ops/memories",
        f"/b/ops/memories?q={label}&tag={label}",
        f"/m/ops/{memory.id}",
        f"/m/ops/{memory.id}/edit",
    ):
        answer = client.get(address)
        assert answer.status_code == 200
        assert Markup(answer.content.decode()).dangers() == [], address
        policy = answer["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
    title = re.search("<title>(.*?)</title>", client.get(f"/m/ops/{memory.id}").content.decode())
    assert title
    assert title[1] == f"{memory.id} · ops · Memory Console"


# field case A42
def test_markup_in_other_names_is_shown_as_text(ops: World, browser: Browser) -> None:
    label = '"><b>x'
    annex, _ = banks.create(ops.admin, "annex", label)
    somebody = person(label)
    members.set_role(ops.admin, annex, label, Role.EDITOR)
    assert somebody.handle == f"user:{label}"
    for address in (
        "/b/ops/memories",
        "/banks/new",
        f"/m/ops/{label}",
        f"/b/ops/memories?is={label}",
    ):
        assert Markup(browser(label).get(address).content.decode()).dangers() == [], address


# --- errors ----------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the path /srv/secret and a memory")

    monkeypatch.setattr(Bank.objects, "filter", fail)


def test_an_address_that_is_none_has_a_page(client: Client) -> None:
    answer = client.get("/b/No-Such/memories")
    assert answer.status_code == 404
    assert "There is no page at this address." in words(answer)


def test_a_fault_tells_nothing_about_itself(ops: World, browser: Browser, broken: None) -> None:
    client = browser("owner")
    client.raise_request_exception = False
    answer = client.get("/b/ops/memories")
    assert answer.status_code == 500
    assert "Something broke" in words(answer)
    assert "secret" not in answer.content.decode()
