"""What tests are built from: people with fixed relations to a bank, and saves through services."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User

from banks import auth
from banks.access import Principal, Role, Scope
from banks.models import Bank, Membership
from banks.queries import Memory
from banks.services import banks, entries
from banks.services.drafts import Draft
from banks.store.types import Category

PASSWORD = "a long enough one"  # of accounts in tests
HASHED = make_password(PASSWORD)


def person(name: str, *, is_admin: bool = False) -> Principal:
    """A person with an account."""
    user = User.objects.create_user(name, password=PASSWORD, is_superuser=is_admin)
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
    # In two statements: a thousand tests begin with this.
    names = [*(role.name.lower() for role in Role), "stranger"]
    people = User.objects.bulk_create(User(username=each, password=HASHED) for each in names)
    roles = zip(people, Role, strict=False)
    Membership.objects.bulk_create(
        Membership(bank=bank, user=user, role=role) for user, role in roles
    )
    return World(bank, admin, **{user.username: auth.principal_of(user) for user in people})


def agent(world: World, *extra: Scope) -> Principal:
    """A token of the instance with an agent's scopes, and these."""
    scopes = {Scope.MEMORY_READ, Scope.MEMORY_WRITE, Scope.RULES_READ, *extra}
    return Principal(handle="token:agent", token_id=1, is_admin=True, scopes=frozenset(scopes))


def save(world: World, text: str, **fields: object) -> entries.Saved:
    """Save a memory as the editor."""
    category = fields.pop("category", None)
    draft = Draft(text=text, category=Category(category) if category else None, **fields)  # type: ignore[arg-type]  # fields of a draft by name
    return entries.save(world.editor, world.bank, draft)


def save_all(world: World, texts: Iterable[str], **fields: object) -> list[Memory]:
    """Save memories with these texts in one operation: quick where it does not matter how."""
    drafts = [Draft(text=text, **fields) for text in texts]  # type: ignore[arg-type]  # the same
    saved = entries.save_many(world.editor, world.bank, drafts)
    return [each.memory for each in saved if isinstance(each, entries.Saved)]
