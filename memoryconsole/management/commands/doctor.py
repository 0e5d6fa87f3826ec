"""`manage.py doctor`: is everything well?"""

import json
import sys
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from banks.doctor import Check
from banks.management.prepared import PreparedCommand
from memoryconsole import ops

_NOT_WELL = 1


class Command(PreparedCommand):
    help = "Looks for damage and repairs nothing. The exit code is 0 only when all is well."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="the findings for machines")

    def handle(self, *args: Any, **options: Any) -> None:
        diagnosis = ops.doctor()
        if options["json"]:
            self.stdout.write(json.dumps(asdict(diagnosis), ensure_ascii=False, indent=2))
        else:
            for check in diagnosis.checks:
                self._tell(check)
        if not diagnosis.ok:
            sys.exit(_NOT_WELL)

    def _tell(self, check: Check) -> None:
        mark = "ok" if check.ok else "FAILED" if check.required else "note"
        self.stdout.write(f"{mark:6} {check.name}: {check.detail}")
        for each in check.findings:
            place = "/".join(part for part in (each.bank, each.path) if part)
            line = f":{each.line}" if each.line else ""
            self.stdout.write(f"       {place}{line}  {each.code}  {each.message}")
