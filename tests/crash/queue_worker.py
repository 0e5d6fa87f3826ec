"""A process of its own: puts counting jobs in, or works like `manage.py worker`, or reports.

A job leaves a file named after its number, which is there once however often it is made, and a line
in the log of its runs.
"""

import collections
import json
import os
import sys
import time
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STEP_S = 0.01
KIND = "count"


def count(running: object) -> datetime | None:
    """Fails at its first run in a third of the cases, so that retries are in the mix as well."""
    from banks import jobs

    number = running.payload["number"]  # type: ignore[attr-defined]
    folder = Path(os.environ["EFFECTS"])
    with (folder / "runs.log").open("a") as log:
        log.write(f"{number}\n")
    time.sleep(STEP_S)
    first = folder / f"first-{number}"
    if number % 3 == 0 and not first.exists():
        first.touch()
        raise jobs.RetryableFault("not yet")
    (folder / f"done-{number}").touch()
    return None


def main(act: str, *words: str) -> None:
    import django

    django.setup()
    from django.core.management import call_command

    from banks import jobs
    from banks.jobs import handlers
    from banks.outbox import Job

    handlers.FIRST_PAUSE_S = 0.1
    jobs.handler(KIND, limit_s=1.0, tries=40)(count)
    if act == "put":
        call_command("migrate", interactive=False, verbosity=0)
        numbers = [number for number in range(int(words[0])) for _ in range(2)]
        new = [jobs.enqueue(KIND, {"number": n}, dedup=str(n)) for n in numbers]
        print(sum(new))  # noqa: T201
    elif act == "work":
        call_command("worker")
    else:
        states = collections.Counter(Job.objects.values_list("state", flat=True))
        print(json.dumps(states))  # noqa: T201


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ["DJANGO_SETTINGS_MODULE"] = "memoryconsole.settings"
    main(*sys.argv[1:])
