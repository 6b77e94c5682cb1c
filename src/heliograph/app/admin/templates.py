"""Administration of templates that registries of operators have."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from heliograph.app.configuration import Exists, MessageTemplate, Missing
from heliograph.app.records import AuditEntry
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch, account_id, check_name
from heliograph.app.sending.templates import nearest_template, registered
from heliograph.domain.message.tlv_rules import MAX_TLVS, MAX_VALUE_OCTETS
from heliograph.domain.numbers import phone
from heliograph.domain.text.template import TemplatePattern, UnfitTemplate

MOST_AT_ONCE: Final = 10_000
"""Templates that are put at once."""

_TLV_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}|0x[0-9a-f]{1,4}|[1-9][0-9]{0,4}").fullmatch


@dataclass(slots=True)
class TemplateView:
    """A template with the name of its account, which is empty for any; also one that is to be. `line` is that of the
    file that it comes from."""

    name: str
    text: str
    sender: str = ""
    account: str = ""
    tlvs: dict[str, str] = field(default_factory=dict)
    line: int = 0


@dataclass(slots=True)
class TemplateCheck:
    """The template that a text fits, or else the nearest, if there is any, and where the text departs from it."""

    fits: bool
    template: TemplateView | None
    problem: str = ""


class ManageTemplates(Desk):
    """Methods raise Invalid, NoSuch or AlreadyThere for mistakes of the user, and the store's Unavailable."""

    async def templates(self, account: str | None = None, sender: str | None = None) -> list[TemplateView]:
        """Returns them by name: all, or those that messages of an account, or with a sender, may fit."""
        owner = None if account is None else await account_id(self.store, account)
        names = await self.account_names()
        return [
            _view(each, names)
            for each in await self._all()
            if owner in (None, each.account) or not each.account
            if sender in (None, each.sender) or not each.sender
        ]

    async def template(self, name: str) -> TemplateView:
        return _view(await self._find(name), await self.account_names())

    async def add(self, wanted: TemplateView) -> TemplateView:
        check(wanted)
        template = MessageTemplate(0, wanted.name, wanted.text, wanted.sender, 0, wanted.tlvs)
        if wanted.account:
            template.account = await account_id(self.store, wanted.account)
        try:
            await self.audited("template.add", wanted.name, _details(wanted)).templates.add(template)
        except Exists:
            raise AlreadyThere("template", wanted.name) from None
        return wanted

    async def set(
        self,
        name: str,
        text: str | None = None,
        sender: str | None = None,
        account: str | None = None,
        tlvs: Mapping[str, str] | None = None,
    ) -> TemplateView:
        """Changes what is given; an empty sender or account is any. Of the TLVs those named are set, or removed where
        the value is empty."""
        known = await self._find(name)
        was = _view(known, await self.account_names())
        merged = {**was.tlvs, **(tlvs or {})}
        wanted = TemplateView(
            name,
            was.text if text is None else text,
            was.sender if sender is None else sender,
            was.account if account is None else account,
            {key: value for key, value in merged.items() if value},
        )
        check(wanted)
        owner = await account_id(self.store, wanted.account) if wanted.account else 0
        changed = MessageTemplate(known.id, name, wanted.text, wanted.sender, owner, wanted.tlvs)
        try:
            await self.audited("template.set", name, _details(wanted)).templates.update(changed)
        except Missing:
            raise NoSuch("template", name) from None
        return wanted

    async def put(self, wanted: Sequence[TemplateView]) -> int:
        """Adds these templates, or replaces those of the same names, all or none. Returns how many are new."""
        if not 0 < len(wanted) <= MOST_AT_ONCE:
            raise Invalid("templates", f"there are {len(wanted)}; put 1 to {MOST_AT_ONCE} at once")
        owners = {name: number for number, name in (await self.account_names()).items()} | {"": 0}
        lines: dict[str, int] = {}
        templates = []
        for each in wanted:
            where = f"line {each.line}: " if each.line else f"template {each.name}: "
            try:
                check(each)
            except Invalid as problem:
                raise Invalid(where + problem.field, problem.problem) from None
            if each.account not in owners:
                raise Invalid(f"{where}account", f"there is no account {each.account}")
            if each.name in lines:
                raise Invalid(f"{where}name", f"{each.name} is there twice")
            lines[each.name] = each.line
            templates.append(MessageTemplate(0, each.name, each.text, each.sender, owners[each.account], each.tlvs))

        def noted(new: int) -> AuditEntry:
            return self.entry("template.import", "", {"new": str(new), "changed": str(len(templates) - new)})

        return await self.store.noting(noted).templates.put(templates)

    async def remove(self, name: str) -> None:
        """Removes a template. The audit log keeps it, so that it can be made again."""
        was = await self.template(name)
        try:
            await self.audited("template.remove", name, _details(was)).templates.remove(name)
        except Missing:
            raise NoSuch("template", name) from None

    async def check(self, sender: str, text: str, account: str | None = None) -> TemplateCheck:
        """Returns which template a text from this sender fits, of those of an account or of all."""
        owner = None if account is None else await account_id(self.store, account)
        names = await self.account_names()
        templates = [
            each
            for each in await self._all()
            if each.sender in ("", sender)
            if owner is None or each.account in (0, owner)
        ]
        templates.sort(key=lambda each: (not each.account, not each.sender))
        found = registered(templates)
        if not found:
            return TemplateCheck(False, None, f"There is no template for the sender {sender}.")
        template, departure = nearest_template(found, text)
        return TemplateCheck(
            departure is None, _view(template, names), "" if departure is None else f"It differs: {departure}."
        )

    async def _all(self) -> list[MessageTemplate]:
        return (await self.store.network.tables()).templates

    async def _find(self, name: str) -> MessageTemplate:
        for each in await self._all():
            if each.name == name:
                return each
        raise NoSuch("template", name)


def check(wanted: TemplateView) -> None:
    """Raises Invalid for what cannot be a template, whoever the account is."""
    check_name("name", wanted.name)
    try:
        TemplatePattern(wanted.text)
    except UnfitTemplate as problem:
        raise Invalid("text", str(problem)) from None
    if wanted.sender and (wrong := phone.sender_problem(wanted.sender, msisdn_allowed=True)) is not None:
        raise Invalid("sender", wrong)
    if len(wanted.tlvs) > MAX_TLVS:
        raise Invalid("tlvs", f"there are {len(wanted.tlvs)}; a message may have {MAX_TLVS}")
    for name, value in wanted.tlvs.items():
        if _TLV_NAME(name) is None:
            raise Invalid("tlvs", f"{name!r} is no name or number of a TLV, such as entity or 0x1400")
        if not value or len(value) >= MAX_VALUE_OCTETS or not (value.isascii() and value.isprintable()):
            raise Invalid("tlvs", f"the value of {name} must be 1 to {MAX_VALUE_OCTETS - 1} printable ASCII characters")


def _view(template: MessageTemplate, accounts: Mapping[int, str]) -> TemplateView:
    account = accounts.get(template.account, "?") if template.account else ""
    return TemplateView(template.name, template.text, template.sender, account, dict(template.tlvs))


def _details(view: TemplateView) -> dict[str, str]:
    """Returns the details of a template for the audit log. Its text is no message."""
    tlvs = ", ".join(f"{name}={value}" for name, value in view.tlvs.items())
    details = {"text": view.text, "sender": view.sender, "account": view.account, "tlvs": tlvs}
    return {name: value for name, value in details.items() if value}
