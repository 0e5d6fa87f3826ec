"""The way in and out: the first account, signing in, another password, signing out, the theme."""

from django.conf import settings
from django.contrib import auth as django_auth
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from banks import auth, config, errors
from banks.services import banks, people
from banks.store.errors import StoreError
from memoryconsole import throttle
from memoryconsole.console.context import (
    THEME_COOKIE,
    THEMES,
    SeeOther,
    bare_page,
    keep,
    page,
    person,
    safe_next,
)
from memoryconsole.console.forms import GuessedForm, PasswordForm, SetupForm, SignInForm
from memoryconsole.console.pages import signed_in
from memoryconsole.errors import translated

WRONG = "That name and password do not fit together."


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters("password", "again")
def setup(request: HttpRequest, token: str) -> HttpResponse:
    """Make the first account, and the bank that saves go to. Looking does not use the link up."""
    if not auth.is_setup_token(token):
        return bare_page(request, "registration/link_used.html", {}, status=404)
    form = SetupForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not _set_up(request, token, form):
        values = {"form": form, "token": token}
        return bare_page(request, "registration/setup.html", values, status=form.status)
    return SeeOther(settings.LOGIN_REDIRECT_URL)


@sensitive_variables("typed")
def _set_up(request: HttpRequest, token: str, form: SetupForm) -> bool:
    def make() -> bool:
        typed = form.cleaned_data
        user = auth.use_setup_token(token, typed["username"], typed["password"])
        django_auth.login(request, user)
        _make_default_bank(request, user)
        return True

    return bool(form.attempt(make))


def _make_default_bank(request: HttpRequest, user: User) -> None:
    """The bank that the first save goes to. The account stands: a failure is told, and the next
    page offers to make a bank."""
    try:
        banks.create(auth.principal_of(user), config.current().default_bank)
    except (errors.DomainError, StoreError) as error:
        messages.error(request, translated(error).message)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@sensitive_post_parameters("password")
def sign_in(request: HttpRequest) -> HttpResponse:
    """Name and password; the answer to a wrong name is that to a wrong password."""
    wanted = safe_next(request, settings.LOGIN_REDIRECT_URL)
    if request.user.is_authenticated:
        return SeeOther(wanted)
    form = SignInForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and _signed_in(request, form):
        return SeeOther(wanted)
    values = {"form": form, "next": wanted, "needs_setup": auth.needs_setup()}
    response = bare_page(request, "registration/sign_in.html", values, status=form.status)
    return _timed(response, form)


def _timed(response: HttpResponse, form: GuessedForm) -> HttpResponse:
    """The answer, with the time after which another try counts when there were too many."""
    if form.retry_after_s:
        response.headers["Retry-After"] = str(form.retry_after_s)
    return response


def _may_try(form: GuessedForm, name: str, address: str) -> bool:
    """Count a try at this account's password; False when there were too many, and the form says
    so."""
    try:
        throttle.begin_sign_in(name, address)
    except errors.TooMany as error:
        form.delay(error)
        return False
    return True


@sensitive_variables("typed", "password")
def _signed_in(request: HttpRequest, form: SignInForm) -> bool:
    form.status = 422
    if not form.is_valid():
        return False
    name, password = form.cleaned_data["username"], form.cleaned_data["password"]
    address = request.META.get("REMOTE_ADDR", "")
    if not _may_try(form, name, address):
        return False
    user = django_auth.authenticate(request, username=name, password=password)
    if user is None:
        form.add_error(None, WRONG)
        return False
    throttle.end_sign_in(name, address)
    django_auth.login(request, user)
    return True


@sensitive_post_parameters("old", "password", "again")
@signed_in("GET", "POST")
def password(request: HttpRequest) -> HttpResponse:
    """Give oneself another password: this session goes on, the others end."""
    form = PasswordForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and _changed_password(request, form):
        messages.success(request, "Your password is changed. Your other sessions have ended.")
        return SeeOther(reverse("password"))
    response = page(request, "console/password.html", {"form": form, "at": "password"}, form.status)
    return _timed(response, form)


@sensitive_variables("typed")
def _changed_password(request: HttpRequest, form: PasswordForm) -> bool:
    """Guesses count together with those of the sign-in page, as they are about the same secret."""
    form.status = 422
    if not form.is_valid():
        return False
    name, typed = request.user.get_username(), form.cleaned_data
    address = request.META.get("REMOTE_ADDR", "")
    if not _may_try(form, name, address):
        return False
    user = form.attempt(
        lambda: people.change_own_password(person(request), typed["old"], typed["password"])
    )
    if "old" not in form.errors:
        throttle.end_sign_in(name, address)
    if user is None:
        return False
    django_auth.update_session_auth_hash(request, user)
    return True


@never_cache
@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End this session."""
    django_auth.logout(request)
    return SeeOther(settings.LOGIN_URL)


@never_cache
@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Light, dark, or whatever the system says, in this browser."""
    response = SeeOther(safe_next(request, "/"))
    chosen = request.POST.get("theme", "")
    keep(response, THEME_COOKIE, chosen if chosen in THEMES else "")
    return response
