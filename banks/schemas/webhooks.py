"""Webhooks and what they delivered."""

from typing import Any, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from banks import events
from banks.schemas.common import Answer, Body, Params, optional
from banks.services import webhooks
from banks.webhooks.address import URL_LENGTH

_NAMES_MOST = 100
_ID_LENGTH = 32


class FilterIn(Body):
    """Which events are sent."""

    banks: list[str] = Field(
        default=[], max_length=_NAMES_MOST, description="None: every bank that you maintain."
    )
    types: list[str] = Field(
        default=[],
        max_length=_NAMES_MOST,
        description=f"None: all of them. Else of: {', '.join(events.NAMES)}.",
    )

    def chosen(self) -> webhooks.Filter:
        """What the services take."""
        return webhooks.Filter(banks=tuple(self.banks), types=tuple(self.types))


class WebhookIn(Body):
    """A webhook to make."""

    url: str = Field(max_length=URL_LENGTH, description="https, a public host.")
    filter: FilterIn = Field(default=FilterIn())
    active: bool = True


class WebhookPatchIn(Body):
    """What is to be another; left out: as it is."""

    url: str | None = Field(default=None, max_length=URL_LENGTH)
    filter: FilterIn | None = None
    active: bool | None = None
    new_secret: bool = Field(
        default=False, description="Make a new secret; the old one signs beside it for 24 hours."
    )

    def patch(self) -> webhooks.Patch:
        """What the services take."""
        return webhooks.Patch(
            url=self.url,
            filter=None if self.filter is None else self.filter.chosen(),
            active=self.active,
            new_secret=self.new_secret,
        )


class FilterOut(Answer):
    """Which events are sent; an empty list means all."""

    banks: list[str]
    types: list[str]


class WebhookOut(Answer):
    """A webhook without its secret."""

    id: str
    url: str
    filter: FilterOut
    active: bool
    owner: str | SkipJsonSchema[None] = optional("On whose behalf it reads; none: the instance.")
    failures: int = Field(description="Attempts in a row that failed; ten turn it off.")
    pending: int = Field(description="Deliveries that wait, more may be in the journal.")
    disabled_reason: str | SkipJsonSchema[None] = optional("Why it was turned off by itself.")
    created_at: int


class WebhooksOut(Answer):
    """The webhooks that the caller may change, oldest first."""

    webhooks: list[WebhookOut]


class WebhookMadeOut(Answer):
    """A new webhook and its secret, which no other answer shows."""

    webhook: WebhookOut
    secret: str = Field(description="`whsec_` and 256 bits in base64.")


class WebhookChangedOut(Answer):
    """A webhook; `secret` when a new one was made."""

    webhook: WebhookOut
    secret: str | SkipJsonSchema[None] = optional("The new secret, shown once.")


class DeliveriesParams(Params):
    """Which page of deliveries."""

    limit: int = Field(default=webhooks.PAGE_LENGTH, ge=1, le=webhooks.PAGE_MOST)
    cursor: str | SkipJsonSchema[None] = Field(
        default=None, max_length=_ID_LENGTH, description="`next_cursor` of the page before."
    )


class DeliveryOut(Answer):
    """One event on its way to one webhook, and every attempt."""

    id: str
    event_id: str = Field(description="The header `webhook-id`; the same for a redelivery.")
    event_type: str
    bank: str | SkipJsonSchema[None] = optional("None for a test.")
    seq: int | SkipJsonSchema[None] = optional("The number of the change in its bank.")
    state: Literal["waiting", "retrying", "ok", "failed", "disabled"]
    created_at: int
    next_try_at: int | SkipJsonSchema[None] = optional("While it is waiting or retrying.")
    body: str = Field(description="What is sent, cut at 4,096 characters.")
    attempts: list[dict[str, Any]] = Field(
        description="Oldest first: `at`, `duration_ms`, `status` (0: no answer), `error`, "
        "`request_headers`, `response_headers`, `response_body` (cut, secrets masked)."
    )


class DeliveriesOut(Answer):
    """Deliveries, newest first."""

    deliveries: list[DeliveryOut]
    next_cursor: str | SkipJsonSchema[None] = optional("Where the next page begins.")


class OneDeliveryOut(Answer):
    """A delivery that is on its way."""

    delivery: DeliveryOut


class DoneOut(Answer):
    """It is done."""

    ok: bool = True
