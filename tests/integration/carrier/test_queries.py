"""query_sm: parts without a receipt are asked for, and the answers are reports."""

from dataclasses import replace

import pytest

from heliograph.app.ports import Question, Report
from heliograph.domain.message.receipt import Delivery
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus as Status
from tests.support.carrier_rig import QUICK, Rig, connector, parts_of
from tests.support.smsc import Smsc, wait_until

QUESTION = Question("id1", "3388", "447700900123")


def failing(status: int) -> p.QuerySmResp:
    return p.QuerySmResp(status=status)


async def test_a_question_has_the_id_and_the_sender_as_submitted_and_its_answer_is_a_report() -> None:
    async with (
        Smsc() as smsc,
        Rig(connector(smsc.port, options={"sender_map": "3388 -> 3399", "source_rules": "33* -> 44*: 2/8"})) as rig,
    ):
        smsc.told = lambda query: p.QuerySmResp(
            query.sequence, message_id="id1", final_date="270115080100000+", message_state=5, error_code=27
        )
        assert not rig.carrier.can_ask, "it is not bound yet"
        await wait_until(lambda: rig.carrier.can_ask)
        rig.carrier.ask(QUESTION)
        await wait_until(lambda: rig.events.reports)
        report, acknowledge = rig.events.reports[0]
        assert report == Report("id1", "447700900123", Delivery.UNDELIV, True, "027", asked=True)
        acknowledge(True)
        (query,) = smsc.link.queries
        assert (query.message_id, query.source_addr_ton, query.source_addr_npi, query.source_addr) == (
            "id1", 2, 8, "4499",
        )  # fmt: skip
        state = rig.carrier.state()
        assert (state.asked, state.told, state.queries_off, state.in_flight) == (1, 1, "", 0)
        assert (state.silent_s, rig.events.outcomes) == (0.0, {})


@pytest.mark.parametrize("status", [Status.ESME_RINVCMDID, Status.ESME_RQUERYFAIL])
async def test_an_operator_that_knows_no_query_sm_is_asked_once(status: Status) -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        smsc.told = lambda query: p.QuerySmResp(query.sequence, status)
        await wait_until(lambda: rig.carrier.can_ask)
        rig.carrier.ask(QUESTION)
        rig.carrier.ask(QUESTION)
        await wait_until(lambda: rig.carrier.state().queries_off)
        await wait_until(lambda: len(smsc.link.queries) == 2)
        assert not rig.carrier.can_ask
        rig.carrier.ask(QUESTION)
        assert rig.carrier.state().asked == 2
        assert rig.carrier.state().queries_off == status.name
        assert rig.journal.said("smpp.queries_off") == [{"connector": "op1", "answer": status.name}]
        assert rig.events.reports == []


async def test_an_operator_that_has_answered_may_have_forgotten_a_message() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        answers = {
            "id1": p.QuerySmResp(message_id="id1", message_state=1),
            "id2": failing(Status.ESME_RQUERYFAIL),
            "id3": p.QuerySmResp(message_id="id3", message_state=2),
        }

        def told(query: p.QuerySm) -> p.QuerySmResp:
            answer = answers[query.message_id]
            answer.sequence = query.sequence
            return answer

        smsc.told = told
        await wait_until(lambda: rig.carrier.can_ask)
        for name in answers:
            await wait_until(lambda: rig.carrier.can_ask)
            rig.carrier.ask(Question(name, "Helio", "447700900123"))
        await wait_until(lambda: len(rig.events.reports) == 2)
        assert [(report.operator_id, report.final) for report, _ in rig.events.reports] == [
            ("id1", False), ("id3", True),
        ]  # fmt: skip
        assert rig.carrier.can_ask


async def test_a_throttled_question_is_followed_by_a_pause() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        smsc.told = lambda query: p.QuerySmResp(query.sequence, Status.ESME_RTHROTTLED)
        await wait_until(lambda: rig.carrier.can_ask)
        rig.carrier.ask(QUESTION)
        await wait_until(lambda: not rig.carrier.can_ask)
        assert rig.carrier.state().queries_off == ""
        assert rig.carrier.capacity == 10


async def test_questions_take_no_place_that_a_part_waits_for_and_parts_are_not_put_back_for_them() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, window=2)) as rig:
        smsc.told = lambda query: None
        smsc.reply = lambda submit: None
        await wait_until(lambda: rig.carrier.can_ask)
        rig.carrier.ask(QUESTION)
        parts = [*parts_of("one"), *parts_of("two")]
        rig.carrier.submit(parts)
        await wait_until(lambda: smsc.submits)
        assert not rig.carrier.can_ask, "a part waits"
        rig.carrier.ask(QUESTION)
        assert rig.carrier.state().asked == 1
        # The answer to the question makes room for the part.
        smsc.link.session.respond(p.QuerySmResp(smsc.link.queries[0].sequence, message_id="id1", message_state=2))
        smsc.link.flush()
        await wait_until(lambda: len(smsc.submits) == 2)
        smsc.link.respond_all()
        await wait_until(lambda: rig.events.accepted == 2)
        assert rig.carrier.can_ask


async def test_an_operator_that_leaves_questions_unanswered_gets_all_parts_and_is_asked_no_more() -> None:
    hasty = replace(QUICK, response_timeout_s=0.3)
    async with Smsc() as smsc, Rig(connector(smsc.port, window=8), hasty) as rig:
        smsc.told = lambda query: None
        await wait_until(lambda: rig.carrier.can_ask)
        for _ in range(5):
            rig.carrier.ask(QUESTION)
        assert rig.carrier.state().asked == 2, "a quarter of the window"
        rig.carrier.submit([part for n in range(8) for part in parts_of(f"{n}")])
        await wait_until(lambda: len(smsc.submits) == 8)
        await wait_until(lambda: rig.carrier.state().queries_off)
        assert rig.journal.said("smpp.queries_off") == [{"connector": "op1", "answer": "nothing"}]
        await wait_until(lambda: len(rig.events.outcomes) == 8)


async def test_a_link_that_goes_with_a_question_on_its_way_gives_no_outcome() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        smsc.told = lambda query: None
        await wait_until(lambda: rig.carrier.can_ask)
        rig.carrier.ask(QUESTION)
        await wait_until(lambda: smsc.links[0].queries)
        smsc.link.cut()
        await wait_until(lambda: len(smsc.links) >= 2 and rig.carrier.can_ask)
        assert rig.events.outcomes == {}
        assert rig.events.reports == []


async def test_an_id_that_fits_into_no_pdu_is_not_asked_for() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.can_ask)
        rig.carrier.ask(Question("x" * 256, "Helio", "447700900123"))
        assert rig.carrier.state().asked == 0
        assert rig.carrier.can_ask
