"""Shapes of requests and answers about connectors, drawn from the settings of the kinds that there are."""

import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct

from heliograph.admin_api.shapes import LinkShape, Moment, Name
from heliograph.app.connector_kind import SMPP, ConnectorKind, Setting

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
        settings: dict[str, list[Setting]] = {}
        for kind in kinds.values():
            for name, setting in kind.settings.items():
                settings.setdefault(name, []).append(setting)
        changes = [
            *((name, _read(found) | UnsetType, UNSET) for name, found in settings.items()),
            ("options", Options | UnsetType, UNSET),
        ]
        plain = {name: _type(found) for name, found in settings.items() if not found[0].secret}
        shown = [
            ("name", Name),
            ("kind", str),
            *((name, shape) for name, shape in plain.items() if len(settings[name]) == len(kinds)),
            ("options", dict[str, Any]),
            ("created", Moment),
            ("state", State),
        ]
        more: list[Any] = [
            ("warnings", Warnings, []),
            *((name, shape | UnsetType, UNSET) for name, shape in plain.items() if len(settings[name]) < len(kinds)),
        ]
        self.settings = _accepts(
            "ConnectorSettings", changes, "Settings of a connector; what is left out stays as it is."
        )
        self.new = _accepts(
            "NewConnector",
            [*changes, ("name", Name), ("kind", Literal[tuple(kinds)] | UnsetType, UNSET)],
            f"An operator account to add. {' '.join(map(_needed, kinds.values()))}",
        )
        self.connector = _answers("Connector", [*shown, *more], "An operator account, without its password.")
        self.with_links = _answers(
            "ConnectorWithLinks",
            [*shown, *more, ("deferred", int, 0), ("links", list[LinkShape], [])],
            "`deferred` are messages that wait for another try: the operator did not want them yet, or did not answer.",
        )
        self.connectors = _answers("Connectors", [("connectors", types.GenericAlias(list, (self.connector,)))], "")


def _needed(kind: ConnectorKind) -> str:
    names = [f"`{name}`" for name, setting in kind.settings.items() if setting.default is None]
    listed = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
    return f"The kind `{kind.name}`{' (default)' if kind.name == SMPP else ''} needs {listed}."


def _type(settings: list[Setting]) -> Any:
    """The type of a setting, for all kinds that have it."""
    shape: Any = settings[0].type
    for setting in settings[1:]:
        shape |= setting.type
    return shape


def _read(settings: list[Setting]) -> Any:
    """The type that is read. The limits of a setting that several kinds have are checked by its kind alone."""
    [setting, *others] = settings
    if others:
        return _type(settings)
    if setting.choices:
        return Literal[setting.choices]
    if setting.least is None:
        return setting.type
    return Annotated[setting.type, Meta(ge=setting.least, le=setting.most)]


def _accepts(name: str, fields: list[Any], words: str) -> type[Struct]:
    return defstruct(name, fields, namespace={"__doc__": words}, forbid_unknown_fields=True, kw_only=True)


def _answers(name: str, fields: list[Any], words: str) -> type[Struct]:
    return defstruct(name, fields, namespace={"__doc__": words or None})
