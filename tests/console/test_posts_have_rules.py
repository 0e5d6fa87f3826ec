"""Every form of the console has a rule: the least role. All of them are sent by every role.

An address without a line fails the first test; a view that forgets its check fails the second.
"""

import contextlib
from dataclasses import dataclass, field

import pytest
from django.test import Client

from banks import errors, queries
from banks.access import Role
from banks.models import AccessToken, Bank, Change, Membership, Operation
from banks.services import entries, members, rules, tokens
from recall.learning import proposals
from tests.builders import World, save
from tests.console.conftest import Browser
from tests.console.test_every_route import PATTERNS, address_of
from tests.services.passes import consolidated

WHO = ("stranger", *(role.name.lower() for role in Role), "admin")
ANYBODY, ADMIN = None, "admin"
AROUND_THE_SESSION = ("sign_in", "sign_out")


@dataclass(frozen=True)
class Form:
    """What is sent to an address, and by whom: a role in `ops`, everybody, or an instance admin.

    `{version}` and `{rule}` are the current ones of the memory and the rule. `unfit`: the form is
    let in, and then refused for what is in it.
    """

    least: Role | str | None
    data: dict[str, str] = field(default_factory=dict)
    refusal: int = 403
    stranger: int = 404
    unfit: tuple[int, ...] = ()


EDITOR, MAINTAINER, OWNER = Role.EDITOR, Role.MAINTAINER, Role.OWNER
RULE = {"name": "style", "text": "Close valve 4.", "base": "{rule}"}
FORMS = {
    "sign_in": Form(ANYBODY, {"username": "viewer", "password": "wrong"}),
    "sign_out": Form(ANYBODY),
    "theme": Form(ANYBODY, {"theme": "dark"}),
    "tokens": Form(ANYBODY, {"name": "", "once": "x"}, unfit=(422,)),
    "welcome": Form(EDITOR, {"text": "Kiln 1 is hot.", "bank": "ops", "once": "x"}, 422, 422),
    "new_bank": Form(ADMIN, {"name": "kilns"}),
    "new_memory": Form(EDITOR, {"text": "Kiln 2 is hot.", "category": "facts", "once": "y"}),
    "many": Form(EDITOR, {"do": "pin", "key": "{key} {version}"}),
    "new_rule": Form(MAINTAINER, {"name": "tone", "text": "Be brief."}),
    "preview_rule": Form(MAINTAINER, RULE),
    "edit_rule": Form(MAINTAINER, RULE),
    "delete_rule": Form(MAINTAINER, {"version": "{rule}"}),
    "revert_rule": Form(MAINTAINER, {"version": "{rule}", "to": "{rule}"}),
    "set_member": Form(OWNER, {"username": "viewer", "role": "viewer"}),
    "remove_member": Form(OWNER, {"username": "stranger"}),
    "accept_proposal": Form(MAINTAINER, {}),
    "reject_proposal": Form(MAINTAINER, {"reason": "Not now."}),
    "runs": Form(MAINTAINER, {"dry_run": "1"}),
    "decide_run": Form(MAINTAINER, {"do": "accept"}),
    "undo_run": Form(MAINTAINER, {}),
    "undo": Form(EDITOR),
    "edit_memory": Form(EDITOR, {"text": "Pump 1 is dry.", "base": "{version}"}, unfit=(422,)),
    "pin": Form(EDITOR, {"pinned": "0", "version": "{version}"}),
    "delete": Form(EDITOR, {"version": "{version}"}),
    "restore": Form(EDITOR, {"version": "{version}"}),
    "revert": Form(EDITOR, {"version": "{version}", "to": "{version}"}),
    "health": Form(ADMIN),
    "accept_disk": Form(OWNER, {"bank": "ops"}),
    "config": Form(ADMIN, {"recall_limit": "9"}, unfit=(422,)),
    "password": Form(ANYBODY, {"old": "wrong", "password": "x", "again": "x"}, unfit=(422,)),
    "revoke_token": Form(ADMIN, {"token": "{token}"}, refusal=404),
}
"""The addresses that take a form. `setup` takes one too, with a secret that nobody has here."""


@dataclass(frozen=True)
class Sender:
    """Sends each form as a page would send it now."""

    world: World
    key: str
    uid: str
    proposal: str
    run: str
    token: str
    clients: dict[str, Client]

    def status(self, name: str, who: str) -> int:
        """What the form is answered with."""
        memory = queries.memory(self.world.bank, self.key)
        rule = next((each for each in queries.rules(self.world.bank)), None)
        here = {
            "key": self.key,
            "version": memory.version,
            "rule": rule.version if rule else "",
            "token": self.token,
        }
        data = {each: value.format(**here) for each, value in FORMS[name].data.items()}
        pattern = next(each for each in PATTERNS if each.name == name)
        address = address_of(pattern, self.key).replace("/undo/none", f"/undo/{self.uid}")
        address = address.replace("/review/none", f"/review/{self.proposal}")
        address = address.replace("/runs/none", f"/runs/{self.run}")
        return self.clients[who].post(address, data).status_code

    def prepare(self, name: str) -> None:
        """Take back what the forms before this one did to what it is about."""
        world = self.world
        with contextlib.suppress(errors.MemoryAlive):
            entries.restore(world.editor, world.bank, self.key)
        rules.set_rule(world.maintainer, world.bank, "style", "Close valve 3 first.")
        if name == "remove_member":
            members.set_role(world.owner, world.bank, "stranger", Role.VIEWER)


@pytest.fixture
def sender(ops: World, browser: Browser) -> Sender:
    key = save(ops, "Pump 1 leaks at the seal.").memory.id
    rules.set_rule(ops.maintainer, ops.bank, "style", "Close valve 3 first.")
    save(ops, "Pump 2 was replaced.")
    uid = Operation.objects.latest("pk").uid
    token, _ = tokens.create(ops.admin, "a token", ["memory:read"], owner_id=ops.admin.user_id)
    proposals.propose(ops.bank, ["Always open the damper first."], session="s1", by="token:a")
    line = proposals.listed(ops.maintainer, ops.bank)[0][0].id
    run = consolidated(ops).id
    return Sender(ops, key, uid, line, run, str(token.pk), {who: browser(who) for who in WHO})


def refusal(name: str, who: str) -> int | None:
    """The status for somebody who may not; None for who may."""
    form = FORMS[name]
    if form.least is ANYBODY or who == "admin":
        return None
    if form.least == ADMIN:
        return form.refusal
    if who == "stranger":
        return form.stranger
    return form.refusal if Role[who.upper()] < form.least else None


def state() -> object:
    return (
        sorted(Bank.objects.values_list("name", "head")),
        Change.objects.count(),
        sorted(Membership.objects.values_list("bank", "user", "role")),
        AccessToken.objects.filter(revoked_at=None).count(),
    )


def test_every_address_that_takes_a_form_has_a_line(sender: Sender) -> None:
    client = sender.clients["viewer"]
    allowed = {
        str(each.name): client.put(address_of(each, sender.key))["Allow"] for each in PATTERNS
    }
    assert {name for name in allowed if "POST" in allowed[name]} - {"setup"} == FORMS.keys()


@pytest.mark.wide
def test_every_form_from_every_role_gets_what_the_table_says(sender: Sender) -> None:
    cases = [(name, who) for name in FORMS for who in WHO if name not in AROUND_THE_SESSION]
    before = state()
    refused = {case: refusal(*case) for case in cases if refusal(*case)}
    assert {case: sender.status(*case) for case in refused} == refused
    assert state() == before
    for name, who in cases:
        if (name, who) in refused:
            continue
        sender.prepare(name)
        assert sender.status(name, who) in (200, 303, *FORMS[name].unfit), (name, who)
