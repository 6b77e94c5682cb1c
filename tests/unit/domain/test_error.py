import pytest

from heliograph.domain import error
from heliograph.domain.error import CATALOGUE, Entry, Fault

# The table of the interface.
TABLE = {
    "01": 400, "02": 400, "03": 400, "04": 401, "05": 402, "06": 403, "07": 404,
    "08": 405, "09": 409, "10": 413, "11": 415, "12": 429, "13": 503, "14": 504, "99": 500,
}  # fmt: skip


def test_codes_and_http_statuses() -> None:
    assert {entry.code: entry.http for entry in CATALOGUE} == TABLE
    assert len(CATALOGUE) == len(TABLE)


def test_the_catalogue_has_every_entry() -> None:
    assert {value for value in vars(error).values() if isinstance(value, Entry)} == set(CATALOGUE)


def test_what_may_be_retried() -> None:
    assert {entry.code for entry in CATALOGUE if entry.retry} == {"12", "13", "14"}


def test_a_fault_as_an_answer() -> None:
    fault = error.invalid("to", "The destination is empty; give digits.")
    assert fault.entry is error.INVALID
    assert fault.body() == {
        "Status": "03",
        "Message": "The destination is empty; give digits.",
        "Field": "to",
    }
    assert str(fault) == "03 (to): The destination is empty; give digits."
    assert error.missing("from").body()["Field"] == "from"
    assert Fault(error.NOT_FOUND, "No such message.").body() == {
        "Status": "07",
        "Message": "No such message.",
    }


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        (Fault(error.TOO_EARLY, "Wait.", retry_after=7), 7),
        (Fault(error.UNAVAILABLE, "Wait."), 1),
        (Fault(error.CONFLICT, "It is sent."), None),
    ],
)
def test_retry_after(fault: Fault, seconds: int | None) -> None:
    assert fault.retry_after == seconds
