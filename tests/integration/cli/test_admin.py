"""`heliograph admin`: users, tokens, and the log of all that was changed."""

import pytest

from heliograph.app.records import TOKEN_SCOPES
from tests.integration.cli.test_commands import Run, answer, run

__all__ = ["run"]


def test_a_user_is_made_changed_and_removed(run: Run) -> None:
    made = answer(run("admin", "create", "ada", "--role", "admin", "--json"))
    assert len(made["password"]) >= 16
    assert [(user["name"], user["role"]) for user in answer(run("admin", "list", "--json"))["users"]] == [
        ("ada", "admin")
    ]
    assert answer(run("admin", "set-password", "ada", "--json"))["password"] != made["password"]
    assert answer(run("admin", "set-role", "ada", "viewer", "--json")) == {"name": "ada", "role": "viewer"}
    assert answer(run("admin", "remove", "ada", "--json")) == {"name": "ada", "removed": True}
    assert answer(run("admin", "list", "--json")) == {"users": []}
    assert "heliograph admin create" in run("admin", "list").stdout


def test_a_password_can_be_given_and_is_not_repeated(run: Run) -> None:
    result = run("admin", "create", "ada", "--role", "viewer", "--ask", input="correct horse\n")
    assert result.exit_code == 0
    assert "correct horse" not in result.output
    assert "ada may sign in as viewer" in result.stdout
    short = run("admin", "set-password", "ada", "--ask", input="short\n")
    assert short.exit_code == 1
    assert "10 to 128 characters" in short.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("create", "ada", "--role", "root"), "viewer, operator, admin"),
        (("remove", "eve"), "there is no admin user eve"),
        (("token", "revoke", "ffff"), "there is no token in use with the id ffff"),
        (("token", "create", "x"), "--all-scopes"),
        (("token", "create", "x", "--scope", "people:write"), "no such scope"),
    ],
)
def test_mistakes_are_told(run: Run, arguments: tuple[str, ...], told: str) -> None:
    result = run("admin", *arguments)
    assert result.exit_code == 1
    assert told in result.stderr


def test_a_token_is_made_listed_and_revoked(run: Run) -> None:
    made = answer(run("admin", "token", "create", "billing", "--scope", "accounts:read", "--json"))
    assert made["secret"].startswith("hat_")
    (listed,) = answer(run("admin", "token", "list", "--json"))["tokens"]
    assert (listed["id"], listed["name"], listed["scopes"]) == (made["id"], "billing", ["accounts:read"])
    assert "secret" not in listed
    answer(run("admin", "token", "revoke", made["id"], "--json"))
    assert answer(run("admin", "token", "list", "--json"))["tokens"][0]["revoked"]
    every = answer(run("admin", "token", "create", "backup", "--all-scopes", "--json"))
    assert every["scopes"] == [scope.value for scope in TOKEN_SCOPES]


def test_every_change_is_in_the_audit_log_and_no_secret_is(run: Run) -> None:
    steps = (
        ("account", "create", "acme", "--credit", "10", "--timezone", "Europe/Berlin"),
        ("account", "top-up", "acme", "5", "--note", "invoice 7"),
        ("account", "set", "acme", "rate=5"),
        ("account", "suspend", "acme"),
        ("account", "resume", "acme"),
        ("account", "new-password", "acme"),
        ("account", "new-signing-secret", "acme"),
        ("key", "create", "acme"),
        ("connector", "add", "op1", "--host", "h", "--port", "1", "--system-id", "s", "--password", "hidden-1"),
        ("connector", "set", "op1", "--password", "hidden-2", "window=5"),
        ("route", "add", "--prefix", "49", "--connector", "op1"),
        ("route", "remove", "1"),
        ("price", "set", "--prefix", "49", "--price", "0.05"),
        ("price", "remove", "--prefix", "49"),
        ("connector", "remove", "op1"),
        ("callbacks", "replay", "--all"),
        ("admin", "create", "ada", "--role", "admin"),
        ("admin", "token", "create", "billing", "--scope", "accounts:read"),
    )
    for step in steps:
        assert run(*step).exit_code == 0, step
    entries = answer(run("admin", "log", "--json"))["entries"]
    assert [entry["action"] for entry in reversed(entries)] == [
        "account.create", "account.top-up", "account.set", "account.suspend", "account.resume", "account.new-password",
        "account.new-signing-secret", "key.create", "connector.add", "connector.set", "route.add", "route.remove",
        "price.set", "price.remove", "connector.remove", "callback.replay", "admin.create", "token.create",
    ]  # fmt: skip
    assert all(entry["actor"].startswith("cli:") for entry in entries)
    top_up = entries[-2]["details"]
    assert top_up == {"amount": "5", "balance": "15", "note": "invoice 7"}
    assert "hidden" not in str(entries)
    assert "invoice 7" in run("admin", "log", "--action", "account.top-up").stdout
