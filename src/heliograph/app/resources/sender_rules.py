"""Rules for sender IDs by country, such as a number instead of letters for India."""

from dataclasses import asdict
from typing import Any

from heliograph.app.configuration import Exists, Missing
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch
from heliograph.app.resources.fields import Choice, Field, Text, Whole
from heliograph.domain.numbers import phone
from heliograph.domain.numbers.country import COUNTRIES
from heliograph.domain.numbers.sender_rules import ACTIONS, ANY_KIND, KINDS, REPLACE, SenderRule


async def find(desk: Desk, country: str | None = None) -> list[dict[str, Any]]:
    """Returns the rules of a country, or all, by country."""
    rules = (await desk.store.network.tables(large=False)).sender_rules
    found = [each for each in rules if country in (None, each.country)]
    return [asdict(each) for each in sorted(found, key=lambda each: (each.country, each.id))]


async def add(desk: Desk, country: str, action: str, kind: str = ANY_KIND, value: str = "") -> dict[str, Any]:
    """Adds a rule. Raises Invalid, AlreadyThere."""
    if action == REPLACE:
        problem = "it must be a sender ID to send instead" if not value else phone.sender_problem(value, True)
        if problem:
            raise Invalid("value", problem)
    rule = SenderRule(0, country, kind, action, value)
    details = {"kind": kind, "action": action, "value": value}
    try:
        added = await desk.audited("sender-rule.add", country, details).sender_rules.add(rule)
    except Exists:
        raise AlreadyThere("sender rule", _called(asdict(rule))) from None
    return asdict(added)


async def remove(desk: Desk, id: int) -> None:
    """Removes a rule. Raises NoSuch."""
    gone = next((each for each in await find(desk) if each["id"] == id), None)
    details = {name: gone[name] for name in ("country", "kind", "action", "value")} if gone else {}
    try:
        await desk.audited("sender-rule.remove", str(id), details).sender_rules.remove(id)
    except Missing:
        raise NoSuch("sender rule", str(id)) from None


def _called(rule: dict[str, Any]) -> str:
    value = f" {rule['value']}" if rule["value"] else ""
    return f"{rule['action']}{value} for {rule['country']} and the kind {rule['kind']}"


def _read_country(text: str) -> str:
    if text.upper() not in COUNTRIES:
        raise ValueError(f"{text!r} is not a country; give two letters of ISO 3166-1, such as IN")
    return text.upper()


def _read_value(text: str) -> str:
    problem = text and phone.sender_problem(text.removesuffix("*") or "xxx", msisdn_allowed=True)
    if problem:
        raise ValueError(f"{text!r}: {problem}")
    return text


_COUNTRY = Field("country", Text(_read_country, "[A-Za-z]{2}"), "Country of the destination, ISO 3166-1.", example="IN")
_ACTION = Field("action", Choice(ACTIONS), "What is done with such a sender.", example="replace")
_RULE = (
    _COUNTRY,
    _ACTION,
    Field("kind", Choice(KINDS), "Senders with letters, short codes of up to 6 digits, numbers, or any.", ANY_KIND),
    Field(
        "value",
        Text(_read_value),
        "For replace the sender to send instead; else the senders of the rule, such as ACME or ACME*; empty: all.",
        "",
        example="60001",
        empty="(all)",
    ),
)

SENDER_RULES = Resource(
    name="sender-rule",
    plural="sender_rules",
    summary="Rules for sender IDs, by the country of the number",
    more="Some countries do not deliver messages with letters as the sender, or only registered ones. A rule allows, "
    "replaces or refuses senders of a kind for a country. The most specific rule decides: a sender before a pattern, a "
    "kind before any kind; then allow before replace before refuse.\n\n"
    "A refused request gets 403 before any charge. A replaced sender is shown in the answer, in quotes and in "
    "`route explain`. A running gateway applies a change within five seconds.",
    nothing="There is no rule: senders are sent as they are. "
    "Add one: heliograph sender-rule add --country CC --kind alpha",
    key=("id",),
    called="country",
    fields=(Field("id", Whole(), "The rule's key, as in the list."), *_RULE),
    scopes=Scopes(Scope.READ_ROUTES, Scope.WRITE_ROUTES),
    path="/sender-rules",
    title="Sender rules",
    answer_name="SenderRule",
    operations=(
        Operation(
            "list",
            "GET /sender-rules",
            find,
            "Rules of a country, or all",
            reads=(Field("country", Text(str.upper), "Only rules of this country, such as IN.", None),),
            answers=Answer.EACH,
            answer_name="SenderRules",
            examples=("sender-rule list", "sender-rule list --country IN"),
        ),
        Operation(
            "add",
            "POST /sender-rules",
            add,
            "Add a rule",
            reads=_RULE,
            answers=Answer.ITEM,
            status=201,
            conflicts=True,
            id="add_sender_rule",
            read_name="NewSenderRule",
            examples=(
                "sender-rule add --country IN --kind alpha --action replace --value 60001",
                "sender-rule add --country US --kind alpha --action refuse",
                "sender-rule add --country US --kind alpha --action allow --value 'ACME*'",
            ),
            done=lambda _, answer: f"Rule {answer['id']}: {_called(dict(answer))}.",
            label="Add",
        ),
        Operation(
            "remove",
            "DELETE /sender-rules/{id}",
            remove,
            "Remove a rule",
            id="remove_sender_rule",
            examples=("sender-rule remove 3",),
            done="Rule {id} is removed.",
            label="Remove",
            confirm="Remove the rule {action} for {country}?",
        ),
    ),
)
