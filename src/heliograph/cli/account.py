"""`heliograph account` and `heliograph key`: customers, their credit and their keys."""

from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import (
    Command,
    Group,
    Invocation,
    as_json,
    examples,
    format_moment,
    parse_pairs,
    print_fields,
    print_table,
)
from heliograph.domain.display import counted

if TYPE_CHECKING:
    from msgspec import Struct

    from heliograph.app.admin.manage import AccountDetails, Manage

_SHOWN_ONCE = "These secrets are shown only now. Keep them, or make new ones later."


@click.group(cls=Group)
def account() -> None:
    """Customers: who may send, and with how much credit."""


@account.command(
    "create",
    epilog=examples(
        "heliograph account create acme --credit 100",
        "heliograph account create acme --credit 25.50 --timezone Europe/Berlin --price 0.035",
        "heliograph account create acme --credit 100 --json | jq -r .api_key",
    ),
)
@click.argument("name")
@click.option("--credit", metavar="N", required=True, help="Opening credit, such as 100 or 25.5.")
@click.option("--timezone", metavar="TZ", help="IANA time zone of its times [UTC].")
@click.option(
    "--price", metavar="P", help="Credits a segment, everywhere: makes a price plan of its own [the default plan]."
)
@click.option("--plan", metavar="PLAN", help="The price plan that it shares with others [default].")
@click.option(
    "--list-interval", metavar="S", help="Seconds between two list queries; 0 is none [the gateway's setting]."
)
@click.option("--callback-url", metavar="URL", help="Where receipts go that name no dlr-url [nowhere].")
@click.option("--inbound-url", metavar="URL", help="Where messages from phones go [nowhere].")
@click.option("--inbound-reply", metavar="off|body", help="Whether what it answers is sent to the phone [off].")
@click.pass_obj
def create(invocation: Invocation, /, name: str, credit: str, price: str | None, **given: str | None) -> None:
    """Opens an account and shows its secrets.

    NAME is the user name: 1 to 64 letters, digits and . _ -
    The password is for /api/v2, the API key for /api/v1, the signing secret verifies receipts.
    """
    from heliograph.app.admin.fields import amount
    from heliograph.domain.money.amounts import format_credits

    settings = {field: text for field, text in given.items() if text is not None}
    made = invocation.manage(
        lambda manage: manage.create_account(
            name, amount("credit", credit), settings, None if price is None else amount("price", price)
        )
    )
    secrets = {
        "username": made.account.name,
        "password": made.password,
        "api_key": made.api_key,
        "signing_secret": made.signing_secret,
    }
    balance = format_credits(made.balance)
    rest = {"key_id": made.key_id, "balance": balance, "plan": made.account.plan, "timezone": made.account.timezone}

    def people() -> None:
        click.echo(f"The account {name} is open, with {counted(balance, 'credit')}.\n")
        print_fields(
            [
                ("user name", made.account.name),
                ("password", f"{made.password}   (/api/v2)"),
                ("API key", f"{made.api_key}   (/api/v1)"),
                ("signing secret", f"{made.signing_secret}   (receipts)"),
            ]
        )
        click.echo(f"\n{_SHOWN_ONCE}")

    invocation.show({**secrets, **rest}, people)


@account.command("list")
@click.pass_obj
def list_accounts(invocation: Invocation) -> None:
    """Every account with its balance."""
    from heliograph.admin_api import serialize
    from heliograph.domain.money.amounts import format_credits

    found = invocation.manage(lambda manage: manage.accounts())
    invocation.show(
        {"accounts": [_told(serialize.account(*each)) for each in found]},
        lambda: print_table(
            ("NAME", "BALANCE", "PLAN", "TIME ZONE", "STATE"),
            [
                (
                    each.name,
                    format_credits(balance),
                    each.plan,
                    each.timezone,
                    "suspended" if each.suspended else "active",
                )
                for each, balance in found
            ],
            empty="There is no account yet: heliograph account create NAME --credit N",
            right=("BALANCE",),
        ),
    )


@account.command("show")
@click.argument("name")
@click.pass_obj
def show(invocation: Invocation, name: str) -> None:
    """One account: its balance, settings and keys."""
    from heliograph.admin_api import serialize

    result = _told(serialize.account_with_keys(invocation.manage(lambda manage: manage.account(name))))

    def people() -> None:
        in_use = [each["id"] for each in result["keys"] if each["revoked"] is None]
        shown = [(field, _for_people(value)) for field, value in result.items() if field not in ("username", "keys")]
        print_fields([*shown, ("keys in use", ", ".join(in_use) or "none")])

    invocation.show(result, people)


@account.command(
    "top-up",
    # an amount below zero is no option
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "heliograph account top-up acme 250 --note 'invoice 2041'",
        "heliograph account top-up acme -12.5 --note correction",
    ),
)
@click.argument("name")
@click.argument("amount")
@click.option("--note", default="", help="What it is for; stands in the ledger.")
@click.pass_obj
def top_up(invocation: Invocation, name: str, amount: str, note: str) -> None:
    """Adds credit, or takes it back (below zero)."""
    from heliograph.app.admin import fields
    from heliograph.domain.money.amounts import format_credits

    balance = invocation.manage(lambda manage: manage.top_up(name, fields.amount("amount", amount), note))
    text = format_credits(balance)
    result = {"username": name, "amount": format_credits(fields.amount("amount", amount)), "balance": text}
    invocation.show(result, lambda: click.echo(f"The balance of {name} is now {counted(text, 'credit')}."))


@account.command("suspend")
@click.argument("name")
@click.pass_obj
def suspend(invocation: Invocation, name: str) -> None:
    """Refuses what the account sends, and holds what waits."""
    invocation.manage(lambda manage: manage.suspend(name, True))
    invocation.show({"username": name, "suspended": True}, lambda: click.echo(f"{name} is suspended."))


@account.command("resume")
@click.argument("name")
@click.pass_obj
def resume(invocation: Invocation, name: str) -> None:
    """Lets a suspended account send again."""
    invocation.manage(lambda manage: manage.suspend(name, False))
    invocation.show({"username": name, "suspended": False}, lambda: click.echo(f"{name} may send again."))


def _fields_help() -> str:
    from heliograph.app.admin.fields import ACCOUNT

    width = max(map(len, ACCOUNT))
    return "\b\nFields:\n" + "\n".join(f"  {name:{width}}  {each.expected}" for name, each in ACCOUNT.items())


class _SetCommand(Command):
    """A command whose help lists the fields, which are imported only then."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.epilog = f"{_fields_help()}\n\n" + examples(
            "heliograph account set acme timezone=Europe/Berlin callback_format=json",
            "heliograph account set acme senders=ACME,AcmeCorp networks=192.0.2.0/24",
            "heliograph account set acme callback_url=          # empty: none",
        )
        super().format_epilog(ctx, formatter)


@account.command("set", cls=_SetCommand)
@click.argument("name")
@click.argument("changes", metavar="KEY=VALUE...", nargs=-1, required=True)
@click.pass_obj
def set_fields(invocation: Invocation, name: str, changes: tuple[str, ...]) -> None:
    """Changes settings of an account, all or none."""
    from heliograph.admin_api import serialize

    texts = parse_pairs(changes)

    async def work(manage: "Manage") -> "AccountDetails":
        await manage.set_account(name, texts)
        return await manage.account(name)

    result = _told(serialize.account_with_keys(invocation.manage(work)))
    invocation.show(
        result, lambda: print_fields((field, _for_people(result[field])) for field in texts if field in result)
    )


@account.command("ledger")
@click.argument("name")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Entries at most.")
@click.option("--before", type=int, metavar="KEY", help="Only entries before this one (its `key`), for paging.")
@click.pass_obj
def ledger(invocation: Invocation, name: str, limit: int, before: int | None) -> None:
    """Every change of the balance, the newest first."""
    from heliograph.admin_api import serialize

    entries = invocation.manage(lambda manage: manage.ledger(name, limit, before))
    rows = [as_json(serialize.entry(each)) for each in entries]
    invocation.show(
        {"username": name, "entries": rows},
        lambda: print_table(
            ("TIME", "KIND", "AMOUNT", "NOTE", "KEY"),
            [
                (format_moment(each.at), row["kind"], row["amount"], row["note"], row["key"])
                for each, row in zip(entries, rows, strict=True)
            ],
            empty="The ledger is empty.",
            right=("AMOUNT",),
        ),
    )


@account.command("new-password")
@click.argument("name")
@click.pass_obj
def new_password(invocation: Invocation, name: str) -> None:
    """Replaces the password of /api/v2.

    The old one stops working within five seconds."""
    password = invocation.manage(lambda manage: manage.new_password(name))
    invocation.show(
        {"username": name, "password": password},
        lambda: click.echo(f"The new password of {name}: {password}\nIt is shown only now."),
    )


@account.command(
    "smpp-password",
    epilog=examples("heliograph account smpp-password acme", "heliograph account smpp-password acme --length 16"),
)
@click.argument("name")
@click.option("--length", metavar="N", type=int, default=8, show_default=True, help="Characters, 8 to 16.")
@click.pass_obj
def smpp_password(invocation: Invocation, name: str, length: int) -> None:
    """Replaces the password that SMPP clients bind with.

    Most clients take 8 characters at most: Kannel cuts a longer one without an error."""
    password = invocation.manage(lambda manage: manage.new_smpp_password(name, length))
    invocation.show(
        {"username": name, "smpp_password": password},
        lambda: click.echo(f"The new SMPP password of {name}: {password}\nIt is shown only now."),
    )


@account.command("new-signing-secret")
@click.argument("name")
@click.pass_obj
def new_signing_secret(invocation: Invocation, name: str) -> None:
    """Replaces the secret that signs receipts."""
    secret = invocation.manage(lambda manage: manage.new_signing_secret(name))
    invocation.show(
        {"username": name, "signing_secret": secret},
        lambda: click.echo(f"The new signing secret of {name}: {secret}\nIt is shown only now."),
    )


@click.group(cls=Group)
def key() -> None:
    """API keys of accounts.

    Several may be in use at once, so that they can be replaced in peace."""


@key.command(
    "create",
    epilog=examples(
        "heliograph key create acme",
        "heliograph key create acme --expires 90d",
        "heliograph key revoke acme 1f0c9a2b7e",
    ),
)
@click.argument("name")
@click.option("--expires", default="", metavar="WHEN", help="When it ends: 90d from now, a date, or ISO 8601.")
@click.pass_obj
def create_key(invocation: Invocation, name: str, expires: str) -> None:
    """Makes one more API key and shows it."""
    made = invocation.manage(lambda manage: manage.create_key(name, expires))
    invocation.show(
        {
            "username": name,
            "key_id": made.key_id,
            "api_key": made.api_key,
            "expires": format_moment(made.expires) or None,
        },
        lambda: click.echo(f"The new API key {made.key_id} of {name}: {made.api_key}\nIt is shown only now."),
    )


@key.command("list")
@click.argument("name")
@click.pass_obj
def list_keys(invocation: Invocation, name: str) -> None:
    """The keys of an account, by their ids."""
    from heliograph.admin_api import serialize

    keys = invocation.manage(lambda manage: manage.keys(name))
    invocation.show(
        {"username": name, "keys": [as_json(serialize.key(each)) for each in keys]},
        lambda: print_table(
            ("KEY ID", "CREATED", "EXPIRES", "LAST USED", "REVOKED"),
            [
                (
                    each.id,
                    format_moment(each.created),
                    format_moment(each.expires) or "never",
                    format_moment(each.used) or "never",
                    format_moment(each.revoked) or "in use",
                )
                for each in keys
            ],
            empty=f"There is no key yet: heliograph key create {name}",
        ),
    )


@key.command("revoke")
@click.argument("name")
@click.argument("key_id")
@click.pass_obj
def revoke_key(invocation: Invocation, name: str, key_id: str) -> None:
    """Makes a key useless within five seconds."""
    invocation.manage(lambda manage: manage.revoke_key(name, key_id))
    invocation.show(
        {"username": name, "key_id": key_id, "revoked": True},
        lambda: click.echo(f"The key {key_id} of {name} is revoked."),
    )


def _told(account: "Struct") -> dict[str, Any]:
    """Converts an account to the admin API's JSON, with the user name that goes with the password."""
    told = as_json(account)
    return {"username": told["name"], **told}


def _for_people(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value) or "any"
    if value is None:
        return "default"
    return f"{value:g}" if isinstance(value, float) else value
