"""How the installation behaves: one row, or none while everything is as it comes."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse

from banks import config
from banks.models import Configuration
from banks.services import configuration
from memoryconsole.admin.forms import SeenForm
from memoryconsole.admin.through_services import ThroughServices
from memoryconsole.console.config_form import ConfigForm
from memoryconsole.console.context import person


class ConfigurationForm(ConfigForm, SeenForm):
    """The form of the console, as the admin asks for it."""

    def clean(self) -> dict[str, Any]:
        """What was typed, and `shown`: what stood there before."""
        return {**(super().clean() or {}), "shown": self.shown}

    def rebase(self, current: Mapping[str, Any]) -> None:
        """Put what was typed on top of what is there now, and show that beside it."""
        self.now = tuple(
            (str(self[name].label), str(current[name]))
            for name in self.edited
            if current[name] != self.shown[name]
        )
        self.show(current)


class ConfigurationAdmin(ThroughServices):
    """What was set. Made with the first change; there is never a second one."""

    new_form = ConfigurationForm
    form_of_row = ConfigurationForm
    list_display = ("__str__", "changed_at", "changed_by")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """While there is none."""
        return super().has_add_permission(request) and not Configuration.objects.exists()

    def add(self, request: HttpRequest, typed: dict[str, Any]) -> HttpResponse:
        """The first change."""
        return self._set(request, typed)

    def start(self, request: HttpRequest, row: Configuration) -> dict[str, Any]:
        """What holds now."""
        return asdict(config.current())

    def change(
        self, request: HttpRequest, row: Configuration, typed: dict[str, Any]
    ) -> HttpResponse:
        """Set what was edited."""
        return self._set(request, typed)

    def _set(self, request: HttpRequest, typed: dict[str, Any]) -> HttpResponse:
        shown = typed.pop("shown")
        values = {name: value for name, value in typed.items() if value != shown[name]}
        configuration.change(person(request), values, seen=shown)
        messages.success(request, "Every call from now on goes by it.")
        return self.to_list(request)

    def facts(self, row: Configuration) -> list[tuple[str, Any]]:
        """Who changed it last, and when."""
        return [("Changed", row.changed_at), ("By", row.changed_by)]
