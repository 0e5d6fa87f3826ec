"""What all schemas share: strictness, common fields, the shape of errors.

Bodies are strict: an unknown field or a wrong type is refused. A field without a value is left out
of an answer; only `source` is null, as agents know it.
"""

from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import CoreSchema

from banks import errors
from banks.operations import store_errors
from banks.store import names
from banks.store.redact import mask
from banks.store.types import Category, Kind, Origin, Trust

_LAST_MS = 253_402_300_799_999
LOC_LENGTH = 100
SUMMARY_ERRORS = 20


def _is_none(value: object) -> bool:
    return value is None


def optional(description: str) -> Any:
    """A field of an answer that is left out when it has no value."""
    return Field(default=None, exclude_if=_is_none, description=description)


class Body(BaseModel):
    """A JSON body: nothing unknown, nothing converted; null for a field that may be left out is
    the same as leaving it out."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        fields = cls.model_fields
        return {
            name: each
            for name, each in value.items()
            if each is not None or name not in fields or fields[name].is_required()
        }

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler(core)
        told = handler.resolve_ref_schema(schema)
        for name, field in told.get("properties", {}).items():
            if name not in told.get("required", ()) and _NULL not in field.get("anyOf", ()):
                words = {key: field.pop(key) for key in _WORDS if key in field}
                told["properties"][name] = {"anyOf": [field, _NULL]} | words
        return schema


_NULL = {"type": "null"}
_WORDS = ("title", "description", "default")


class Params(BaseModel):
    """Parameters of an address: text that becomes numbers and flags."""

    model_config = ConfigDict(extra="forbid")


class Answer(BaseModel):
    """Part of an answer, read from a value of the services."""

    model_config = ConfigDict(from_attributes=True)


BankField = Annotated[
    str | None,
    Field(description="The bank; left out: that of the session, else the configured default bank."),
]
Milliseconds = Annotated[int, Field(ge=0, le=_LAST_MS, description="Milliseconds since the epoch.")]
# Words come as plain strings, which strict mode would not take for a member of an enumeration.
CategoryField = Annotated[Category, Field(strict=False)]
KindField = Annotated[Kind, Field(strict=False)]
OriginField = Annotated[Origin, Field(strict=False)]
TrustField = Annotated[Trust, Field(strict=False)]
Revision = Annotated[
    int | None, Field(ge=0, description="Answer 409 unless this is the current revision.")
]
Addressed = Annotated[
    str | None, Field(description="What the address says; said twice it has to be the same.")
]
Version = Annotated[
    str | None, Field(max_length=64, description="Answer 409 unless this is the current version.")
]


class DetailOut(Answer):
    """One thing that is wrong: where and what."""

    loc: str
    message: str


class ErrorOut(Answer):
    """The one shape of every error."""

    code: str = Field(description="Stable; docs/errors.md lists them all.")
    message: str
    errors: list[DetailOut]
    request_id: str
    current: dict[str, Any] | SkipJsonSchema[None] = optional(
        "With `stale_revision`: the memory or rule as it is now."
    )


_FAILURES = frozenset({401, 403, 404, 409, 413, 422, 429, 503})


def answers(model: Any) -> dict[Any, Any]:
    """The `response` of an operation: the model for success, one shape for every failure."""
    return {200: model, _FAILURES: ErrorOut}


def refusals(error: ValidationError) -> tuple[errors.Detail, ...]:
    """What pydantic refused, as details; values never show."""
    return tuple(detail(each["loc"], each["msg"]) for each in error.errors(include_input=False))


def detail(loc: tuple[int | str, ...], message: str) -> errors.Detail:
    """One refused field; its place is a dotted path and bounded, since a caller chose its words."""
    place = mask(".".join(str(part) for part in loc)).text[:LOC_LENGTH]
    if message.startswith("Input should be a valid dictionary"):
        message = "Send a JSON object."
    return errors.Detail(place, message)


def invalid(details: tuple[errors.Detail, ...]) -> errors.Invalid:
    """The error for refused fields: the message names the first, `errors` the first twenty."""
    shown = details[:SUMMARY_ERRORS] or (errors.Detail("", "The request cannot be accepted."),)
    first = shown[0]
    message = f"{first.loc}: {first.message}" if first.loc else first.message
    return errors.Invalid(message, details=shown)


def tag_filter(values: list[str], field: str) -> tuple[str, ...]:
    """Tags as they are kept, so that a filter finds what a save wrote. Raises Invalid, also for one
    that is empty: passed over, it would narrow nothing."""
    if not all(map(str.strip, values)):
        raise errors.Invalid("A tag is empty: name one, or leave it out.", loc=field)
    with store_errors():
        return names.clean_labels(values, field)
