"""Rows of recall. Primary: what a conversation was told, which nothing else remembers."""

from django.db import models

from banks.models import Bank, Session


class Told(models.Model):
    """The section that a session was told first in a bank, word for word.

    It is sent again at every later step: another text would empty the prompt cache of the model.
    """

    session = models.ForeignKey(
        Session, on_delete=models.CASCADE, related_name="told", db_index=False
    )
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE)
    section = models.TextField()
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "bank"], name="one_section_a_session"),
        ]
