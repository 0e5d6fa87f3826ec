"""Domain errors: what can be wrong with a wish, in the product's own terms. No HTTP in here.

Every class has a stable `code`. `memoryconsole.errors` maps the families to answers, once.
Messages tell a person the next step and never hold a path, a secret or the text of a memory.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Detail:
    """One thing that is wrong and where: `loc` is a field name or a dotted path."""

    loc: str
    message: str


class DomainError(Exception):
    """Base of all domain errors."""

    code = "error"
    default = "That did not work."

    def __init__(self, message: str = "", *, details: tuple[Detail, ...] = ()) -> None:
        super().__init__(message or self.default)
        self.message = message or self.default
        self.details = details


class Unauthenticated(DomainError):
    """Nobody is signed in, or the token is unknown, expired or revoked."""

    code = "unauthenticated"
    default = "Send a valid API token: Authorization: Bearer <token>."


class NotFound(DomainError):
    """There is no such thing, or none that the caller may see: alike."""

    code = "not_found"
    default = "There is nothing of that name here."


class BankNotFound(NotFound):
    """Unknown bank, or one that the caller may not see."""

    code = "bank_not_found"
    default = (
        "There is no bank of that name. Make it in the console, or with a token that has the scope "
        "banks:create."
    )


class MemoryNotFound(NotFound):
    """No entry of the bank has this id, former id or fingerprint."""

    code = "memory_not_found"
    default = "There is no memory with that id in this bank."


class RuleNotFound(NotFound):
    """The bank has no rule of this name."""

    code = "rule_not_found"
    default = "There is no rule of that name in this bank."


class FileNotFound(NotFound):
    """The bank has no file of this path, or it is none that a bank consists of."""

    code = "file_not_found"
    default = "There is no such file in this bank: GET /api/v1/files lists them."


class TrashNotFound(NotFound):
    """The trash holds no folder of this bank."""

    code = "trash_not_found"
    default = "The trash holds no bank of that name."


class WebhookNotFound(NotFound):
    """Unknown webhook, or one of banks that the caller does not maintain."""

    code = "webhook_not_found"
    default = "There is no webhook of that id."


class ProposalNotFound(NotFound):
    """Unknown proposal, or one of a bank that the caller does not maintain."""

    code = "proposal_not_found"
    default = "There is no proposal of that id: GET /api/v1/proposals lists them."


class RunNotFound(NotFound):
    """Unknown run, or one of a bank that the caller does not maintain."""

    code = "run_not_found"
    default = "There is no run of that id: GET /api/v1/consolidations lists them."


class Forbidden(DomainError):
    """Visible, but the caller's role does not reach."""

    code = "forbidden"
    default = "Your role in this bank does not allow that."


class ScopeMissing(Forbidden):
    """The token lacks a scope."""

    code = "scope_missing"
    default = "This token lacks the scope for that call."


class PinnedProtected(Forbidden):
    """A token without `memory:curate` wants to change a pinned memory."""

    code = "pinned"
    default = "This memory is pinned: changing it needs the scope memory:curate."


class Conflict(DomainError):
    """The state of the bank does not allow it (any more)."""

    code = "conflict"


class StaleRevision(Conflict):
    """The caller's `if_revision` or `if_version` is not the current one."""

    code = "stale_revision"
    default = "It has changed since you read it: read it again and repeat the change."

    def __init__(self, message: str = "", *, current: object = None) -> None:
        super().__init__(message)
        self.current = current


class NameTaken(Conflict):
    """A bank of this name exists (perhaps one that the caller may not see)."""

    code = "name_taken"
    default = "That name is taken: choose another."


class TextExists(Conflict):
    """Another live memory of the category has the same text."""

    code = "text_exists"

    def __init__(self, entry_id: str) -> None:
        super().__init__(f"Live memory {entry_id} already has this text: update that one.")
        self.entry_id = entry_id


class TitleExists(Conflict):
    """A live procedure has the same title."""

    code = "title_exists"

    def __init__(self, entry_id: str) -> None:
        super().__init__(f"Live procedure {entry_id} has this title: update that one.")
        self.entry_id = entry_id


class MemoryDead(Conflict):
    """The memory is deleted or superseded."""

    code = "memory_dead"
    default = "This memory is deleted or superseded: restore it first."


class MemoryAlive(Conflict):
    """A restore of a memory that is live."""

    code = "memory_alive"
    default = "This memory is live: there is nothing to restore."


class EpisodeFixed(Conflict):
    """The text of an episode is never rewritten."""

    code = "episodic"
    default = "An episode is never rewritten: save a new one instead."


class BlockBroken(Conflict):
    """The memory's block was changed by hand so that it cannot be read."""

    code = "block_broken"
    default = "Its block was changed by hand and cannot be read: repair it in its file first."


class AmbiguousId(Conflict):
    """A fingerprint that two live memories share."""

    code = "ambiguous_id"

    def __init__(self, ids: tuple[str, ...]) -> None:
        super().__init__(f"That fingerprint fits several memories: use one of {', '.join(ids)}.")
        self.ids = ids


class SupersedeSelf(Conflict):
    """A memory cannot replace itself."""

    code = "supersede_self"
    default = "A memory cannot supersede itself."


class SurvivorNotFound(NotFound):
    """The memory that should replace another is unknown in this bank."""

    code = "survivor_not_found"
    default = "The memory named as the successor is not in this bank."


class SurvivorDead(Conflict):
    """The successor is deleted or superseded."""

    code = "survivor_dead"
    default = "The successor is deleted or superseded: choose a live one."


class LoserDead(Conflict):
    """The memory to retire is deleted already."""

    code = "loser_dead"
    default = "The memory to retire is deleted already."


class LoserPinned(Conflict):
    """A pinned memory cannot be superseded."""

    code = "loser_pinned"
    default = "A pinned memory cannot be superseded: unpin it first."


class LoserEpisodic(Conflict):
    """An episode cannot be superseded."""

    code = "loser_episodic"
    default = "An episode cannot be superseded: save a new one instead."


class SupersedeFork(Conflict):
    """The memory has a successor already."""

    code = "supersede_fork"
    default = "That memory has a successor already."


class SupersedeCycle(Conflict):
    """The pointers would form a loop."""

    code = "supersede_cycle"
    default = "These memories would supersede each other in a loop."


class BulkRefused(Conflict):
    """Some of many changes cannot be made, so none was; `details` say which: `loc` is the id."""

    code = "bulk_refused"
    default = "Nothing was changed: take out the memories that are named, or read them again."


class DataFolderRefused(Conflict):
    """The banks cannot be taken from that folder: another is given, or they are not all in it."""

    code = "data_dir_refused"


class IdempotencyBusy(Conflict):
    """The first call with this idempotency key has not ended."""

    code = "idempotency_in_progress"
    default = "The first call with this Idempotency-Key is still running: try again shortly."


class DeliveryPending(Conflict):
    """The event is still on its way to this webhook."""

    code = "delivery_pending"
    default = "This event is still being delivered: wait for its end."


class ProposalDecided(Conflict):
    """Somebody has accepted or rejected the proposal already."""

    code = "proposal_decided"
    default = "This proposal was accepted or rejected already."


class ProposalStale(Conflict):
    """What the proposal was made from has changed."""

    code = "proposal_stale"
    default = "A memory that it was made from has changed: the next run looks at it again."


class RunPending(Conflict):
    """A run of the bank has not ended."""

    code = "run_pending"
    default = "A run of this bank is on its way: wait for its end."


class Invalid(DomainError):
    """Content that cannot be accepted; `details` say what and where."""

    code = "invalid"

    def __init__(
        self, message: str, *, loc: str = "", code: str = "", details: tuple[Detail, ...] = ()
    ) -> None:
        super().__init__(message, details=details or (Detail(loc, message),))
        if code:
            self.code = code


class IdempotencyMismatch(Invalid):
    """The idempotency key was used with another body."""

    code = "idempotency_mismatch"

    def __init__(self) -> None:
        super().__init__(
            "This Idempotency-Key was used with another body: send a new key.",
            loc="Idempotency-Key",
        )


class AddressRefused(Invalid):
    """An address that a webhook must not have."""

    code = "address_refused"

    def __init__(self, message: str = "Use https and a public host.") -> None:
        super().__init__(message, loc="url")


class TooLarge(DomainError):
    """The body is larger than the call takes."""

    code = "too_large"
    default = "The request is larger than this call takes."


class TooMany(DomainError):
    """Too many tries in a short time."""

    code = "too_many"
    default = "Too many tries: wait a little."
    retry_after_s = 60


class Unavailable(DomainError):
    """Not now: the caller may repeat the same call after `retry_after_s` seconds."""

    code = "unavailable"
    retry_after_s = 5


class StreamsFull(Unavailable):
    """As many streams of events are open as the settings allow."""

    code = "streams_full"
    default = "Too many live views are open: close one, or try again in a moment."
    retry_after_s = 10


class StoreBusy(Unavailable):
    """Other writers held the bank or the database for too long."""

    code = "store_busy"
    default = "The bank is busy: try again in a moment."
    retry_after_s = 1


class StoreFault(Unavailable):
    """The disk refused the write. Nothing was acknowledged."""

    code = "store_fault"
    default = "The disk refused."
    retry_after_s = 30


class PathBlocked(Unavailable):
    """A link, a folder or a device stands where a file of the bank should be."""

    code = "path_blocked"

    def __init__(self, path: str = "") -> None:
        where = f" of {path}" if path else ""
        super().__init__(
            f"In the place{where} there is no plain file of the bank: put the file or folder back."
        )


class BankOnHold(Unavailable):
    """The bank's files look lost; writes wait until they are back or accepted."""

    code = "bank_on_hold"
    default = (
        "The files of this bank look lost, so it takes no writes. Mount or check out the folder "
        "again, or accept what is on disk: manage.py reload --accept BANK."
    )
    retry_after_s = 60


class IndexUnavailable(Unavailable):
    """The search index cannot be read; it is being rebuilt."""

    code = "index_unavailable"
    default = "The search index is being rebuilt: try again in a moment."


class ModelUnavailable(Unavailable):
    """The language model did not answer; `retry_after_s` is its own wish where it has one."""

    code = "model_unavailable"
    default = "The model does not answer: try again later."

    def __init__(self, message: str = "", *, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = type(self).retry_after_s if retry_after_s is None else retry_after_s


class ModelFault(DomainError):
    """The language model answered, but not with what can be used."""

    code = "model_fault"


class ModelRefused(ModelFault):
    """It does not take the call as it is: key, name or address are wrong."""

    code = "model_refused"

    def __init__(self, status: int = 401, settings: str = "its settings") -> None:
        super().__init__(f"The model refused the call (status {status}): look at {settings}.")
        self.status = status


class ReplyUnusable(ModelFault):
    """Its answer is empty, cut off, or not what was asked for. Nothing is taken from it."""

    code = "model_reply_unusable"
    default = "The model's answer cannot be used: try again."
