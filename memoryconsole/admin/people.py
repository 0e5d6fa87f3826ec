"""People, their roles in banks, and tokens."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters

from banks import seams
from banks.access import Role, Scope
from banks.models import AccessToken, Bank, Membership
from banks.services import members, open_bank, people, tokens
from memoryconsole.admin.forms import (
    ROLES,
    NewMemberForm,
    NewPersonForm,
    NewTokenForm,
    PersonForm,
    RoleForm,
)
from memoryconsole.admin.through_services import ModelAdmin, ThroughServices
from memoryconsole.console.context import person

SECRET_FIELDS = method_decorator(sensitive_post_parameters("password", "again"))
Lookups = list[tuple[str, str]]


class RoleFilter(admin.SimpleListFilter):
    """By role."""

    title = "role"
    parameter_name = "role"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> Lookups:
        """Every role there is."""
        return [(str(value), name) for value, name in ROLES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Members in the chosen role."""
        chosen = self.value()
        return queryset.filter(role=chosen) if chosen in dict(self.lookup_choices) else queryset


class MembershipAdmin(ThroughServices):
    """Who belongs to which bank, in what role."""

    new_form = NewMemberForm
    form_of_row = RoleForm
    removal = "End the membership"
    removal_means = "This person, and every token of theirs, stops seeing the bank."
    list_display = ("user", "bank", "role_name")
    list_filter = (("bank", admin.RelatedOnlyFieldListFilter), RoleFilter)
    list_select_related = ("bank", "user")
    search_fields = ("user__username", "bank__name")
    ordering = ("bank__name", "user__username")

    @admin.display(description="role", ordering="role")
    def role_name(self, row: Membership) -> str:
        """The role in a word."""
        return Role(row.role).name.lower()

    def bank_of(self, row: Membership) -> Bank:
        """The bank that somebody is a member of."""
        return row.bank

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        """Members of banks in use."""
        found: QuerySet[Membership] = super().get_queryset(request)
        return found.filter(bank__state=Bank.State.ACTIVE).select_related("bank", "user")

    def _set(self, request: HttpRequest, name: str, username: str, role: int) -> HttpResponse:
        principal = person(request)
        bank = open_bank(principal, name, Role.OWNER, Scope.ADMIN)
        members.set_role(principal, bank, username, Role(role))
        messages.success(request, f"{username} is {Role(role).name.lower()} of {name}.")
        return self.to_list(request)

    def add(self, request: HttpRequest, typed: dict[str, Any]) -> HttpResponse:
        """Make somebody a member; one who is gets this role."""
        return self._set(request, typed["bank"].name, typed["user"].username, typed["role"])

    def start(self, request: HttpRequest, row: Membership) -> dict[str, Any]:
        """The role."""
        return {"role": row.role}

    def change(self, request: HttpRequest, row: Membership, typed: dict[str, Any]) -> HttpResponse:
        """Give another role."""
        return self._set(request, row.bank.name, row.user.get_username(), typed["role"])

    def remove(self, request: HttpRequest, row: Membership, seen: str) -> HttpResponse:
        """End it."""
        principal, username = person(request), row.user.get_username()
        bank = open_bank(principal, row.bank.name, Role.OWNER, Scope.ADMIN)
        members.remove(principal, bank, username)
        messages.success(request, f"{username} is no member of {bank.name} any more.")
        return self.to_list(request)

    def name_of(self, row: Membership) -> str:
        """Who is where."""
        return f"{row.user.get_username()} in {row.bank.name}"

    def facts(self, row: Membership) -> list[tuple[str, Any]]:
        """Who and where."""
        return [("Person", row.user.get_username()), ("Bank", row.bank.name)]


class UseFilter(admin.SimpleListFilter):
    """By whether a token can still be used."""

    title = "use"
    parameter_name = "use"

    def lookups(self, request: HttpRequest, model_admin: ModelAdmin) -> Lookups:
        """Can be used, or not."""
        return [("live", "works"), ("dead", "revoked or expired")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Tokens of the chosen kind."""
        dead = Q(revoked_at__isnull=False) | Q(expires_at__lte=seams.now())
        match self.value():
            case "live":
                return queryset.exclude(dead)
            case "dead":
                return queryset.filter(dead)
        return queryset


class TokenAdmin(ThroughServices):
    """API tokens: made and revoked. What one may do is never changed, its secret never shown."""

    new_form = NewTokenForm
    removal = "Revoke"
    removal_means = "Calls with this token are refused from now on. There is no way back."
    list_display = ("name", "prefix", "owner", "created_at", "expires_at", "revoked_at")
    list_filter = (UseFilter, ("owner", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("owner",)
    search_fields = ("name", "prefix", "owner__username")
    ordering = ("-created_at", "-pk")

    def is_open(self, row: AccessToken) -> bool:
        """A revoked one stays revoked."""
        return row.revoked_at is None

    def add(self, request: HttpRequest, typed: dict[str, Any]) -> HttpResponse:
        """Make it. This page is the only one that ever shows the secret."""
        token, secret = tokens.create(
            person(request),
            typed["name"],
            typed["scopes"],
            banks=None if typed["every_bank"] else [bank.name for bank in typed["banks"]],
            days=typed["days"],
            owner_id=typed["owner"].pk if typed["owner"] else None,
        )
        values = {
            **self.admin_site.each_context(request),
            "title": f"Token {token.name} made",
            "opts": self.opts,
            "secret": secret,
            "list_address": self.to_list(request)["Location"],
        }
        return render(request, "admin/token_made.html", values)

    def remove(self, request: HttpRequest, row: AccessToken, seen: str) -> HttpResponse:
        """End it at once."""
        tokens.revoke(person(request), row.pk)
        messages.success(request, f"Token {row.name} is revoked.")
        return self.to_list(request)

    def name_of(self, row: AccessToken) -> str:
        """Which token."""
        return f"Token {row.name}"

    def facts(self, row: AccessToken) -> list[tuple[str, Any]]:
        """All that is known of it."""
        names = [bank.name for bank in row.banks.order_by("name")]
        return [
            ("Begins with", row.prefix),
            ("Owner", row.owner.get_username() if row.owner else "the instance"),
            ("Scopes", ", ".join(row.scopes)),
            ("Banks", "every bank" if row.every_bank else ", ".join(names)),
            ("Made", row.created_at),
            ("Expires", row.expires_at or "never"),
            *([("Revoked", row.revoked_at)] if row.revoked_at else []),
        ]


class PersonAdmin(ThroughServices):
    """People with an account. Nobody is deleted: the journal names them."""

    new_form = NewPersonForm
    form_of_row = PersonForm
    list_display = ("username", "is_active", "is_superuser", "last_login", "date_joined")
    list_filter = ("is_active", "is_superuser")
    search_fields = ("username",)
    ordering = ("username",)

    @SECRET_FIELDS
    def add_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        """Make an account; the password is kept out of reports of errors."""
        return super().add_view(*args, **kwargs)

    @SECRET_FIELDS
    def change_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        """Change an account; the password is kept out of reports of errors."""
        return super().change_view(*args, **kwargs)

    def add(self, request: HttpRequest, typed: dict[str, Any]) -> HttpResponse:
        """Make the account."""
        name, password = typed["username"], typed["password"]
        user = people.add(person(request), name, password, is_admin=typed["is_admin"])
        messages.success(request, f"{user.username} can sign in.")
        return self.to_list(request)

    def start(self, request: HttpRequest, row: User) -> dict[str, Any]:
        """What somebody may do here."""
        return {"is_active": row.is_active, "is_admin": row.is_superuser}

    def change(self, request: HttpRequest, row: User, typed: dict[str, Any]) -> HttpResponse:
        """Change it. A new password ends every session of that person but this one."""
        user = people.change(
            person(request),
            row.pk,
            is_active=typed["is_active"],
            is_admin=typed["is_admin"],
            password=typed["password"] or None,
        )
        if typed["password"] and row.pk == request.user.pk:
            update_session_auth_hash(request, user)
        messages.success(request, f"{row.username} changed.")
        return self.to_list(request)

    def facts(self, row: User) -> list[tuple[str, Any]]:
        """Since when, and when last."""
        return [("Joined", row.date_joined), ("Signed in last", row.last_login or "never")]
