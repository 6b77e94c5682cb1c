"""How values are shown, charts, and the pulse."""

import xml.etree.ElementTree as ET

import pytest

from heliograph.console import chart, render
from heliograph.runtime.recent_activity import SECONDS, RecentActivity


@pytest.mark.parametrize(
    ("micro", "text"),
    [(0, "0"), (1, "0.000001"), (1_234_567_500_000, "1,234,567.5"), (-2_500_000, "−2.5"), (None, "–")],
)
def test_credits_are_exact_and_have_separators(micro: int | None, text: str) -> None:
    assert render.credits_text(micro) == text


def test_times_say_for_machines_too_when_it_was() -> None:
    shown = render.moment(1_800_000_000_123, precise=True)
    assert shown == '<time datetime="2027-01-15T08:00:00.123000Z">2027-01-15 08:00:00.123</time>'
    assert render.moment(None) == "–"
    assert render.moment(1 << 62) == "–"


def test_events_are_words() -> None:
    assert [render.event_name(name) for name in ("NoAnswer", "Accepted")] == ["No answer", "Accepted"]
    assert render.sentence("IANA time zone, `default` too") == "IANA time zone, <code>default</code> too"


def test_a_single_value_is_a_level_line() -> None:
    assert 'points="0.0,2.0 300.0,2.0"' in chart.spark([5], "Accepted")


def test_prose_has_code_and_moments_and_nothing_else() -> None:
    assert render.prose("Run `a <b>`, <b>") == "Run <code>a &lt;b&gt;</code>, &lt;b&gt;"
    time = '<time datetime="2027-01-15T08:00:00Z">2027-01-15 08:00:00</time>'
    assert render.prose("next at 2027-01-15T08:00:00Z") == f"next at {time}"
    assert (
        render.prose("kept *unrouted*, `ACME*` and `A*`")
        == "kept <em>unrouted</em>, <code>ACME*</code> and <code>A*</code>"
    )
    assert render.prose("2027-02-30T08:00:00Z") == "2027-02-30T08:00:00Z"


@pytest.mark.parametrize("values", [[], [0], [0, 0, 0], [1, 5, 2], [10**9] * 300])
def test_lines_are_sound_and_within_their_frame(values: list[int]) -> None:
    picture = ET.fromstring(chart.spark(values, 'what & "why"'))
    assert picture.get("aria-label") == 'what & "why"'
    points = picture[1].get("points")
    assert points is not None
    for point in points.split():
        x, y = (float(number) for number in point.split(","))
        assert 0 <= x <= chart.WIDTH
        assert 0 <= y <= chart.HEIGHT


def test_bars_tell_their_values_and_need_no_style() -> None:
    text = chart.bars([("08:00", 0, "nothing"), ("09:00", 5.5, "5.5 <credits>")], "usage")
    picture = ET.fromstring(text)
    bars = [bar for bar in picture if bar.tag == "rect"]
    assert [bar[0].text for bar in bars] == ["nothing", "5.5 <credits>"]
    assert float(bars[0].get("height") or "") < float(bars[1].get("height") or "")
    assert "style=" not in text


def test_the_pulse_keeps_what_each_second_had() -> None:
    counted = {"accepted": 100}
    pulse = RecentActivity(lambda: counted, ("accepted", "failed"))
    pulse._remember(counted)
    for number in (110, 110, 125):
        counted["accepted"] = number
        pulse.sample()
    assert pulse.series("accepted")[-4:] == [0, 10, 0, 15]
    assert pulse.rate("accepted") == 5.0
    assert len(pulse.series("failed")) == SECONDS
    counted["accepted"] = 3  # counted anew
    pulse.sample()
    assert pulse.series("accepted")[-1] == 0


async def test_the_pulse_beats_by_itself() -> None:
    pulse = RecentActivity(dict, ("accepted",))
    pulse.start()
    await pulse.stop()
    await RecentActivity(dict, ()).stop()
