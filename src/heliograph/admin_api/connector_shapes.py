"""Shapes of requests and answers about connectors, drawn from the settings of the kinds that there are."""

import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from heliograph.admin_api.shapes import LinkShape, Moment, Name
from heliograph.app.connector_kind import ConnectorKind, Setting

Options = Annotated[dict[str, str], Meta(description="Options of the dialect, as text; an empty one goes back.")]
State = Annotated[
    str,
    Meta(
        description="`bound`, `1 of 2 bound`, `silent` where the operator answers no submit_sm on any bind, "
        "`bound, 1 silent` where it answers on others, `not bound`, `wrong credentials`, `disabled`, or "
        "`no gateway` where none has said anything of late."
    ),
]
Warnings = Annotated[list[str], Meta(description="What may not work, in sentences.")]


class ConnectorShapes:
    """`settings` and `new` are read, all others answered."""

    def __init__(self, kinds: Mapping[str, ConnectorKind]) -> None:
        settings = {name: setting for kind in kinds.values() for name, setting in kind.settings.items()}
        needed = [f"`{name}`" for name, setting in settings.items() if setting.default is None]
        changes = [
            *((name, _read(setting) | UnsetType, UNSET) for name, setting in settings.items()),
            ("options", Options | UnsetType, UNSET),
        ]
        shown = [
            ("name", Name),
            *((name, setting.type) for name, setting in settings.items() if not setting.secret),
            ("options", dict[str, Any]),
            ("created", Moment),
            ("state", State),
        ]
        more: list[Any] = [("warnings", Warnings, [])]
        self.settings = _accepts(
            "ConnectorSettings", changes, "Settings of a connector; what is left out stays as it is."
        )
        self.new = _accepts(
            "NewConnector",
            [*changes, ("name", Name)],
            f"An operator account to add; {', '.join(needed[:-1])} and {needed[-1]} are needed.",
        )
        self.connector = _answers("Connector", [*shown, *more], "An operator account, without its password.")
        self.with_links = _answers(
            "ConnectorWithLinks",
            [*shown, *more, ("deferred", int, 0), ("links", list[LinkShape], [])],
            "`deferred` are messages that wait for another try: the operator did not want them yet, or did not answer.",
        )
        self.connectors = _answers("Connectors", [("connectors", types.GenericAlias(list, (self.connector,)))], "")


def _read(setting: Setting) -> Any:
    if setting.choices:
        return Literal[setting.choices]
    if setting.least is None:
        return setting.type
    return Annotated[setting.type, Meta(ge=setting.least, le=setting.most)]


def _accepts(name: str, fields: list[Any], words: str) -> type[Struct]:
    return defstruct(name, fields, namespace={"__doc__": words}, forbid_unknown_fields=True, kw_only=True)


def _answers(name: str, fields: list[Any], words: str) -> type[Struct]:
    return defstruct(name, fields, namespace={"__doc__": words or None})
