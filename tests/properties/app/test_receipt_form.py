"""A receipt's form says what the standard library would say."""

from urllib.parse import urlencode

from hypothesis import given
from hypothesis import strategies as st

from heliograph.app.notices.receipt_form import receipt_form

dates = st.datetimes().map(lambda moment: moment.strftime("%Y-%m-%d %H:%M:%S"))


@given(
    uuid=st.uuids().map(str),
    state=st.sampled_from(["DELIVRD", "EXPIRED", "DELETED", "UNDELIV", "UNKNOWN", "REJECTD"]),
    submitted=dates,
    done=dates,
    err=st.integers(0, 999).map("{:03d}".format),
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
def test_it_is_what_urlencode_makes_of_it(
    uuid: str, state: str, submitted: str, done: str, err: str, text: str
) -> None:
    fields = {
        "id": uuid, "message_status": state, "subdate": submitted, "donedate": done, "err": err, "text": text
    }  # fmt: skip
    assert receipt_form(fields) == urlencode(fields).encode()
