"""The HTTP API: one instance, its routers, and the calls about the whole installation."""

import functools
import re
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, re_path
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI, Router
from ninja.operation import Operation

from banks.access import Scope, require, require_admin
from banks.api import Request, banks, config, files, memories, rollbacks, rules, tags, webhooks
from banks.schemas.common import Answer, answers
from memoryconsole import assets, errors, events, ops, patience
from memoryconsole.admission import BearerToken, SignedIn, StrictJson
from recall.api import consolidations, hooks, proposals, recall

BASE = "/api/v1"

_CONVERTED = re.compile(r"<(?:\w+:)?(\w+)>")


class FindingOut(Answer):
    """One thing that was found: where, what, and what to do. Never the text of a memory."""

    bank: str
    path: str
    line: int
    code: str
    message: str
    severity: str


class CheckOut(Answer):
    """One check of the doctor; one that is not required is advice, one that is not `checked` could
    not be made."""

    name: str
    ok: bool
    required: bool
    checked: bool
    detail: str
    findings: list[FindingOut]


class DoctorOut(Answer):
    """`ok` when every required check passed."""

    checks: list[CheckOut]
    ok: bool


class ReloadOut(Answer):
    """How many banks were read again; `ok` when none was left out."""

    ok: bool
    banks: int


class AssetOut(Answer):
    """A file of the console, word for word, and what it is."""

    content: str
    content_type: str


router = Router(tags=["operations"])


@router.post("/doctor", response=answers(DoctorOut))
def doctor(request: Request) -> ops.Diagnosis:
    """Look for damage everywhere, repair nothing."""
    require_admin(request.auth)
    return ops.doctor()


@router.post("/reload", response=answers(ReloadOut))
def reload(request: Request) -> ops.Reloaded:
    """Read every file of every bank again."""
    require_admin(request.auth)
    return ops.reload()


@router.get("/ui-content", response=answers(AssetOut))
def ui_content(request: Request, path: str) -> assets.Asset:
    """One of the console's own style sheets, scripts or pictures."""
    require(request.auth, Scope.MEMORY_READ)
    return assets.asset(path)


class Api(NinjaAPI):
    """Operations are named as their functions are, so that clients get readable names."""

    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


@functools.cache
def _names_by_call() -> dict[tuple[str, str], frozenset[str]]:
    """The query parameters of each call, by method and address."""
    paths = api.get_openapi_schema()["paths"]
    return {
        (method.upper(), address): frozenset(
            each["name"] for each in call["parameters"] if each["in"] == "query"
        )
        for address, calls in paths.items()
        for method, call in calls.items()
    }


def known_names(request: HttpRequest) -> frozenset[str]:
    """The query parameters that the call of this request takes."""
    match = request.resolver_match
    address = "/" + _CONVERTED.sub(r"{\1}", match.route) if match else ""
    return _names_by_call()[request.method or "", address]


api = Api(
    title="Memory Console",
    version=settings.VERSION,
    description="Long-term memory for agents. Errors: docs/errors.md. Calls: docs/functions.md.",
    urls_namespace="api",
    auth=[BearerToken(known_names), SignedIn(known_names)],
    parser=StrictJson(),
)
for each in (
    banks.router, memories.router, rules.router, tags.router, files.router, config.router,
    webhooks.router, recall.router, hooks.router, proposals.router,
    consolidations.router, rollbacks.router, events.router, router,
):  # fmt: skip
    api.add_router("", each)
errors.register(api)

View = Callable[..., HttpResponse]


def _in_shape(view: View) -> View:
    """The view with the framework's own refusals in the one shape of errors, and never cached."""

    # Exempt from the middleware, whose refusal is a page: `SignedIn` checks for every call.
    @csrf_exempt
    @functools.wraps(view)
    def call(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        match = request.resolver_match
        is_hurried = match is not None and match.url_name in patience.HURRIED
        try:
            with patience.short() if is_hurried else nullcontext():
                response = view(request, *args, **kwargs)
        except Http404:
            return errors.answer(errors.NoSuchCall())
        if response.status_code == errors.status_of(errors.MethodNotAllowed):
            refused = errors.answer(errors.MethodNotAllowed())
            refused.headers["Allow"] = response.headers["Allow"]
            return refused
        # Memories are nobody's but the caller's: no browser or proxy keeps a copy.
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    return call


@csrf_exempt
def no_such_call(request: HttpRequest, **_: str) -> HttpResponse:
    """For every address under /api/ that is no call: the same shape as other errors."""
    return errors.answer(errors.NoSuchCall())


def urls() -> list[Any]:
    """The addresses under /api/."""
    patterns, app, namespace = api.urls
    for pattern in patterns:
        if isinstance(pattern, URLPattern):
            pattern.callback = _in_shape(pattern.callback)
    return [
        path(f"{BASE[1:]}/", (patterns, app, namespace)),
        re_path(r"^api(?:/|$)", no_such_call),
    ]
