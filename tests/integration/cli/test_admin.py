"""`heliograph admin`: users, tokens, and the log of all that was changed."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from heliograph.app.records import TOKEN_SCOPES
from tests.integration.cli.test_commands import Run, answer


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


def test_the_help_of_a_new_token_lists_the_scopes(run: Run) -> None:
    shown = run("admin", "token", "create", "--help").stdout
    assert all(scope.value in shown for scope in TOKEN_SCOPES)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("remove", "eve"), "There is no admin user eve"),
        (("token", "revoke", "ffff"), "There is no token in use with the id ffff"),
        (("token", "create", "x"), "--all-scopes"),
        (("token", "create", "x", "--scope", "people:write"), "no such scope"),
    ],
)
def test_mistakes_are_told(run: Run, arguments: tuple[str, ...], told: str) -> None:
    run("admin", "create", "ada", "--role", "admin")
    result = run("admin", *arguments)
    assert result.exit_code == 1
    assert told in result.stderr


def test_a_token_is_made_listed_and_revoked(run: Run) -> None:
    made = answer(run("admin", "token", "create", "billing", "--scope", "accounts:read", "--json"))
    assert made["secret"].startswith("hat_")
    (listed,) = answer(run("admin", "token", "list", "--json"))["tokens"]
    assert (listed["id"], listed["name"], listed["scopes"]) == (made["id"], "billing", ["accounts:read"])
    assert "secret" not in listed
    head, _, row = run("admin", "token", "list").stdout.splitlines()
    assert row[head.index("REVOKED") :].startswith("no ")
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
        ("admin", "create", "ada", "--role", "admin"),
        ("admin", "token", "create", "billing", "--scope", "accounts:read"),
    )
    for step in steps:
        assert run(*step).exit_code == 0, step
    entries = answer(run("admin", "log", "--json"))["entries"]
    assert [entry["action"] for entry in reversed(entries)] == [
        "account.create", "account.top-up", "account.set", "account.suspend", "account.resume", "account.new-password",
        "account.new-signing-secret", "key.create", "connector.add", "connector.set", "route.add", "route.remove",
        "price.set", "price.remove", "connector.remove", "admin.create", "token.create",
    ]  # fmt: skip
    assert all(entry["actor"].startswith("cli:") for entry in entries)
    top_up = entries[-2]["details"]
    assert len(top_up.pop("reference")) == 16
    assert top_up == {"amount": "5", "balance": "15", "note": "invoice 7"}
    assert "hidden" not in str(entries)
    gone = entries[2]
    assert gone["details"] == {
        "host": "h", "port": "1", "system_id": "s", "bind": "transceiver", "binds": "1", "window": "5", "rate": "0",
        "tls": "false", "state": "on", "max_day": "0", "max_month": "0",
    }  # fmt: skip
    assert entries[3]["details"] == {"plan": "default", "price": "0.05", "inbound": "0"}
    assert "invoice 7" in run("admin", "log", "--action", "account.top-up").stdout


def test_changes_for_all_numbers_say_so_in_the_audit_log(run: Run) -> None:
    run("connector", "add", "op1", "--host", "h", "--port", "1", "--system-id", "s", "--password", "p")
    for step in (
        ("route", "add", "--prefix", "", "--connector", "op1"),
        ("route", "remove", "1"),
        ("price", "set", "--prefix", "", "--price", "0.05"),
        ("price", "remove", "--prefix", ""),
        ("cost", "set", "--prefix", "", "--connector", "op1", "--submitted", "0.01"),
        ("cost", "remove", "--prefix", "", "--connector", "op1"),
    ):
        assert run(*step).exit_code == 0, step
    entries = answer(run("admin", "log", "--json"))["entries"][:6]
    named = {entry["action"]: (entry["target"], entry["details"].get("prefix")) for entry in entries}
    assert named == {
        "route.add": ("(all)", None), "route.remove": ("1", "(all)"),
        "price.set": ("(all)", None), "price.remove": ("(all)", None),
        "cost.set": ("(all)", None), "cost.remove": ("(all)", None),
    }  # fmt: skip


def test_who_and_what_was_removed_stays_in_the_audit_log(run: Run) -> None:
    key = answer(run("account", "create", "acme", "--credit", "0", "--json"))["key_id"]
    token = answer(run("admin", "token", "create", "billing", "--scope", "accounts:read", "--json"))["id"]
    run("admin", "create", "ada", "--role", "operator")
    run("admin", "set-role", "ada", "viewer")
    for step in (("key", "revoke", "acme", key), ("admin", "token", "revoke", token), ("admin", "remove", "ada")):
        assert run(*step).exit_code == 0
    user, revoked, key_gone, role = answer(run("admin", "log", "--json"))["entries"][:4]
    assert (role["details"], user["details"].pop("role")) == ({"role": "viewer", "was": "operator"}, "viewer")
    assert revoked["details"] | {"created": ""} == {"name": "billing", "scopes": "accounts:read", "created": ""}
    assert key_gone["details"] | {"created": ""} == {"key": key, "created": ""}
    assert all(entry["details"]["created"].endswith("Z") for entry in (user, revoked, key_gone))


def test_the_audit_log_is_proved_and_compared_with_a_head(run: Run, tmp_path: Path) -> None:
    run("account", "create", "acme", "--credit", "1")
    heads = tmp_path / "heads.jsonl"
    told = [run("audit", "--head").stdout for _ in range(2)]
    heads.write_text("".join(told))
    assert answer(run("audit", "--head", "--json"))["entries"] == 1
    run("account", "suspend", "acme")
    assert run("audit", "--log", "--against", str(heads)).stdout == "The audit log is unchanged.\n"
    assert run("audit", "--against", str(heads)).stdout == "The ledgers and the audit log are right.\n"
    heads.write_text("no head\n")
    assert "line 1 is not a head" in run("audit", "--against", str(heads)).stderr
    assert "cannot be combined with other options" in run("audit", "--head", "--log").stderr


def test_a_tampered_audit_log_is_named(run: Run, tmp_path: Path) -> None:
    for _ in range(2):
        run("price", "set", "--prefix", "49", "--price", "0.05")
    heads = tmp_path / "heads.jsonl"
    heads.write_text(run("audit", "--head").stdout)
    with closing(sqlite3.connect(tmp_path / "data" / "heliograph.db")) as db:
        db.executescript("DROP TRIGGER deed_stays; UPDATE deed SET actor = 'cli:eve' WHERE key = 2")
    result = run("audit", "--log", "--json")
    assert result.exit_code == 1
    (problem,) = json.loads(result.stdout)["problems"]
    assert problem == "Entry 2 of the audit log was changed: price.set by cli:eve."
    assert run("audit").exit_code == 1
    assert "Entry 2 of the audit log" in run("doctor").stdout


def test_heads_are_signed_with_the_secret_of_the_settings(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, heads = tmp_path / "audit.key", tmp_path / "heads.jsonl"
    run("account", "create", "acme", "--credit", "1")
    heads.write_text(run("audit", "--head").stdout)
    monkeypatch.setenv("HELIOGRAPH_AUDIT_KEY_FILE", str(secret))
    assert "audit.key_file: the file cannot be read" in run("audit", "--head").stderr
    secret.write_text("short\n")
    assert "has 5 octets" in run("audit", "--head").stderr
    secret.write_text("s" * 32 + "\n")
    assert "was not signed" in run("audit", "--log", "--against", str(heads)).stdout
    heads.write_text(run("audit", "--head").stdout)
    assert run("audit", "--log", "--against", str(heads)).exit_code == 0


def test_a_lost_second_factor_is_reset(run: Run) -> None:
    answer(run("admin", "create", "ada", "--role", "admin", "--json"))
    (user,) = answer(run("admin", "list", "--json"))["users"]
    assert user["second_factor"] is False
    result = run("admin", "reset-second-factor", "ada")
    assert result.exit_code == 1
    assert "There is no second factor of the admin user ada" in result.stderr
    assert "There is no admin user eve" in run("admin", "reset-second-factor", "eve").stderr
    path = next(Path.cwd().rglob("*.db"), None) or next(Path.cwd().rglob("*.sqlite*"))
    with closing(sqlite3.connect(path)) as store, store:
        store.execute("INSERT INTO admin_factor VALUES ('ada', 'f1', 'app', 'Phone', x'00', 1, 1, NULL)")
    assert answer(run("admin", "list", "--json"))["users"][0]["second_factor"] is True
    assert answer(run("admin", "reset-second-factor", "ada", "--json")) == {"name": "ada", "second_factor": False}
    assert answer(run("admin", "list", "--json"))["users"][0]["second_factor"] is False
