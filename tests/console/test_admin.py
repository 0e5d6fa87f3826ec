"""The admin: who gets in, and that its forms are the services and lose nothing that was typed."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from banks import auth, errors, seams, sync
from banks.access import Role
from banks.models import AccessToken, Bank, Change, Membership, Rule
from banks.services import banks, members, rules, tokens
from tests.builders import World
from tests.console.conftest import Browser, words

TABLES = ("banks_bank", "banks_rule", "banks_membership", "banks_accesstoken", "auth_user")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
TEXT = "Close valve 2 first.\nThen valve 1.\n"


@pytest.fixture
def admin(ops: World, browser: Browser) -> Client:
    return browser("admin")


@pytest.fixture
def valves(ops: World) -> Rule:
    """A rule of `ops`."""
    rules.set_rule(ops.maintainer, ops.bank, "valves", TEXT)
    return Rule.objects.get(name="valves")


def at(table: str, act: str, *row: int) -> str:
    return reverse(f"admin:{table}_{act}", args=row)


def shown(client: Client, address: str) -> dict[str, Any]:
    """What the form at an address is filled with, hidden fields too."""
    form = client.get(address).context["form"]
    return {name: form[name].value() for name in form.fields if form[name].value() is not None}


# --- who gets in --------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES)
def test_only_instance_admins_see_the_tables(ops: World, browser: Browser, table: str) -> None:
    for act in ("changelist", "add"):
        address = at(table, act)
        assert browser("admin").get(address).status_code == 200
        refused = browser("owner").get(address)
        assert refused.status_code == 403
        assert "instance admin" in words(refused)


def test_who_may_not_come_in_cannot_tell_what_is_there(
    ops: World, valves: Rule, browser: Browser
) -> None:
    client = browser("owner")
    there, absent = at("banks_rule", "change", valves.pk), at("banks_rule", "change", 999)
    assert client.post(there, {"text": "x"}).status_code == 403
    for address in (absent, "/admin/banks/nothing/", "/admin/login/", "/admin/logout/"):
        assert client.get(address).status_code == 403


def test_a_logged_out_visit_leads_to_the_sign_in_page_of_the_console(
    client: Client, ops: World
) -> None:
    for address in ("/admin/", at("banks_rule", "change", 1), "/admin/login/", "/admin/x/"):
        answer = client.get(address)
        assert (answer.status_code, answer["Location"].split("?")[0]) == (303, "/sign-in")
    assert client.get("/admin/")["Location"].endswith("?next=%2Fadmin%2F")


def test_the_admin_has_a_policy_of_its_own_and_the_console_keeps_its(admin: Client) -> None:
    assert "style-src 'self' 'unsafe-inline';" in admin.get("/admin/")["Content-Security-Policy"]
    for address in ("/sign-in", "/banks/new", "/admin/nothing/"):
        assert "unsafe" not in admin.get(address)["Content-Security-Policy"]


def test_every_form_needs_the_token_against_forged_requests(ops: World, valves: Rule) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(username="admin"))
    for address in (at("banks_rule", "delete", valves.pk), at("banks_bank", "add")):
        assert client.post(address, {"name": "annex"}).status_code == 403
    assert Rule.objects.exists()
    assert Bank.objects.count() == 1


# --- rules ----------------------------------------------------------------------------------------


def left_behind(bank: Bank, folder: Path) -> object:
    """Everything that an edit leaves, but for its number."""
    change = Change.objects.filter(bank=bank).select_related("operation").latest("seq")
    operation = change.operation
    assert operation is not None
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*valves*")
        if path.is_file()
    }
    journal = (change.action, change.target, change.key, change.actor, change.reason, change.at)
    versions = (change.version_before, change.version_after)
    return files, journal, versions, operation.act, operation.actor, operation.state


def test_an_edit_by_the_admin_is_the_edit_by_the_service(
    ops: World, valves: Rule, admin: Client, settings: Settings
) -> None:
    twin, _ = banks.create(ops.admin, "twin")
    rules.set_rule(ops.maintainer, twin, "valves", TEXT)
    address = at("banks_rule", "change", valves.pk)
    typed = shown(admin, address) | {"text": "Close valve 3 first.\r\n", "reason": "New pipe."}
    with seams.replaced(now=lambda: NOON):
        rules.set_rule(ops.admin, twin, "valves", "Close valve 3 first.\n", reason="New pipe.")
        answer = admin.post(address, typed)
    assert (answer.status_code, answer["Location"]) == (303, at("banks_rule", "changelist"))
    data = settings.DATA_DIR
    assert left_behind(ops.bank, data / "ops") == left_behind(twin, data / "twin")
    assert (data / "ops/rules/valves.md").read_bytes() == b"Close valve 3 first.\n"
    assert not LogEntry.objects.exists()


def test_a_stale_edit_keeps_what_was_typed_and_shows_what_is_there(
    ops: World, valves: Rule, admin: Client, settings: Settings
) -> None:
    address = at("banks_rule", "change", valves.pk)
    typed = shown(admin, address) | {"text": "What I <b>typed</b>.\n"}
    file = settings.DATA_DIR / "ops/rules/valves.md"
    file.write_text("By hand.\n")
    refused = admin.post(address, typed)
    assert refused.status_code == 409
    page = refused.content.decode()
    assert "What I &lt;b&gt;typed&lt;/b&gt;." in page
    assert errors.StaleRevision.default in words(refused)
    assert "By hand." in words(refused)
    assert file.read_text() == "By hand.\n"
    again = typed | {"version": refused.context["form"]["version"].value()}
    assert admin.post(address, again).status_code == 303
    assert file.read_text() == typed["text"]
    assert admin.post(address, typed).status_code == 303  # a second click on the same Save


def test_a_rule_is_made_once_and_a_refusal_stands_beside_its_field(
    ops: World, admin: Client
) -> None:
    address = at("banks_rule", "add")
    typed = {"bank": ops.bank.pk, "name": "kilns", "text": TEXT}
    bad = admin.post(address, typed | {"text": "a\x1bb"})
    assert bad.status_code == 422
    assert "control character" in str(bad.context["form"].errors["text"])
    assert admin.post(address, typed | {"name": "No Such"}).status_code == 422
    assert admin.post(address, typed).status_code == 303
    again = admin.post(address, typed | {"text": "Another."})
    assert again.status_code == 409
    assert "Another." in again.content.decode()
    assert Rule.objects.get().content == TEXT


def test_a_rule_is_removed_as_it_was_seen(
    ops: World, valves: Rule, admin: Client, settings: Settings
) -> None:
    address = at("banks_rule", "delete", valves.pk)
    typed = shown(admin, address)
    rules.set_rule(ops.maintainer, ops.bank, "valves", "Newer.\n")
    refused = admin.post(address, typed)
    assert refused.status_code == 409
    assert Rule.objects.exists()
    assert admin.post(address, {"seen": refused.context["form"]["seen"].value()}).status_code == 303
    assert not (settings.DATA_DIR / "ops/rules/valves.md").exists()
    assert admin.post(address, typed).status_code == 404


def test_a_bank_on_hold_refuses_and_the_form_says_why(
    ops: World, valves: Rule, admin: Client, settings: Settings
) -> None:
    address = at("banks_rule", "change", valves.pk)
    typed = shown(admin, address) | {"text": "Typed all the same.\n"}
    (settings.DATA_DIR / "ops/bank.yaml").unlink()
    sync.look(ops.bank, force=True)
    refused = admin.post(address, typed)
    assert refused.status_code == 503
    assert "look lost" in words(refused)
    assert "Typed all the same." in refused.content.decode()


def test_the_list_of_rules_counts_as_the_console_does(ops: World, admin: Client) -> None:
    rules.set_rule(ops.maintainer, ops.bank, "style", "\n  Be brief.\n\n")
    answer = admin.get(at("banks_rule", "changelist"))
    assert '<td class="field-size">11</td>' in answer.content.decode()


def test_the_list_of_rules_filters_and_leads_to_the_history(
    ops: World, valves: Rule, admin: Client
) -> None:
    twin, _ = banks.create(ops.admin, "twin")
    rules.set_rule(ops.maintainer, twin, "kilns", "Fire slowly.")
    listed = words(admin.get(at("banks_rule", "changelist"), {"bank__id__exact": twin.pk}))
    assert "kilns" in listed
    assert "valves" not in listed
    assert "1 rule" in words(admin.get(at("banks_rule", "changelist"), {"q": "close valve"}))
    page = admin.get(at("banks_rule", "change", valves.pk))
    assert "<h1>Rule valves of ops</h1>" in page.content.decode()
    assert f'href="{reverse("rule", args=["ops", "valves"])}"' in page.content.decode()


# --- banks ----------------------------------------------------------------------------------------


def test_a_bank_is_made_described_renamed_trashed_and_restored(
    ops: World, admin: Client, settings: Settings
) -> None:
    admin.post(at("banks_bank", "add"), {"name": "annex", "description": "Shed two."})
    row = Bank.objects.get(name="annex")
    address = at("banks_bank", "change", row.pk)
    typed = shown(admin, address) | {"name": "shed", "description": "Shed 2."}
    assert admin.post(address, typed).status_code == 303
    assert "description: Shed 2." in (settings.DATA_DIR / "shed/bank.yaml").read_text()
    assert admin.post(at("banks_bank", "delete", row.pk)).status_code == 303
    row.refresh_from_db()
    assert (settings.DATA_DIR / ".trash" / row.trashed_to / "bank.yaml").exists()
    assert admin.get(address).context["form"] is None
    assert admin.post(address, typed).status_code == 403
    chosen = {"action": "restore", "_selected_action": [row.pk, ops.bank.pk]}
    told = words(admin.post(at("banks_bank", "changelist"), chosen, follow=True))
    assert "Bank shed is back." in told
    assert f"ops: {errors.TrashNotFound.default}" in told
    assert (settings.DATA_DIR / "shed/bank.yaml").exists()


def test_the_list_of_banks_has_words_for_its_columns(ops: World, admin: Client) -> None:
    said = words(admin.get(at("banks_bank", "changelist")))
    assert "Changes so far On hold because" in said


def test_a_bank_that_changed_meanwhile_is_neither_renamed_nor_described(
    ops: World, admin: Client
) -> None:
    address = at("banks_bank", "change", ops.bank.pk)
    seen = shown(admin, address)
    banks.describe(ops.owner, ops.bank, "Newer.")
    refused = admin.post(address, seen | {"description": "Mine."})
    assert refused.status_code == 409
    assert "Newer." in words(refused)
    banks.rename(ops.owner, ops.bank, "pumps")
    assert admin.post(address, seen | {"name": "mine"}).status_code == 409
    assert Bank.objects.values_list("name", "description").get() == ("pumps", "Newer.")


# --- people ---------------------------------------------------------------------------------------


def test_a_member_is_added_given_another_role_and_removed(ops: World, admin: Client) -> None:
    joins = {"bank": ops.bank.pk, "user": ops.stranger.user_id, "role": int(Role.VIEWER)}
    assert admin.post(at("banks_membership", "add"), joins).status_code == 303
    row = Membership.objects.get(user_id=ops.stranger.user_id)
    admin.post(at("banks_membership", "change", row.pk), {"role": int(Role.EDITOR)})
    assert ("stranger", Role.EDITOR) in members.listed(ops.bank)
    admin.post(at("banks_membership", "delete", row.pk))
    assert "stranger" not in dict(members.listed(ops.bank))


def test_the_secret_of_a_token_is_shown_once_and_its_digest_never(
    ops: World, admin: Client
) -> None:
    typed = {"name": "bot", "scopes": ["memory:read"], "banks": [ops.bank.pk], "days": "7"}
    made = admin.post(at("banks_accesstoken", "add"), typed)
    secret = made.context["secret"]
    assert secret in made.content.decode()
    assert "no-store" in made["Cache-Control"]
    principal = auth.principal_of_token(secret)
    assert (principal.bank_ids, principal.is_admin) == (frozenset({ops.bank.pk}), True)
    row = AccessToken.objects.get()
    its_page = at("banks_accesstoken", "change", row.pk)
    for address in (at("banks_accesstoken", "changelist"), its_page):
        page = admin.get(address).content.decode()
        assert row.prefix in page
        assert secret not in page
        assert tokens.digest(secret) not in page
    assert admin.post(its_page, typed).status_code == 403
    assert admin.post(at("banks_accesstoken", "delete", row.pk)).status_code == 303
    with pytest.raises(errors.Unauthenticated):
        auth.principal_of_token(secret)
    assert AccessToken.objects.exists()
    assert admin.post(at("banks_accesstoken", "delete", row.pk)).status_code == 403


def test_a_token_is_for_every_bank_only_when_that_was_chosen(ops: World, admin: Client) -> None:
    typed = {"name": "bot", "scopes": ["memory:read"]}
    assert admin.post(at("banks_accesstoken", "add"), typed).status_code == 422
    assert not AccessToken.objects.exists()
    admin.post(at("banks_accesstoken", "add"), typed | {"every_bank": "on"})
    assert AccessToken.objects.get().every_bank


def test_people_are_added_kept_out_and_given_another_password(ops: World, admin: Client) -> None:
    password = "a kiln full of bricks"
    typed = {"username": "ada", "password": password, "again": password}
    address = at("auth_user", "add")
    assert admin.post(address, typed | {"password": "short", "again": "short"}).status_code == 422
    assert admin.post(address, typed | {"again": "another one"}).status_code == 422
    assert admin.post(address, typed).status_code == 303
    assert admin.post(address, typed).status_code == 409
    ada = User.objects.get(username="ada")
    client = Client()
    assert client.login(username="ada", password=password)
    assert client.get("/banks/new").status_code == 200
    page = admin.get(at("auth_user", "change", ada.pk)).content.decode()
    assert ada.password not in page
    admin.post(at("auth_user", "change", ada.pk), {"is_active": ""})
    assert client.get("/banks/new").status_code == 303
    new = {"is_active": "on", "is_admin": "on", "password": "two sheds, one kiln"}
    admin.post(at("auth_user", "change", ada.pk), new | {"again": new["password"]})
    assert client.login(username="ada", password=new["password"])
    assert client.get("/admin/").status_code == 200


def test_the_last_instance_admin_stays_and_a_new_password_keeps_this_session(
    ops: World, admin: Client
) -> None:
    address = at("auth_user", "change", ops.admin.user_id or 0)
    for left in ({"is_active": "on"}, {"is_admin": "on"}):
        assert admin.post(address, left).status_code == 409
    both = {"is_active": "on", "is_admin": "on"}
    new = {"password": "two sheds, one kiln", "again": "two sheds, one kiln"}
    assert admin.post(address, both | new).status_code == 303
    assert admin.get("/admin/").status_code == 200


def test_a_name_is_told_as_it_is_typed_when_signing_in(admin: Client) -> None:
    typed = {"username": "vera", "password": "a long enough one", "again": "a long enough one"}
    assert "vera can sign in." in words(admin.post(at("auth_user", "add"), typed, follow=True))


def test_a_rule_is_named_by_the_same_words_here_and_in_the_console(
    ops: World, admin: Client
) -> None:
    hint = "Small letters, digits, - and _."
    for address in (at("banks_rule", "add"), "/b/ops/new-rule"):
        assert hint in words(admin.get(address))
