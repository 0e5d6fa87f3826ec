"""Commands that need the database: the first one on a new machine makes it."""

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


class PreparedCommand(BaseCommand):
    """A command that finds its tables there, whichever command is the first to be run."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Bring the database up to date, then run as any command."""
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", interactive=False, verbosity=0)
        return super().execute(*args, **options)
