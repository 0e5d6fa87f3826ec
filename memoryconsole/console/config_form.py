"""The form of the configuration: the fields that do something today, in groups."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from django import forms
from django.conf import settings
from django.http import QueryDict

from banks import config
from banks.access import Principal
from banks.config import FIELDS, Config
from banks.services import configuration
from memoryconsole.console.forms import Form

_DEFAULTS = Config()

LABELS = {
    "default_bank": "Default bank",
    "recall_limit": "Memories of a recall",
    "decay_half_life_days": "Half-life in days",
    "inject_rules": "Give agents the rules",
    "max_rule_chars": "Room for rules in characters",
    "inject_memories": "Give agents memories",
    "recall_budget_tokens": "Room for memories in tokens",
    "data_dir": "Data folder",
}
"""The fields of the form. The others wait for a model: they are kept, and change nothing yet."""

GROUPS = (
    ("Banks", ("default_bank", "data_dir")),
    ("Recall", ("recall_limit", "decay_half_life_days")),
    (
        "What agents are given",
        ("inject_rules", "max_rule_chars", "inject_memories", "recall_budget_tokens"),
    ),
)


@dataclass(frozen=True, slots=True)
class Group:
    """Some fields under a heading."""

    title: str
    fields: list[forms.BoundField]


class ConfigForm(Form):
    """The configuration as somebody saw it and wants it to be. Only what was edited is sent on."""

    def __init__(self, data: QueryDict | None = None, **kwargs: Any) -> None:
        super().__init__(data, **{"initial": asdict(config.current())} | kwargs)
        for _, names in GROUPS:
            for name in names:
                if name != "data_dir" or not settings.DATA_DIR_GIVEN:
                    self.fields[name] = _field(name)

    @property
    def groups(self) -> list[Group]:
        """The fields by group."""
        return [
            Group(title, [self[name] for name in names if name in self.fields])
            for title, names in GROUPS
        ]

    def save(self, principal: Principal) -> list[str]:
        """Set what was edited; its labels. Raises what `configuration.change` raises."""
        edited = self.edited
        if edited:
            values = {name: self.cleaned_data[name] for name in edited}
            configuration.change(principal, values, seen=self.shown)
        return [LABELS[name] for name in edited]

    @property
    def edited(self) -> list[str]:
        """The names of the fields whose value is not the one that was shown."""
        return [name for name in self.fields if self.cleaned_data[name] != self.shown[name]]

    @property
    def shown(self) -> dict[str, Any]:
        """What the page showed when somebody began to type."""
        found = {}
        for name, field in self.fields.items():
            sent = field.hidden_widget().value_from_datadict(
                self.data, self.files, self[name].html_initial_name
            )
            try:
                found[name] = field.to_python(sent)
            except forms.ValidationError:
                found[name] = None
        return found

    def show(self, values: Mapping[str, Any]) -> None:
        """Keep what was typed on top of what holds now: the next save is meant so. What was not
        edited follows."""
        data, edited = cast(QueryDict, self.data).copy(), self.edited
        for name in self.fields:
            data[self[name].html_initial_name] = str(values[name])
            if name not in edited:
                # To a check box any text means on, and "False" off.
                data[name] = str(values[name])
        self.data = data


def _field(name: str) -> forms.Field:
    takes, default = FIELDS[name], getattr(_DEFAULTS, name)
    common: dict[str, Any] = {"label": LABELS[name], "show_hidden_initial": True}
    if isinstance(default, bool):
        word = "on" if default else "off"
        return forms.BooleanField(
            required=False, help_text=f"{takes.meaning} Default: {word}.", **common
        )
    if isinstance(default, int):
        bounds = f"{takes.least:,} to {takes.most:,}"
        return forms.IntegerField(
            help_text=f"{takes.meaning} {bounds}. Default: {default:,}.",
            widget=forms.NumberInput(attrs={"min": takes.least, "max": takes.most}),
            **common,
        )
    return forms.CharField(
        help_text=f"{takes.meaning} Default: {default}.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
        **common,
    )
