"""Jobs, webhooks and deliveries in the admin."""

import pytest
from django.test import Client
from django.urls import reverse

from banks import jobs
from banks.jobs import handlers, schedule
from banks.outbox import Delivery, Job, Schedule, Webhook
from banks.services import webhooks
from recall.learning import runs
from recall.models import ConsolidationRun
from tests.builders import World, save
from tests.console.conftest import Browser, words


@pytest.fixture
def admin(ops: World, browser: Browser) -> Client:
    return browser("admin")


def test_a_dead_job_is_seen_with_its_error_and_run_again(
    admin: Client, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "_handlers", {})
    runs: list[object] = []

    def work(running: jobs.Running) -> None:
        runs.append(running)
        if len(runs) == 1:
            raise jobs.PermanentFault("the kiln is off")

    jobs.handler("purge", limit_s=60, tries=1)(work)
    jobs.enqueue("purge", {}, dedup="1")
    jobs.work_off()
    job = Job.objects.get()
    listed = reverse("admin:banks_job_changelist")
    assert "the kiln is off" in words(admin.get(listed, {"state": "dead"}))
    assert "the kiln is off" in words(admin.get(reverse("admin:banks_job_change", args=[job.pk])))
    again = {"action": "run_again", "_selected_action": [job.pk]}
    assert browser("owner").post(listed, again).status_code == 403
    said = words(admin.post(listed, again, follow=True))
    assert f"Job {job.pk} will run again." in said
    assert (jobs.work_off(), len(runs)) == (1, 2)
    assert "It is not dead" in words(admin.post(listed, again, follow=True))
    forget = reverse("admin:banks_job_delete", args=[job.pk])
    assert admin.post(forget).status_code == 403
    Job.objects.update(state=Job.State.DEAD)
    assert admin.post(forget).status_code == 303
    assert not Job.objects.exists()


def test_runs_and_the_schedule_are_shown_and_cannot_be_changed(
    ops: World, admin: Client, browser: Browser
) -> None:
    for text in ("Kiln 4 is hot.", "kiln 4 is hot"):
        save(ops, text)
    runs.start(ops.admin, ops.bank)
    schedule.plan(runs.ROUND, "0 3 * * *", zone="Europe/Vienna", by="ada")
    jobs.work_off()
    run, planned = ConsolidationRun.objects.get(), Schedule.objects.get()
    shown = {
        reverse("admin:recall_consolidationrun_changelist"): "user:admin",
        reverse("admin:recall_consolidationrun_change", args=[run.pk]): "applied merge: mem_",
        reverse("admin:banks_schedule_changelist"): "Europe/Vienna",
        reverse("admin:banks_schedule_change", args=[planned.pk]): "0 3 * * *",
    }
    for page, word in shown.items():
        assert word in words(admin.get(page))
        assert browser("owner").get(page).status_code == 403
    for name, row in (("recall_consolidationrun", run), ("banks_schedule", planned)):
        assert admin.post(reverse(f"admin:{name}_delete", args=[row.pk])).status_code == 403
        assert admin.post(reverse(f"admin:{name}_add")).status_code == 403


def test_webhooks_and_deliveries_are_shown_without_the_secret(ops: World, admin: Client) -> None:
    hook, secret = webhooks.create(ops.admin, "https://8.8.8.8/hook", webhooks.Filter())
    row = Delivery.objects.get(uid=webhooks.test(ops.admin, hook.id).id)
    pages = [
        reverse("admin:banks_webhook_changelist"),
        reverse("admin:banks_webhook_change", args=[row.webhook_id]),
        reverse("admin:banks_delivery_changelist"),
        reverse("admin:banks_delivery_change", args=[row.pk]),
    ]
    for page in pages:
        answer = admin.get(page)
        assert answer.status_code == 200
        assert secret not in answer.content.decode()
    assert "https://8.8.8.8/hook" in words(admin.get(pages[1]))
    for table in ("webhook", "delivery", "job"):
        assert admin.get(reverse(f"admin:banks_{table}_add")).status_code == 403
    assert admin.post(reverse("admin:banks_delivery_delete", args=[row.pk])).status_code == 403
    ended = admin.post(reverse("admin:banks_webhook_delete", args=[row.webhook_id]))
    assert ended.status_code == 303
    assert (Webhook.objects.count(), Delivery.objects.count()) == (0, 0)
