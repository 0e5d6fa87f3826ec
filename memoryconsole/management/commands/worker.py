"""`manage.py worker`: hand edits, followers of the journal, jobs."""

import signal
from types import FrameType
from typing import Any

from django.core.management.base import CommandParser

from banks import followers, jobs, sync
from banks.jobs import schedule
from banks.management.prepared import PreparedCommand
from memoryconsole.background import Loop

_JOBS_END_WITHIN_S = 20.0
"""After SIGTERM; what still runs then is given back. `up` kills a worker that needs 25 seconds."""


class Command(PreparedCommand):
    help = "Looks for hand edits, feeds the followers of the journal and runs jobs, until SIGTERM."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--parent", type=int, help="end by itself when this process is not the parent any more"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        crew = jobs.Crew()
        loop = Loop(
            tasks={
                "look": sync.look_at_all,
                "followers": followers.run_all,
                "schedule": schedule.tick,
                "jobs": crew.tick,
            },
            parent=options["parent"],
        )

        def stop(signum: int, frame: FrameType | None) -> None:
            loop.stop()

        signal.signal(signal.SIGTERM, stop)
        signal.signal(signal.SIGINT, stop)
        loop.run()
        crew.stop(within_s=_JOBS_END_WITHIN_S)
        followers.stop_all()
