"""How long a server that cannot answer now wants to be left alone."""

from datetime import UTC
from email.utils import parsedate_to_datetime

from banks import seams


def retry_after_s(value: str, *, most_s: float) -> float | None:
    """Seconds of a Retry-After header (RFC 9110, 10.2.3), 0 to `most_s`, from a number or a date;
    None when it is neither."""
    if value.isascii() and value.isdigit():
        return min(float(value), most_s)
    try:
        at = parsedate_to_datetime(value)
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        left_s = (at - seams.now()).total_seconds()
    except (ValueError, OverflowError):
        return None  # no date, or numbers that are too large for one
    return min(max(left_s, 0.0), most_s)
