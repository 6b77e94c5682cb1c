from hypothesis import given
from hypothesis import strategies as st

from heliograph.domain.message.state import ENDED, KIND_WORDS, TABLE, State, Trigger, parse_kind


@given(st.lists(st.sampled_from(Trigger), max_size=30))
def test_whatever_happens_a_message_is_charged_at_most_once_and_refunded_at_most_once(triggers: list[Trigger]) -> None:
    """Cancelling, failing and opting out are what gives credit back; no history has both, or one of them twice."""
    for state in (State.SCHEDULED, State.SENT):
        refunds = 0
        for trigger in triggers:
            led = TABLE.get((state, trigger))
            if led is not None:
                state = led
                refunds += trigger in (Trigger.CANCEL, Trigger.FAIL, Trigger.OPT_OUT)
        assert refunds == (state in ENDED)


@given(st.text(max_size=10))
def test_no_other_word_is_a_kind(text: str) -> None:
    assert (parse_kind(text) is not None) is (text.lower() in KIND_WORDS)
