"""`manage.py reindex`: the search index of a bank, or of all, built anew."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from banks import errors
from banks.operations import store_errors
from banks.services import opening
from recall import indexer
from recall.index import IndexFault


class Command(BaseCommand):
    help = "Builds the search index anew. The old one answers until the new one is there."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--bank", help="its name; without it every bank")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with store_errors():
                banks = opening.all_banks()
            if options["bank"] is not None:
                banks = [bank for bank in banks if bank.name == options["bank"]]
                if not banks:
                    raise errors.BankNotFound
            for bank in banks:
                indexer.rebuild(bank)
                self.stdout.write(f"{bank.name}: done")
        except errors.DomainError as error:
            raise CommandError(error.message) from error
        except IndexFault as fault:
            raise CommandError(f"The index could not be built: {fault}.") from fault
