"""API tokens: made once, shown once, revoked at once."""

import html
import json
import re
import shlex
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from banks import seams
from banks.access import Scope
from banks.models import AccessToken
from banks.services import banks, tokens
from tests.builders import World, save
from tests.console.conftest import Browser, words

HOME = "/settings/tokens"
AGENT = ["memory:read", "memory:write", "rules:read", "hooks"]


def make(client: Client, **changed: Any) -> Any:
    typed = {"name": "kiln agent", "scopes": AGENT, "reach": "every", "days": "90", "once": "1"}
    return client.post(HOME, typed | changed)


def secret_in(answer: Any) -> str:
    found = re.search(r'id="secret"[^>]*value="(mc_[^"]*)"', answer.content.decode())
    assert found
    return found[1]


def recall(secret: str) -> Any:
    body = json.dumps({"bank": "ops", "query": "seal"})
    headers = {"Authorization": f"Bearer {secret}"}
    return Client().post("/api/v1/recall", body, content_type="application/json", headers=headers)


def test_a_made_token_works_and_its_secret_is_shown_once(ops: World, browser: Browser) -> None:
    save(ops, "Pump 1 leaks at the seal.")
    client = browser("editor")
    answer = make(client)
    secret = secret_in(answer)
    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    told = recall(secret)
    assert "Pump 1 leaks at the seal." in told.content.decode()
    for address in (HOME, "/b/ops/memories", "/banks"):
        assert secret not in client.get(address).content.decode()
    assert secret not in json.dumps(dict(client.session))


def test_the_same_form_sent_again_makes_no_second_token(ops: World, browser: Browser) -> None:
    client = browser("editor")
    secret = secret_in(make(client))
    again = make(client)
    assert again["Location"] == f"{HOME}#list"
    page = client.get(HOME)
    assert "That token was made already." in words(page)
    assert secret not in page.content.decode()
    assert AccessToken.objects.count() == 1


def test_what_an_agent_needs_is_chosen_to_begin_with(ops: World, browser: Browser) -> None:
    page = browser("editor").get(HOME)
    assert sorted(re.findall(r'value="([a-z:]+)"[^>]* checked', page.content.decode())) == sorted(
        [*AGENT, "every"]
    )
    assert "You have no token Make one and give it to an agent" in words(page)
    assert "and adds to it" in words(page)


def test_no_more_is_promised_than_the_chosen_scopes_allow(ops: World, browser: Browser) -> None:
    make(browser("editor"))
    said = words(browser("viewer").get(HOME))
    assert "You have no token" in said
    assert "Agents cannot reach" not in said
    assert "finds what is remembered here." in said
    AccessToken.objects.all().delete()
    assert "Agents cannot reach this console yet" in words(browser("admin").get(HOME))


@pytest.mark.parametrize(
    ("changed", "address"),
    [({}, "/api/v1/recall"), ({"reach": "chosen", "banks": ["ops"]}, "/api/v1/recall"),
     ({"scopes": ["rules:read"]}, "/api/v1/rules?bank=ops")],
)  # fmt: skip
def test_the_line_that_is_given_to_try_a_token_works(
    ops: World, browser: Browser, changed: dict[str, Any], address: str
) -> None:
    save(ops, "Pump 1 leaks: what is known of it.")
    answer = make(browser("editor"), **changed)
    found = re.search(r'id="try"[^>]*value="([^"]*)"', answer.content.decode())
    assert found
    word, flags, _, header, url, *rest = shlex.split(html.unescape(found[1]))
    assert (word, flags, url) == ("curl", "-fsS", f"http://testserver{address}")
    name, _, value = header.partition(": ")
    assert value == f"Bearer {secret_in(answer)}"
    if rest:
        assert rest[:3] == ["-H", "Content-Type: application/json", "-d"]
        told = Client().post(
            address, rest[3], content_type="application/json", headers={name: value}
        )
        assert "Pump 1 leaks" in told.content.decode()
    else:
        assert Client().get(address, headers={name: value}).status_code == 200


def test_a_token_that_reads_nothing_has_no_line_to_try(ops: World, browser: Browser) -> None:
    answer = make(browser("editor"), scopes=["memory:write", "hooks"])
    assert secret_in(answer)
    assert "curl" not in words(answer)


def test_a_made_token_comes_with_the_whole_address_and_where_it_is_described(
    ops: World, browser: Browser
) -> None:
    client = browser("editor")
    answer = make(client)
    assert "http://testserver/api/v1/" in words(answer).replace("/ ", "/")
    assert 'href="/api/v1/docs"' in answer.content.decode()
    assert client.get("/api/v1/docs").status_code == 200


def test_the_widest_scope_says_all_that_it_opens(ops: World, browser: Browser) -> None:
    said = words(browser("owner").get(HOME))
    for deed in ("Describe and rename", "trash and back", "webhooks", "doctor", "reload", "config"):
        assert deed in said


def test_every_scope_that_somebody_may_give_is_offered(ops: World, browser: Browser) -> None:
    offered = re.findall(
        r'name="scopes" value="([^"]*)"', browser("admin").get(HOME).content.decode()
    )
    assert set(offered) == {scope.value for scope in Scope}
    assert 'value="runs:run"' in browser("maintainer").get(HOME).content.decode()
    assert 'value="runs:run"' not in browser("editor").get(HOME).content.decode()


def test_a_token_is_limited_to_what_was_chosen(ops: World, browser: Browser) -> None:
    banks.create(ops.admin, "annex")
    answer = make(
        browser("admin"), scopes=["memory:read"], reach="chosen", banks=["annex"], days="never"
    )
    assert recall(secret_in(answer)).status_code == 404
    said = words(browser("admin").get(HOME))
    assert re.search(r"kiln agent mc_\S+… Owner: admin memory:read Banks: annex", said)
    assert "no end Revoke" in said


@pytest.mark.parametrize(
    ("changed", "field", "said"),
    [({"name": " "}, "name", "required"), ({"scopes": []}, "scopes", "Choose one at least."),
     ({"scopes": ["rules:write"]}, "scopes", "Your roles do not reach for rules:write."),
     ({"scopes": ["banks:create"]}, "scopes", "Your roles do not reach for banks:create."),
     ({"reach": "chosen"}, "banks", "only some and which"),
     ({"banks": ["ops"]}, "banks", "only some and which"),
     ({"reach": "chosen", "banks": ["annex"]}, "banks", "annex is not one"),
     ({"days": "0"}, "days", "Select a valid choice.")],
)  # fmt: skip
def test_a_refused_token_is_explained_at_the_field(
    ops: World, browser: Browser, changed: dict[str, Any], field: str, said: str
) -> None:
    banks.create(ops.admin, "annex")
    answer = make(browser("editor"), **changed)
    assert answer.status_code == 422
    assert said in str(answer.context["form"].errors[field])
    assert not AccessToken.objects.exists()


def test_the_service_refuses_a_scope_beyond_the_roles_too(ops: World) -> None:
    with pytest.raises(tokens.errors.Invalid, match="rules:write") as refused:
        tokens.create_own(ops.editor, "x", ["rules:write"], banks=None, days=1)
    assert refused.value.details[0].loc == "scopes"
    with pytest.raises(tokens.errors.Invalid, match="one bank at least"):
        tokens.create_own(ops.editor, "x", ["memory:read"], banks=[], days=1)


def test_a_revoked_token_is_refused_at_once_and_says_so(ops: World, browser: Browser) -> None:
    client = browser("editor")
    secret = secret_in(make(client))
    token = AccessToken.objects.get()
    assert "Revoke kiln agent?" in words(client.get(HOME))
    answer = client.post(f"{HOME}/revoke", {"token": token.pk, "next": HOME}, follow=True)
    assert answer.redirect_chain == [(f"{HOME}#list", 303)]
    assert "revoked" in words(answer)
    assert f"revoke-{token.pk}" not in answer.content.decode()
    assert recall(secret).status_code == 401


def test_tokens_of_others_are_shown_to_instance_admins_only(ops: World, browser: Browser) -> None:
    make(browser("editor"))
    token = AccessToken.objects.get()
    assert "kiln agent" not in words(browser("owner").get(HOME))
    for wanted in (token.pk, "x", "9" * 30, ""):
        answer = browser("owner").post(f"{HOME}/revoke", {"token": wanted})
        assert answer.status_code == 404
    assert "Owner: editor" in words(browser("admin").get(HOME))
    assert browser("admin").post(f"{HOME}/revoke", {"token": token.pk}).status_code == 303


def test_the_list_says_when_a_token_ends(ops: World, browser: Browser) -> None:
    start = datetime(2026, 11, 30, 12, tzinfo=UTC)
    now = [start]
    with seams.replaced(now=lambda: now[0]):
        tokens.create(ops.editor, "a", ["hooks"], days=30, owner_id=ops.editor.user_id)

        def said(days: float) -> str:
            now[0] = start + timedelta(days=days)
            return words(browser("editor").get(HOME))

        assert "Ends: in 30 days" in said(0.01)
        assert "expires in 5 days Revoke" in said(25)
        assert "expires in less than a day Revoke" in said(29.9)
        over = said(32)
        assert "expired 2 days ago" in over
        assert "Revoke a?" not in over
    User.objects.filter(username="editor").update(is_active=False)
    tokens.create(ops.admin, "b", ["hooks"], days=30, owner_id=ops.editor.user_id)
    assert "owner kept out" in words(browser("admin").get(HOME))


def test_who_belongs_to_no_bank_is_told_that_a_token_could_do_nothing(
    ops: World, browser: Browser
) -> None:
    page = browser("stranger").get(HOME)
    assert "a token of yours could do nothing" in words(page)
    assert 'id="id_name"' not in page.content.decode()
    assert make(browser("stranger")).status_code == 422
