"""`heliograph refusals`: requests of customers that were answered with an error."""

import click

from heliograph.cli.command import Command, Invocation, as_json, examples, print_table, tell
from heliograph.domain.display import counted
from heliograph.domain.error import Reason


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph refusals",
        "heliograph refusals --account acme --reason credit --hours 2",
        "heliograph refusals --hours 336 --json",
    ),
)
@click.option("--account", metavar="NAME", default="", help="Only this account's.")
@click.option("--reason", type=click.Choice([each.value for each in Reason]), help="Only for this reason.")
@click.option("--hours", type=click.IntRange(1, 336), default=24, show_default=True, help="How far back.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="Requests at most.")
@click.pass_obj
def refusals(invocation: Invocation, account: str, reason: str | None, hours: int, limit: int) -> None:
    """Requests of customers that were refused, and why.

    The last 20 requests of each account and reason are kept, and the counts of 14 days. Wrong credentials are in
    neither, since nobody knows whose they are. A running gateway writes them down every five seconds."""
    from heliograph.admin_api.refusal_shapes import RefusalsShape
    from heliograph.admin_api.refusals import refusals as answer_of

    over = invocation.asked(
        lambda gateway: gateway.get(
            RefusalsShape, "refusals", account=account or None, reason=reason, hours=hours, limit=min(limit, 500)
        )
    )
    if over is None:
        answer = answer_of(invocation.refusals(lambda view: view.report(account, reason or "", hours, limit)))
    else:
        answer = over

    def people() -> None:
        if not answer.totals:
            tell(f"Nothing was refused in the last {counted(hours, 'hour')}.")
            return
        print_table(
            ("ACCOUNT", "REASON", "REQUESTS", "LAST"),
            [(each.account, each.reason, f"{each.requests:,}", _second(each.latest)) for each in answer.totals],
            empty="",
            right=("REQUESTS",),
        )
        tell(f"\nTotal in the last {counted(hours, 'hour')}: {counted(answer.requests, 'request')}. The last ones:\n")
        print_table(
            ("TIME", "ACCOUNT", "REASON", "REQUEST", "FIELD", "MESSAGE", "ADDRESS", "REQUEST ID"),
            [
                (
                    _second(each.time), each.account, each.reason, f"{each.method} {each.path}", each.field,
                    each.message, each.address, each.request_id,
                )
                for each in answer.latest
            ],
            empty="None is kept.",
        )  # fmt: skip

    invocation.show(as_json(answer), people)


def _second(moment: str) -> str:
    return moment[:19] + "Z"
