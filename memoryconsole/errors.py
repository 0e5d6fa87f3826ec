"""From a domain error to an answer: one table of statuses, one shape."""

import logging
from dataclasses import asdict
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.http.request import RawPostDataException, UnreadablePostError
from ninja import NinjaAPI
from ninja.errors import HttpError
from ninja.errors import ValidationError as NinjaValidationError

from banks import errors
from banks.journal import request_id
from banks.operations import store_errors
from banks.queries import Memory, RuleText
from banks.schemas.common import detail, invalid
from banks.schemas.memories import MemoryOut
from banks.schemas.rules import RuleOut
from banks.store.errors import StoreError
from recall.schemas import HookOut, hook_answer
from recall.services import Annotations, Continued

logger = logging.getLogger(__name__)


class CsrfFailed(errors.Forbidden):
    """A call with a browser's session that does not prove to come from our own pages."""

    code = "csrf_failed"
    default = "A call with a session needs the X-CSRFToken header; an API token does not."


class NoSuchCall(errors.NotFound):
    """An address under /api/ that is none."""

    code = "no_such_call"
    default = "There is no such call: /api/v1/openapi.json lists them all."


class MethodNotAllowed(errors.DomainError):
    """The address exists, the method does not."""

    code = "method_not_allowed"
    default = "This address does not take that method."


class TooManyWrong(errors.TooMany):
    """More calls with a wrong credential from one address than are looked at in a minute."""

    code = "too_many_wrong_tokens"
    default = "Too many calls with a wrong token from this address: wait a minute."


class Internal(errors.DomainError):
    """A fault of the program. The log has it, under the request's id."""

    code = "internal_error"
    default = "Something went wrong here. The log has it under this request_id."


STATUSES: tuple[tuple[type[errors.DomainError], int], ...] = (
    (errors.Unauthenticated, 401),
    (errors.Forbidden, 403),
    (errors.NotFound, 404),
    (MethodNotAllowed, 405),
    (errors.Conflict, 409),
    (errors.TooLarge, 413),
    (errors.Invalid, 422),
    (errors.TooMany, 429),
    (Internal, 500),
    (errors.ModelFault, 502),
    (errors.Unavailable, 503),
)
"""One family, one status."""

NEVER_FAILING = frozenset({"pre_generate"})
"""Calls in the middle of an agent's turn: without memory it goes on, with an error it would end."""


def status_of(error: type[errors.DomainError]) -> int:
    """The status of a class of errors. Raises LookupError for a family without one."""
    for family, status in STATUSES:
        if issubclass(error, family):
            return status
    raise LookupError(error.__name__)


def answer(error: errors.DomainError) -> HttpResponse:
    """The answer for a domain error: status, body and headers."""
    response = JsonResponse(body(error), status=status_of(type(error)))
    if isinstance(error, errors.TooMany | errors.Unavailable):
        response.headers["Retry-After"] = str(error.retry_after_s)
    if isinstance(error, errors.Unauthenticated):
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


def body(error: errors.DomainError) -> dict[str, Any]:
    """The one shape of an error; with a stale revision also what is there now."""
    told: dict[str, Any] = {
        "code": error.code,
        "message": error.message,
        "errors": [asdict(each) for each in error.details],
        "request_id": request_id.get(),
    }
    if isinstance(error, errors.StaleRevision):
        if isinstance(error.current, Memory):
            told["current"] = MemoryOut.model_validate(error.current).model_dump()
        elif isinstance(error.current, RuleText):
            told["current"] = RuleOut.model_validate(error.current).model_dump()
    return told


_UNKNOWN = "extra_forbidden"
_WORDS = {
    _UNKNOWN: "This name is not known here: correct its spelling, or leave it out.",
    "missing": "This is missing: send it.",
}
"""What the validating library says in words of its own."""


def translated(error: Exception) -> errors.DomainError:
    """What the framework, the disk or the database raised, in the product's terms."""
    told: errors.DomainError
    match error:
        case errors.DomainError():
            told = error
        case NinjaValidationError():
            # A name that is not known first: it often is why another one is missing.
            found = sorted(error.errors, key=lambda each: each["type"] != _UNKNOWN)
            told = invalid(tuple(_refused(each) for each in found))
        case HttpError():
            told = _unreadable(error)
        case RequestDataTooBig():
            told = errors.TooLarge()
        case RawPostDataException() | UnreadablePostError() | MultiPartParserError():
            told = errors.Invalid("Send the body as JSON.", loc="body")
        case Http404():
            told = NoSuchCall()
        case StoreError():
            told = _from_store(error)
        case OperationalError() | InterfaceError():
            told = _from_database(error)
        case _:
            logger.error("call failed", exc_info=error)
            told = Internal()
    return told


def _refused(each: dict[str, Any]) -> errors.Detail:
    """A refused parameter or field: `body.body.text` of the framework is `text` for a caller."""
    source, *place = each["loc"]
    if source == "body":
        place = place[1:]
    return detail(tuple(place) or (source,), _WORDS.get(each["type"], each["msg"]))


def _unreadable(error: HttpError) -> errors.DomainError:
    """The framework hides why a body could not be read; our parser's reason is its cause."""
    cause = error.__cause__
    if isinstance(cause, errors.DomainError):
        return cause
    return errors.Invalid("The body is not JSON.", loc="body")


def _from_store(error: StoreError) -> errors.DomainError:
    try:
        with store_errors():
            raise error
    except errors.DomainError as known:
        return known
    except StoreError:
        logger.error("store error reached the border code=%s", error.code, exc_info=error)
        return Internal()


def _from_database(error: Exception) -> errors.DomainError:
    if "locked" in str(error):
        return errors.StoreBusy()
    logger.error("database failed", exc_info=error)
    return errors.Unavailable("The database does not answer: try again in a moment.")


def _is_refusal(error: errors.DomainError) -> bool:
    """Whether the caller may not make this call at all."""
    return isinstance(error, errors.Unauthenticated | errors.Forbidden | TooManyWrong)


def register(api: NinjaAPI) -> None:
    """Every exception of every call leaves in the one shape, but for calls that never fail."""

    def handle(request: HttpRequest, error: Exception | type[Exception]) -> HttpResponse:
        told = translated(error() if isinstance(error, type) else error)
        match = request.resolver_match
        if match is not None and match.url_name in NEVER_FAILING and not _is_refusal(told):
            unchanged = Continued(None, Annotations(bank="", fault=told.code))
            return JsonResponse(HookOut.model_validate(hook_answer(unchanged)).model_dump())
        return answer(told)

    for family in (Exception, Http404, HttpError, NinjaValidationError):
        api.add_exception_handler(family, handle)
