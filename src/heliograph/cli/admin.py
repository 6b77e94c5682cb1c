"""`heliograph admin`: who may sign in to the console, and the tokens of the admin API."""

import sys

import click

from heliograph.cli.command import Failure, Group, Invocation, as_json, examples, format_moment, print_table


@click.group(cls=Group)
def admin() -> None:
    """Who may look after the gateway, and what they did.

    Users of the console, tokens of the admin API, and the audit log."""


@admin.command(
    "create",
    epilog=examples(
        "heliograph admin create ada --role admin",
        "heliograph admin create nils --role viewer --ask",
    ),
)
@click.argument("name")
@click.option("--role", required=True, metavar="ROLE", help="viewer, operator or admin.")
@click.option("--ask", is_flag=True, help="Ask for the password instead of making one up.")
@click.pass_obj
def create(invocation: Invocation, name: str, role: str, ask: bool) -> None:
    """Lets somebody sign in to the console at /console.

    A viewer looks; an operator also sends, cancels, replays callbacks, pauses connectors; an admin changes everything.
    """
    given = _ask() if ask else None
    password = invocation.users(lambda users: users.create(name, role, given))
    _show_password(invocation, f"{name} may sign in as {role}.", name, password, given is None)


@admin.command("list")
@click.pass_obj
def list_users(invocation: Invocation) -> None:
    """Every user of the console."""
    users = invocation.users(lambda users: users.everyone())
    rows = [
        {
            "name": user.name,
            "role": user.role.value,
            "created": format_moment(user.created),
            "second_factor": user.second_factor,
        }
        for user in users
    ]
    invocation.show(
        {"users": rows},
        lambda: print_table(
            ("NAME", "ROLE", "CREATED", "SECOND FACTOR"),
            [(*list(row.values())[:3], "yes" if row["second_factor"] else "no") for row in rows],
            empty="Nobody can sign in yet: heliograph admin create NAME --role admin",
        ),
    )


@admin.command("set-password")
@click.argument("name")
@click.option("--ask", is_flag=True, help="Ask for the password instead of making one up.")
@click.pass_obj
def set_password(invocation: Invocation, name: str, ask: bool) -> None:
    """Replaces a password and ends all sessions."""
    given = _ask() if ask else None
    password = invocation.users(lambda users: users.set_password(name, given))
    _show_password(invocation, f"{name} has a new password.", name, password, given is None)


@admin.command("set-role")
@click.argument("name")
@click.argument("role")
@click.pass_obj
def set_role(invocation: Invocation, name: str, role: str) -> None:
    """Changes what somebody may do; ends all sessions."""
    invocation.users(lambda users: users.set_role(name, role))
    invocation.show({"name": name, "role": role}, lambda: click.echo(f"{name} is {role} now."))


@admin.command("remove")
@click.argument("name")
@click.pass_obj
def remove(invocation: Invocation, name: str) -> None:
    """Takes somebody's access away."""
    invocation.users(lambda users: users.remove(name))
    invocation.show({"name": name, "removed": True}, lambda: click.echo(f"{name} can no longer sign in."))


@admin.command("reset-second-factor")
@click.argument("name")
@click.pass_obj
def reset_second_factor(invocation: Invocation, name: str) -> None:
    """Removes lost second factors; ends all sessions."""
    invocation.users(lambda users: users.reset_second_factor(name))
    invocation.show(
        {"name": name, "second_factor": False}, lambda: click.echo(f"{name} signs in with the password alone now.")
    )


@admin.command("log")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Lines at most.")
@click.option("--actor", default="", metavar="WHO", help="Only what this one did, such as user:ada.")
@click.option("--action", default="", metavar="WHAT", help="Only actions that begin so, such as account.")
@click.option("--target", default="", metavar="NAME", help="Only what was done to this one.")
@click.pass_obj
def log(invocation: Invocation, limit: int, actor: str, action: str, target: str) -> None:
    """The audit log: who changed what, the newest first."""
    from heliograph.admin_api import serialize
    from heliograph.app.records import AuditQuery

    query = AuditQuery(limit, None, actor, action, target)
    entries = invocation.manage(lambda manage: manage.audit_log(query))
    invocation.show(
        {"entries": [as_json(serialize.audit_entry(entry)) for entry in entries]},
        lambda: print_table(
            ("TIME", "WHO", "WHAT", "TARGET", "DETAILS"),
            [
                (
                    format_moment(entry.at),
                    entry.actor,
                    entry.action,
                    entry.target,
                    ", ".join(f"{name}={value}" for name, value in entry.details.items()),
                )
                for entry in entries
            ],
            empty="Nothing was changed yet.",
        ),
    )


@admin.group(cls=Group)
def token() -> None:
    """Tokens of the admin API, each with scopes."""


@token.command(
    "create",
    epilog=examples(
        "heliograph admin token create billing --scope accounts:read --scope topups:write",
        "heliograph admin token create backup --all-scopes --expires 365d --json | jq -r .secret",
    ),
)
@click.argument("name")
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE", help="What it may do. Repeatable.")
@click.option("--all-scopes", is_flag=True, help="Everything that a token may do.")
@click.option("--expires", default="", metavar="WHEN", help="When it ends: 90d from now, a date, or ISO 8601.")
@click.pass_obj
def create_token(invocation: Invocation, name: str, scopes: tuple[str, ...], all_scopes: bool, expires: str) -> None:
    """Makes a token and shows it. NAME is for people."""
    from heliograph.admin_api import serialize
    from heliograph.app.records import TOKEN_SCOPES

    if all_scopes == bool(scopes):
        raise Failure(
            "Say what the token may do: --scope, or --all-scopes.", f"There are {', '.join(TOKEN_SCOPES)}.",
            invocation.typed(f"admin token create {name} --scope accounts:read"),
        )  # fmt: skip
    made = invocation.users(lambda users: users.create_token(name, TOKEN_SCOPES if all_scopes else scopes, expires))
    invocation.show(
        {**serialize.token(made.token), "secret": made.secret},
        lambda: click.echo(f"The token {made.token.id} ({name}): {made.secret}\nIt is shown only now."),
    )


@token.command("list")
@click.pass_obj
def list_tokens(invocation: Invocation) -> None:
    """Every token, by its id."""
    from heliograph.admin_api import serialize

    found = invocation.users(lambda users: users.tokens())
    invocation.show(
        {"tokens": [serialize.token(each) for each in found]},
        lambda: print_table(
            ("ID", "NAME", "SCOPES", "CREATED", "EXPIRES", "LAST USED", "REVOKED"),
            [
                (each.id, each.name, " ".join(each.scopes), format_moment(each.created),
                 format_moment(each.expires) or "never", format_moment(each.used) or "never",
                 format_moment(each.revoked) or "in use")
                for each in found
            ],
            empty="There is no token yet: heliograph admin token create NAME --scope accounts:read",
        ),
    )  # fmt: skip


@token.command("revoke")
@click.argument("token_id")
@click.pass_obj
def revoke_token(invocation: Invocation, token_id: str) -> None:
    """Makes a token useless at once."""
    invocation.users(lambda users: users.revoke_token(token_id))
    invocation.show({"id": token_id, "revoked": True}, lambda: click.echo(f"The token {token_id} is revoked."))


def _ask() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return password


def _show_password(invocation: Invocation, done: str, name: str, password: str, made_up: bool) -> None:
    """A password that somebody chose is not repeated."""
    told = {"password": password} if made_up else {}
    invocation.show(
        {"name": name, **told},
        lambda: click.echo(f"{done}\nPassword: {password}\nIt is shown only now." if made_up else done),
    )
