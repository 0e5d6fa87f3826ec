"""The project as an app: system checks and the commands that span everything."""

from django.apps import AppConfig
from django.core import checks as django_checks


class MemoryConsoleConfig(AppConfig):
    name = "memoryconsole"

    def ready(self) -> None:
        from memoryconsole import checks  # noqa: PLC0415  settings are complete only now

        django_checks.register(checks.exposure, django_checks.Tags.security)
        django_checks.register(checks.folders, django_checks.Tags.files)
        django_checks.register(checks.configuration)
        django_checks.register(checks.webhooks)
        django_checks.register(checks.model)
        django_checks.register(checks.embedder)
