"""What each scope of a token reaches, as people decided it."""

from heliograph.admin_api.operations import operations
from heliograph.app.configuration import ACCOUNT_FIELDS
from heliograph.app.records import TOKEN_SCOPES
from heliograph.app.resources.account_settings import SETTINGS
from heliograph.composition.connectors import KINDS

REACH = {
    "accounts:read": """GET /accounts, GET /accounts/{name}, GET /accounts/{name}/ledger, GET /accounts/{name}/usage,
        GET /accounts/{name}/keys, GET /senders, GET /binds""",
    "accounts:write": "POST /accounts, PATCH /accounts/{name}, DELETE /binds/{id}",
    "keys:write": """POST /accounts/{name}/password, POST /accounts/{name}/smpp-password,
        POST /accounts/{name}/signing-secret, POST /accounts/{name}/keys,
        DELETE /accounts/{name}/keys/{id}""",
    "topups:write": "POST /accounts/{name}/top-ups",
    "credit:write": "",
    "limits:write": "PUT /accounts/{name}/senders, DELETE /accounts/{name}/senders/{sender}, POST /guard/trust",
    "texts:write": "",
    "connectors:read": "GET /connectors, GET /connectors/{name}, GET /nodes, GET /nodes/{node}",
    "connectors:operate": """POST /connectors/{name}/pause, POST /connectors/{name}/drain,
        POST /connectors/{name}/resume, POST /connectors/{name}/test""",
    "connectors:write": "POST /connectors, PATCH /connectors/{name}, DELETE /connectors/{name}",
    "routes:read": """GET /routes, GET /templates, GET /templates/{name}, POST /template-check, GET /numbers,
        GET /decision, GET /coverage, GET /networks, GET /sender-rules""",
    "routes:write": """POST /routes, DELETE /routes/{id}, POST /templates, PUT /templates, PATCH /templates/{name},
        DELETE /templates/{name}, POST /numbers, DELETE /numbers/{id},
        POST /routes/import, PUT /networks/{prefix}, POST /networks/import, DELETE /networks/{prefix},
        POST /sender-rules, DELETE /sender-rules/{id}""",
    "prices:read": "GET /prices, GET /costs, GET /plans, GET /plans/{name}, GET /reports/margin",
    "prices:write": """PUT /prices, POST /prices/import, DELETE /prices, PUT /costs, POST /costs/import, DELETE /costs,
        PATCH /plans/{name}, DELETE /plans/{name}""",
    "messages:read": """GET /overview, GET /attention, GET /accounts/{name}/suppressions, GET /inbound,
        GET /inbound/{id}, GET /messages, GET /messages/export, GET /messages/{id}, GET /refusals, GET /guard,
        GET /queue, GET /queue/messages, GET /sending-lists, GET /sending-lists/{id}""",
    "messages:write": """POST /accounts/{name}/suppressions, DELETE /accounts/{name}/suppressions/{number},
        POST /guard/release, POST /guard/refund,
        POST /queue/move, POST /queue/hold, POST /queue/release, POST /queue/cancel,
        POST /sending-lists/{id}/pause, POST /sending-lists/{id}/resume, POST /sending-lists/{id}/cancel,
        POST /inbound/{id}/route, POST /messages/{id}/cancel, POST /messages/{id}/reschedule""",
    "reports:read": "GET /reports",
    "recipients:erase": "POST /recipients/erase",
    "recipients:export": "POST /recipients/export",
    "callbacks:read": "GET /callbacks, GET /callbacks/hosts",
    "callbacks:write": """POST /inbound/{id}/replay-callback, POST /messages/{id}/replay-callback,
        POST /callbacks/replay, POST /callbacks/drop""",
    "audit:read": "GET /audit, GET /audit/head",
}
"""What a token with one scope alone may ask. An operation that is added is added here, by who may use it."""

OWN_SCOPES = {
    "credit": "topups:write", "credit_limit": "credit:write", "price": "prices:write", "plan": "prices:write",
    "request_rate": "limits:write", "request_burst": "limits:write", "daily_messages": "limits:write",
    "daily_spend": "limits:write", "max_waiting": "limits:write", "prefixes": "limits:write", "guard": "limits:write",
    "rate": "limits:write", "list_interval": "limits:write", "networks": "limits:write", "senders": "limits:write",
    "smpp_binds": "limits:write", "smpp_window": "limits:write",
    "callback_url": "texts:write", "inbound_url": "texts:write", "inbound_reply": "texts:write",
    "stop_text": "texts:write", "help_text": "texts:write",
}  # fmt: skip
"""Fields of an account that take a scope beside `accounts:write`."""


def test_every_operation_is_reached_by_the_scope_that_the_table_says() -> None:
    reached: dict[str, set[str]] = {scope.value: set() for scope in TOKEN_SCOPES}
    for operation in operations(KINDS):
        reached[operation.scope.value].add(f"{operation.method} {operation.path}")
    wanted = {scope: {" ".join(each.split()) for each in text.split(",")} - {""} for scope, text in REACH.items()}
    assert reached == wanted


def test_every_field_of_an_account_has_its_scope() -> None:
    scopes = {each.id: {name: scope.value for name, scope in each.scopes.items()} for each in operations(KINDS)}
    assert scopes["open_account"] == OWN_SCOPES
    changing = {name: scope for name, scope in OWN_SCOPES.items() if name not in ("credit", "price")}
    later = {"timezone": "limits:write"}
    later |= dict.fromkeys(("retain_text_days", "retain_number_days", "retain_days"), "recipients:erase")
    assert scopes["set_account"] == changing | later
    settings = {each.name for each in SETTINGS if each.name != "country" and not each.name.startswith("smpp_")}
    assert settings == set(ACCOUNT_FIELDS) - {"password_hash", "signing_secret", "smpp", "smpp_system_id"}
