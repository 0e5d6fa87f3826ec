"""A budget and what is used of it, as a bar that is drawn beside the numbers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of the bar, in percent of its width. `kind`: used, this or over."""

    kind: str
    start: str
    width: str


@dataclass(frozen=True, slots=True)
class Meter:
    """What is used of a budget, in the same unit. `this`: the part that the page is about."""

    used: int
    budget: int
    this: int
    bars: list[Bar]

    @property
    def over(self) -> int:
        """How much is used beyond the budget."""
        return max(0, self.used - self.budget)

    @property
    def others(self) -> int:
        """What all but `this` uses."""
        return self.used - self.this


def meter(used: int, budget: int, *, this: int = 0) -> Meter:
    """The bar of a budget; `this`, a part of `used`, comes first. What is over lies on top."""
    whole = max(used, budget, 1)
    stretches = [("this", 0, this), ("used", this, used), ("over", budget, used)]
    bars = [
        Bar(kind, f"{100 * start / whole:.2f}%", f"{100 * (end - start) / whole:.2f}%")
        for kind, start, end in stretches
        if end > start
    ]
    return Meter(used, budget, this, bars)
