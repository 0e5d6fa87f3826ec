"""Changes that consolidation wants, as a proposal keeps them and as people see them."""

import hashlib
from dataclasses import asdict, dataclass
from typing import Any

from banks.services.consolidating import Extend, Merge, Promote, Seen, Wanted, kind_of
from banks.services.drafts import Draft
from banks.store.types import Category, Origin, Trust


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A change that a person is asked about. `about` tells it from others, whatever the versions
    are; `text` is what is shown of it, `because` why it is proposed."""

    change: Wanted
    about: str
    text: str
    because: str

    @property
    def digest(self) -> str:
        """What makes two proposals the same one."""
        return hashlib.sha256(f"{kind_of(self.change)}\0{self.about}".encode()).hexdigest()


def dump(change: Wanted) -> dict[str, Any]:
    """The change as JSON."""
    return asdict(change)


def load(kind: str, payload: dict[str, Any]) -> Wanted:
    """The change that `dump` was given. Raises KeyError for a kind that is none of them."""
    return _LOADERS[kind](payload)


def _seen(told: dict[str, str]) -> Seen:
    return Seen(told["id"], told["mark"])


def _all(told: list[dict[str, str]]) -> tuple[Seen, ...]:
    return tuple(_seen(each) for each in told)


def _merge(told: dict[str, Any]) -> Wanted:
    return Merge(
        loser=_seen(told["loser"]), survivor=_seen(told["survivor"]), reason=told["reason"]
    )


def _promote(told: dict[str, Any]) -> Wanted:
    draft = told["draft"]
    return Promote(
        draft=Draft(
            text=draft["text"],
            category=Category(draft["category"]),
            title=draft["title"],
            origin=Origin.CONSOLIDATION,
            trust=Trust(draft["trust"]),
            tags=tuple(draft["tags"]),
            entities=tuple(draft["entities"]),
        ),
        sources=_all(told["sources"]),
        retires=_all(told["retires"]),
    )


def _extend(told: dict[str, Any]) -> Wanted:
    return Extend(
        procedure=_seen(told["procedure"]), item=told["item"], sources=_all(told["sources"])
    )


_LOADERS = {"merge": _merge, "promotion": _promote, "known_failure": _extend}
