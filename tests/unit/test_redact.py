"""Secrets: what is found, and what is left alone."""

import time

import pytest

from banks.store.redact import mask
from tests.canaries import FOUND, LEFT_ALONE, MIX, written


@pytest.mark.parametrize(("secret", "around", "label"), FOUND)
def test_a_secret_becomes_a_label_and_its_sentence_stays(
    secret: str, around: str, label: str
) -> None:
    masked = mask(written(around, secret))
    assert masked.labels == (label,)
    assert secret not in masked.text
    assert masked.text == written(around, f"[redacted:{label}]")


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert mask(text).text == text
    assert mask(text).labels == ()


@pytest.mark.parametrize(("secret", "around", "label"), FOUND)
def test_masking_twice_changes_nothing(secret: str, around: str, label: str) -> None:
    once = mask(written(around, secret)).text
    assert mask(once).text == once
    assert mask(once).labels == ()


def test_labels_are_named_once_in_the_order_of_search() -> None:
    text = f"password=hunter2 ghp_{MIX[:36]} PASSWORD=swordfish ghp_{MIX[1:37]}"
    masked = mask(text)
    assert masked.labels == ("vcs-token", "password")
    assert masked.text.count("[redacted:vcs-token]") == 2
    assert masked.text.count("[redacted:password]") == 2


@pytest.mark.parametrize(
    "piece",
    [
        "password:",
        "a_",
        "-----BEGIN PRIVATE KEY-----",
        "a://",
        "eyJ.",
        "sk-",
        "--a",
        "token='",
        ",",
    ],
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    begin = time.perf_counter()
    mask(text)
    assert time.perf_counter() - begin < 2
