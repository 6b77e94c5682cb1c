"""Suppressions: phones that an account must not send to."""

from typing import Any, Final

from heliograph.app.configuration import Missing
from heliograph.app.records import AuditEntry, Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, NoSuch, account_id
from heliograph.app.resources.fields import Field, Flag, Many, Moment, Reference, Text, Whole
from heliograph.domain.message.suppression import Suppression, parse_number
from heliograph.domain.numbers import phone

BATCH: Final = 1_000
"""Numbers that are suppressed in a transaction."""

MOST_AT_ONCE: Final = 100_000
"""The most numbers of a request."""

PAGE: Final = 1_000

SOURCES: Final = {"cli": "command", "user": "console", "token": "api"}
"""The source of a suppression, by the kind of actor that made it."""


async def find(desk: Desk, account: str, number: str | None, after: str, limit: int) -> list[dict[str, Any]]:
    """Returns the suppressions after the number `after`, sorted by number; or only the suppression of `number`."""
    owner = await account_id(desk.store, account)
    if number is None:
        return [_row(account, each) for each in await desk.store.suppressions.page(owner, after, limit)]
    found = await desk.store.suppressions.find(owner, number)
    return [] if found is None else [_row(account, found)]


async def add(desk: Desk, account: str, numbers: list[str], imported: bool = False) -> dict[str, int]:
    """Suppresses the numbers, BATCH in a transaction. Messages that wait for them are cancelled and refunded.

    The audit log has counts, or a masked number such as `491*******78`, because it is kept longer than numbers may be.
    """
    owner = await account_id(desk.store, account)
    source = "import" if imported else SOURCES.get(desk.actor.partition(":")[0], "api")
    new = 0
    for start in range(0, len(numbers), BATCH):
        batch = numbers[start : start + BATCH]
        given = {"number": phone.mask(batch[0])} if len(batch) == 1 else {"numbers": str(len(batch))}

        def noted(added: int, given: dict[str, str] = given) -> AuditEntry:
            return desk.entry("suppression.add", account, {**given, "new": str(added), "source": source})

        new += await desk.store.noting(noted).suppressions.suppress(owner, batch, source, desk.now)
    return {"added": new, "known": len(numbers) - new}


async def remove(desk: Desk, account: str, number: str) -> None:
    """Removes a suppression, so that the account may send to the phone again."""
    owner = await account_id(desk.store, account)
    try:
        audited = desk.audited("suppression.remove", account, {"number": phone.mask(number)})
        await audited.suppressions.lift(owner, number)
    except Missing:
        raise NoSuch("suppression", f"of {number} in {account}") from None


def _row(account: str, found: Suppression) -> dict[str, Any]:
    return {"account": account, "number": found.number, "since": found.since, "source": found.source}


def _number(text: str) -> str:
    try:
        return parse_number(phone.number_of(text))
    except ValueError as problem:
        raise ValueError(f"{problem} It is {text[: phone.MAX_DIGITS + 5]!r}.") from None


_ACCOUNT = Field("account", Reference("account"), "The account.")
NUMBER = Field(
    "number",
    Text(_number),
    "The phone: 7 to 15 digits with country code, for example 491701234567.",
    example="491701234567",
)

SUPPRESSIONS = Resource(
    name="suppression",
    plural="suppressions",
    summary="Phones that an account must not send to",
    more="A phone that sends STOP to a number of the account is suppressed at once.",
    nothing="No suppressed phones were found.",
    key=("account", "number"),
    fields=(
        _ACCOUNT,
        NUMBER,
        Field("since", Moment(), "When it was suppressed."),
        Field(
            "source",
            Text(),
            "How it was added: `message` (a STOP), `api`, `console`, `command` or `import`.",
            example="message",
        ),
    ),
    scopes=Scopes(Scope.READ_MESSAGES, Scope.WRITE_MESSAGES),
    operations=(
        Operation(
            "list",
            "GET /accounts/{name:account}/suppressions",
            find,
            "Phones that an account must not send to, by number",
            reads=(Field("number", NUMBER.type, "Only this number.", None),),
            answers=Answer.EACH,
            page=PAGE,
            examples=(
                "suppression list --account acme",
                "suppression list --account acme --after 4917012345678 --limit 1000 --json",
            ),
            arguments=(),
        ),
        Operation(
            "add",
            "POST /accounts/{name:account}/suppressions",
            add,
            "Suppress phones; cancel and refund waiting messages",
            reads=(
                Field("numbers", Many(NUMBER, MOST_AT_ONCE), "The phones."),
                Field("imported", Flag(), "Whether the phones come from a list; their source is then `import`.", False),
            ),
            answers=(
                Field("added", Whole(), "Phones that are newly suppressed."),
                Field("known", Whole(), "Phones that were suppressed already, or are repeated in the request."),
            ),
            id="add_suppressions",
            read_name="NewSuppressions",
            answer_name="Suppressed",
            arguments=("numbers",),
            examples=("suppression add 4917012345678 447700900123 --account acme",),
            done="Suppressed for {account}: {added} new, {known} known already.",
        ),
        Operation(
            "remove",
            "DELETE /accounts/{name:account}/suppressions/{number}",
            remove,
            "Let an account send to a phone again",
            arguments=("number",),
            more="Do this only if the owner of the phone has agreed to get messages again.",
            examples=("suppression remove 4917012345678 --account acme",),
            done="{account} may send to {number} again.",
        ),
    ),
)
