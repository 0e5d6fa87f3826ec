"""Every call answers as its description says, whatever is sent: no fault, no undescribed shape.

Cases are generated from the OpenAPI document: some as it asks for, some against it. The seed is
fixed, so that a run is the same tomorrow; `make schema` runs this file.
"""

import json
import os
import re
import warnings
from typing import Any
from urllib.parse import parse_qsl

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the libraries that it brings
    import schemathesis
    from schemathesis import checks as builtin
    from schemathesis.specs.openapi import checks

from banks.access import Scope
from memoryconsole.api import api
from memoryconsole.wsgi import application
from tests import builders
from tests.api.conftest import token_of
from tests.contracts.calls import Rule, scene_of

EXAMPLES = int(os.environ.get("EXAMPLES", "12"))
ENDLESS = {"stream_events"}
"""A stream without end has tests of its own."""

CHECKS = [
    builtin.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
]


def described() -> dict[str, Any]:
    """The document as it is served, and every operation in it by name."""
    document = json.loads(json.dumps(api.get_openapi_schema()))
    schema = schemathesis.openapi.from_dict(document)
    schema.app = application
    found = (each.ok() for each in schema.get_all_operations())
    return {each.definition.raw["operationId"]: each for each in found}


OPERATIONS = described()
AIMS = ["by chance", "at what is there", "as the table has it"]
MODES = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]


def aimed(case: schemathesis.Case, rule: Rule, aim: str) -> None:
    """Let a case be about something that exists: by chance, no name would ever be a known one."""
    if aim == "by chance":
        return
    path, _, query = rule.path.partition("?")
    pattern = re.sub(r"{(\w+)}", r"(?P<\1>.+)", case.operation.path)
    known = re.fullmatch(pattern, f"/api/v1{path}")
    case.path_parameters |= known.groupdict() if known else {}
    case.query |= dict(parse_qsl(query))
    if isinstance(case.body, dict) and isinstance(rule.body, dict):
        wanted = rule.body if aim == AIMS[-1] else {"bank": rule.body.get("bank")}
        case.body |= {each: value for each, value in wanted.items() if value is not None}


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - ENDLESS))
def test_whatever_is_sent_the_answer_is_a_described_one(
    db: None, name: str, mode: schemathesis.GenerationMode
) -> None:
    world = builders.world()
    rule = scene_of(world).rules[name]
    token = token_of(world.admin)

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=OPERATIONS[name].as_strategy(mode), aim=st.sampled_from(AIMS))
    def answers(case: schemathesis.Case, aim: str) -> None:
        aimed(case, rule, aim)
        case.call_and_validate(headers={"Authorization": f"Bearer {token}"}, checks=CHECKS)

    answers()


def test_a_call_that_may_not_is_answered_as_described_too(db: None) -> None:
    world = builders.world()
    token = token_of(world.viewer, Scope.RULES_READ.value)
    for name in sorted(OPERATIONS.keys() - ENDLESS):

        @settings(max_examples=1, derandomize=True, database=None, deadline=None)
        @given(case=OPERATIONS[name].as_strategy())
        def answers(case: schemathesis.Case) -> None:
            for header in ({}, {"Authorization": f"Bearer {token}"}):
                case.call_and_validate(headers=header, checks=CHECKS)

        answers()
