"""The files of a bank: rows of routers, lines of files."""

from pydantic import Field

from banks.files import LINES, LINES_MOST
from banks.schemas.common import Answer, optional
from banks.schemas.memories import BankParams
from banks.store.types import Kind


class RouterParams(BankParams):
    """Which router."""

    kind: Kind | None = Field(default=None, description="Left out: the router of the whole bank.")


class LinesParams(BankParams):
    """Which lines of a file."""

    offset: int = Field(default=0, ge=0, description="The first line, counted from 0.")
    limit: int = Field(default=LINES, ge=0, le=LINES_MOST)


class RouterRowOut(Answer):
    """What a router says of one file."""

    file: str = Field(description="As it stands there: relative to the router's folder.")
    path: str | None = optional("What `GET /files/{path}` takes, if it is a file of the bank.")
    description: str
    tags: list[str]
    updated: str | None = optional("The UTC day of the latest change.")


class RouterOut(Answer):
    """The rows of a router, in its own order."""

    bank: str
    path: str
    files: list[RouterRowOut]


class LinesOut(Answer):
    """Lines of one file, without their ends."""

    bank: str
    path: str
    lines: list[str]
    offset: int
    total_lines: int | None = optional("Left out for a large file that was not read to its end.")
    next_offset: int | None = optional("Where the next lines begin, if there are any.")
    lossy: bool = Field(description="Bytes of these lines that are not UTF-8 show as U+FFFD.")
    cut: bool = Field(description="The one line is longer than a page; this is its beginning.")
    size_bytes: int
    updated_at: int
