"""`manage.py reindex`: the search index of a bank, or of all, built anew."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from banks import errors
from banks.management.prepared import PreparedCommand
from banks.models import Bank
from banks.operations import store_errors
from banks.services import opening
from recall import indexer
from recall.index import IndexFault


class Command(PreparedCommand):
    help = "Builds the search index anew. The old one answers until the new one is there."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bank", help="its name; without it every bank")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with store_errors():
                banks = opening.all_banks()
        except errors.DomainError as error:
            raise CommandError(error.message) from error
        if options["bank"] is not None:
            banks = [bank for bank in banks if bank.name == options["bank"]]
            if not banks:
                raise CommandError(errors.BankNotFound().message)
        failed = sum(not self._rebuild(bank) for bank in banks)
        if failed:
            raise CommandError(f"{failed} of {len(banks)} indexes could not be built.")

    def _rebuild(self, bank: Bank) -> bool:
        """Whether it is done. One that fails stops no other one."""

        def tell(done: int, total: int) -> None:
            self.stderr.write(f"\r{bank.name}: {done} of {total}", ending="")
            self.stderr.flush()

        is_watched = self.stderr.isatty()
        try:
            indexer.rebuild(bank, tell if is_watched else None)
        except IndexFault as fault:
            self.stderr.write(f"{bank.name}: {fault}")
            return False
        if is_watched:
            self.stderr.write("")
        self.stdout.write(f"{bank.name}: done")
        return True
