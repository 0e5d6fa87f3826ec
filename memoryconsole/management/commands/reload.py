"""`manage.py reload`: every file of every bank is read again."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from banks import errors, queries, routers, sync
from banks.management.prepared import PreparedCommand
from banks.models import Bank
from banks.operations import store_errors
from banks.services import opening
from banks.store.errors import FileChanged


class Command(PreparedCommand):
    help = "Reads the files of every bank again, so that rows and index say what they say."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--routers", action="store_true", help="also write the rows of every index.md anew"
        )
        parser.add_argument(
            "--accept", metavar="BANK",
            help="take this bank's files as they are, memories that vanished too",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with store_errors():
                banks = opening.all_banks()
        except errors.DomainError as error:
            raise CommandError(error.message) from error
        accepted = options["accept"]
        if accepted is not None:
            banks = [bank for bank in banks if bank.name == accepted]
            if not banks:
                raise CommandError("There is no bank of that name.")
        failed = 0
        for bank in banks:
            failed += not self._reload(
                bank, accept=accepted is not None, with_routers=options["routers"]
            )
        if failed:
            raise CommandError(f"{failed} of {len(banks)} banks could not be read.")

    def _reload(self, bank: Bank, *, accept: bool, with_routers: bool) -> bool:
        """Whether the bank is read and takes writes. One that is not stops no other one."""
        try:
            sync.reload(bank, accept=accept)
            if with_routers and not bank.hold:
                with store_errors():
                    routers.rebuild(bank)
        except errors.DomainError as error:
            self.stderr.write(f"{bank.name}: {error.message}")
            return False
        except FileChanged as error:
            self.stderr.write(f"{bank.name}: {error.message}")
            return False
        if bank.hold:
            self.stderr.write(f"{bank.name}: on hold, {bank.hold}.")
            return False
        self.stdout.write(f"{bank.name}: {queries.summary(bank).memories} live memories")
        return True
