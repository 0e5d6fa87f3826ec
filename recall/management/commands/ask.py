"""`manage.py ask`: what a bank remembers about a question."""

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser

from banks import errors
from banks.access import SYSTEM, Scope
from banks.management.prepared import PreparedCommand
from banks.operations import store_errors
from banks.services import opening
from recall import services
from recall.schemas import RecallOut
from recall.services import Hit, IndexState, Recalled

_WIDTH = 160


class Command(PreparedCommand):
    help = "Prints the memories that fit a question, best first, as an agent's recall finds them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("question", help="plain words; there are no operators")
        parser.add_argument("--bank", help="its name; without it the default bank")
        parser.add_argument("--limit", type=int, help="0 to 100; without it as configured")
        parser.add_argument("--json", action="store_true", help="as POST /recall answers")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            with store_errors():
                found = _recalled(options["question"], options["bank"], options["limit"])
        except errors.DomainError as error:
            raise CommandError(error.message) from error
        if options["json"]:
            self.stdout.write(RecallOut.model_validate(found).model_dump_json(indent=2))
            return
        for rank, hit in enumerate(found.memories, start=1):
            self._tell(rank, hit)
        if not found.memories:
            self.stdout.write("Nothing remembered.")
        behind = f", {found.index.lag} changes behind" if found.index.lag else ""
        self.stdout.write(
            f"{found.bank}: retrieval {found.retrieval}, index {found.index.state}{behind}"
        )

    def _tell(self, rank: int, hit: Hit) -> None:
        memory = hit.memory
        day = datetime.fromtimestamp(memory.created_at / 1000, UTC).date()
        self.stdout.write(f"{rank:3}  {hit.score:7.3f}  {_first_line(memory.text)}")
        self.stdout.write(f"{'':14}{memory.id}  {day}  {memory.confidence}")


def _recalled(question: str, name: str | None, limit: int | None) -> Recalled:
    bank = opening.to_read(SYSTEM, name, Scope.MEMORY_READ)
    if bank is None:
        return Recalled(opening.name_of(name), [], "none", IndexState("ok", 0))
    return services.recall(SYSTEM, bank, question, limit=limit)


def _first_line(text: str) -> str:
    """One line that a terminal can show: what it could take for a command to itself is blank."""
    line = text.strip().partition("\n")[0]
    shown = "".join(each if each.isprintable() else " " for each in line)
    return shown if len(shown) <= _WIDTH else f"{shown[: _WIDTH - 1]}…"
