"""Background work: jobs and their schedule, runs of consolidation, webhooks and deliveries."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from banks import errors
from banks.outbox import Delivery, Job, Schedule, Webhook
from banks.services import jobs, webhooks
from memoryconsole.admin.through_services import ThroughServices
from memoryconsole.console.context import person
from recall.models import ConsolidationRun

CHANGES_SHOWN = 50


class JobAdmin(ThroughServices):
    """Jobs. A dead one is run again from the list, or forgotten."""

    removal = "Forget"
    removal_means = "What this job was to do will not be done."
    list_display = ("id", "kind", "state", "run_at", "attempts", "error", "created_at")
    list_filter = ("state", "kind")
    search_fields = ("kind", "dedup", "error")
    ordering = ("-pk",)
    actions = ("run_again",)

    def is_open(self, row: Job) -> bool:
        """Only a dead one can go: any other is somebody's work."""
        return row.state == Job.State.DEAD

    def remove(self, request: HttpRequest, row: Job, seen: str) -> HttpResponse:
        """Drop it."""
        jobs.forget(person(request), row.pk)
        messages.success(request, f"Job {row.pk} is forgotten.")
        return self.to_list(request)

    def name_of(self, row: Job) -> str:
        """Which job."""
        return f"Job {row.pk} ({row.kind})"

    def facts(self, row: Job) -> list[tuple[str, Any]]:
        """How it stands, and why."""
        return [
            ("State", row.state),
            ("Runs at", row.run_at),
            ("Tries that are spent", row.attempts),
            ("Faults in a row", row.faults),
            ("Last error", row.error or "none"),
            ("Came to", row.outcome or "nothing to tell"),
            ("Made", row.created_at),
            ("Ended", row.finished_at or "not yet"),
        ]

    @admin.action(description="Run again")
    def run_again(self, request: HttpRequest, chosen: QuerySet[Job]) -> None:
        """Give dead jobs all their tries again, one by one, each with its outcome."""
        for row in chosen:
            try:
                jobs.run_again(person(request), row.pk)
            except errors.DomainError as error:
                messages.error(request, f"Job {row.pk}: {error.message}")
            else:
                messages.success(request, f"Job {row.pk} will run again.")


class ScheduleAdmin(ThroughServices):
    """Jobs that begin by themselves. `manage.py consolidate` says when."""

    list_display = ("kind", "rule", "zone", "next_at", "changed_by")
    ordering = ("kind",)

    def name_of(self, row: Schedule) -> str:
        """What begins."""
        return row.kind.capitalize()

    def facts(self, row: Schedule) -> list[tuple[str, Any]]:
        """When, and who said so."""
        return [
            ("Times", row.rule),
            ("Time zone", row.zone),
            ("Next", row.next_at),
            ("Set by", row.changed_by),
            ("Set", row.changed_at),
        ]


class RunAdmin(ThroughServices):
    """Runs of consolidation, and what came of each."""

    list_display = (
        "id", "bank", "state", "started_by", "read", "applied", "proposed", "error", "created_at",
    )  # fmt: skip
    list_filter = ("state", "dry_run", ("bank", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("bank",)
    ordering = ("-pk",)

    def name_of(self, row: ConsolidationRun) -> str:
        """Which run."""
        return f"Run {row.pk} over {row.bank.name}"

    def facts(self, row: ConsolidationRun) -> list[tuple[str, Any]]:
        """Who began it, what it read, and what became of what it found."""
        return [
            ("State", row.state + (", nothing is written" if row.dry_run else "")),
            ("Begun by", row.started_by),
            ("Model", row.model or "none"),
            ("Tokens", row.tokens),
            ("Episodes read", row.read),
            ("Applied", row.applied),
            ("Proposed", row.proposed),
            ("Rejected", row.rejected),
            ("Stale", row.stale),
            ("More than a run may do", row.capped),
            ("Left because a memory is pinned", row.pinned),
            ("Could not", row.note or "nothing to tell"),
            ("Error", row.error or "none"),
            *(
                (f"Change {number}", f"{told['outcome']} {told['kind']}: {_names(told)}")
                for number, told in enumerate(row.changes[:CHANGES_SHOWN], start=1)
            ),
            ("Made", row.created_at),
            ("Ended", row.finished_at or "not yet"),
            *([("Taken back", row.undone_at)] if row.undone_at else []),
        ]


def _names(change: dict[str, Any]) -> str:
    return ", ".join(change["memories"])


class WebhookAdmin(ThroughServices):
    """Webhooks. They are made and changed through the API; the secret is on no page."""

    removal = "Delete"
    removal_means = "Its receiver is told nothing more. Its secret and its deliveries go with it."
    list_display = ("id", "url", "owner", "active", "failures", "disabled_reason", "created_at")
    list_filter = ("active",)
    list_select_related = ("owner",)
    search_fields = ("url", "owner__username")
    ordering = ("pk",)

    def remove(self, request: HttpRequest, row: Webhook, seen: str) -> HttpResponse:
        """End it."""
        webhooks.delete(person(request), row.uid)
        messages.success(request, f"Webhook {row.pk} is deleted.")
        return self.to_list(request)

    def name_of(self, row: Webhook) -> str:
        """Which webhook."""
        return f"Webhook {row.pk}"

    def facts(self, row: Webhook) -> list[tuple[str, Any]]:
        """All but its secret."""
        names = [bank.name for bank in row.banks.order_by("name")]
        return [
            ("Address", row.url),
            ("Owner", row.owner.get_username() if row.owner else "the instance"),
            ("Banks", "every bank" if row.every_bank else ", ".join(names)),
            ("Events", ", ".join(row.types) or "all"),
            ("Turned on", "yes" if row.active else "no"),
            ("Failures in a row", row.failures),
            *([("Turned off because", row.disabled_reason)] if row.disabled_reason else []),
            ("Made", row.created_at),
        ]


class DeliveryAdmin(ThroughServices):
    """What was sent to whom, and how it went."""

    list_display = ("id", "webhook", "event_type", "bank", "seq", "state", "tries", "created_at")
    list_filter = ("state", ("webhook", admin.RelatedOnlyFieldListFilter))
    list_select_related = ("webhook", "bank")
    search_fields = ("event_id",)
    ordering = ("-pk",)

    @admin.display(description="tries")
    def tries(self, row: Delivery) -> int:
        """How often it was sent."""
        return len(row.attempts)

    def name_of(self, row: Delivery) -> str:
        """Which delivery."""
        return f"Delivery {row.pk}"

    def facts(self, row: Delivery) -> list[tuple[str, Any]]:
        """The event and its attempts."""
        return [
            ("Webhook", row.webhook.url),
            ("Event", f"{row.event_type} {row.event_id}"),
            ("State", row.state),
            ("Body", row.body[: webhooks.SHOWN_CHARACTERS]),
            *(
                (f"Try {number}", f"{each['status'] or each['error']}, {each['duration_ms']} ms")
                for number, each in enumerate(row.attempts, start=1)
            ),
        ]
