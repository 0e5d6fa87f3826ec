"""`manage.py worker`: hand edits, followers of the journal."""

import signal
from types import FrameType
from typing import Any

from django.core.management.base import CommandParser

from banks import followers, sync
from banks.management.prepared import PreparedCommand
from memoryconsole.background import Loop


class Command(PreparedCommand):
    help = "Looks for hand edits and feeds the followers of the journal, until SIGTERM."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--parent", type=int, help="end by itself when this process is not the parent any more"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        loop = Loop(
            tasks={"look": sync.look_at_all, "followers": followers.run_all},
            parent=options["parent"],
        )

        def stop(signum: int, frame: FrameType | None) -> None:
            loop.stop()

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        loop.run()
        followers.stop_all()
