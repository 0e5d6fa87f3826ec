"""What the harness of an agent calls: at each step of a turn, and about its sessions."""

from dataclasses import asdict
from typing import Any

from ninja import Router

from banks.access import Role, Scope, require
from banks.api import Request, session_named
from banks.schemas.common import ErrorOut, answers
from banks.services import opening, sessions
from recall import services
from recall.learning import extraction, turns
from recall.schemas import (
    DoneOut,
    ExtractIn,
    ExtractOut,
    HookOut,
    SessionDeletedIn,
    SessionIn,
    SessionOut,
    StepIn,
    TurnCompletedIn,
    TurnCompletedOut,
    hook_answer,
)

router = Router(tags=["hooks"])


@router.post("/hooks/pre-generate", response=answers(HookOut))
def pre_generate(request: Request, body: StepIn) -> dict[str, Any]:
    """Rules and memories for one step of a turn. Whatever goes wrong, the turn goes on."""
    return hook_answer(services.pre_generate(request.auth, body.step_of(session_named(request))))


@router.post("/hooks/turn-completed", response=answers(TurnCompletedOut))
def turn_completed(request: Request, body: TurnCompletedIn) -> dict[str, Any]:
    """A turn has ended: what was said is read later, and nobody waits for it."""
    return {"ok": True, "state": turns.completed(request.auth, body.ended())}


@router.post("/hooks/extract-job", response=answers(ExtractOut) | {502: ErrorOut})
def extract_job(request: Request, body: ExtractIn) -> dict[str, Any]:
    """Read now what the ended turns of a session hold. What goes wrong is told."""
    told = extraction.run_now(
        request.auth, body.session_id, bank=body.bank, until=body.until, skip=body.skip
    )
    return {"ok": True, **asdict(told)}


@router.post("/hooks/session-deleted", response=answers(DoneOut))
def session_deleted(request: Request, body: SessionDeletedIn) -> dict[str, bool]:
    """Forget what is kept of a session. One that is unknown is forgotten already."""
    require(request.auth, Scope.HOOKS)
    if body.session_id is not None:
        sessions.forget(request.auth, body.session_id)
    return {"ok": True}


@router.put("/sessions/{path:session_id}", response=answers(SessionOut))
def select_session(request: Request, session_id: str, body: SessionIn) -> dict[str, str]:
    """Choose the bank of a session, for every call that names the session and no bank."""
    bank = opening.to_write(request.auth, body.bank, Role.VIEWER, Scope.HOOKS)
    sessions.select(request.auth, session_id, bank)
    return {"session_id": session_id, "bank": bank.name}
