"""The JSON Schemas: whole, explained, and in the words of the files."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from playbooks.language.json_schema import json_schemas

SCHEMAS = json_schemas()


def _objects(schema: object) -> Iterator[dict[str, Any]]:
    """Every schema within a schema."""
    if isinstance(schema, dict):
        yield schema
        for inner in schema.values():
            yield from _objects(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _objects(inner)


def test_there_is_one_for_each_file() -> None:
    assert list(SCHEMAS) == ["campaign", "playbook", "hypotheses"]
    assert {schema["$schema"] for schema in SCHEMAS.values()} == {
        "https://json-schema.org/draft/2020-12/schema"
    }


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_key_is_explained_and_no_other_is_allowed(name: str) -> None:
    mappings = [one for one in _objects(SCHEMAS[name]) if "properties" in one]
    assert mappings
    for mapping in mappings:
        assert mapping.get("additionalProperties") is False, mapping["title"]
        for key, said in mapping["properties"].items():
            assert said.get("title"), key
            assert said.get("description", "").endswith("."), key


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_reference_leads_somewhere(name: str) -> None:
    references = {one["$ref"] for one in _objects(SCHEMAS[name]) if "$ref" in one}
    assert references <= {f"#/$defs/{defined}" for defined in SCHEMAS[name].get("$defs", {})}


@pytest.mark.parametrize("name", SCHEMAS)
def test_defaults_are_what_a_file_would_say(name: str) -> None:
    for one in _objects(SCHEMAS[name]):
        if "pattern" in one and isinstance(one.get("default"), str | int | float):
            assert re.search(one["pattern"], one["default"]), one


def test_a_step_has_exactly_one_action() -> None:
    choices = SCHEMAS["playbook"]["properties"]["steps"]["items"]["oneOf"]
    actions = [SCHEMAS["playbook"]["$defs"][one["$ref"].rpartition("/")[2]] for one in choices]
    assert [one["required"] for one in actions] == [
        ["patch"],
        ["env"],
        ["restart"],
        ["reproduce"],
        ["collect"],
        ["compare"],
        ["command"],
        ["wait"],
        ["http"],
    ]


def test_durations_and_templates_need_no_yaml() -> None:
    code = (
        "import sys, playbooks.language.durations, playbooks.language.problems, "
        "playbooks.templates;"
        "sys.exit('yaml' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
