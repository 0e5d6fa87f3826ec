"""Webhooks and deliveries get ids that say nothing of how many there are."""

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

import banks.outbox

PORTION = 1000


def give_each_its_own(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    for name in ("Webhook", "Delivery"):
        model = apps.get_model("banks", name)
        rows = model.objects.only("pk").order_by("pk")
        while part := list(rows.filter(uid="")[:PORTION]):
            for row in part:
                row.uid = banks.outbox.new_uid()
            model.objects.bulk_update(part, ["uid"])


class Migration(migrations.Migration):
    dependencies = [
        ("banks", "0007_outcomes_of_jobs"),
    ]

    operations = [
        *(
            migrations.AddField(model, "uid", models.CharField(default="", max_length=32))
            for model in ("webhook", "delivery")
        ),
        migrations.RunPython(give_each_its_own, migrations.RunPython.noop),
        *(
            migrations.AlterField(
                model,
                "uid",
                models.CharField(default=banks.outbox.new_uid, max_length=32, unique=True),
            )
            for model in ("webhook", "delivery")
        ),
    ]
