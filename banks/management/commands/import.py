"""`manage.py import`: a folder of memory becomes a bank, or its entries join one."""

import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from banks import errors
from banks.access import SYSTEM
from banks.management.prepared import PreparedCommand
from banks.services import transfer
from banks.services.transfer import Report

_EVERY_S = 0.2
_INCOMPLETE = 1


class Command(PreparedCommand):
    help = (
        "Imports a tree of memory files or a folder with a memories.jsonl. A new bank gets the "
        "files as they are; a bank that is there gets the entries it does not have."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path)
        parser.add_argument("--bank", required=True, help="its name; made when it is not there")
        parser.add_argument("--dry-run", action="store_true", help="tell, and write nothing")
        parser.add_argument("--json", action="store_true", help="the report for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        progress = _Progress(shown=sys.stderr.isatty() and not options["json"])
        try:
            report = transfer.import_folder(
                SYSTEM,
                options["path"],
                options["bank"],
                dry_run=options["dry_run"],
                progress=progress,
            )
        except errors.DomainError as error:
            raise CommandError(error.message) from error
        finally:
            progress.end()
        if options["json"]:
            shown = {**asdict(report), "is_complete": report.is_complete}
            self.stdout.write(json.dumps(shown, ensure_ascii=False, indent=2))
        else:
            self._tell(report)
        if not report.is_complete:
            sys.exit(_INCOMPLETE)

    def _tell(self, report: Report) -> None:
        for each in report.findings:
            place = f"{each.path}:{each.line}" if each.line else each.path
            self.stdout.write(f"{each.severity:8} {place}  {each.code}  {each.message}")
        would = "would be " if report.dry_run else ""
        memories = "memory" if report.entries == 1 else "memories"
        self.stdout.write(
            f"{report.bank} ({'new' if report.is_new else 'there already'}): "
            f"{report.entries} {memories} found, {report.live} of them live; "
            f"{report.added} {would}imported, {report.same} the same, {report.differing} left out."
        )
        if report.rules:
            self.stdout.write(f"Rules: {', '.join(report.rules)}")


class _Progress:
    """One line on a terminal that says how far it is."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._next = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        if self._shown and (time.monotonic() >= self._next or done == total):
            self._next = time.monotonic() + _EVERY_S
            sys.stderr.write(f"\r\033[K{what} {done} of {total}")
            sys.stderr.flush()

    def end(self) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
