"""`manage.py token`: makes an API token."""

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import CommandError, CommandParser

from banks import errors, sync
from banks.access import AGENT_SCOPES, SYSTEM
from banks.management.prepared import PreparedCommand
from banks.operations import store_errors
from banks.services import tokens


def _words(value: str) -> list[str]:
    return [word.strip() for word in value.split(",") if word.strip()]


class Command(PreparedCommand):
    help = "Makes an API token and prints its secret, alone, on standard output. It is shown once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("name", help="what the token is for")
        parser.add_argument(
            "--scopes", type=_words, default=[scope.value for scope in AGENT_SCOPES],
            help="comma-separated; without it what an agent needs",
        )  # fmt: skip
        parser.add_argument(
            "--banks", type=_words, help="comma-separated names; without it every bank"
        )
        parser.add_argument(
            "--days", type=int, default=tokens.DEFAULT_DAYS, help="it lives so long"
        )
        parser.add_argument("--owner", help="a person's token; without it one of the instance")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["banks"] is not None:
                with store_errors():
                    sync.discover()
            _, secret = tokens.create(
                SYSTEM,
                options["name"],
                options["scopes"],
                banks=options["banks"],
                days=options["days"],
                owner_id=_owner(options["owner"]),
            )
        except errors.DomainError as error:
            raise CommandError(error.message) from error
        self.stdout.write(secret)


def _owner(name: str | None) -> int | None:
    if name is None:
        return None
    user = get_user_model().objects.filter(username=name, is_active=True).first()
    if user is None:
        raise CommandError("There is no active person of that name.")
    key: int = user.pk
    return key
