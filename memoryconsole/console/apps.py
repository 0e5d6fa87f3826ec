"""The browser's face as an app: its templates, tags and static files."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    name = "memoryconsole.console"
