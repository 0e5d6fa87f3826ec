"""Changes that were journalled at once are found as one deed; an undo names what it undid."""

from itertools import groupby
from typing import Any

import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def _deed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    bank, operation, actor, at, _ = row
    return (bank, operation) if operation is not None else (bank, None, actor, at)


def count_together(apps: Apps, _schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Say with the first of the changes of each deed how many they are.

    Without an operation they are those of one moment and actor: what one look found on disk.
    """
    change = apps.get_model("banks", "Change")
    rows = change.objects.order_by("bank", "seq").values_list(
        "bank", "operation", "actor", "at", "pk"
    )
    leads = []
    for _, rows_of_one in groupby(rows.iterator(2000), _deed):
        together = list(rows_of_one)
        leads.append(change(pk=together[0][-1], together=len(together)))
    change.objects.bulk_update(leads, ["together"], batch_size=500)


class Migration(migrations.Migration):
    dependencies = [("banks", "0001_banks_rows")]

    operations = [
        migrations.AddField(
            model_name="change",
            name="together",
            field=models.PositiveIntegerField(
                help_text="how many changes were journalled at once; with the first of them only",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="operation",
            name="undoes",
            field=models.ForeignKey(
                help_text="which operation it takes back",
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="banks.operation",
            ),
        ),
        migrations.RunPython(count_together, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="change",
            index=models.Index(
                condition=models.Q(("together__isnull", False)),
                fields=["bank", "-id"],
                name="deeds_newest_first",
            ),
        ),
        migrations.AddIndex(
            model_name="change",
            index=models.Index(
                condition=models.Q(("together__isnull", False)),
                fields=["bank", "actor", "-id"],
                name="deeds_of_an_actor",
            ),
        ),
    ]
