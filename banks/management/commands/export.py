"""`manage.py export`: a bank as a folder or zip that `import` takes back, or as lines of JSON."""

from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from banks import errors
from banks.access import SYSTEM
from banks.management.prepared import PreparedCommand
from banks.queries import Memory
from banks.schemas.memories import MemoryOut
from banks.services import export

_FILES = "files"
_LINES = "jsonl"
_STANDARD_OUTPUT = Path("-")


class Command(PreparedCommand):
    help = (
        "Writes the files of a bank to a new folder or .zip, as import takes them back, or with "
        "--format jsonl each memory as a line of JSON. Nothing is ever overwritten."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("path", type=Path, help="a new folder, a new .zip, or a new file")
        parser.add_argument("--bank", required=True, help="its name")
        parser.add_argument(
            "--format", choices=(_FILES, _LINES), default=_FILES,
            help="jsonl: one memory a line, dead ones too; - as path is the standard output",
        )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        write = self._lines if options["format"] == _LINES else self._files
        try:
            write(options["bank"], options["path"])
        except errors.DomainError as error:
            raise CommandError(error.message) from error

    def _files(self, name: str, path: Path) -> None:
        if path == _STANDARD_OUTPUT:
            raise CommandError("Files need a folder or a .zip: - is for --format jsonl.")
        done = export.files(SYSTEM, name, path)
        self.stdout.write(f"{done.bank}: {done.files} files, {done.size_bytes} bytes")

    def _lines(self, name: str, path: Path) -> None:
        if path.suffix.lower() == export.ZIP_ENDING:
            raise CommandError("A .zip takes files: leave --format away, or name another file.")
        bank = export.opened(SYSTEM, name)
        if path == _STANDARD_OUTPUT:
            for memory in export.memories(bank):
                self.stdout.write(_line(memory))
        else:
            count = export.lines(bank, _line, path)
            self.stdout.write(f"{bank.name}: {count} memories")


def _line(memory: Memory) -> str:
    return MemoryOut.model_validate(memory).model_dump_json()
