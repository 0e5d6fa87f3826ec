"""Rows of recall. Primary: what a conversation was told, which nothing else remembers; what is kept
of one until it is learned from; runs of consolidation; and what a person has to decide about."""

from django.db import models

from banks.models import Bank, Session
from banks.outbox import new_uid


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


class Listening(models.Model):
    """How far the turns of a session have taken its messages, and its last turn as it was seen.

    `messages`: masked, and only those that no turn has taken yet.
    """

    session = models.OneToOneField(Session, on_delete=models.CASCADE, related_name="listening")
    cursor = models.CharField(max_length=160, blank=True, help_text="the last message taken")
    turn = models.CharField(max_length=64, blank=True, help_text="hash of the turn that is seen")
    bank = models.ForeignKey(
        Bank, on_delete=models.SET_NULL, null=True, help_text="what that turn was given from"
    )
    without_memory = models.BooleanField(default=False, help_text="it named a bank that is none")
    messages = models.JSONField(default=list)


class Turn(models.Model):
    """A finished turn that is still to be read; the row goes when that is done.

    `token`, `user`: on whose behalf, as keys without a reference: a revoked one reads nothing.
    """

    session = models.ForeignKey(
        Session, on_delete=models.CASCADE, related_name="turns", db_index=False
    )
    turn = models.CharField(max_length=64, help_text="hash of its id")
    name = models.CharField(max_length=255, help_text="of the session, as its harness calls it")
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, null=True, db_index=False)
    is_spawned = models.BooleanField(default=False, help_text="of a sub-agent")
    messages = models.JSONField(default=list)
    read = models.PositiveIntegerField(default=0, help_text="how many of them are done with")
    taught = models.PositiveIntegerField(default=0, help_text="memories and rules so far")
    token = models.BigIntegerField(null=True)
    user = models.BigIntegerField(null=True)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "turn"], name="a_turn_is_read_once"),
        ]


class ConsolidationRun(models.Model):
    """One pass over a bank: who began it, what it read, and what became of what it found.

    `changes` name memories by their ids alone. `operations`: what `undo` takes back, oldest first.
    """

    class State(models.TextChoices):
        """Queued: not begun, or to be tried again. Failed: it ended early, for the `error`."""

        QUEUED = "queued"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    uid = models.CharField(max_length=32, unique=True, default=new_uid)
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="runs", db_index=False)
    state = models.CharField(max_length=8, choices=State, default=State.QUEUED)
    dry_run = models.BooleanField(default=False)
    started_by = models.CharField(max_length=160)
    token = models.BigIntegerField(null=True)
    user = models.BigIntegerField(null=True)
    read = models.PositiveIntegerField(default=0, help_text="episodes")
    kept = models.PositiveIntegerField(default=0, help_text="episodes that need not be read again")
    proposed = models.PositiveIntegerField(default=0)
    applied = models.PositiveIntegerField(default=0)
    rejected = models.PositiveIntegerField(default=0, help_text="of the model, unusable")
    stale = models.PositiveIntegerField(default=0)
    capped = models.PositiveIntegerField(default=0)
    pinned = models.PositiveIntegerField(default=0, help_text="left because a memory is pinned")
    changes = models.JSONField(default=list)
    operations = models.JSONField(default=list)
    model = models.CharField(max_length=100, blank=True)
    tokens = models.PositiveIntegerField(default=0)
    note = models.CharField(max_length=200, blank=True, help_text="what it could not do")
    error = models.CharField(max_length=500, blank=True)
    tries = models.PositiveIntegerField(default=0, help_text="that ended")
    faults = models.PositiveIntegerField(default=0, help_text="tries that failed")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    undone_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [models.Index(fields=["bank", "-id"], name="runs_newest_first")]

    def __str__(self) -> str:
        return f"run {self.pk}"


class Checkpoint(models.Model):
    """How far consolidation has read the episodes of a bank.

    Rows, not days: what is imported today may be years old. `seen`: the highest row of which all
    below are read. `read`: ids above it that are read too. `again`: ids to be read once more.
    """

    bank = models.OneToOneField(Bank, on_delete=models.CASCADE, related_name="checkpoint")
    seen = models.BigIntegerField(default=0)
    read = models.JSONField(default=list)
    again = models.JSONField(default=list)
    faults = models.PositiveIntegerField(default=0, help_text="failed runs in a row")
    not_before = models.DateTimeField(null=True, help_text="no run of the schedule until then")


class Proposal(models.Model):
    """Something that is done only when a person says so. What was rejected, or accepted in other
    words, is not asked again.

    `payload` is the change (`recall.learning.changes`), with the versions it was made from; of a
    line for the rule `learned` it is empty, and `text` is in the user's own words.
    """

    class Kind(models.TextChoices):
        """What is proposed."""

        LEARNED_RULE = "learned_rule"
        MERGE = "merge"
        PROMOTION = "promotion"
        KNOWN_FAILURE = "known_failure"

    class State(models.TextChoices):
        """Edited: accepted in other words. Stale: what it was made from has changed."""

        WAITING = "waiting"
        ACCEPTED = "accepted"
        EDITED = "edited"
        REJECTED = "rejected"
        STALE = "stale"

    kind = models.CharField(max_length=16, choices=Kind, default=Kind.LEARNED_RULE)
    run = models.ForeignKey(
        ConsolidationRun, on_delete=models.SET_NULL, null=True, related_name="proposals"
    )
    payload = models.JSONField(default=dict)
    because = models.CharField(max_length=500, blank=True, help_text="why it is proposed")

    uid = models.CharField(max_length=32, unique=True, default=new_uid)
    bank = models.ForeignKey(
        Bank, on_delete=models.CASCADE, related_name="proposals", db_index=False
    )
    text = models.TextField()
    digest = models.CharField(max_length=64, help_text="of the text, folded")
    session = models.CharField(max_length=255, blank=True)
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)
    proposed_by = models.CharField(max_length=160)
    proposed_at = models.DateTimeField()
    decided_by = models.CharField(max_length=160, blank=True)
    decided_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=500, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["bank", "digest"],
                condition=models.Q(state__in=["waiting", "edited", "rejected"]),
                name="asked_once",
            ),
        ]
        indexes = [models.Index(fields=["bank", "state"], name="proposals_by_state")]
