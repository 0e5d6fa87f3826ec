"""The form of the configuration: its fields in groups, each with its meaning and its limits."""

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
    "recall_limit": "Memories of a recall",
    "inject_memories": "Give agents memories",
    "recall_budget_tokens": "Room for memories in tokens",
    "decay_half_life_days": "Half-life in days",
    "embeddings_enabled": "Compare meanings",
    "embedding_model": "Model that compares meanings",
    "inject_rules": "Give agents the rules",
    "max_rule_chars": "Room for rules in characters",
    "extraction_enabled": "Learn from turns",
    "extraction_model": "Model that reads turns",
    "extraction_window": "Messages of a reading",
    "extraction_timeout_ms": "Time for a reading in milliseconds",
    "max_memories_per_turn": "Memories of a turn",
    "rule_learning_enabled": "Learn rules",
    "default_bank": "Default bank",
    "data_dir": "Data folder",
}
"""The fields in words, in the order of the page."""

GROUPS = (
    (
        "Recall",
        (
            "recall_limit",
            "inject_memories",
            "recall_budget_tokens",
            "decay_half_life_days",
        ),
    ),
    ("Meaning", ("embeddings_enabled", "embedding_model")),
    ("Rules", ("inject_rules", "max_rule_chars")),
    (
        "Learning",
        (
            "extraction_enabled",
            "extraction_model",
            "extraction_window",
            "extraction_timeout_ms",
            "max_memories_per_turn",
            "rule_learning_enabled",
        ),
    ),
    ("Storage", ("default_bank", "data_dir")),
)

NO_MODEL = (
    "No model is configured: until MEMORYCONSOLE_MODEL_BASE_URL says where one is asked, these "
    "fields are kept and change nothing."
)
NO_MEANING = (
    "No model for it is configured: until MEMORYCONSOLE_EMBEDDER names one, recall goes by words, "
    "and these fields are kept and change nothing."
)
FIXED = "The environment says where it is: MEMORYCONSOLE_DATA_DIR."


@dataclass(frozen=True, slots=True)
class Group:
    """Some fields under a heading; `note` says why they change nothing where that is so."""

    title: str
    fields: list[forms.BoundField]

    @property
    def note(self) -> str:
        """What is to be known before one reads them."""
        if self.title == "Meaning" and not settings.EMBEDDER:
            return NO_MEANING
        return NO_MODEL if self.title == "Learning" and not settings.MODEL_BASE_URL else ""


class ConfigForm(Form):
    """The configuration as somebody saw it and wants it to be. Only what was edited is sent on."""

    def __init__(self, data: QueryDict | None = None, **kwargs: Any) -> None:
        super().__init__(data, **{"initial": asdict(config.current())} | kwargs)
        for _, names in GROUPS:
            for name in names:
                self.fields[name] = _field(name)

    @property
    def groups(self) -> list[Group]:
        """The fields by group."""
        return [Group(title, [self[name] for name in names]) for title, names in GROUPS]

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
        shown = self.shown
        return [
            name
            for name, field in self.fields.items()
            if not field.disabled and self.cleaned_data[name] != shown[name]
        ]

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
        told = _hint(name, "", "on" if default else "off")
        return forms.BooleanField(required=False, help_text=told, **common)
    if isinstance(default, int):
        return forms.IntegerField(
            help_text=_hint(name, f"{takes.least:,} to {takes.most:,}.", f"{default:,}"),
            widget=forms.NumberInput(attrs={"min": takes.least, "max": takes.most}),
            **common,
        )
    return forms.CharField(
        required=takes.least > 0,
        disabled=name == "data_dir" and settings.DATA_DIR_GIVEN,
        help_text=_hint(name, f"At most {takes.most:,} characters.", default or "empty"),
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
        **common,
    )


def _hint(name: str, limits: str, default: str) -> str:
    """What a field means and takes, and who says it where this form does not."""
    told = [FIELDS[name].meaning, limits, f"Default: {default}."]
    if name == "data_dir" and settings.DATA_DIR_GIVEN:
        told.append(FIXED)
    return " ".join(filter(None, told))
