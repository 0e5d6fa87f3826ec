"""The form of a rule: a new one, an edited one, and one that is only looked at."""

from typing import Any, ClassVar, Self

from django import forms
from django.http import QueryDict

from banks.queries import RuleText
from banks.services.drafts import REASON_LENGTH
from memoryconsole.console.forms import MET, Form


class RuleForm(Form):
    """A rule as somebody wants it to be. `base`: the version they began with, "" for a new one.

    A text without words removes a rule; that has to be said twice (`empty`).
    """

    fields_of_core: ClassVar[dict[str, str]] = {"content": "text"}

    name = forms.CharField(
        required=False,
        help_text="Small letters, digits, - and _. Agents get the rules in order of name.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )
    text = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 20, "cols": 80, "dir": "auto"}),
    )
    reason = forms.CharField(
        required=False,
        help_text="Why you change it; kept in the history. Optional.",
        widget=forms.TextInput(attrs={"maxlength": REASON_LENGTH, "autocomplete": "off"}),
    )
    base = forms.CharField(required=False, widget=forms.HiddenInput)
    empty = forms.BooleanField(required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.base_version:
            self.fields["name"].widget = forms.HiddenInput()
        self.asks_to_remove = False

    @classmethod
    def met(cls, data: QueryDict) -> Self | None:
        """What was typed before a merge, when the form sent is that of one."""
        return cls(data, prefix=MET) if f"{MET}-base" in data else None

    @classmethod
    def of(cls, rule: RuleText) -> Self:
        """The form as the rule is now."""
        return cls(initial={"name": rule.name, "text": rule.content, "base": rule.version})

    def look_at(self, address: str) -> None:
        """Have the text looked at there while it is typed."""
        self.fields["text"].widget.attrs |= {
            "hx-post": address,
            "hx-trigger": "input changed delay:400ms",
            "hx-target": "#preview",
            "hx-swap": "outerHTML",
            "hx-sync": "this:replace",
        }

    @property
    def base_version(self) -> str:
        """The version that the edit began with; "" for a new rule."""
        return str(self["base"].value() or "")

    @property
    def rule_name(self) -> str:
        """The name as it was typed."""
        return str(self["name"].value() or "")

    @property
    def typed(self) -> str:
        """The text as it was typed."""
        return str(self["text"].value() or "")

    def clean(self) -> dict[str, Any]:
        """A new rule says something, and an old one is not removed by mistake."""
        cleaned = super().clean() or {}
        if str(cleaned.get("text", "")).strip() or cleaned.get("empty"):
            return cleaned
        if self.base_version:
            self.asks_to_remove = True
            self.add_error("text", "Without a text the rule is removed.")
        else:
            self.add_error("text", "Write what agents are to follow.")
        return cleaned
