"""The address of a list is its state: what to show, as read from and written into a URL."""

from dataclasses import dataclass, replace
from typing import Self
from urllib.parse import quote

from django.http import QueryDict
from django.utils.http import urlencode

from banks import errors, queries
from banks.queries import Memory

PINNED = "pinned"
RETIRED = "retired"
MARKS = {PINNED: "Pinned", RETIRED: "Retired too"}
QUERY_LENGTH = 4_000
TAGS_AT_ONCE = 16
TAGS_SHOWN, TAGS_MOST = 20, 500
"""How many tags are offered as links, and how many on the page that shows all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a list is asked for. `after` is the cursor of a following page; `every_tag`: offer all
    tags of the bank, not only the most used ones; `sel` is the memory in the drawer."""

    q: str = ""
    tags: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    after: str = ""
    every_tag: bool = False
    sel: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> Self:
        """Read from the address. Raises Invalid for a mark that does not exist."""
        marks = tuple(dict.fromkeys(query.getlist("is")))
        unknown = [mark for mark in marks if mark not in MARKS]
        if unknown:
            raise errors.Invalid(f"A list can be narrowed by is={' or is='.join(MARKS)}.", loc="is")
        tags = tuple(dict.fromkeys(tag for tag in query.getlist("tag") if tag))
        return cls(
            q=query.get("q", "").strip()[:QUERY_LENGTH],
            tags=tags[:TAGS_AT_ONCE],
            marks=marks,
            after=query.get("after", ""),
            every_tag=query.get("tags") == "all",
            sel=query.get("sel", ""),
        )

    @property
    def is_narrowed(self) -> bool:
        """Whether anything is left out that the whole list would show."""
        return self.is_filtered or bool(self.q)

    @property
    def is_filtered(self) -> bool:
        """The same, for another reason than the search words."""
        return bool(self.tags or PINNED in self.marks)

    @property
    def is_whole(self) -> bool:
        """Whether this is the beginning of the list of all live memories."""
        return not self.after and self.is_same_list(Wanted())

    def is_same_list(self, other: "Wanted") -> bool:
        """Whether both let the same memories through: only what is shown of them may differ."""
        return self.is_same_page(replace(other, after=self.after))

    def is_same_page(self, other: "Wanted") -> bool:
        """Whether both begin at the same place of the same list."""
        mine, others = (replace(each, every_tag=False, sel="") for each in (self, other))
        return mine == others

    def lets_through(self, memory: Memory) -> bool:
        """Whether the list shows this memory, if it fits the search words."""
        return (
            (memory.invalid_at is None or RETIRED in self.marks)
            and (memory.pinned or PINNED not in self.marks)
            and set(self.tags) <= set(memory.tags)
        )

    def toggled_tag(self, tag: str) -> Self:
        """With this tag, or without it when it is there."""
        rest = tuple(each for each in self.tags if each != tag)
        tags = rest if tag in self.tags else (*self.tags, tag)
        return replace(self, after="", sel="", tags=tags)

    def toggled_mark(self, mark: str) -> Self:
        """With this mark, or without it when it is there."""
        rest = tuple(each for each in self.marks if each != mark)
        marks = rest if mark in self.marks else (*self.marks, mark)
        return replace(self, after="", sel="", marks=marks)

    def following(self, cursor: str) -> Self:
        """The next page of the same list."""
        return replace(self, after=cursor, sel="")

    def with_every_tag(self, *, shown: bool) -> Self:
        """The same page with all tags offered, or only the most used ones."""
        return replace(self, every_tag=shown)

    def without_words(self) -> Self:
        """The same list without the search words."""
        return replace(self, q="", after="", sel="")

    def selecting(self, key: str) -> Self:
        """The same page with this memory in the drawer; `""` closes it."""
        return replace(self, sel=key)

    @property
    def query_string(self) -> str:
        """`?…`, or `?` alone for the whole list: a link to it drops what the address had."""
        pairs: list[tuple[str, str]] = [("q", self.q)] if self.q else []
        pairs += [("tag", tag) for tag in self.tags]
        pairs += [("is", mark) for mark in self.marks]
        if self.after:
            pairs.append(("after", self.after))
        if self.every_tag:
            pairs.append(("tags", "all"))
        if self.sel:
            pairs.append(("sel", self.sel))
        return "?" + urlencode(pairs)

    @property
    def in_words(self) -> str:
        """What the list is narrowed to, for the title of its window; `""` for the whole list."""
        marks = [MARKS[mark].lower() for mark in self.marks]
        return ", ".join([*([f"“{self.q}”"] if self.q else []), *self.tags, *marks])

    @property
    def filters(self) -> queries.Filters:
        """The same in the words of the queries."""
        return queries.Filters(
            tags=self.tags,
            pinned=True if PINNED in self.marks else None,
            include_superseded=RETIRED in self.marks,
        )


@dataclass(frozen=True, slots=True)
class Chip:
    """A link that adds or removes one filter. `count` None = not counted."""

    label: str
    query_string: str
    is_on: bool
    kind: str = ""
    count: int | None = None

    @property
    def key(self) -> str:
        """What tells it from the others: the end of an id."""
        return quote(f"{self.kind or 'is'}-{self.label}".lower(), safe="")


@dataclass(frozen=True, slots=True)
class Chips:
    """The links above a list; `more` counts the tags that are not offered."""

    links: list[Chip]
    more: int
    switch: str
    """The address that offers all tags, or only the most used again; `""` when that is the same."""

    @property
    def on(self) -> list[Chip]:
        """Those of the filters that are on."""
        return [chip for chip in self.links if chip.is_on]


def chips(wanted: Wanted, tags: list[tuple[str, int]]) -> Chips:
    """Marks, chosen tags, then the most used of the others, or all."""
    counts = dict(tags)
    others = [tag for tag, _ in tags if tag not in wanted.tags]
    shown = others[: TAGS_MOST if wanted.every_tag else TAGS_SHOWN]
    marks = [
        Chip(label, wanted.toggled_mark(mark).query_string, mark in wanted.marks)
        for mark, label in MARKS.items()
    ]
    offered = [
        Chip(tag, wanted.toggled_tag(tag).query_string, tag in wanted.tags, "tag", counts.get(tag))
        for tag in (*wanted.tags, *shown)
    ]
    switched = wanted.with_every_tag(shown=not wanted.every_tag).query_string
    switch = switched if len(others) > TAGS_SHOWN else ""
    return Chips(marks + offered, len(others) - len(shown), switch)
