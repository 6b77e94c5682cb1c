"""Kinds of connectors. An adapter declares its settings once; all code that reads, checks or shows them uses the
declaration.

A connector has the fields of every kind (name, window, rate, ...) and the `settings` of its kind, plain values by name.
The adapter parses them into its own type. The composition root maps a kind to its adapter (`composition.connectors`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from heliograph.app import text_values
from heliograph.app.configuration import CONNECTOR_STATES, ON, Connector
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.tlv_rules import TlvRule
from heliograph.domain.pace.timetable import Timetable
from heliograph.domain.text.repertoire import PLAIN, Repertoire

SMPP: Final = "smpp"
"""The default kind of a new connector."""

MAX_BINDS: Final = 64
MAX_WINDOW: Final = 1000
MAX_RATE: Final = 1_000_000.0
MAX_CAP: Final = 1_000_000_000_000

COMMON: Final = ("binds", "window", "rate", "state", "max_day", "max_month")
"""Settings that every connector has, as attributes: a kind may only word them."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting with its own field in commands, the admin API and the console."""

    meaning: str
    parse: Callable[[str], Any]
    """Reads the text form. Raises ValueError with a sentence for people."""
    type: type = str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    default: Any = None
    """Default value; a setting with the default None is required."""
    title: str = ""
    """The label of its field, where that is not its name."""
    hint: str = ""
    """A hint shown below its field."""
    suggestion: str = ""
    """The text that its field begins with."""
    example: str = ""
    """An example for documents; only a text needs it."""
    secret: bool = False


SHARED: Final[Mapping[str, Setting]] = {
    "state": Setting(
        "on; drain: nothing new is sent, receipts still come; or off: no bind",
        text_values.one_of(*CONNECTOR_STATES),
        choices=CONNECTOR_STATES,
        default=ON,
    ),
    "max_day": Setting(
        "Most parts that the operator takes in a day of UTC; 0 is no cap", text_values.whole(0, MAX_CAP),
        type=int, least=0, most=MAX_CAP, default=0, title="Most parts a day",
        hint="At the cap, messages take another candidate or wait; 0 is no cap",
    ),
    "max_month": Setting(
        "Most parts that the operator takes in a month of UTC; 0 is no cap", text_values.whole(0, MAX_CAP),
        type=int, least=0, most=MAX_CAP, default=0, title="Most parts a month", hint="The same for a month",
    ),
}  # fmt: skip
"""Settings that mean the same for every kind."""


@dataclass(frozen=True, slots=True)
class OptionField:
    """An option of a kind, as a form shows it: few connectors need another value than the default."""

    meaning: str
    """A hint in plain words, without marks."""
    group: str
    """Heading of its group."""
    default: str = ""
    """Text form of the default; empty if there is none."""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FailoverPolicy:
    """Conditions under which another operator tries a message."""

    statuses: frozenset[int] = frozenset()
    """Answers after which another operator tries."""
    most: int = 2
    """Most operators that try a message after the first."""
    unknown: bool = False
    """Whether another operator tries a message without an answer, which may then arrive twice."""
    after_s: float = 15.0
    """Seconds without a bind after which messages go to another operator."""
    overflow_after_s: float = 0.0
    """Seconds that a message may wait before further messages go to another operator; 0 is for ever."""
    receipts: frozenset[tuple[Delivery | None, str]] = frozenset()
    """Final receipts after which another operator tries: states, codes or both, such as `(UNDELIV, "011")`."""


@dataclass(frozen=True, slots=True)
class LanePolicy:
    """Policy by which the lane of a connector sends."""

    unknown_wait_ms: int = 0
    """Milliseconds for which a part without an answer is held before it is sent again; 0 sends it at once."""
    joins_parts: bool = False
    """True if all parts of a long message are submitted as a single part."""
    repertoire: Repertoire = PLAIN
    """The alphabets that the operator takes texts in."""
    asks_receipts: bool = False
    """True if the operator is asked for the receipt of every message, even if the customer wants none."""
    tlvs: tuple[TlvRule, ...] = ()
    """Rules for the optional parameters that requests may give."""
    needs_templates: bool = False
    """Whether each text must fit a template of a registry."""
    default_alphabet: str = "gsm"
    """Meaning of data coding 0 in messages from phones: `gsm`, `latin1` or `ascii`."""
    timetable: Timetable | None = None
    """Rates by time of day, instead of the connector's."""
    query_after_ms: int = 0
    """Milliseconds without a receipt after which the operator is asked for a part; 0 never asks."""
    failover: FailoverPolicy = FailoverPolicy()


@dataclass(frozen=True, slots=True, eq=False)
class ConnectorKind:
    """Declaration of a kind of connectors. Beside `settings` it may have options: further values, by name, that only
    the adapter knows.
    """

    name: str
    settings: Mapping[str, Setting]
    """Settings by name, the COMMON ones among them, in the order in which they are shown."""
    identity: str
    """The setting that names us to the operator."""
    destination: frozenset[str]
    """Settings and options that decide where secrets are sent, and how well they are protected on the way."""
    problems: Callable[[Mapping[str, Any]], list[str]]
    """Returns the errors in a connector's options, in sentences."""
    warnings: Callable[[Connector], list[str]]
    """Returns possible problems, in sentences."""
    policy: Callable[[Connector], LanePolicy]
    address: Callable[[Connector], tuple[str, int]]
    """Host and port that a connector connects to first."""
    title: str
    """Its name for people, such as `SMPP`."""
    other_options: str = ""
    """An example of an option that is in none of the groups, and its meaning; a hint in the form."""
    dialect: Mapping[str, OptionField] = field(default_factory=dict)
    """The options that have a name of their own, in the order of their groups; a kind may take others besides."""
    client_certificate: Callable[[Connector], tuple[str, str]] = lambda _: ("", "")
    """Returns the files of the certificate that the operator is shown, and of its key; empty without either, or if one
    file has both."""

    def is_whole(self, connector: Connector) -> bool:
        """Whether each setting of its own has a value that it may have. A disk may have changed a value or a name in
        the JSON of the settings. A name shows by an option that the kind does not know: without `tls`, for example, the
        password would go to the operator in plain text."""
        own = {name: setting for name, setting in self.settings.items() if name not in COMMON}
        if own.keys() - connector.settings.keys() and self.problems(self.options(connector)):
            return False
        values = self.values(connector)
        return all(
            isinstance(values[name], setting.type) and (not setting.choices or values[name] in setting.choices)
            for name, setting in own.items()
        )

    def values(self, connector: Connector) -> dict[str, Any]:
        """The value of each setting, secrets too."""
        return {
            name: getattr(connector, name) if name in COMMON else connector.settings.get(name, setting.default)
            for name, setting in self.settings.items()
        }

    def options(self, connector: Connector) -> dict[str, Any]:
        return {name: value for name, value in connector.settings.items() if name not in self.settings}

    def secrets(self, connector: Connector) -> list[str]:
        """Returns the names of the secret settings that have a value."""
        values = self.values(connector)
        return [name for name, setting in self.settings.items() if setting.secret and values[name]]

    def moved(self, was: Connector, now: Connector) -> list[str]:
        """Returns the names in `destination` with different values."""
        before, after = ({**self.options(each), **self.values(each)} for each in (was, now))
        return sorted(name for name in self.destination if before.get(name) != after.get(name))

    def changed(self, connector: Connector, values: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the attributes of `connector` with these values of settings, and with `options` in place of its
        own.
        """
        kept = {name: value for name, value in connector.settings.items() if name in self.settings}
        own = {name: value for name, value in values.items() if name not in COMMON}
        common = {name: value for name, value in values.items() if name in COMMON}
        return {**common, "settings": {**kept, **own, **options}}
