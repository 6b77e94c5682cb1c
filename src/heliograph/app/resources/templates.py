"""Templates: texts that are registered with operators, for example in India's DLT registry."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from heliograph.app.configuration import Exists, MessageTemplate, Missing
from heliograph.app.records import AuditEntry, Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import (
    AlreadyThere,
    Desk,
    Invalid,
    NoSuch,
    account_id,
    check_name,
    repeated_if_outdated,
)
from heliograph.app.resources.fields import KEEP, Field, Flag, Item, Pairs, Reference, Rows, Text, Whole
from heliograph.app.sending.templates import nearest_template, registered
from heliograph.domain.limits.defaults import MAX_SEGMENTS_CEILING
from heliograph.domain.message.tlv_rules import MAX_TLVS, MAX_VALUE_OCTETS
from heliograph.domain.numbers import phone
from heliograph.domain.text.template import TemplatePattern, UnfitTemplate

MOST_AT_ONCE: Final = 10_000
"""The most templates of a request."""

MOST_CHECKED_CHARS: Final = 160 * MAX_SEGMENTS_CEILING
"""Characters of a text to compare. No message has more, and 8 MB would stop the event loop for seconds."""

_TLV_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}|0x[0-9a-f]{1,4}|[1-9][0-9]{0,4}").fullmatch


async def find(desk: Desk, account: str | None = None, sender: str | None = None) -> list[dict[str, Any]]:
    """Returns the templates that messages of the account and the sender may fit, sorted by name."""
    owner = None if account is None else await account_id(desk.store, account)
    names = await desk.account_names()
    return [
        _row(each, names)
        for each in await _all(desk)
        if owner in (None, each.account) or not each.account
        if sender in (None, each.sender) or not each.sender
    ]


async def show(desk: Desk, name: str) -> dict[str, Any]:
    return _row(_named(await _all(desk), name), await desk.account_names())


async def add(desk: Desk, name: str, **values: Any) -> dict[str, Any]:
    row = {"name": name, **values}
    template = await _template(desk, 0, row)
    try:
        await desk.audited("template.add", name, _details(row)).templates.add(template)
    except Exists:
        raise AlreadyThere("template", name) from None
    return row


async def put(desk: Desk, templates: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Adds templates, or replaces templates with equal names; all or none."""
    owners = {name: number for number, name in (await desk.account_names()).items()} | {"": 0}
    wanted: dict[str, MessageTemplate] = {}
    for row in templates:
        name, account = row["name"], row["account"]
        if account not in owners:
            raise Invalid("templates", f"template {name}: account: there is no account {account}")
        if name in wanted:
            raise Invalid("templates", f"template {name}: name: {name} occurs twice")
        wanted[name] = MessageTemplate(0, name, row["text"], row["sender"], owners[account], dict(row["tlvs"]))

    def noted(new: int) -> AuditEntry:
        return desk.entry("template.import", "", {"new": str(new), "changed": str(len(wanted) - new)})

    new = await desk.store.noting(noted).templates.put(list(wanted.values()))
    return {"added": new, "changed": len(wanted) - new}


@repeated_if_outdated
async def change(desk: Desk, name: str, tlvs: Mapping[str, str] | None = None, **values: str) -> dict[str, Any]:
    """Changes the given values. A TLV with an empty value is removed; TLVs that are left out stay."""
    tables = await desk.store.network.tables(large=False)
    known = _named(tables.templates, name)
    if known.is_damaged and tlvs is None:
        raise Invalid("tlvs", "give them again: the template's stored TLVs cannot be read")
    was = _row(known, await desk.account_names())
    merged = {key: value for key, value in {**was["tlvs"], **(tlvs or {})}.items() if value}
    row = {**was, **values, "tlvs": _TLVS.read(merged)}
    template = await _template(desk, known.id, row)
    try:
        await desk.audited("template.set", name, _details(row), since=tables.revision).templates.update(template)
    except Missing:
        raise NoSuch("template", name) from None
    return row


async def remove(desk: Desk, name: str) -> None:
    """Removes a template. The audit log keeps its values, so that a person can add it again."""
    was = await show(desk, name)
    try:
        await desk.audited("template.remove", name, _details(was)).templates.remove(name)
    except Missing:
        raise NoSuch("template", name) from None


async def check(desk: Desk, sender: str, text: str, account: str = "") -> dict[str, Any]:
    """Compares a text with the templates for the sender, of an account or of all accounts.

    Templates that name an account go first, then templates that name a sender. Raises Invalid.
    """
    if len(text) > MOST_CHECKED_CHARS:
        problem = f"it has {len(text):,} characters; the longest message has {MOST_CHECKED_CHARS:,}"
        raise Invalid("text", problem)
    owner = await account_id(desk.store, account) if account else None
    templates = [
        each for each in await _all(desk) if each.sender in ("", sender) if owner is None or each.account in (0, owner)
    ]
    templates.sort(key=lambda each: (not each.account, not each.sender))
    found = registered(templates)
    if not found:
        return {"fits": False, "template": None, "problem": f"There is no template for the sender {sender}."}
    template, departure = nearest_template(found, text)
    return {
        "fits": departure is None,
        "template": _row(template, await desk.account_names()),
        "problem": "" if departure is None else f"It differs: {departure}.",
    }


async def _all(desk: Desk) -> list[MessageTemplate]:
    return (await desk.store.network.tables(large=False)).templates


def _named(templates: Sequence[MessageTemplate], name: str) -> MessageTemplate:
    """Raises NoSuch."""
    for each in templates:
        if each.name == name:
            return each
    raise NoSuch("template", name)


async def _template(desk: Desk, key: int, row: Mapping[str, Any]) -> MessageTemplate:
    owner = await account_id(desk.store, row["account"]) if row["account"] else 0
    return MessageTemplate(key, row["name"], row["text"], row["sender"], owner, dict(row["tlvs"]))


def _row(template: MessageTemplate, accounts: Mapping[int, str]) -> dict[str, Any]:
    return {
        "name": template.name,
        "text": template.text,
        "sender": template.sender,
        "account": accounts.get(template.account, "?") if template.account else "",
        "tlvs": dict(template.tlvs),
    }


def _details(row: Mapping[str, Any]) -> dict[str, str]:
    """Returns the details of a template for the audit log. The text is a template, not a message of a customer."""
    details = {"text": row["text"], "sender": row["sender"], "account": row["account"], "tlvs": _TLVS.text(row["tlvs"])}
    return {name: value for name, value in details.items() if value}


def _read_name(text: str) -> str:
    try:
        return check_name("name", text)
    except Invalid as problem:
        raise ValueError(problem.problem) from None


def _read_text(text: str) -> str:
    try:
        TemplatePattern(text)
    except UnfitTemplate as problem:
        raise ValueError(str(problem)) from None
    return text


def _read_sender(text: str) -> str:
    if text and (wrong := phone.sender_problem(text, msisdn_allowed=True)) is not None:
        raise ValueError(wrong)
    return text


def _read_tlvs(tlvs: Mapping[str, str]) -> dict[str, str]:
    if len(tlvs) > MAX_TLVS:
        raise ValueError(f"there are {len(tlvs)}; a message may have at most {MAX_TLVS}")
    for name, value in tlvs.items():
        if _TLV_NAME(name) is None:
            raise ValueError(f"{name!r} is not a name or number of a TLV, such as entity or 0x1400")
        if not value or len(value) >= MAX_VALUE_OCTETS or not (value.isascii() and value.isprintable()):
            raise ValueError(f"the value of {name} must be 1 to {MAX_VALUE_OCTETS - 1} printable ASCII characters")
    return dict(tlvs)


def _verdict(_: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    if answer["template"] is None:
        return str(answer["problem"])
    name = answer["template"]["name"]
    return (
        f"It fits the template {name}."
        if answer["fits"]
        else f"It fits no template. The nearest is {name}. {answer['problem']}"
    )


_NAME = Field(
    "name", Text(_read_name, pattern="[A-Za-z0-9._-]{1,64}"), "Letters A-Z, a-z, digits and . _ -", example="otp"
)
_TEXT = Field(
    "text",
    Text(_read_text, is_long=True),
    "The registered text, with variables such as `{#var#}` or `{#numeric#}`.",
    example="Your code is {#numeric#}. Helio",
)
_SENDER = Field("sender", Text(_read_sender), "The sender ID; empty: any.", "", example="HELIO", empty="(any)")
_ACCOUNT = Field(
    "account",
    Reference("account", optional=True),
    "The account that may use it; empty: any.",
    "",
    empty="(any)",
    example="acme",
)
_TLVS = Field(
    "tlvs",
    Pairs(_read_tlvs),
    "TLVs that are sent with the text, by name or number, such as entity=1101456780.",
    {},
    example="entity=1101456780000012345",
    title="TLVs",
)
_CHANGED_TLVS = replace(_TLVS, type=Pairs(), default=KEEP, meaning="TLVs to set; a TLV with an empty value is removed.")
TEMPLATE = (_NAME, _TEXT, _SENDER, _ACCOUNT, _TLVS)

TEMPLATES = Resource(
    name="template",
    plural="templates",
    summary="Texts registered with operators, as in India's DLT",
    more="If a connector has the option templates=required, each text must fit a template of its account and sender. "
    "Variables are written {#var#}, {#numeric#}, {#alphanumeric#}, {#url#}, {#email#} or {#cbn#}.\n\n"
    "A running gateway applies a change within five seconds. Messages that wait are sent with the changed TLVs.",
    nothing="There is no template yet. Add one: heliograph template add NAME --text TEXT --sender SENDER",
    key=("name",),
    fields=TEMPLATE,
    columns=("name", "sender", "account", "tlvs", "text"),
    scopes=Scopes(Scope.READ_ROUTES, Scope.WRITE_ROUTES),
    operations=(
        Operation(
            "list",
            "GET /templates",
            find,
            "All templates, or the templates for an account or a sender",
            reads=(
                Field("account", Reference("account"), "Only templates that this account may use.", None),
                Field("sender", Text(), "Only templates for messages with this sender ID.", None),
            ),
            answers=Answer.EACH,
            examples=("template list", "template list --sender HELIO"),
        ),
        Operation(
            "add",
            "POST /templates",
            add,
            "Add a template",
            reads=TEMPLATE,
            answers=Answer.ITEM,
            status=201,
            conflicts=True,
            arguments=("name",),
            examples=(
                "template add otp --sender HELIO --text 'Your code is {#numeric#}.' --tlv entity=1101456780000012345",
            ),
            done="Added the template {name}.",
            label="Add",
        ),
        Operation(
            "put",
            "PUT /templates",
            put,
            "Add or replace several templates, all or none",
            reads=(
                Field(
                    "templates",
                    Rows(TEMPLATE, "NewTemplate", MOST_AT_ONCE),
                    "The templates.",
                ),
            ),
            answers=(
                Field("added", Whole(), "The number of new templates."),
                Field("changed", Whole(), "The number of templates that were replaced."),
            ),
            id="put_templates",
            read_name="NewTemplates",
            answer_name="PutTemplates",
            is_command=False,
        ),
        Operation(
            "show",
            "GET /templates/{name}",
            show,
            "A template with its whole text",
            answers=Answer.ITEM,
            id="get_template",
            examples=("template show otp",),
        ),
        Operation(
            "set",
            "PATCH /templates/{name}",
            change,
            "Change a template",
            reads=(*(replace(each, default=KEEP) for each in (_TEXT, _SENDER, _ACCOUNT)), _CHANGED_TLVS),
            answers=Answer.ITEM,
            read_name="TemplateSettings",
            examples=(
                "template set otp --text 'Your code is {#numeric#}.'",
                "template set otp --sender '' --tlv entity=    # for any sender, and without the TLV entity",
            ),
        ),
        Operation(
            "remove",
            "DELETE /templates/{name}",
            remove,
            "Remove a template",
            more="Texts that fit no other template are then refused.",
            examples=("template remove otp",),
            done="The template {name} is removed.",
            label="Remove",
            confirm="Remove {name}? Texts that fit no other template are then refused.",
        ),
        Operation(
            "check",
            "POST /template-check",
            check,
            "Find the template that a text fits, or the nearest template",
            reads=(
                Field("sender", Text(), "The sender ID of the message.", example="HELIO"),
                Field("text", Text(is_long=True), "The text of the message.", example="Your code is 4711. Helio"),
                replace(_ACCOUNT, meaning="Only templates that this account may use; empty: all templates."),
            ),
            answers=(
                Field("fits", Flag(), "Whether the text fits a template."),
                Field(
                    "template",
                    Item(TEMPLATE, "Template"),
                    "The template that the text fits, else the nearest template; null: there is no template.",
                    nullable=True,
                ),
                Field(
                    "problem",
                    Text(),
                    "The first difference from the nearest template; empty if the text fits.",
                    example="the text ends early",
                ),
            ),
            scope=Scope.READ_ROUTES,
            id="check_text",
            read_name="TextToCheck",
            answer_name="TemplateCheck",
            more="The command exits with 1 if the text fits no template.",
            examples=("template check --sender HELIO --text 'Your code is 4711.'",),
            done=_verdict,
            verdict="fits",
            label="Try",
        ),
    ),
)
