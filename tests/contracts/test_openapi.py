"""The description of the API is committed, complete, and what the documents say."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from memoryconsole.api import api
from memoryconsole.errors import NEVER_FAILING

ROOT = Path(__file__).resolve().parent.parent.parent
METHODS = ("get", "post", "put", "patch", "delete")


@cache
def schema() -> dict[str, Any]:
    told: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema()))
    return told


def calls() -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, call)
        for path, each in schema()["paths"].items()
        for method, call in each.items()
    ]


def test_the_committed_description_is_the_current_one() -> None:
    committed = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
    assert committed == schema(), "make openapi writes it anew"


def test_names_of_operations_are_unique() -> None:
    names = [call["operationId"] for _, _, call in calls()]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("method", "path", "call"), calls(), ids=lambda each: str(each)[:40])
def test_every_call_says_what_it_does_who_may_and_how_it_fails(
    method: str, path: str, call: dict[str, Any]
) -> None:
    assert call["description"]
    assert call["security"]
    assert {"200", "401", "403", "404", "409", "413", "422", "429", "503"} <= set(call["responses"])
    failure = call["responses"]["422"]["content"]["application/json"]["schema"]
    assert failure["$ref"].endswith("/ErrorOut")


OF_HARNESSES = frozenset({"session_deleted", "turn_completed"})
"""Calls whose body is an event in the words of whoever sends it."""


def test_bodies_refuse_unknown_fields() -> None:
    schemas = schema()["components"]["schemas"]
    for _, _, call in calls():
        if call["operationId"] in NEVER_FAILING | OF_HARNESSES:
            continue
        for kind in call.get("requestBody", {}).get("content", {}).values():
            reference = kind["schema"].get("$ref") or kind["schema"]["anyOf"][0]["$ref"]
            name = reference.rpartition("/")[2]
            assert schemas[name]["additionalProperties"] is False


def test_the_documents_list_every_call_and_no_other() -> None:
    text = (ROOT / "docs/functions.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `([A-Z]+) (/[^`]*)` \|", text, re.MULTILINE)
    actual = [(method.upper(), path.removeprefix("/api/v1")) for method, path, _ in calls()]
    assert sorted(documented) == sorted(actual)


def test_description_and_pages_are_served_from_here_alone() -> None:
    client = Client()
    assert client.get("/api/v1/openapi.json").json() == schema()
    page = client.get("/api/v1/docs")
    assert page.status_code == 200
    assert re.findall(rb"(?:src|href)=\"(?:https?:)?//", page.content) == []
