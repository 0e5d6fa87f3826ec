"""How often somebody may try to come in: counted in rows, so that all processes count together.

The address of a caller is that of the connection. Behind a proxy all callers have the proxy's, so
nothing here locks out a valid token, or the right password of another account.
"""

import hashlib
import ipaddress
import unicodedata
from datetime import timedelta

from django.conf import settings
from django.db import connection

from banks import errors, seams
from banks.access import Principal
from memoryconsole.errors import TooManyWrong
from memoryconsole.models import SignInAttempt, Tally

SIGN_IN_TRIES = 5
SIGN_IN_WINDOW = timedelta(minutes=15)

WRONG_TOKENS = 30
"""Calls with a wrong token a minute and address."""

MINUTE_S = 60

_MOST_KNOWN = 10_000
_over: dict[str, int] = {}
"""Who is over the limit of which minute, as far as this process has seen. They are not counted any
further, so a flood of calls costs no writes."""


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


def refuse_wrong_token(address: str) -> None:
    """Count a call whose token was wrong. Raises TooManyWrong when they are too many this minute.

    A valid token from the same address is let in all the same.
    """
    if _is_over(_hash("wrong token", _network(address)), WRONG_TOKENS):
        raise _until_next_minute(TooManyWrong())


def spend(principal: Principal) -> None:
    """Count a call with a valid token, if their number is limited at all. Raises TooMany."""
    most = settings.TOKEN_RATE
    if most and principal.is_token and _is_over(_hash("token", str(principal.token_id)), most):
        message = f"This token may make {most} calls a minute: wait a little."
        raise _until_next_minute(errors.TooMany(message))


def _until_next_minute(error: errors.TooMany) -> errors.TooMany:
    error.retry_after_s = MINUTE_S - int(seams.now().timestamp()) % MINUTE_S
    return error


def _is_over(who: str, most: int) -> bool:
    """Whether this time is one too many in this minute."""
    minute = int(seams.now().timestamp()) // MINUTE_S
    if _over.get(who) == minute:
        return True
    if _count(who, minute) <= most:
        return False
    if len(_over) >= _MOST_KNOWN:
        _over.clear()
    _over[who] = minute
    return True


def _count(who: str, minute: int) -> int:
    """How often it was in this minute, this time included: one statement, one commit."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO memoryconsole_tally AS tally (who, minute, count) VALUES (%s, %s, 1) "
            "ON CONFLICT (who, minute) DO UPDATE SET count = tally.count + 1 RETURNING count",
            [who, minute],
        )
        count = int(cursor.fetchone()[0])
    if count == 1:
        Tally.objects.filter(minute__lt=minute).delete()
    return count


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _who(username: str, address: str) -> str:
    name = unicodedata.normalize("NFKC", username).strip().casefold()
    return _hash(name, _network(address))


def _network(address: str) -> str:
    """The address, of IPv6 the first 64 bits: one customer has all the others of such a block."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return ""
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.IPv6Network((int(parsed), 64), strict=False))
