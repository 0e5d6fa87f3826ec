"""The addresses of the pages. A name that no bank can have is no address at all."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from memoryconsole.console.views import banks, entrance, memories, memory


class BankName(StringConverter):
    """What may be a bank's name."""

    regex = "[a-z0-9][a-z0-9_-]{0,63}"


register_converter(BankName, "bank")

urlpatterns = [
    path("", banks.home, name="home"),
    path("setup/<str:token>", entrance.setup, name="setup"),
    path("sign-in", entrance.sign_in, name="sign_in"),
    path("sign-out", entrance.sign_out, name="sign_out"),
    path("theme", entrance.choose_theme, name="theme"),
    path("banks/new", banks.new, name="new_bank"),
    path("b/<bank:bank>/memories", memories.index, name="memories"),
    path("b/<bank:bank>/memories/new", memories.new, name="new_memory"),
    path("m/<bank:bank>/<str:key>", memory.show, name="memory"),
    path("m/<bank:bank>/<str:key>/edit", memory.edit, name="edit_memory"),
    path("m/<bank:bank>/<str:key>/pin", memory.pin, name="pin"),
    path("m/<bank:bank>/<str:key>/delete", memory.delete, name="delete"),
    path("m/<bank:bank>/<str:key>/restore", memory.restore, name="restore"),
]
