"""Banks themselves."""

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from banks.schemas.common import Answer, Body


class BankOut(Answer):
    """A bank with its counts: live memories, pinned ones, rules."""

    name: str
    description: str | SkipJsonSchema[None] = Field(default=None, exclude_if=lambda v: not v)
    memories: int
    pinned: int
    rules: int
    hold: str | SkipJsonSchema[None] = Field(
        default=None, exclude_if=lambda v: not v, description="Why it takes no writes."
    )


class BankIn(Body):
    """A bank to create."""

    name: str = Field(description="[a-z0-9][a-z0-9_-]{0,63}")
    description: str = ""


class DescriptionIn(Body):
    """What to say about a bank."""

    description: str


class FolderIn(Body):
    """Which folder of the trash; left out: the newest one of that name."""

    folder: str | None = None


class NameIn(Body):
    """A new name."""

    name: str


class OneBankOut(Answer):
    """One bank."""

    bank: BankOut


class CreatedOut(Answer):
    """A bank; `created` is false when it was there and nothing was changed."""

    bank: BankOut
    created: bool


class BanksOut(Answer):
    """Every bank that the caller may see, by name."""

    banks: list[BankOut]


class TrashedOut(Answer):
    """Where the bank's folder is now, relative to the data folder."""

    ok: bool = True
    trashed_to: str


class InTrashOut(Answer):
    """A bank in the trash."""

    name: str
    trashed_to: str


class TrashOut(Answer):
    """Trashed banks, newest first."""

    banks: list[InTrashOut]


class PathsOut(Answer):
    """The files that were made."""

    created: list[str]
