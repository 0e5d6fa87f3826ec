"""Every error has a status, a stable code and one shape; the documents list them all."""

import json
import re
from pathlib import Path

import pytest
from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.http import Http404
from django.test import RequestFactory
from ninja.errors import HttpError

from banks import errors
from banks.store.errors import DiskFault, FileChanged, FolderMoved, InvalidName, StoreError
from memoryconsole import errors as border
from memoryconsole.api import api

ROOT = Path(__file__).resolve().parent.parent.parent
SHAPE = {"code", "message", "errors", "request_id"}


def families(base: type[errors.DomainError]) -> list[type[errors.DomainError]]:
    found = []
    for child in base.__subclasses__():
        found += [child, *families(child)]
    return found


CLASSES = sorted(families(errors.DomainError), key=lambda each: each.__name__)


def made(family: type[errors.DomainError]) -> errors.DomainError:
    """One error of the class, with what its own constructor wants."""
    if family in (errors.TextExists, errors.TitleExists):
        return family("mem_1")
    if family is errors.AmbiguousId:
        return errors.AmbiguousId(("mem_1", "mem_2"))
    if family is errors.Invalid:
        return errors.Invalid("Too long.", loc="text")
    return family()


@pytest.mark.parametrize("family", CLASSES, ids=lambda each: each.__name__)
def test_every_class_of_errors_has_a_status_and_the_one_shape(
    family: type[errors.DomainError],
) -> None:
    answer = border.answer(made(family))
    told = json.loads(answer.content)
    assert 400 <= answer.status_code < 600
    assert set(told) == SHAPE
    assert told["code"] == made(family).code
    assert told["message"]
    assert all(set(each) == {"loc", "message"} for each in told["errors"])
    assert ("Retry-After" in answer.headers) is (answer.status_code in (429, 503))


def test_codes_are_words_and_each_belongs_to_one_class() -> None:
    codes = [family.code for family in CLASSES]
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) for code in codes)
    assert len(codes) == len(set(codes))


def test_an_error_of_no_family_is_found_out() -> None:
    with pytest.raises(LookupError):
        border.status_of(errors.DomainError)


@pytest.mark.parametrize(
    ("raised", "status", "code"),
    [
        (HttpError(400, "no"), 422, "invalid"),
        (RequestDataTooBig("no"), 413, "too_large"),
        (Http404("no"), 404, "no_such_call"),
        (OperationalError("database is locked"), 503, "store_busy"),
        (OperationalError("server closed the connection"), 503, "unavailable"),
        (InvalidName("Too long.", field="bank"), 422, "invalid_name"),
        (FolderMoved("gone"), 404, "bank_not_found"),
        (DiskFault("no", certain=True, errno_name="EIO"), 503, "store_fault"),
        (FileChanged("planned again"), 503, "store_busy"),
        (ZeroDivisionError("/srv/secret/path"), 500, "internal_error"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else str(each),
)
def test_what_others_raise_leaves_in_the_one_shape(
    raised: Exception, status: int, code: str
) -> None:
    answer = api.on_exception(RequestFactory().get("/"), raised)
    told = json.loads(answer.content)
    assert (answer.status_code, told["code"]) == (status, code)
    assert set(told) == SHAPE
    assert b"secret" not in answer.content


def test_every_code_is_documented_with_its_status_and_none_is_invented() -> None:
    text = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z_]+)` \| (\d{3}) \|", text, re.MULTILINE)
    expected = {(family.code, str(border.status_of(family))) for family in CLASSES}
    for family in StoreError.__subclasses__():
        if family.__name__.startswith("Invalid"):
            expected.add((family.code, str(border.status_of(errors.Invalid))))
    assert sorted(rows) == sorted(expected)
