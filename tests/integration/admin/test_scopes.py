"""What each scope of a token reaches: every operation by every scope, and the fields that take one of their own."""

from typing import Any

import pytest

from heliograph.admin_api.operation import AdminOperation
from heliograph.admin_api.operations import operations
from heliograph.app.records import TOKEN_SCOPES, Scope
from heliograph.composition.connectors import KINDS
from tests.support.admin import AdminHouse, open_house

OPERATIONS = operations(KINDS)
NO_MESSAGE = "019e2b1c5f3a70008c1de1f5a0b7c3d2"

GIVEN: dict[str, Any] = {
    "retain_text_days": 1, "retain_number_days": 1, "retain_days": 1,
    "plan": "cheap", "credit_limit": "5", "list_interval": 1, "rate": 5, "networks": ["192.0.2.0/24"],
    "senders": ["ACME"], "credit": "1000000", "price": "0.000001", "request_rate": 5, "request_burst": 9,
    "daily_messages": 1000, "daily_spend": "12.5", "max_waiting": 50, "prefixes": ["49", "43"], "guard": "hold",
    "smpp_binds": 2, "smpp_window": 50,
    "timezone": "Asia/Tokyo", "callback_url": "https://example.com/dlr", "inbound_url": "https://example.com/in",
    "inbound_reply": "body", "stop_text": "Stopped.", "help_text": "Send STOP.", "trust": True,
    "account": "acme",
}  # fmt: skip
"""A value for each field that takes a scope of its own."""

NAMED = {"/accounts": {"name": "new"}, "/guard/release": {"account": "acme"}}
"""Fields that operations on more than the account in the path require."""


@pytest.fixture
async def house() -> AdminHouse:
    return await open_house()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: f"{each.method} {each.path}")
async def test_one_scope_reaches_its_operations_alone(house: AdminHouse, operation: AdminOperation) -> None:
    path = (
        operation.path.replace("{name}", "acme")
        .replace("{id}", NO_MESSAGE)
        .replace("{number}", "491701234567")
        .replace("{sender}", "X")
    )
    for scope in TOKEN_SCOPES:
        answered = await house.ask(await house.token(scope), operation.method, path, {})
        if scope is operation.scope:
            assert answered.status not in (401, 403, 500), scope
        else:
            assert answered.status == 403, scope
            assert operation.scope.value in answered.json["Message"]


@pytest.mark.parametrize(
    ("operation", "name"),
    [(operation, name) for operation in OPERATIONS for name in operation.scopes],
    ids=lambda each: each if isinstance(each, str) else f"{each.method} {each.path}",
)
async def test_a_field_takes_its_scope_beside_that_of_its_operation(
    house: AdminHouse, operation: AdminOperation, name: str
) -> None:
    assert set(GIVEN) >= set(operation.scopes)
    scope, path = operation.scopes[name], operation.path.replace("{name}", "acme")
    body = {name: GIVEN[name], **NAMED.get(operation.path, {})}
    others = [each for each in TOKEN_SCOPES if each is not scope]
    refused = await house.ask(await house.token(*others), operation.method, path, body)
    assert (refused.status, refused.json["Field"]) == (403, name)
    assert scope.value in refused.json["Message"]
    assert await house.gateway.store.accounts.find("new") is None
    alone = await house.ask(await house.token(scope), operation.method, path, body)
    assert alone.status == 403
    both = await house.ask(await house.token(operation.scope, scope), operation.method, path, body)
    assert both.status == operation.status


async def test_opening_an_account_without_credit_takes_one_scope(house: AdminHouse) -> None:
    token = await house.token(Scope.WRITE_ACCOUNTS)
    opened = await house.ask(token, "POST", "/accounts", {"name": "new", "credit": "0", "timezone": "Europe/Berlin"})
    assert opened.status == 201
    changes = {"callback_format": "json", "suspended": True}
    assert (await house.ask(token, "PATCH", "/accounts/new", changes)).status == 200
