"""How often somebody may try to sign in: counted in rows, so that all processes count together."""

import hashlib
import ipaddress
import unicodedata
from datetime import timedelta

from banks import errors, seams
from memoryconsole.models import SignInAttempt

SIGN_IN_TRIES = 5
SIGN_IN_WINDOW = timedelta(minutes=15)


def begin_sign_in(username: str, address: str) -> None:
    """Count a try, before a password is hashed. Raises TooMany.

    The row is there before the rows are counted: of tries at the same moment the last one to
    commit sees all others, so no more than SIGN_IN_TRIES pass. A refused try is not kept, it
    would put off the end of the wait for ever.
    """
    now = seams.now()
    SignInAttempt.objects.filter(at__lte=now - SIGN_IN_WINDOW).delete()
    attempt = SignInAttempt.objects.create(who=_who(username, address), at=now)
    if SignInAttempt.objects.filter(who=attempt.who).count() > SIGN_IN_TRIES:
        attempt.delete()
        error = errors.TooMany("Too many tries for this name: wait a quarter of an hour.")
        error.retry_after_s = int(SIGN_IN_WINDOW.total_seconds())
        raise error


def end_sign_in(username: str, address: str) -> None:
    """Forget the tries of somebody who got in."""
    SignInAttempt.objects.filter(who=_who(username, address)).delete()


def _who(username: str, address: str) -> str:
    name = unicodedata.normalize("NFKC", username).strip().casefold()
    return hashlib.sha256(f"{name}\0{_network(address)}".encode()).hexdigest()


def _network(address: str) -> str:
    """The address, of IPv6 the first 64 bits: one customer has all the others of such a block."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.IPv6Network((int(parsed), 64), strict=False))
