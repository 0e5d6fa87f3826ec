"""What the calls about rollbacks take and give."""

from pydantic import Field

from banks.schemas.common import Answer, BankField, Body
from banks.schemas.memories import BankParams
from banks.services.rollbacks import Origin

OF_SESSION = "All memories that this session made."
OF_AGENT = "All that the token of this name wrote."


class RollbackParams(BankParams):
    """Whose writes: of a session or of a token."""

    session_id: str | None = Field(default=None, description=OF_SESSION)
    token: str | None = Field(default=None, description=OF_AGENT)

    def origin(self) -> Origin:
        """What the services take."""
        return Origin(session=self.session_id, token=self.token)


class RollbackIn(Body):
    """Whose writes are taken back: of a session or of a token."""

    bank: BankField = None
    session_id: str | None = Field(default=None, description=OF_SESSION)
    token: str | None = Field(default=None, description=OF_AGENT)

    def origin(self) -> Origin:
        """What the services take."""
        return Origin(session=self.session_id, token=self.token)


class WrittenOut(Answer):
    """A memory or rule that was written from there; one that moved on would be left."""

    target: str
    key: str
    action: str
    at: int
    moved_on: bool


class WritesOut(Answer):
    """Writes, newest first, at most 500."""

    writes: list[WrittenOut]


class RolledBackOut(Answer):
    """Keys of what was taken back, and of what was left because others changed it since."""

    changed: list[str]
    left: list[str]
