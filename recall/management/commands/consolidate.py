"""`manage.py consolidate`: one pass over a bank or all, now; or when passes begin by themselves."""

import json
import signal
import sys
import threading
import time
from dataclasses import asdict
from types import FrameType
from typing import Any

from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser

from banks import errors
from banks.access import SYSTEM
from banks.jobs import schedule
from banks.management.prepared import PreparedCommand
from banks.models import Bank
from banks.operations import store_errors
from banks.services import opening
from recall.learning import runs
from recall.learning.runs import ROUND, Run

_EVERY_S = 0.2


class Command(PreparedCommand):
    help = (
        "Merges what says the same, and has a model make knowledge of episodes. With a schedule it "
        "is a worker from then on."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bank", help="its name; without it every bank")
        parser.add_argument("--dry-run", action="store_true", help="tell, and write nothing")
        parser.add_argument("--json", action="store_true", help="the runs for machines")
        when = parser.add_mutually_exclusive_group()
        when.add_argument("--schedule", help='five fields of cron, as "0 3 * * *"; or off')
        when.add_argument("--every", help="a pause like 30m, 6h or 1d")
        parser.add_argument("--tz", default="UTC", help="of the schedule: UTC, Europe/Vienna, ...")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["schedule"] is not None or options["every"] is not None:
                _check_alone(options)
                self._plan(options["schedule"], options["every"], options["tz"])
            else:
                self._run(options)
        except errors.DomainError as error:
            raise CommandError(error.message) from error

    def _plan(self, cron: str | None, every: str | None, zone: str) -> None:
        """Write the schedule, and work by it until SIGTERM; `off` ends it."""
        if cron == "off":
            schedule.stop(ROUND)
            self.stdout.write("No run begins by itself any more.")
            return
        rule = f"every {every}" if cron is None else cron
        planned = schedule.plan(ROUND, rule, zone=zone, by=SYSTEM.handle)
        self.stdout.write(f"{planned.rule} ({planned.zone}), next at {planned.next_at:%F %H:%M}Z.")
        call_command("worker")

    def _run(self, options: dict[str, Any]) -> None:
        stop = threading.Event()

        def ask_to_stop(signum: int, frame: FrameType | None) -> None:
            stop.set()

        signal.signal(signal.SIGTERM, ask_to_stop)
        done: list[Run] = []
        failed = 0
        for bank in _banks(options["bank"]):
            if stop.is_set():
                break
            run = self._one(bank, stop, options)
            done += [run] if run else []
            failed += run is None or run.state == "failed"
        if options["json"]:
            told = [asdict(run) for run in done]
            self.stdout.write(json.dumps(told, ensure_ascii=False, indent=2))
        if failed:
            raise CommandError(f"{failed} of {failed + len(done)} banks failed.")

    def _one(self, bank: Bank, stop: threading.Event, options: dict[str, Any]) -> Run | None:
        """One bank; None when it could not be gone over. One that fails stops no other one."""
        progress = _Progress(bank.name, shown=sys.stderr.isatty() and not options["json"])
        try:
            run = runs.run_now(
                SYSTEM, bank, dry_run=options["dry_run"], stop=stop, progress=progress
            )
        except errors.DomainError as error:
            self.stderr.write(f"{bank.name}: {error.message}")
            return None
        finally:
            progress.end()
        if not options["json"]:
            self._tell(run)
        return run

    def _tell(self, run: Run) -> None:
        did = "planned" if run.dry_run else "applied"
        counted = sum(each["outcome"] == "planned" for each in run.changes)
        self.stdout.write(
            f"{run.bank}: {run.state}; {run.read} episodes read, "
            f"{counted if run.dry_run else run.applied} {did}, {run.proposed} proposed, "
            f"{run.rejected} rejected, {run.stale} stale, {run.capped} capped, "
            f"{run.pinned_skipped} left because they are pinned; {_cost(run)}."
        )
        for each in run.changes:
            self.stdout.write(f"  {each['outcome']} {each['kind']}: {', '.join(each['memories'])}")
        for told in (run.note, run.error):
            if told:
                self.stdout.write(f"  {told}")


def _check_alone(options: dict[str, Any]) -> None:
    """Raise CommandError for an option that a schedule would pass over."""
    for name in ("bank", "dry_run", "json"):
        if options[name]:
            option = name.replace("_", "-")
            raise CommandError(
                f"--{option} goes with a pass at once; a schedule is the same for every bank."
            )


def _cost(run: Run) -> str:
    seconds = f"{(run.duration_ms or 0) / 1_000:.1f} s"
    return f"{seconds}, {run.tokens} tokens of {run.model}" if run.model else f"{seconds}, no model"


def _banks(name: str | None) -> list[Bank]:
    with store_errors():
        banks = opening.all_banks()
    found = [bank for bank in banks if name in (None, bank.name)]
    if name is not None and not found:
        raise errors.BankNotFound
    return found


class _Progress:
    """One line on a terminal that says how far it is."""

    def __init__(self, bank: str, *, shown: bool) -> None:
        self._bank = bank
        self._shown = shown
        self._next = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._shown and (time.monotonic() >= self._next or done == total):
            self._next = time.monotonic() + _EVERY_S
            sys.stderr.write(f"\r\033[K{self._bank}: {what}, {done} of {total}")
            sys.stderr.flush()

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
