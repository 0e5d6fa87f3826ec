"""The rules that are put into every prompt."""

from pydantic import Field

from banks.schemas.common import Addressed, Answer, BankField, Body, Version


class RuleOut(Answer):
    """One rule that is put into every prompt."""

    name: str
    content: str
    version: str
    updated_at: int


class RulesOut(Answer):
    """The rules of a bank, by name."""

    bank: str
    rules: list[RuleOut]


class RuleIn(Body):
    """A rule's whole content; blank content removes it."""

    name: Addressed = None
    bank: BankField = None
    content: str
    if_version: Version = Field(default=None, description='The version you saw; "" = none.')


class RuleSetOut(Answer):
    """`exists` is false when blank content removed the rule."""

    ok: bool = True
    exists: bool
