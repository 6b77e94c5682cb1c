"""Templates in memory: which a message may fit, and what is attached."""

import pytest

from heliograph.app.configuration import MessageTemplate
from heliograph.app.sending.templates import RequiringConnector, TemplateBook, warnings_of
from heliograph.domain.error import Fault
from heliograph.domain.message.state import Kind
from heliograph.domain.message.tlv_rules import TlvForm, TlvRule

RULES = (TlvRule(0x1400, 0x1400, "entity", TlvForm.TEXT), TlvRule(0x1401, 0x1401, "template", TlvForm.TEXT))
INDIA, FREE, LATE = 1, 2, 3
REQUIRING = {INDIA: RequiringConnector("india", RULES), LATE: RequiringConnector("late", ())}

TEMPLATES = [
    MessageTemplate(1, "any", "Hi {#var#}", tlvs={"template": "1"}),
    MessageTemplate(2, "sender", "Hi {#var#}", "HELIO", tlvs={"template": "2"}),
    MessageTemplate(3, "account", "Hi {#var#}", "", 7, {"template": "3"}),
    MessageTemplate(4, "both", "Hi {#var#}", "HELIO", 7, {"template": "4"}),
    MessageTemplate(5, "plain", "Hello", "HELIO", 8),
    MessageTemplate(6, "broken", "{#none#}", "HELIO", 8),
]


@pytest.fixture
def book() -> TemplateBook:
    return TemplateBook(TEMPLATES, REQUIRING)


@pytest.mark.parametrize(
    ("account", "sender", "template"), [(7, "HELIO", b"4"), (7, "X", b"3"), (8, "HELIO", b"2"), (8, "X", b"1")]
)
def test_the_template_of_just_this_account_and_sender_counts_first(
    book: TemplateBook, account: int, sender: str, template: bytes
) -> None:
    assert book.required(account, sender, Kind.TEXT, [FREE, INDIA])
    tlvs = book.tlvs(account, [sender] * 3, [INDIA, FREE, INDIA], ["Hi Ann", "whatever", "Hi Bob"])
    assert tlvs == [((0x1401, template + b"\0"),), (), ((0x1401, template + b"\0"),)]


def test_others_are_not_asked(book: TemplateBook) -> None:
    assert not book.required(8, "HELIO", Kind.TEXT, [FREE])
    assert not book.required(8, "HELIO", Kind.BINARY, [INDIA])
    assert not book.required(8, "HELIO", None, [INDIA])


def test_a_sender_without_templates_is_refused() -> None:
    book = TemplateBook(TEMPLATES[3:], REQUIRING)
    with pytest.raises(Fault, match="The sender 'OTHER' has no registered template") as refused:
        book.required(7, "OTHER", Kind.TEXT, [INDIA])
    assert refused.value.field == "from"
    assert book.attached(7, "OTHER", Kind.TEXT, INDIA, "Hi Ann") == ()


def test_a_text_that_fits_none_is_refused_with_the_nearest(book: TemplateBook) -> None:
    with pytest.raises(Fault) as refused:
        book.tlvs(8, ["HELIO"], [INDIA], ["Hello!"])
    assert refused.value.field == "content"
    assert refused.value.message.endswith(
        'The nearest is plain: at character 6 the template has its end, and the text "!".'
    )
    assert book.attached(8, "HELIO", Kind.TEXT, INDIA, "Hello!") == ()
    assert book.attached(8, "HELIO", Kind.TEXT, INDIA, "Hi you") == ((0x1401, b"2\0"),)


def test_a_template_whose_tlvs_do_not_pass_is_told_to_who_runs_the_gateway(book: TemplateBook) -> None:
    with pytest.raises(Fault) as refused:
        book.tlvs(7, ["HELIO"], [LATE], ["Hi Ann"])
    assert refused.value.field == "content"
    assert "fits the template both, which cannot be sent. The TLV 'template' does not pass" in refused.value.message
    assert "must set the option tlvs of the connector late" in refused.value.message


def test_warnings() -> None:
    assert warnings_of(TEMPLATES, RULES) == []
    assert "there is none: heliograph template add" in warnings_of([], RULES)[0]
    [warning] = warnings_of(TEMPLATES, RULES[:1])
    assert warning.startswith("the TLVs of 4 of 6 templates do not pass, such as those of any. The TLV 'template'")
