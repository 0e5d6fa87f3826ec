"""What tests are built from: people with fixed relations to a bank, and saves through services."""

from dataclasses import dataclass

from django.contrib.auth.models import User

from banks import auth
from banks.access import Principal, Role, Scope
from banks.models import Bank
from banks.services import banks, entries, members
from banks.services.drafts import Draft
from banks.store.types import Category


def person(name: str, *, is_admin: bool = False) -> Principal:
    """A person with an account."""
    user = User.objects.create_user(name, password="a long enough one", is_superuser=is_admin)
    return auth.principal_of(user)


@dataclass(frozen=True)
class World:
    """One bank and everybody around it; `stranger` may see nothing of it."""

    bank: Bank
    admin: Principal
    owner: Principal
    maintainer: Principal
    editor: Principal
    viewer: Principal
    stranger: Principal


def world(name: str = "ops") -> World:
    """A bank `ops` with one person in each role."""
    admin = person("admin", is_admin=True)
    bank, _ = banks.create(admin, name)
    people = {}
    for role in Role:
        people[role] = person(role.name.lower())
        members.set_role(admin, bank, role.name.lower(), role)
    return World(
        bank,
        admin,
        owner=people[Role.OWNER],
        maintainer=people[Role.MAINTAINER],
        editor=people[Role.EDITOR],
        viewer=people[Role.VIEWER],
        stranger=person("stranger"),
    )


def agent(world: World, *extra: Scope) -> Principal:
    """A token of the instance with an agent's scopes, and these."""
    scopes = {Scope.MEMORY_READ, Scope.MEMORY_WRITE, Scope.RULES_READ, *extra}
    return Principal(handle="token:agent", token_id=1, is_admin=True, scopes=frozenset(scopes))


def save(world: World, text: str, **fields: object) -> entries.Saved:
    """Save a memory as the editor."""
    category = fields.pop("category", None)
    draft = Draft(text=text, category=Category(category) if category else None, **fields)  # type: ignore[arg-type]  # fields of a draft by name
    return entries.save(world.editor, world.bank, draft)
