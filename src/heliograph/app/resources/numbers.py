"""Numbers that phones write to, and the account that gets the messages to each of them."""

from collections.abc import Callable
from typing import Any

from heliograph.app.configuration import Exists, Missing
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch, account_id, connector_id
from heliograph.app.resources.fields import Field, Flag, Reference, Text, Whole
from heliograph.domain.numbers.number_rules import (
    MAX_KEYWORD_CHARS,
    InboundNumber,
    keyword_problem,
    normalise_number,
    normalise_word,
    number_problem,
)


async def find(desk: Desk) -> list[dict[str, Any]]:
    """Returns all numbers, sorted by number and keyword."""
    tables, accounts = await desk.store.network.tables(large=False), await desk.account_names()
    connectors = tables.connector_names() | {0: ""}
    return [
        {
            "id": each.id,
            "number": each.number,
            "keyword": each.keyword,
            "account": accounts.get(each.account, "?"),
            "connector": connectors.get(each.connector, "?"),
        }
        for each in tables.numbers
    ]


async def add(
    desk: Desk, number: str, account: str, keyword: str = "", connector: str = "", force: bool = False
) -> dict[str, Any]:
    """Gives an account the messages to a number. With a keyword, only messages that begin with it.

    Raises Invalid if the messages are another account's until now, unless `force` is given.
    """
    owner = await account_id(desk.store, account)
    by = await connector_id(desk.store, connector) if connector else 0
    texts = {"account": account, "keyword": keyword, "connector": connector}
    losers = await _losers(desk, InboundNumber(0, number, owner, keyword, by))
    if losers and not force:
        raise Invalid("number", f"its messages go to {', '.join(losers)} until now; give `force` to take them from it")
    if losers:
        texts["taken_from"] = ", ".join(losers)
    try:
        audited = desk.audited("number.add", number, texts)
        added = await audited.inbound.add_number(InboundNumber(0, number, owner, keyword, by))
    except Exists:
        raise AlreadyThere("number", f"{number} {keyword}".strip()) from None
    return {"id": added.id, "number": number, "account": account, "keyword": keyword, "connector": connector}


async def _losers(desk: Desk, new: InboundNumber) -> list[str]:
    """Returns other accounts with an entry that takes the messages of `new` until now, sorted by name."""
    tables, accounts = await desk.store.network.tables(large=False), await desk.account_names()
    return sorted(
        {
            accounts.get(each.account, "?")
            for each in tables.numbers
            if each.number == new.number
            and each.account != new.account
            and each.keyword in ("", new.keyword)
            and each.connector in (0, new.connector)
            and (each.keyword, each.connector) != (new.keyword, new.connector)
        }
    )


async def remove(desk: Desk, id: int) -> None:
    """Removes a number. The audit log keeps its values, so that a person can add it again."""
    gone = next((each for each in await find(desk) if each["id"] == id), None)
    if gone is None:
        raise NoSuch("number", str(id))
    was = {name: str(value) for name, value in gone.items() if name != "id"}
    try:
        await desk.audited("number.remove", str(id), was).inbound.remove_number(id)
    except Missing:
        raise NoSuch("number", str(id)) from None


def _reader(problem_of: Callable[[str], str | None], usual: Callable[[str], str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        problem = problem_of(text)
        if problem is not None:
            raise ValueError(problem)
        return usual(text)

    return read


_ID = Field("id", Whole(), "The number's key, as in the list.")
_NUMBER = Field(
    "number",
    Text(_reader(number_problem, normalise_number)),
    "The number as the operator writes it: 3 to 15 digits, or 3 to 11 letters and digits.",
    example="3388",
)
_KEYWORD = Field(
    "keyword",
    Text(_reader(keyword_problem, normalise_word)),
    f"The first word of the text, up to {MAX_KEYWORD_CHARS} characters, for example PIZZA; empty: any.",
    "",
    empty="(any)",
    example="pizza",
)
_ACCOUNT = Field("account", Reference("account"), "The account that gets the messages.")
_CONNECTOR = Field(
    "connector",
    Reference("connector", optional=True),
    "The connector that the messages come from; empty: any.",
    "",
    empty="(any)",
    example="op1",
)

NUMBERS = Resource(
    name="number",
    plural="numbers",
    summary="Numbers that phones write to, and their accounts",
    more="A number is the destination of the message from a phone, as the operator writes it. If several entries "
    "match, an entry with the connector goes before an entry for any connector. Then an entry with the keyword goes "
    "before an entry without a keyword. A message without a matching entry is kept *unrouted*, and can be given to an "
    "account later.",
    nothing="There is no number yet: all messages from phones are kept, unrouted. "
    "Add one: heliograph number add NUMBER --account NAME",
    key=("id",),
    called="number",
    link="/inbound?q={number}",
    fields=(_ID, _NUMBER, _KEYWORD, _ACCOUNT, _CONNECTOR),
    scopes=Scopes(Scope.READ_ROUTES, Scope.WRITE_ROUTES),
    operations=(
        Operation("list", "GET /numbers", find, "All numbers that phones write to", answers=Answer.EACH),
        Operation(
            "add",
            "POST /numbers",
            add,
            "Give an account the messages to a number",
            more="Refused if these messages go to another account now, unless `force` is given.",
            reads=(
                _NUMBER,
                _ACCOUNT,
                _KEYWORD,
                _CONNECTOR,
                Field("force", Flag(), "Whether messages are taken from another account.", False),
            ),
            answers=Answer.ITEM,
            status=201,
            conflicts=True,
            arguments=("number",),
            examples=(
                "number add 3388 --account acme",
                "number add 3388 --account pizzeria --keyword PIZZA --connector op1",
            ),
            done="Messages to {number} now go to {account} (number {id}).",
            label="Add",
        ),
        Operation(
            "remove",
            "DELETE /numbers/{id}",
            remove,
            "Remove a number",
            more="New messages to it are then kept, unrouted.",
            examples=("number remove 3",),
            done="Number {id} is removed. New messages to it are kept, unrouted.",
            label="Remove",
            confirm="Remove {number}? New messages to it are then kept, unrouted.",
        ),
    ),
)
