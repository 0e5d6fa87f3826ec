"""What the page of health shows: the doctor's checks in words, what each costs, and the way out."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from django.conf import settings

from banks import findings, queries
from banks.access import Principal, Role, Scope
from banks.doctor import Check, Finding
from banks.queries import Summary
from banks.services import Bank, open_bank, opening
from banks.store.types import Severity
from memoryconsole import ops

SHOWN = 20


class State(StrEnum):
    """How a check came out, in the words of the page."""

    FINE = "Fine"
    BROKEN = "Not well"
    ADVICE = "Worth a look"
    UNKNOWN = "Could not be checked"
    UNUSED = "Not set up"


@dataclass(frozen=True, slots=True)
class Words:
    """A check for people: what it is about, what suffers when it is not well, what to do then.
    `command` is one of `manage.py`."""

    title: str
    suffers: str = ""
    fix: str = ""
    command: str = ""


WORDS = {
    "data folder": Words(
        "Data folder",
        "Nothing can be saved.",
        "Mount the disk, or make the folder writable for the account that runs the console.",
    ),
    "look": Words(
        "Look at the files",
        "Changes made by hand in files may not show yet.",
        "Read the log of the console.",
    ),
    "holds": Words(
        "Banks that take writes",
        "A bank on hold can be read; nothing is written to it.",
        "Put its files back, then it goes on by itself. Or take what is on disk.",
    ),
    "files": Words(
        "Files that can be read",
        "Agents do not see what cannot be read. It stays in its file, untouched.",
        "Correct the file with an editor: it is read again by itself.",
    ),
    "ignored files": Words(
        "Files passed over",
        "What they hold is in no bank.",
        "Put a real file or folder in place of a link; delete what was left over.",
    ),
    "rows": Words(
        "Database and files agree",
        "Pages and agents may see something older than the files.",
        "Read all files again:",
        "reload",
    ),
    "disk space": Words(
        "Disk space", "A full disk refuses every save.", "Free some space on the disk."
    ),
    "operations": Words(
        "Writes that ended",
        "What they were about may show half of it.",
        "The next write in their bank ends them; so does reading it again:",
        "reload",
    ),
    "journal": Words(
        "Journal",
        "Search and routers may have missed a change.",
        "Build the search anew:",
        "reindex",
    ),
    "secrets": Words(
        "Secrets in files",
        "Who reads the bank reads them, agents too.",
        "Change the secret where it is used, then take it out of the file.",
    ),
    "search": Words(
        "Search",
        "Lists and agents get the newest memories with these words, without a ranking.",
        "See whether the state folder can be written to, and read the log.",
    ),
    "index": Words(
        "Search index",
        "A bank without an index is searched without a ranking.",
        "Build it:",
        "reindex",
    ),
    "index content": Words(
        "Search index and memories agree",
        "Some memories are not found, or found though they are gone.",
        "Build it anew:",
        "reindex",
    ),
    "rules": Words(
        "Rules within the budget",
        "What is over the budget reaches no agent.",
        "Shorten the rules of the bank, or give them more “Room for rules in characters”.",
    ),
    "queue": Words(
        "Background work",
        "What is done later waits: webhooks are not called.",
        "See whether a worker runs, and read its log:",
        "worker",
    ),
    "dead jobs": Words(
        "Jobs that were given up",
        "What they were to do was not done.",
        "Look at their errors in the admin, then run them again.",
    ),
    "webhooks": Words(
        "Webhooks that take their events",
        "One that was turned off is told nothing.",
        "See its deliveries, make the receiver work, then turn it on again.",
    ),
    "model": Words(
        "Model for learning",
        "Agents remember only what they save themselves.",
        "Look at its server; MEMORYCONSOLE_MODEL_BASE_URL says where it is asked.",
    ),
    "learning": Words(
        "Learning from what happened",
        "What agents did and said teaches nothing until then.",
        "Look at the reason: begin a run of the bank, or run the jobs that were given up again.",
    ),
    "embedder": Words(
        "Model for meaning",
        "A memory in other words than the question may not be found.",
        "Look at its server or its packages; MEMORYCONSOLE_EMBEDDER says which is used.",
    ),
    "configuration": Words(
        "Configuration",
        "A value that cannot be used counts as not set.",
        "Correct it in the configuration.",
    ),
    "index arrays": Words(
        "Fast search",
        "Each search takes longer; it finds the same.",
        "Build the search index anew:",
        "reindex",
    ),
    "index size": Words("Size of the search index", "It takes room.", "Make it small:", "reindex"),
}


@dataclass(frozen=True, slots=True)
class Spot:
    """One thing that a check found. `changed_at`: when its file was last changed, 0 = unknown."""

    finding: Finding
    changed_at: int = 0


@dataclass(frozen=True, slots=True)
class Held:
    """A bank that takes no writes. `may_accept`: taking the disk as it is would end that."""

    bank: Summary
    may_accept: bool

    @property
    def accept_fields(self) -> tuple[tuple[str, str], ...]:
        """What the form that ends the hold sends."""
        return (("bank", self.bank.name),)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One check as the page shows it; `spots` are some of the `found`."""

    key: str
    state: State
    words: Words
    said: str
    spots: list[Spot] = field(default_factory=list)
    found: int = 0
    held: list[Held] = field(default_factory=list)

    @property
    def more(self) -> int:
        """How many findings are not shown."""
        return self.found - len(self.spots)

    @property
    def is_fine(self) -> bool:
        """Whether nothing has to be done."""
        return self.state in (State.FINE, State.UNUSED)

    @property
    def kind(self) -> str:
        """The state as a part of a class name."""
        return self.state.name.lower()


@dataclass(frozen=True, slots=True)
class Health:
    """All checks, those that need somebody first. `is_whole`: every check there is was made."""

    checks: list[Shown]
    is_whole: bool

    @property
    def is_fine(self) -> bool:
        """Whether nothing is broken; advice does not count."""
        return not self._count(State.BROKEN) and not self._count(State.UNKNOWN)

    @property
    def headline(self) -> str:
        """All of it in a sentence."""
        broken, unknown = self._count(State.BROKEN), self._count(State.UNKNOWN)
        told = []
        if broken:
            told.append(f"{broken} of {len(self.checks)} checks found something wrong.")
        if unknown:
            told.append(f"{unknown} could not be made.")
        if told:
            return " ".join(told)
        advice = self._count(State.ADVICE)
        if advice:
            return f"Nothing is wrong; {advice} thing{'' if advice == 1 else 's'} worth a look."
        return f"All is well: {len(self.checks)} checks."

    def _count(self, state: State) -> int:
        return sum(check.state is state for check in self.checks)


_ORDER = [State.BROKEN, State.UNKNOWN, State.ADVICE, State.FINE, State.UNUSED]


def health(principal: Principal, *, whole: bool) -> Health:
    """The checks that cost little, or all of them; for an instance admin."""
    diagnosis = ops.doctor() if whole else ops.glance()
    held = [
        Held(each, opening.can_be_accepted(each.hold))
        for each in queries.summaries(principal)
        if each.hold
    ]
    shown = [_shown(principal, check, held) for check in diagnosis.checks]
    return Health(sorted(shown, key=lambda each: _ORDER.index(each.state)), whole)


def _shown(principal: Principal, check: Check, held: list[Held]) -> Shown:
    state, words = _state(check), WORDS.get(check.name, Words(check.name.capitalize()))
    return Shown(
        key=check.name.replace(" ", "-"),
        state=state,
        words=words,
        said=words.suffers if state is State.UNUSED else check.detail,
        spots=_spots(principal, check.findings[:SHOWN]),
        found=len(check.findings),
        held=held if check.name == "holds" else [],
    )


def _state(check: Check) -> State:
    if not check.checked:
        return State.UNKNOWN
    if check.ok:
        return State.FINE
    unset = {"model": not settings.MODEL_BASE_URL, "embedder": not settings.EMBEDDER}
    if unset.get(check.name):
        return State.UNUSED
    return State.BROKEN if check.required else State.ADVICE


def _spots(principal: Principal, found: Iterable[Finding]) -> list[Spot]:
    """Findings, problems with the time since when their file is as it is."""
    told = list(found)
    times: dict[tuple[str, str], int] = {}
    for name in {each.bank for each in told if each.bank and each.path}:
        paths = {each.path for each in told if each.bank == name}
        bank = _bank(principal, name)
        times |= {(name, path): at for path, at in findings.changed_at(bank, paths).items()}
    return [
        Spot(each, times.get((each.bank, each.path), 0) if _hides(each) else 0) for each in told
    ]


def _hides(finding: Finding) -> bool:
    return finding.severity is Severity.PROBLEM


def _bank(principal: Principal, name: str) -> Bank:
    return open_bank(principal, name, Role.VIEWER, Scope.MEMORY_READ)
