"""The table of what was shown against foreign peers is made of what tests recorded, and nothing else."""

import pytest

from tests.support import interop
from tests.support.interop import BEGIN, END, Showing

BIND = Showing("peer", "SMSC", "gateway", "tests/e2e/test_a.py::test_it", "bind")
UNBIND = BIND._replace(feature="unbind")
OTHER = Showing("another", "ESME", "simulator", "tests/e2e/test_b.py::test_that", "bind")
EMPTY = f"Before.\n\n{BEGIN}\n\nold\n\n{END}\n\nAfter.\n"


def test_there_is_a_row_for_each_peer_and_role() -> None:
    page = interop.written(EMPTY, {UNBIND, OTHER, BIND})
    assert page.startswith("Before.")
    assert page.endswith("After.\n")
    assert interop.read(page).splitlines()[2:] == [
        "| another | ESME | simulator | bind | `tests/e2e/test_b.py::test_that` |",
        "| peer | SMSC | gateway | bind; unbind | `tests/e2e/test_a.py::test_it` |",
    ]
    assert interop.read(page) == interop.table([OTHER, BIND, UNBIND])
    assert interop.written(page, [OTHER, BIND, UNBIND]) == page


@pytest.mark.parametrize("more", [UNBIND, BIND._replace(role="ESME"), BIND._replace(test="tests/x.py::test_x")])
def test_what_is_not_in_the_table_is_found(more: Showing) -> None:
    page = interop.written(EMPTY, [BIND, OTHER])
    assert interop.beyond(page, [BIND]) == []
    assert interop.beyond(page, [BIND, more]) == [more]


def test_a_showing_survives_the_way_from_one_process_to_another() -> None:
    assert Showing.read(BIND.recorded()) == BIND


def test_parameters_of_a_test_do_not_count() -> None:
    assert interop.test_of("tests/a.py::test_it[sar-3]") == "tests/a.py::test_it"


def test_the_page_has_a_table_and_somebody_showed_it() -> None:
    rows = interop.read(interop.PAGE.read_text(encoding="utf-8")).splitlines()[2:]
    assert {row.split("|")[1].strip() for row in rows} >= {"npm `smpp`", "PyPI `smpplib`", "Kannel's bearerbox"}
