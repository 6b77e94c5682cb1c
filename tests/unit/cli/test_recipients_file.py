"""CSV files as messages: templates, references, and files that cannot be used."""

from pathlib import Path

import pytest

from heliograph.cli.lists.recipients_file import BadFile, RecipientsFile

DEFAULTS = {"from": "ACME", "content": "Hi {name}"}


def write(folder: Path, text: str, name: str = "contacts.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def sent(contacts: RecipientsFile) -> list[dict[str, str]]:
    return [{name: value for name, value in row.fields.items() if name != "reference"} for row in contacts]


def references(contacts: RecipientsFile) -> list[str]:
    return [row.fields["reference"] for row in contacts]


def test_rows_fill_the_template(tmp_path: Path) -> None:
    path = write(tmp_path, '\ufeffto,name,code\r\n447700900123,Ann,{7}\r\n\r\n447700900124,"O, Bo",8\r\n')
    contacts = RecipientsFile(path, {"from": "ACME", "content": "{{{name}}} {code}", "time": ""}, "spring")
    assert contacts.count == 2
    assert sent(contacts) == [
        {"to": "447700900123", "from": "ACME", "content": "{Ann} {7}"},
        {"to": "447700900124", "from": "ACME", "content": "{O, Bo} 8"},
    ]
    assert [row.line for row in contacts] == [2, 4]


def test_columns_win_over_defaults_but_a_given_content_over_the_column(tmp_path: Path) -> None:
    path = write(tmp_path, "to,from,content,time,reference\n447700900123,OTHER,{x} raw ,2030-01-01 00:00:00,r1\n")
    [row] = RecipientsFile(path, {"from": "ACME"}, "c")
    assert row.fields == {
        "to": "447700900123",
        "from": "OTHER",
        "content": "{x} raw ",
        "time": "2030-01-01 00:00:00",
        "reference": "r1",
    }
    [row] = RecipientsFile(path, {"from": "ACME", "content": "instead of{content}"}, "c")
    assert row.fields["content"] == "instead of{x} raw "


def test_references_are_the_same_each_time_and_differ_between_rows(tmp_path: Path) -> None:
    path = write(tmp_path, "to,name\n447700900123,Ann\n447700900124,Bo\n447700900123,Ann\n")
    contacts = RecipientsFile(path, DEFAULTS, "spring sale")
    found = references(contacts)
    assert found == references(contacts) == references(RecipientsFile(path, DEFAULTS, "spring sale"))
    assert len(set(found)) == 3
    assert all(len(each) <= 64 and each.isprintable() and each.startswith("spring-sale.") for each in found)
    assert not set(found) & set(references(RecipientsFile(path, DEFAULTS, "summer")))


def test_a_row_keeps_its_reference_when_others_change(tmp_path: Path) -> None:
    before = references(RecipientsFile(write(tmp_path, "to,name\n447700900123,Ann\n447700900124,B\n"), DEFAULTS, "c"))
    text = "name,to,note\nZoe,447700900125,new\nAnn,447700900123,\nBo,447700900124,corrected\n"
    after = references(RecipientsFile(write(tmp_path, text), DEFAULTS, "c"))
    assert before[0] == after[1]
    assert before[1] not in after


@pytest.mark.parametrize(
    ("text", "defaults", "problem"),
    [
        ("", DEFAULTS, "is empty"),
        (
            "447700900123,447700900124\n",
            DEFAULTS,
            "The numbers may be in column 1 or column 2. Name the column of the numbers, as in --to-column 'column 1'",
        ),
        (
            "name;Phone;Mobile\nAnn;+44 20 7946 0000;+49 170 1234567\nBo;;+49 170 1234568\n",
            DEFAULTS,
            "The numbers may be in Mobile or Phone. Name the column of the numbers, as in --to-column Mobile",
        ),
        ("name;Number;Kontakt\nAnn;12;+49 170 1234567\n", DEFAULTS, "The numbers may be in Kontakt or Number."),
        ("name;city\nAnn;Bonn\n", DEFAULTS, "no column `to`; its columns are name, city. Name the column of"),
        ("Mobile;text\n+49 170 1234567;Hi\n", {"from": "A"}, "or give --content. Its other columns are text"),
        ("to,name,name\n", DEFAULTS, "the column name twice"),
        ("to\n", DEFAULTS, "--content has {name}"),
        ("to,name\n", {"content": "x"}, "no column `from`; add it, or give --from"),
        ("to,name\n", {"from": "ACME"}, "no column `content`"),
        ("to,name\n1,2\n1,2,3\n", DEFAULTS, "line 3: it has more cells"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, defaults: dict[str, str], problem: str) -> None:
    with pytest.raises(BadFile) as caught:
        RecipientsFile(write(tmp_path, text), defaults, "c")
    assert problem in str(caught.value)


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"none\.csv cannot be read: No such file or directory$"):
        RecipientsFile(tmp_path / "none.csv", DEFAULTS, "c")
    path = tmp_path / "windows.csv"
    path.write_bytes(b"to,name\n447700900123,J\xfcrgen\n")
    with pytest.raises(
        BadFile, match=r"windows\.csv is not UTF-8\. Save it as `CSV UTF-8`.* -f WINDOWS-1252 -t UTF-8 "
    ):
        RecipientsFile(path, DEFAULTS, "c")


def test_a_file_in_utf_16_says_so_itself(tmp_path: Path) -> None:
    path = tmp_path / "unicode.csv"
    for encoding in ("utf-16-le", "utf-16-be"):
        path.write_bytes("\ufeffto\tname\r\n447700900123\tJürgen\r\n".encode(encoding))
        assert sent(RecipientsFile(path, DEFAULTS, "c"))[0]["content"] == "Hi Jürgen"


def test_numbers_alone_need_no_heading(tmp_path: Path) -> None:
    path = write(tmp_path, "+49 170 1234567\n447700900123\n")
    contacts = RecipientsFile(path, {"from": "ACME", "content": "Hi"}, "c")
    assert [(row.line, row.fields["to"]) for row in contacts] == [(1, "491701234567"), (2, "447700900123")]
    assert contacts.count == 2


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("name;Mobil\nAnn;+49 170 1234567\n", "Mobil"),
        ("Kunde;Telefon-Nr.\n4917099;+49 170 1234567\n", "Telefon-Nr."),  # a customer number looks like a phone's
        ("name;Erreichbar unter\nAnn;+49 170 1234567\n", "Erreichbar unter"),
        ("from;name;Kontakt\n4917099;Ann;+49 170 1234567\n", "Kontakt"),
        ("Ann;+49 170 1234567\n", "column 2"),
        ("+49 170 1234567\n", "column 1"),
    ],
)
def test_the_column_of_the_numbers_is_found_and_named(tmp_path: Path, text: str, column: str) -> None:
    contacts = RecipientsFile(write(tmp_path, text), {"from": "ACME", "content": "Hi"}, "c")
    assert [each["to"] for each in sent(contacts)] == ["491701234567"]
    assert contacts.to_column == column
    assert column in contacts.assumed


def test_fields_of_a_request_are_columns_in_any_case(tmp_path: Path) -> None:
    path = write(tmp_path, "Name;To;From;Content\nAnn;+49 170 1234567;ACME;Hi Ann\n")
    contacts = RecipientsFile(path, {}, "c")
    assert sent(contacts) == [{"to": "491701234567", "from": "ACME", "content": "Hi Ann"}]
    assert contacts.assumed == ""


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("name;Mobil;to\nAnn;+49 170 1234567;home\n", "Mobil"),
        ("name;Mobil\nAnn;+49 170 1234567\n", "Mobil"),
        ("Ann;+49 170 1234567\n", "column 2"),
        ("name;;to\nAnn;+49 170 1234567;home\n", "column 2"),
    ],
)
def test_another_column_may_have_the_numbers(tmp_path: Path, text: str, column: str) -> None:
    contacts = RecipientsFile(write(tmp_path, text), {"from": "ACME", "content": "Hi"}, "c", column)
    assert sent(contacts) == [{"to": "491701234567", "from": "ACME", "content": "Hi"}]


def test_short_rows_have_empty_cells(tmp_path: Path) -> None:
    assert sent(RecipientsFile(write(tmp_path, "to,name\n447700900123\n"), DEFAULTS, "c"))[0]["content"] == "Hi "


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_a_file_is_read_as_any_list(tmp_path: Path, separator: str) -> None:
    rows = [["to", "name"], ["+49 (0)170 1234567", "Ann"], ["0044-7700 900123", "Bo"]]
    path = write(tmp_path, "\n".join(separator.join(row) for row in rows))
    assert [(row["to"], row["content"]) for row in sent(RecipientsFile(path, DEFAULTS, "c"))] == [
        ("491701234567", "Hi Ann"), ("447700900123", "Hi Bo"),
    ]  # fmt: skip


def test_a_cell_may_have_several_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "to;name\n+49 170 1234567, 0044 7700 900123;Ann\n")
    assert sent(RecipientsFile(path, DEFAULTS, "c"))[0]["to"] == "491701234567,447700900123"
