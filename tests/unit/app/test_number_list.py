"""Lists of phones, as people have them."""

import pytest

from heliograph.app.admin.number_list import NumberList

PHONES = ["4917012345678", "447700900123"]


def read(text: str) -> NumberList:
    return NumberList(text.splitlines(keepends=True))


@pytest.mark.parametrize(
    "text",
    [
        "4917012345678\n447700900123\n",
        "4917012345678\r\n447700900123",
        "\ufeff4917012345678\n\n  +447700900123  \n\n",
        "# since May\n4917012345678\n#447700900124\n  # more\n447700900123\n",
        "phone,name\n4917012345678,Ada\n447700900123,Bob, the other\n",
        '"Number";"Since"\n"4917012345678";"2026-01-01"\n"+447700900123";\n',
        "4917012345678\tAda\n447700900123\t\n",
        "'4917012345678'\n'447700900123'",
        "+49 (0)170 123-45678\n0044 7700/900 123\n",
        "phone\n4917012345678;Ada\n447700900123,Bob\n",
        '4917012345678,"Ada\n447700900123,"B"o\n',
        "\ufeffMSISDN\r\n4917012345678,\r\n447700900123,\r\n",
    ],
)
def test_numbers_are_read(text: str) -> None:
    found = read(text)
    assert found.bad == []
    assert list(found.batches(10)) == [PHONES]


def test_every_bad_line_is_named() -> None:
    found = read("# a list\n4917012345678\n0170 12345678\n\nname\n12345\n447700900123\n")
    assert [each.line for each in found.bad] == [3, 5, 6]
    assert str(found.bad[0]) == (
        "line 3: The number must not begin with 0; give digits with the country code, such as 447700900123. "
        "It is '0170 12345678'."
    )
    assert list(found.batches(1)) == [[PHONES[0]], [PHONES[1]]]


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "phone\n"])
def test_nothing_is_in_it(text: str) -> None:
    found = read(text)
    assert (len(found), found.bad, list(found.batches(3))) == (0, [], [])


def test_only_one_line_is_a_heading() -> None:
    assert [each.line for each in read("phone\nnumber\n4917012345678\n").bad] == [2]


def test_batches_have_their_size() -> None:
    numbers = [str(491700000000 + n) for n in range(7)]
    assert list(NumberList(numbers).batches(3)) == [numbers[:3], numbers[3:6], numbers[6:]]
