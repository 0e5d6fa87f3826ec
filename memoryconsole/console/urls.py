"""The addresses of the pages. A name that no bank can have is no address at all."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from memoryconsole.console.views import (
    audit,
    banks,
    config,
    entrance,
    health,
    live,
    memories,
    memory,
    review,
    rules,
    runs,
    tokens,
    undo,
    welcome,
)


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
    path("welcome", welcome.show, name="welcome"),
    path("banks", banks.index, name="banks"),
    path("banks/new", banks.new, name="new_bank"),
    path("b/<bank:bank>/memories", memories.index, name="memories"),
    path("b/<bank:bank>/memories/new", memories.new, name="new_memory"),
    path("b/<bank:bank>/memories/many", memories.many, name="many"),
    path("b/<bank:bank>/rules", rules.index, name="rules"),
    path("b/<bank:bank>/new-rule", rules.new, name="new_rule"),
    path("b/<bank:bank>/new-rule/preview", rules.preview, name="preview_rule"),
    path("b/<bank:bank>/rules/<str:name>", rules.show, name="rule"),
    path("b/<bank:bank>/rules/<str:name>/edit", rules.edit, name="edit_rule"),
    path("b/<bank:bank>/rules/<str:name>/delete", rules.delete, name="delete_rule"),
    path("b/<bank:bank>/rules/<str:name>/compare", rules.compare, name="compare_rule"),
    path("b/<bank:bank>/rules/<str:name>/revert", rules.revert, name="revert_rule"),
    path("b/<bank:bank>/review", review.index, name="review"),
    path("b/<bank:bank>/review/<str:uid>/accept", review.accept, name="accept_proposal"),
    path("b/<bank:bank>/review/<str:uid>/reject", review.reject, name="reject_proposal"),
    path("b/<bank:bank>/runs", runs.index, name="runs"),
    path("b/<bank:bank>/runs/<str:uid>", runs.show, name="run"),
    path("b/<bank:bank>/runs/<str:uid>/decide", runs.decide, name="decide_run"),
    path("b/<bank:bank>/runs/<str:uid>/undo", runs.undo, name="undo_run"),
    path("b/<bank:bank>/settings", banks.settings, name="bank_settings"),
    path("b/<bank:bank>/members", banks.set_member, name="set_member"),
    path("b/<bank:bank>/members/remove", banks.remove_member, name="remove_member"),
    path("b/<bank:bank>/undo/<str:uid>", undo.undo, name="undo"),
    path("m/<bank:bank>/<str:key>", memory.show, name="memory"),
    path("m/<bank:bank>/<str:key>/compare", memory.compare, name="compare"),
    path("m/<bank:bank>/<str:key>/revert", memory.revert, name="revert"),
    path("m/<bank:bank>/<str:key>/edit", memory.edit, name="edit_memory"),
    path("m/<bank:bank>/<str:key>/pin", memory.pin, name="pin"),
    path("m/<bank:bank>/<str:key>/delete", memory.delete, name="delete"),
    path("m/<bank:bank>/<str:key>/restore", memory.restore, name="restore"),
    path("review", review.everywhere, name="review_all"),
    path("audit", audit.index, name="audit"),
    path("health", health.index, name="health"),
    path("health/accept", health.accept, name="accept_disk"),
    path("settings/config", config.index, name="config"),
    path("settings/password", entrance.password, name="password"),
    path("settings/tokens", tokens.index, name="tokens"),
    path("settings/tokens/revoke", tokens.revoke, name="revoke_token"),
    path("events", live.events, name="live"),
]
