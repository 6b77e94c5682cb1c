"""What the store would not have, in the log: each, but not more of them than a log is for."""

from heliograph.app.commit.isolate import PieceFate, RejectedPiece
from heliograph.app.facts import Attempt, EarlyReceipt, Facts
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.receipt import Delivery
from heliograph.runtime.group_commit import REFUSED_LINES, RefusedFacts
from tests.support.store import START
from tests.support.use_case_fakes import SetClock

KEY = 1 << 55


class Journal:
    def __init__(self) -> None:
        self.said: list[dict[str, object]] = []

    def log(self, level: str, event: str, **fields: object) -> None:
        assert (level, event) == ("error", "store.refused")
        self.said.append(fields)


def about_a_message(fate: PieceFate = PieceFate.REDUCED) -> RejectedPiece:
    return RejectedPiece(Facts(attempts=[Attempt(3, KEY, 0, 1, 0, START)], dequeued=[(3, KEY)]), "too long", fate)


def test_a_line_tells_whose_it_is_and_no_value_of_it() -> None:
    journal = Journal()
    misfits = RefusedFacts(SetClock(), journal)
    misfits.note(about_a_message())
    misfits.note(RejectedPiece(Facts(dequeued=[(4, KEY)]), "too long", PieceFate.DROPPED))
    misfits.note(
        RejectedPiece(
            Facts(early=[EarlyReceipt(7, "id", "49", Delivery.DELIVRD, "000", 0)]), "a NUL", PieceFate.REDUCED
        )
    )
    misfits.note(RejectedPiece(Facts(early_matched=[(7, "id")]), "a NUL", PieceFate.DROPPED))
    message = to_hex(KEY, 0x155)[:16]
    assert journal.said == [
        {"facts": "attempts dequeued", "fate": "reduced", "problem": "too long", "account": 3, "message": message},
        {"facts": "dequeued", "fate": "dropped", "problem": "too long", "account": 4, "message": message},
        {"facts": "early", "fate": "reduced", "problem": "a NUL", "connector": 7},
        {"facts": "early_matched", "fate": "dropped", "problem": "a NUL", "connector": 7},
    ]
    assert misfits.counts == {PieceFate.REDUCED: 2, PieceFate.DROPPED: 2}


def test_a_flood_of_them_is_counted_and_does_not_fill_the_log() -> None:
    clock, journal = SetClock(), Journal()
    misfits = RefusedFacts(clock, journal)
    for _ in range(REFUSED_LINES + 40):
        misfits.note(about_a_message())
    assert len(journal.said) == REFUSED_LINES
    clock.pass_ms(int(60.0 * 1000))
    misfits.note(about_a_message())
    misfits.note(about_a_message())
    assert [fields.get("unsaid") for fields in journal.said[REFUSED_LINES - 1 :]] == [None, 40, None]
    assert misfits.counts == {PieceFate.REDUCED: REFUSED_LINES + 42}
