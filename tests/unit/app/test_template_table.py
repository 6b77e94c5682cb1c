"""Tables of templates, as registries export them."""

import pytest

from heliograph.app.admin.template_table import TemplateTable


def read(text: str) -> TemplateTable:
    return TemplateTable(text.splitlines(keepends=True))


OTP = {
    "name": "OTP-login", "text": "Code {#numeric#}.\nHelio", "sender": "HELIO", "account": "",
    "tlvs": {"entity": "1101", "template": "1107"},
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        'Template Name,Header,Text,PE ID,Template ID\n"OTP (login)",HELIO,"Code {#numeric#}.\nHelio",1101,1107\n',
        '\ufeffname;sender;text;entity;template_id\r\nOTP login;HELIO;"Code {#numeric#}.\nHelio";1101;1107\r\n\r\n',
        'TE ID\tPE ID\tHEADERS\tCONTENT\tName\tKind\n1107\t1101\tHELIO\t"Code {#numeric#}.\nHelio"\tOTP login\tOTP\n',
        'name,text,sender,tlv entity,tlv:template,Status\nOTP login,"Code {#numeric#}.\nHelio",HELIO,1101,1107,Live\n',
    ],
)  # fmt: skip
def test_templates_are_read(text: str) -> None:
    table = read(text)
    assert (table.templates, table.bad, table.left_out) == ([OTP], [], [])


def test_what_a_row_leaves_out_is_what_the_command_says() -> None:
    table = TemplateTable(
        ["template id,text,sender,account\n", "1107,Hi,,\n", "1108,Ho,OWN,other\n"], "acme", "HELIO", {"entity": "1"}
    )
    assert table.templates == [
        {
            "name": "1107", "text": "Hi", "sender": "HELIO", "account": "acme",
            "tlvs": {"entity": "1", "template": "1107"},
        },
        {
            "name": "1108", "text": "Ho", "sender": "OWN", "account": "other",
            "tlvs": {"entity": "1", "template": "1108"},
        },
    ]  # fmt: skip


def test_a_row_with_several_senders_is_a_template_for_each() -> None:
    table = read('name,text,headers\notp,Hi,"HELIO, HELIOX | "\n')
    assert table.bad == []
    assert [(each["name"], each["sender"]) for each in table.templates] == [
        ("otp-HELIO", "HELIO"),
        ("otp-HELIOX", "HELIOX"),
    ]


def test_rows_that_are_not_approved_are_left_out() -> None:
    table = read("name,text,status\na,Hi,REJECTED\nb,Ho,active\n")
    assert [each["name"] for each in table.templates] == ["b"]
    assert list(map(str, table.left_out)) == ["line 2: its status is REJECTED"]


def test_every_bad_line_is_named() -> None:
    table = read(
        'name,text,sender,tlv x y\na,"Hi\nthere",,\n,Hi,,\nb,{#name#},,\na,Hi,,\nc,Hi,SenderTooLong,\nd,Hi,,1\n'
    )
    assert [each.line for each in table.bad] == [4, 5, 6, 7, 8]
    assert str(table.bad[0]).startswith("line 4: name: '' is not a name")
    assert str(table.bad[1]).startswith("line 5: text: there is no variable {#name#}")
    assert str(table.bad[2]) == "line 6: name: line 2 has the name a too"
    assert str(table.bad[4]).startswith("line 8: tlvs: 'x y' is not a name or number of a TLV")


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "name\na\n", "text\na\n"])
def test_a_table_without_its_heading_is_refused(text: str) -> None:
    [bad] = read(text).bad
    assert "a heading needs a column text (or content), and a column name or template id" in str(bad)


def test_a_quote_that_is_not_closed_is_named() -> None:
    [bad] = read('name,text\na,Hi\nb,"Ho\nc,Hu\n').bad
    assert str(bad).startswith("line 3: this is not valid CSV")
