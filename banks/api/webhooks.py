"""Calls about webhooks."""

from typing import Any

from ninja import Query, Router

from banks.api import Request
from banks.schemas.common import answers
from banks.schemas.webhooks import (
    DeliveriesOut,
    DeliveriesParams,
    DoneOut,
    OneDeliveryOut,
    WebhookChangedOut,
    WebhookIn,
    WebhookMadeOut,
    WebhookPatchIn,
    WebhooksOut,
)
from banks.services import webhooks
from banks.services.webhooks import Hook, Sent

router = Router(tags=["webhooks"])


@router.get("/webhooks", response=answers(WebhooksOut))
def list_webhooks(request: Request) -> dict[str, list[Hook]]:
    """The webhooks of the banks that the caller maintains, without their secrets."""
    return {"webhooks": webhooks.listed(request.auth)}


@router.post("/webhooks", response=answers(WebhookMadeOut))
def create_webhook(request: Request, body: WebhookIn) -> dict[str, Any]:
    """Have an address told of what changes from now on. The secret is shown this once."""
    made, secret = webhooks.create(request.auth, body.url, body.filter.chosen(), active=body.active)
    return {"webhook": made, "secret": secret}


@router.patch("/webhooks/{id}", response=answers(WebhookChangedOut))
def change_webhook(request: Request, id: str, body: WebhookPatchIn) -> dict[str, Any]:
    """Change a webhook, which reads on the caller's behalf from then on. Turned on again it goes
    on where it stood.
    """
    changed, secret = webhooks.change(request.auth, id, body.patch())
    return {"webhook": changed, "secret": secret}


@router.delete("/webhooks/{id}", response=answers(DoneOut))
def delete_webhook(request: Request, id: str) -> dict[str, bool]:
    """End a webhook, its secret and its log of deliveries."""
    webhooks.delete(request.auth, id)
    return {"ok": True}


@router.get("/webhooks/{id}/deliveries", response=answers(DeliveriesOut))
def list_deliveries(request: Request, id: str, params: Query[DeliveriesParams]) -> dict[str, Any]:
    """What was sent in the last 14 days and what came back, newest first."""
    found, following = webhooks.deliveries(
        request.auth, id, limit=params.limit, before=params.cursor
    )
    return {"deliveries": found, "next_cursor": following}


@router.post("/webhooks/{id}/deliveries/{delivery}/redeliver", response=answers(OneDeliveryOut))
def redeliver(request: Request, id: str, delivery: str) -> dict[str, Sent]:
    """Send an event again, as a new delivery with the same event id."""
    return {"delivery": webhooks.redeliver(request.auth, id, delivery)}


@router.post("/webhooks/{id}/test", response=answers(OneDeliveryOut))
def test_webhook(request: Request, id: str) -> dict[str, Sent]:
    """Send an event that means nothing, once. Its delivery says how it went."""
    return {"delivery": webhooks.test(request.auth, id)}
