"""Rows of the project itself: what guards the ways in."""

from django.db import models


class SignInAttempt(models.Model):
    """One try to sign in. `who` is a hash of account and address: nobody is listed here."""

    who = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["who", "at"], name="tries_of_one"),
            models.Index(fields=["at"], name="tries_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.who[:8]} {self.at:%H:%M:%S}"


class Tally(models.Model):
    """How often somebody did something in one minute. `who` is a hash: nobody is listed here."""

    who = models.CharField(max_length=64)
    minute = models.PositiveBigIntegerField(help_text="since the epoch")
    count = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["who", "minute"], name="one_tally_a_minute"),
        ]
        indexes = [models.Index(fields=["minute"], name="tallies_by_age")]

    def __str__(self) -> str:
        return f"{self.who[:8]} {self.count}"
