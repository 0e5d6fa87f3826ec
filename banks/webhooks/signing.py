"""Signatures after the Standard Webhooks specification: HMAC-SHA256 over id, time and body."""

import base64
import hashlib
import hmac
import secrets

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    """A secret as receivers' libraries take it: a prefix and 256 random bits in base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signature(secret: str, event_id: str, timestamp: int, body: bytes) -> str:
    """One signature: version, comma, base64. `timestamp` is in seconds."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{event_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def headers(event_id: str, timestamp: int, body: bytes, *, by: list[str]) -> dict[str, str]:
    """The three headers; one signature for each secret, the newest first."""
    signed = " ".join(signature(secret, event_id, timestamp, body) for secret in by)
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signed,
    }
