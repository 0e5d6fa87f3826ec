"""Rows. Primary: what the database alone knows. Derived: the projection of the files.

No workflow lives here: every change goes through `banks.services` and `banks.sync`.
"""

from django.conf import settings
from django.db import models

from banks import outbox  # noqa: F401  # Django looks for an app's rows in this module


class Bank(models.Model):
    """A bank's identity. Members, tokens and the index hang on this row, never on the name."""

    class State(models.TextChoices):
        """Hidden while it is being made, trashed after a delete."""

        ACTIVE = "active"
        HIDDEN = "hidden"
        TRASHED = "trashed"

    name = models.CharField(max_length=64)
    state = models.CharField(max_length=8, choices=State, default=State.ACTIVE)
    trashed_to = models.CharField(max_length=128, blank=True)
    created_at = models.DateTimeField()
    head = models.PositiveBigIntegerField(default=0, help_text="number of its last change")
    hold = models.CharField(max_length=200, blank=True, help_text="why it takes no writes")
    description = models.TextField(blank=True, help_text="derived from bank.yaml")
    settings = models.JSONField(default=dict, help_text="derived from bank.yaml")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["name"],
                condition=~models.Q(state="trashed"),
                name="one_bank_of_a_name",
            )
        ]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A person's role in a bank."""

    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    role = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["bank", "user"], name="one_role_a_person_and_bank")
        ]


class AccessToken(models.Model):
    """An API token: only the SHA-256 of the secret is kept."""

    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16)
    digest = models.CharField(max_length=64, unique=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True
    )
    scopes = models.JSONField(default=list)
    every_bank = models.BooleanField(default=True)
    banks = models.ManyToManyField(Bank, blank=True, related_name="tokens")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.name


class SetupLink(models.Model):
    """A one-time sign-in link; used up by its POST."""

    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)


class Configuration(models.Model):
    """How the installation behaves, as far as somebody said so: one row, or none yet."""

    ONE = 1

    values = models.JSONField(default=dict, help_text="the fields that were set")
    changed_at = models.DateTimeField()
    changed_by = models.CharField(max_length=160)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(id=1), name="one_configuration"),
        ]

    def __str__(self) -> str:
        return "Configuration"


class Session(models.Model):
    """A conversation of one owner, and the bank that it chose; none means the default one."""

    key = models.CharField(max_length=64, unique=True, help_text="hash of owner and session id")
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, null=True, db_index=False)
    seen_at = models.DateTimeField(db_index=True, help_text="to the hour")


class Operation(models.Model):
    """One change of a bank's files: written before the disk, ended after it.

    `steps` say what goes on disk (see `banks.operations`), `effects` what will be journalled,
    `answer` what the caller gets. Steps are cleared when the operation ends.
    """

    class State(models.TextChoices):
        """Pending: on its way to the disk. Dropped: nothing of it got there. Refused: the disk
        refused it, and what got there has still to be taken back."""

        PENDING = "pending"
        DONE = "done"
        DROPPED = "dropped"
        REFUSED = "refused"

    uid = models.CharField(max_length=32, unique=True)
    bank = models.ForeignKey(
        Bank, on_delete=models.CASCADE, related_name="operations", db_index=False
    )
    act = models.CharField(max_length=32)
    actor = models.CharField(max_length=160)
    request_id = models.CharField(max_length=64, blank=True)
    owner = models.CharField(max_length=160, blank=True, help_text="whose idempotency key")
    idempotency_key = models.CharField(max_length=255, null=True)  # noqa: DJ001  # unique if given
    body_digest = models.CharField(max_length=64, blank=True)
    answer = models.JSONField(null=True)
    steps = models.JSONField(default=list)
    effects = models.JSONField(default=list)
    state = models.CharField(max_length=8, choices=State, default=State.PENDING)
    undoes = models.ForeignKey(
        "self",
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        help_text="which operation it takes back",
    )
    created_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "idempotency_key"], name="one_operation_a_key")
        ]
        indexes = [models.Index(fields=["bank", "state"], name="operations_by_state")]


class Change(models.Model):
    """The journal: what changed, numbered per bank without a gap. Never edited."""

    class Action(models.TextChoices):
        """Item actions, then bank actions."""

        CREATED = "created"
        UPDATED = "updated"
        SUPERSEDED = "superseded"
        DELETED = "deleted"
        RESTORED = "restored"
        TRASHED = "trashed"
        RENAMED = "renamed"
        RULES_CHANGED = "rules-changed"

    class Target(models.TextChoices):
        """What `key` names."""

        ENTRY = "entry"
        RULE = "rule"
        BANK = "bank"

    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="changes", db_index=False)
    seq = models.PositiveBigIntegerField()
    uid = models.CharField(max_length=32)
    operation = models.ForeignKey(Operation, on_delete=models.SET_NULL, null=True)
    action = models.CharField(max_length=16, choices=Action)
    target = models.CharField(max_length=8, choices=Target)
    key = models.CharField(max_length=128)
    version_before = models.CharField(max_length=16, blank=True)
    version_after = models.CharField(max_length=16, blank=True)
    actor = models.CharField(max_length=160)
    reason = models.CharField(max_length=500, blank=True)
    observation = models.CharField(
        max_length=64, blank=True, help_text="hash of session and entry that stated it"
    )
    request_id = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField()
    together = models.PositiveIntegerField(
        null=True, help_text="how many changes were journalled at once; with the first of them only"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["bank", "seq"], name="changes_count_up"),
        ]
        indexes = [
            models.Index(fields=["bank", "key"], name="changes_of_a_key"),
            # Within a bank the primary key counts up like `seq`, and it orders several banks too.
            models.Index(
                fields=["bank", "-id"],
                condition=models.Q(together__isnull=False),
                name="deeds_newest_first",
            ),
            models.Index(
                fields=["bank", "actor", "-id"],
                condition=models.Q(together__isnull=False),
                name="deeds_of_an_actor",
            ),
        ]


class SourceFile(models.Model):
    """Derived: a file of a bank as last seen. The four numbers are its fingerprint."""

    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="files", db_index=False)
    path = models.CharField(max_length=255)
    inode = models.BigIntegerField()
    size = models.BigIntegerField()
    mtime_ns = models.BigIntegerField()
    ctime_ns = models.BigIntegerField()
    blocks = models.PositiveIntegerField(default=0, help_text="how many, unreadable ones too")
    crlf = models.BooleanField(default=False)
    problems = models.JSONField(default=list)
    duplicates = models.JSONField(default=list, help_text="ids that an earlier block has")
    look_again_at = models.DateTimeField(null=True, help_text="not settled when last seen")
    lasting = models.BooleanField(
        default=False, help_text="its name survives a power loss: we wrote or synced it"
    )
    routed = models.BooleanField(default=True, help_text="its router row is up to date")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["bank", "path"], name="one_row_a_file"),
        ]


class Entry(models.Model):
    """Derived: one readable block. `block` holds its bytes as last seen."""

    # No index of their own for the keys: the ones below begin with them, and SQLite would rather
    # take a short one and sort.
    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="entries", db_index=False)
    file = models.ForeignKey(
        SourceFile, on_delete=models.CASCADE, related_name="entries", db_index=False
    )
    position = models.PositiveIntegerField(help_text="counts the file's blocks from 0")
    entry_id = models.CharField(max_length=128)
    version = models.CharField(max_length=16)
    block = models.BinaryField()
    problems = models.JSONField(default=list)
    missing_since = models.DateTimeField(null=True)

    category = models.CharField(max_length=12)
    kind = models.CharField(max_length=10)
    origin = models.CharField(max_length=16)
    trust = models.CharField(max_length=6)
    tags = models.JSONField(default=list)
    entities = models.JSONField(default=list)
    summary = models.TextField()
    title = models.TextField(blank=True)
    text = models.TextField()
    folded = models.TextField(help_text="summary, text and tags, folded for the substring filter")
    fingerprint = models.CharField(max_length=18)
    pinned = models.BooleanField(default=False)
    corroboration = models.BigIntegerField(default=0)
    revision = models.BigIntegerField(default=0)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    stated_at = models.DateTimeField()
    invalidated_at = models.DateTimeField(null=True)
    supersedes = models.CharField(max_length=128, blank=True)
    superseded_by = models.CharField(max_length=128, blank=True)
    session = models.CharField(max_length=255, blank=True)
    source_entry = models.CharField(max_length=255, blank=True)
    agent = models.CharField(max_length=255, blank=True)
    former_id = models.CharField(max_length=128, blank=True)

    live = models.BooleanField(default=True)
    invalid_at = models.DateTimeField(null=True, help_text="effective: own or the successor's")
    link_problem = models.CharField(max_length=16, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["bank", "entry_id"], name="ids_are_unique_in_a_bank"),
        ]
        indexes = [
            models.Index(fields=["bank", "-created_at", "-entry_id"], name="newest_first"),
            models.Index(fields=["bank", "live"], name="counts_of_live_ones"),
            models.Index(fields=["bank", "fingerprint"], name="by_fingerprint"),
            models.Index(fields=["file", "position"], name="order_of_blocks"),
            # Whole indexes: SQLite cannot use a partial one for a value that is a parameter.
            models.Index(fields=["bank", "superseded_by"], name="by_successor"),
            models.Index(fields=["bank", "former_id"], name="by_former_id"),
            models.Index(fields=["bank", "session"], name="by_session"),
            models.Index(fields=["bank", "link_problem"], name="by_link_problem"),
            models.Index(
                fields=["bank", "-created_at", "-entry_id"],
                condition=models.Q(pinned=True),
                name="pinned_ones",
            ),
            models.Index(
                fields=["bank", "-pinned", "-corroboration", "-stated_at", "entry_id"],
                condition=models.Q(live=True),
                name="strongest_first",
            ),
        ]


class EntryTag(models.Model):
    """Derived: one tag of one entry, for filters and counts."""

    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, db_index=False)
    entry = models.ForeignKey(
        Entry, on_delete=models.CASCADE, related_name="tag_rows", db_index=False
    )
    tag = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["entry", "tag"], name="a_tag_once_an_entry"),
        ]
        indexes = [models.Index(fields=["bank", "tag"], name="entries_of_a_tag")]


class Rule(models.Model):
    """Derived: one rule file of a bank."""

    bank = models.ForeignKey(Bank, on_delete=models.CASCADE, related_name="rules")
    file = models.OneToOneField(SourceFile, on_delete=models.CASCADE)
    name = models.CharField(max_length=64)
    content = models.TextField()
    version = models.CharField(max_length=16)
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["bank", "name"], name="one_rule_a_name"),
        ]
