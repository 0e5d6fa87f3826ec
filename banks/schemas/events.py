"""Events as they leave: the data of an event stream, the body of a webhook."""

from pydantic.json_schema import SkipJsonSchema

from banks.events import Event
from banks.schemas.common import Answer, optional
from banks.schemas.memories import MemoryOut


class EventOut(Answer):
    """One change of a bank. The type says what happened to the memory or, without one, the bank."""

    event_type: str
    bank: str
    seq: int
    memory: MemoryOut | SkipJsonSchema[None] = optional("The memory as it is now.")
    reason: str | SkipJsonSchema[None] = optional("Why, where somebody said so.")


def line(event: Event) -> str:
    """One line of JSON."""
    return EventOut.model_validate(event).model_dump_json()
