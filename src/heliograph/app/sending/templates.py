"""Templates in memory, for connectors with operators that accept only registered texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from heliograph.app.configuration import MessageTemplate
from heliograph.app.sending.fields import shown
from heliograph.domain.error import Fault, invalid
from heliograph.domain.message.extras import Tlv
from heliograph.domain.message.state import Kind
from heliograph.domain.message.tlv_rules import TlvRule, passing
from heliograph.domain.text.template import Departure, ScannedText, TemplatePattern, UnfitTemplate, nearest


@dataclass(frozen=True, slots=True)
class RequiringConnector:
    """A connector over which each text must fit a template."""

    name: str
    tlvs: tuple[TlvRule, ...]


@dataclass(frozen=True, slots=True)
class RegisteredText:
    """A parsed template."""

    template: MessageTemplate
    pattern: TemplatePattern


class TemplateBook:
    """The templates of all accounts and senders."""

    def __init__(self, templates: Iterable[MessageTemplate], requiring: Mapping[int, RequiringConnector]) -> None:
        """`requiring` are the connectors by id."""
        self._requiring = requiring
        self._templates: dict[tuple[int, str], list[MessageTemplate]] = {}
        for template in templates:
            if template.is_damaged:
                continue
            self._templates.setdefault((template.account, template.sender), []).append(template)
        self._read: dict[tuple[int, str], list[RegisteredText]] = {}

    def required(self, account: int, sender: str, kind: Kind | None, connectors: Iterable[int]) -> bool:
        """True if a message must fit a template over one of these connectors. Raises Fault if its sender has none."""
        if kind is None or kind is Kind.BINARY or not any(connector in self._requiring for connector in connectors):
            return False
        if not self.of(account, sender):
            problem = f"The sender {shown(sender)} has no registered template, and the operator takes no other texts"
            raise invalid("from", f"{problem}; use another, or ask the gateway's administrator to add its templates.")
        return True

    def of(self, account: int, sender: str) -> list[RegisteredText]:
        """Returns the templates that a message may fit. Templates of exactly this account and sender come first."""
        found: list[RegisteredText] = []
        for whose in ((account, sender), (account, ""), (0, sender), (0, "")):
            if whose in self._templates:
                if whose not in self._read:  # parsed on first use
                    self._read[whose] = registered(self._templates[whose])
                found += self._read[whose]
        return found

    def tlvs(
        self, account: int, senders: Sequence[str], connectors: Sequence[int], texts: Sequence[str]
    ) -> list[tuple[Tlv, ...]]:
        """Returns the TLVs for each text from its sender over its connector; none if the connector requires no
        template. Raises Fault for a text that fits none, and for a template with TLVs that the connector does not
        allow.
        """
        fitting: dict[tuple[str, str], MessageTemplate] = {}
        attached: list[tuple[Tlv, ...]] = []
        for sender, connector, text in zip(senders, connectors, texts, strict=True):
            requiring = self._requiring.get(connector)
            if requiring is None:
                attached.append(())
                continue
            if (sender, text) not in fitting:
                fitting[sender, text] = _fitting(self.of(account, sender), text)
            attached.append(_passing(fitting[sender, text], requiring))
        return attached

    def attached(self, account: int, sender: str, kind: int, connector: int, text: str) -> tuple[Tlv, ...]:
        """Returns the TLVs to attach when a text is written to an operator. A text that fits no template has no TLVs:
        requests are checked when they are accepted, and replies to phones are exempt."""
        if kind == Kind.BINARY:
            return ()
        try:
            return self.tlvs(account, (sender,), (connector,), (text,))[0]
        except Fault:
            return ()


def registered(templates: Iterable[MessageTemplate]) -> list[RegisteredText]:
    """Parses templates. A malformed template, which no command accepts, is left out."""
    found = []
    for template in templates:
        try:
            found.append(RegisteredText(template, TemplatePattern(template.text)))
        except UnfitTemplate:
            continue
    return found


def nearest_template(found: Sequence[RegisteredText], text: str) -> tuple[MessageTemplate, Departure | None]:
    """Returns the first template that the text fits, and None; otherwise the nearest template and the position where
    the text differs. `found` must not be empty.
    """
    scanned = ScannedText(text)
    for each in found:
        if each.pattern.fits(scanned):
            return each.template, None
    near = found[nearest([each.pattern for each in found], scanned)]
    return near.template, near.pattern.departure(scanned)


def _fitting(found: Sequence[RegisteredText], text: str) -> MessageTemplate:
    """Returns the template that the text fits. Raises Fault."""
    if not found:
        raise invalid("content", "The content fits no registered template: the sender has none.")
    template, departure = nearest_template(found, text)
    if departure is None:
        return template
    problem = "The content fits no registered template of the sender"
    raise invalid("content", f"{problem}. The nearest is {template.name}: {departure}.")


def _passing(template: MessageTemplate, requiring: RequiringConnector) -> tuple[Tlv, ...]:
    try:
        return passing(template.tlvs, requiring.tlvs)
    except ValueError as problem:
        raise invalid(
            "content",
            f"The content fits the template {template.name}, which cannot be sent. {problem} The gateway's "
            f"administrator must set the option tlvs of the connector {requiring.name}, or correct the template.",
        ) from None


def warnings_of(templates: Sequence[MessageTemplate], rules: tuple[TlvRule, ...]) -> list[str]:
    """Returns the problems of the templates for a connector with these rules that requires them, in sentences."""
    if not templates:
        return ["it takes nothing but texts that fit a template, and there is none: heliograph template add"]
    unfit: list[tuple[str, str]] = []
    for template in templates:
        try:
            passing(template.tlvs, rules)
        except ValueError as problem:
            unfit.append((template.name, str(problem)))
    if not unfit:
        return []
    name, why = unfit[0]
    which = f"the TLVs of {len(unfit)} of {len(templates)} templates do not pass, such as those of {name}"
    return [f"{which}. {why} Set its option tlvs, such as tlvs=entity=0x1400/text, template=0x1401/text"]
