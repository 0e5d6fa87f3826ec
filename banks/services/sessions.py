"""Conversations of agents: which bank one chose. A foreign session is an unknown one."""

import hashlib
from datetime import timedelta

from django.db import transaction

from banks import errors, seams
from banks.access import Principal
from banks.models import Bank, Session

KEPT = timedelta(days=90)
"""How long a session that nobody uses any more is remembered."""

SEEN_STEP = timedelta(hours=1)
"""The time of the last use is written so often at most: a step of a turn costs no commit."""


def key_of(principal: Principal, session_id: str) -> str:
    """What a session is kept under: a hash of its owner and id. Raises Invalid for no id.

    Tokens without an owner share their sessions, as those of one person do.
    """
    if not session_id:
        raise errors.Invalid("Give the id of the session.", loc="session_id")
    owner = "instance" if principal.user_id is None else f"{principal.user_id}"
    return hashlib.sha256(f"{owner}\0{session_id}".encode()).hexdigest()


def select(principal: Principal, session_id: str, bank: Bank) -> None:
    """Let a session use a bank that was opened for the caller. Raises Invalid."""
    session = opened(principal, session_id)
    Session.objects.filter(pk=session.pk).update(bank=bank)


def bank_of(principal: Principal, session_id: str) -> str | None:
    """The name of the bank that the session chose; None when it chose none.

    Raises BankNotFound when that bank is in the trash now: no other bank takes its place.
    """
    key = key_of(principal, session_id)
    chosen = Session.objects.filter(key=key, bank__isnull=False).select_related("bank").first()
    if chosen is None or chosen.bank is None:
        return None
    if chosen.bank.state != Bank.State.ACTIVE:
        raise errors.BankNotFound
    return chosen.bank.name


def opened(principal: Principal, session_id: str) -> Session:
    """The row of a session, made if it is missing; sessions of long ago are forgotten then."""
    key, now = key_of(principal, session_id), seams.now()
    session = Session.objects.filter(key=key).first()
    if session is None:
        with transaction.atomic():
            Session.objects.filter(seen_at__lt=now - KEPT).delete()
            session, _ = Session.objects.get_or_create(key=key, defaults={"seen_at": now})
    touch(session)
    return session


def touch(session: Session) -> None:
    """Note that the session is used now, unless that was written a short time ago."""
    now = seams.now()
    if now - session.seen_at >= SEEN_STEP:
        Session.objects.filter(pk=session.pk).update(seen_at=now)


def forget(principal: Principal, session_id: str) -> None:
    """Drop all that is kept of a session; an unknown one is none. Raises Invalid."""
    Session.objects.filter(key=key_of(principal, session_id)).delete()
