"""Values for the fields of any resource, out of its own examples."""

from collections.abc import Iterable
from typing import Any

from heliograph.app.resources.description import Operation, Resource
from heliograph.app.resources.fields import REQUIRED, Field, Many, Reference

NAMES = {"account": "acme", "connector": "operator"}
"""Things that others may name."""


def sample(field: Field) -> Any:
    """The JSON value of a field's example."""
    match field.type:
        case Many():
            return [sample(field.type.of)]
        case Reference():
            return NAMES[field.type.to]
    assert field.example, f"the field {field.name} needs an example"
    return field.parse(field.example)


def sample_of(resource: Resource, operation: Operation) -> dict[str, Any]:
    """The required JSON values, and values with an example."""
    fields = resource.fields_of(operation)
    return {each.name: sample(each) for each in fields if each.default is REQUIRED or each.example}


def with_operations(resources: Iterable[Resource], *names: str) -> list[Resource]:
    """Returns the resources that have operations of all these names."""
    return [each for each in resources if set(names) <= {operation.name for operation in each.operations}]


def key_of(resource: Resource, operation: Operation, row: dict[str, Any]) -> dict[str, Any]:
    """The values of a row by which an operation finds it."""
    return {name: row[name] for name in operation.in_path}
