"""Lists over rows; pages that change things through services and nothing else.

`ModelAdmin` wraps its three forms in a transaction. A service takes the bank's lock first and
writes files between two short transactions of its own, so those views are replaced here.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.templatetags.admin_urls import add_preserved_filters
from django.contrib.admin.utils import unquote
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from banks import access, errors
from banks.access import Principal, Role
from banks.models import Bank
from memoryconsole.admin.forms import RemovalForm, SeenForm
from memoryconsole.console.context import SeeOther, person
from memoryconsole.errors import status_of

if TYPE_CHECKING:
    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin

Context = dict[str, Any] | None


class ThroughServices(ModelAdmin):
    """What the rows of one table have in common here. Subclasses say which service does what.

    `new_form` None = nothing can be made, `form_of_row` None = nothing can be changed; `removal` is
    the word for taking one away, "" = none can be.
    """

    list_per_page = 50
    show_full_result_count = False
    new_form: type[SeenForm] | None = None
    form_of_row: type[SeenForm] | None = None
    removal = ""
    removal_means = ""

    # --- who may ----------------------------------------------------------------------------

    def bank_of(self, row: Any) -> Bank | None:
        """The bank that the right to change this row hangs on; None = instance admins alone."""
        return None

    def _may(self, request: HttpRequest, row: Any, role: Role) -> bool:
        principal: Principal = person(request)
        bank = None if row is None else self.bank_of(row)
        return principal.is_admin if bank is None else access.can(principal, bank, role)

    def is_open(self, row: Any) -> bool:
        """Whether this row can be changed or taken away at all."""
        return True

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Whether the table is shown."""
        return self._may(request, None, Role.VIEWER)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the row is shown."""
        return self._may(request, obj, Role.VIEWER)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whether one can be made."""
        return self.new_form is not None and self._may(request, None, Role.OWNER)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the row can be changed."""
        may = self.form_of_row is not None and self._may(request, obj, Role.OWNER)
        return may and (obj is None or self.is_open(obj))

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whether the row can be taken away."""
        may = bool(self.removal) and self._may(request, obj, Role.OWNER)
        return may and (obj is None or self.is_open(obj))

    # --- what subclasses say ------------------------------------------------------------------

    def add(self, request: HttpRequest, typed: dict[str, Any]) -> HttpResponse:
        """Make one; the page after it."""
        raise NotImplementedError

    def start(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What the form shows of a row, and in its hidden fields which state that is."""
        raise NotImplementedError

    def change(self, request: HttpRequest, row: Any, typed: dict[str, Any]) -> HttpResponse:
        """Change one; the page after it."""
        raise NotImplementedError

    def state_of(self, row: Any) -> str:
        """Which state of the row the question before a removal is about."""
        return ""

    def remove(self, request: HttpRequest, row: Any, seen: str) -> HttpResponse:
        """Take one away; the page after it."""
        raise NotImplementedError

    def name_of(self, row: Any) -> str:
        """What the row is called at the head of its page."""
        return str(row)

    def facts(self, row: Any) -> list[tuple[str, Any]]:
        """What is shown and not typed: labels and values."""
        return []

    def links(self, row: Any) -> list[tuple[str, str]]:
        """Where else there is something about this row: words and addresses."""
        return []

    # --- pages --------------------------------------------------------------------------------

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: Context = None
    ) -> HttpResponse:
        """Make one."""
        if self.new_form is None or not self.has_add_permission(request):
            raise errors.Forbidden("These cannot be made here.")
        form = self.new_form(request.POST if request.method == "POST" else None)
        if request.method == "POST":
            made = form.attempt(lambda: self.add(request, form.cleaned_data))
            if made is not None:
                return made
        return self._form_page(request, f"New {self.opts.verbose_name}", form, None)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: Context = None,
    ) -> HttpResponse:
        """Show one, and change what can be changed."""
        row = self._row(request, object_id)
        title = self.name_of(row)
        if self.form_of_row is None or not self.has_change_permission(request, row):
            if request.method == "POST":
                raise errors.Forbidden("This cannot be changed.")
            return self._form_page(request, title, None, row)
        if request.method != "POST":
            form = self.form_of_row(initial=self.start(request, row))
            return self._form_page(request, title, form, row)
        form = self.form_of_row(request.POST)

        def change() -> HttpResponse:
            return self.change(request, row, form.cleaned_data)

        def now() -> Mapping[str, Any]:
            return self.start(request, self._row(request, object_id))

        changed = _attempt(form, change, now)
        return changed or self._form_page(request, title, form, self._row(request, object_id))

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: Context = None
    ) -> HttpResponse:
        """Ask, then take one away."""
        row = self._row(request, object_id)
        if not self.has_delete_permission(request, row):
            raise errors.Forbidden("This cannot be taken away.")
        if request.method != "POST":
            form = RemovalForm(initial={"seen": self.state_of(row)})
        else:
            form = RemovalForm(request.POST)

            def remove() -> HttpResponse:
                return self.remove(request, row, form.cleaned_data["seen"])

            def now() -> Mapping[str, Any]:
                return {"seen": self.state_of(self._row(request, object_id))}

            removed = _attempt(form, remove, now)
            if removed is not None:
                return removed
            row = self._row(request, object_id)
        title = f"{self.removal}: {self.name_of(row)}"
        return self._page(request, "admin/removal.html", title, form, row)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Context = None
    ) -> HttpResponse:
        """There is no second history here: the journal is the log."""
        raise errors.NotFound

    def _row(self, request: HttpRequest, object_id: str) -> Any:
        row = self.get_object(request, unquote(object_id))
        if row is None or not self.has_view_permission(request, row):
            raise errors.NotFound
        return row

    def _form_page(
        self, request: HttpRequest, title: str, form: SeenForm | None, row: Any
    ) -> HttpResponse:
        return self._page(request, "admin/row.html", title, form, row)

    def _page(
        self, request: HttpRequest, template: str, title: str, form: SeenForm | None, row: Any
    ) -> HttpResponse:
        values = {
            **self.admin_site.each_context(request),
            "title": title,
            "opts": self.opts,
            "form": form,
            "row": row,
            "list_address": self._list_address(request),
            "facts": [] if row is None else self.facts(row),
            "links": [] if row is None else self.links(row),
            "removal": self.removal if row and self.has_delete_permission(request, row) else "",
            "removal_means": self.removal_means,
            "filters": self.get_preserved_filters(request),
        }
        return render(request, template, values, status=form.status if form else 200)

    def _list_address(self, request: HttpRequest) -> str:
        address = reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")
        kept: dict[str, Any] = {
            "preserved_filters": self.get_preserved_filters(request),
            "opts": self.opts,
        }
        return add_preserved_filters(kept, address)

    def to_list(self, request: HttpRequest) -> HttpResponse:
        """Back to the list as it was filtered."""
        return SeeOther(self._list_address(request))


def _attempt(
    form: SeenForm, change: Callable[[], HttpResponse], now: Callable[[], Mapping[str, Any]]
) -> HttpResponse | None:
    """The page after the change. None = it was refused, and the form says why; one of an older
    state keeps what was typed and shows what is there now."""
    try:
        return form.attempt(change)
    except errors.StaleRevision as error:
        form.status = status_of(type(error))
        form.add_error(None, error.message)
        form.rebase(now())
        return None
