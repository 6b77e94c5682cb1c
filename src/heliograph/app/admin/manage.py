"""Administration of connectors.

Checks every change and makes it durable by one call of the store, whole or not at all. A running gateway notices it by
the store's revision.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from heliograph.app.admin import fields
from heliograph.app.configuration import (
    Connector,
    Exists,
    Missing,
)
from heliograph.app.connector_kind import SMPP, ConnectorKind
from heliograph.app.ports import Clock, ConnectorReport, Store
from heliograph.app.records import BacklogCounts
from heliograph.app.resources import routes
from heliograph.app.resources.desk import AlreadyThere, Desk, Invalid, NoSuch, check_name
from heliograph.app.sending.templates import warnings_of


@dataclass(slots=True)
class ConnectorChange:
    """A connector as it is now; `warnings` are sentences about what may not work."""

    connector: Connector
    warnings: list[str]


class Manage(Desk):
    """Methods raise Invalid, NoSuch or AlreadyThere for mistakes of the user, and the store's Unavailable."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        kinds: Mapping[str, ConnectorKind] = MappingProxyType({}),
        actor: str = "system",
        address: str = "",
    ) -> None:
        """`kinds` are the kinds of connectors, by name. `actor` and `address` stand in the audit log."""
        super().__init__(store, clock, actor, address, kinds=kinds)

    # --- connectors

    async def add_connector(
        self, name: str, texts: Mapping[str, str], options: Mapping[str, str] | None = None, kind: str = SMPP
    ) -> ConnectorChange:
        """Adds an operator account out of texts for the settings of its kind, and options by name."""
        check_name("name", name)
        if kind not in self.kinds:
            raise Invalid("kind", f"there is no such kind; there are {', '.join(self.kinds)}")
        settings = self.kinds[kind].settings
        for needed, setting in settings.items():
            if setting.default is None and needed not in texts:
                raise Invalid(needed, "it is needed to bind")
        begun = Connector(0, name, kind, created=self.now)
        given = {each: setting.default for each, setting in settings.items() if setting.default is not None}
        connector = self._changed(begun, given, texts, options or {})
        details = texts if kind == SMPP else {"kind": kind, **texts}
        audited = self.audited("connector.add", name, _shown({**details, **(options or {})}))
        try:
            added = await audited.network.add_connector(connector)
        except Exists:
            raise AlreadyThere("connector", name) from None
        return ConnectorChange(added, self.kinds[kind].warnings(added) + await self.template_warnings(added))

    def kind_of(self, connector: Connector) -> ConnectorKind:
        return self.kinds[connector.kind]

    async def connectors(self) -> list[Connector]:
        """By name."""
        return sorted((await self.store.network.tables()).connectors, key=lambda connector: connector.name)

    async def connector(self, name: str) -> Connector:
        for connector in (await self.store.network.tables()).connectors:
            if connector.name == name:
                return connector
        raise NoSuch("connector", name)

    async def set_connector(
        self,
        name: str,
        texts: Mapping[str, str],
        options: Mapping[str, str] | None = None,
        *,
        knows_secrets: bool = False,
    ) -> ConnectorChange:
        """Changes fields and options, all or none; an empty option goes back to its default.

        What would send a kept password to another host, under another name or with less protection takes the password
        once more, unless whoever asks `knows_secrets`.
        """
        found = await self.connector(name)
        changed = self._changed(found, {}, texts, options or {})
        if not knows_secrets:
            _ask_secrets_again(self.kind_of(found), found, changed, texts)
        audited = self.audited("connector.set", name, _shown({**texts, **(options or {})}))
        try:
            await audited.network.update_connector(changed)
        except Missing:
            raise NoSuch("connector", name) from None
        return ConnectorChange(changed, self.kind_of(changed).warnings(changed) + await self.template_warnings(changed))

    async def template_warnings(self, connector: Connector) -> list[str]:
        """Returns what keeps messages from going over a connector that requires templates, in sentences."""
        policy = self.kind_of(connector).policy(connector)
        if not policy.needs_templates:
            return []
        return warnings_of((await self.store.network.tables()).templates, policy.tlvs)

    async def remove_connector(self, name: str) -> None:
        """Removes its routes, too. The audit log keeps both, without secrets, so that they can be made again."""
        gone = await self.connector(name)
        kind = self.kind_of(gone)
        settings = {each: kind.settings[each].text(value) for each, value in kind.values(gone).items()}
        shown = {each: text for each, text in settings.items() if not kind.settings[each].secret}
        gone_routes = [
            f"{route['prefix'] or '(all)'} priority {route['priority']}"
            for route in await routes.find(self)
            if route["connector"] == name
        ]
        details = {**shown, **_shown({each: str(value) for each, value in kind.options(gone).items()})}
        if gone_routes:
            details["routes"] = ", ".join(gone_routes)
        try:
            await self.audited("connector.remove", name, details).network.remove_connector(name)
        except Missing:
            raise NoSuch("connector", name) from None

    async def link_states(self) -> list[ConnectorReport]:
        """Returns the last words of every node on its connectors."""
        return await self.store.network.link_states()

    async def backlog(self) -> BacklogCounts:
        return await self.store.upkeep.counts(self.now)

    # --- inside

    def _changed(
        self, connector: Connector, values: Mapping[str, Any], texts: Mapping[str, str], options: Mapping[str, str]
    ) -> Connector:
        """The connector with these settings and options. Raises Invalid."""
        kind = self.kind_of(connector)
        parsed = fields.parse_changes(kind.settings, texts)
        merged = _merged(kind.options(connector), options)
        problems = kind.problems(merged)
        if problems:
            raise Invalid("options", "; ".join(problems))
        return replace(connector, **kind.changed(connector, {**values, **parsed}, merged))


def _ask_secrets_again(kind: ConnectorKind, was: Connector, now: Connector, texts: Mapping[str, str]) -> None:
    """Raises Invalid for a secret that would go elsewhere and is not among `texts`."""
    moved = kind.moved(was, now)
    for name in kind.secrets(was) if moved else ():
        if name not in texts:
            what = " and ".join(filter(None, (", ".join(moved[:-1]), moved[-1])))
            raise Invalid(name, f"give it again: with another {what} it would go where it was not meant to")


def _shown(texts: Mapping[str, str]) -> dict[str, str]:
    """Texts as the audit log may have them: without the values of secrets."""
    return {name: "(changed)" if "password" in name else text for name, text in texts.items()}


def _merged(options: Mapping[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    merged = dict(options)
    for name, text in texts.items():
        value = fields.parse_option(name, text)
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = value
    return merged
