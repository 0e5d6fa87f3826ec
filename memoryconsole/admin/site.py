"""The site at /admin/: who gets in, by which door, and what it may load."""

from functools import update_wrapper
from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.template.response import SimpleTemplateResponse
from django.urls import URLPattern, URLResolver

from banks.access import require_admin
from banks.models import AccessToken, Bank, Configuration, Membership, Rule
from banks.outbox import Delivery, Job, Schedule, Webhook
from memoryconsole.admin.installation import ConfigurationAdmin
from memoryconsole.admin.memory import BankAdmin, RuleAdmin
from memoryconsole.admin.people import MembershipAdmin, PersonAdmin, TokenAdmin
from memoryconsole.admin.work import (
    DeliveryAdmin,
    JobAdmin,
    RunAdmin,
    ScheduleAdmin,
    WebhookAdmin,
)
from memoryconsole.console.context import person
from memoryconsole.console.pages import signed_in
from memoryconsole.middleware import ADMIN_CONTENT_SECURITY_POLICY
from recall.models import ConsolidationRun


class ConsoleAdmin(AdminSite):
    """Django's admin behind the fence of the console's pages, for instance admins."""

    site_header = "Memory Console admin"
    site_title = "Admin · Memory Console"
    index_title = "Admin"
    enable_nav_sidebar = False
    # Signing in and out is the console's, with its throttle; the others would be unused doors.
    left_out = frozenset(
        {"login", "logout", "password_change", "password_change_done", "autocomplete"}
        | {"view_on_site"}
    )

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        # It deletes rows, and would leave the files.
        self.disable_action("delete_selected")

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether this person may be here."""
        return person(request).is_admin

    def get_urls(self) -> list[URLResolver | URLPattern]:
        """Its addresses, without those that the console has."""
        return [each for each in super().get_urls() if _name(each) not in self.left_out]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:  # noqa: FBT001, FBT002  # Django's
        """The view behind the fence, drawn within it: a database that fails is answered there."""

        @signed_in("GET", "POST")
        def fenced(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            require_admin(person(request))
            response: HttpResponse = view(request, *args, **kwargs)
            if isinstance(response, SimpleTemplateResponse):
                response = response.render()
            response.headers["Content-Security-Policy"] = ADMIN_CONTENT_SECURITY_POLICY
            return response

        return update_wrapper(fenced, view)


def _name(pattern: URLResolver | URLPattern) -> str | None:
    return pattern.name if isinstance(pattern, URLPattern) else None


site = ConsoleAdmin()
site.register(Bank, BankAdmin)
site.register(Configuration, ConfigurationAdmin)
site.register(Rule, RuleAdmin)
site.register(Membership, MembershipAdmin)
site.register(AccessToken, TokenAdmin)
site.register(User, PersonAdmin)
site.register(Job, JobAdmin)
site.register(Schedule, ScheduleAdmin)
site.register(ConsolidationRun, RunAdmin)
site.register(Webhook, WebhookAdmin)
site.register(Delivery, DeliveryAdmin)
