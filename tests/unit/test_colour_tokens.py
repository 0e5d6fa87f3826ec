"""The colours of the console can be read: every pair that is used, computed from the CSS."""

import re
from pathlib import Path

import pytest

CSS = (Path(__file__).resolve().parents[2] / "static/css/app.css").read_text(encoding="utf-8")

TEXT = 4.5
EDGE = 3.0
GROUNDS = ("bg", "surface", "raised")
PAIRS = [
    *[(ink, ground, TEXT) for ink in ("ink", "ink2", "ink3") for ground in GROUNDS],
    *[(ink, "accent-bg", TEXT) for ink in ("ink", "ink3", "accent")],
    *[(word, ground, TEXT) for word in ("accent", "danger") for ground in ("bg", "surface")],
    ("on-accent", "accent", TEXT),
    *[(word, f"{word}-bg", TEXT) for word in ("ok", "warn", "danger", "info")],
    *[(word, "surface", TEXT) for word in ("ok", "warn", "info")],
    *[(f"{word}-ink", f"{word}-bg", TEXT) for word in ("add", "del", "mark")],
    *[("control", ground, EDGE) for ground in GROUNDS],
]


TOKENS = re.findall(r"--([a-z0-9-]+): light-dark\((#[0-9A-F]{6}), (#[0-9A-F]{6})\);", CSS)
LIGHT = {name: light for name, light, _ in TOKENS}
DARK = {name: dark for name, _, dark in TOKENS}


def luminance(colour: str) -> float:
    """Relative luminance of `#RRGGBB`. Source: WCAG 2.2."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_black_on_white_has_the_greatest_contrast() -> None:
    assert ratio("#000000", "#FFFFFF") == pytest.approx(21)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("front", "ground", "least"), PAIRS)
def test_the_pair_can_be_told_apart(theme: str, front: str, ground: str, least: float) -> None:
    colours = LIGHT if theme == "light" else DARK
    assert ratio(colours[front], colours[ground]) >= least


def test_nothing_below_the_tokens_names_a_colour() -> None:
    below = CSS.split("/* Ground */", 1)[1]
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b", below)
