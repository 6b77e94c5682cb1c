"""Small charts as SVG, drawn on the server: no script, no style attributes."""

from collections.abc import Sequence
from html import escape

WIDTH = 300
HEIGHT = 60
_PAD = 2


def spark(values: Sequence[float], label: str) -> str:
    """Returns a line over an area, with the latest value at the right.

    `label` describes the figures for screen readers, for example "Accepted: 12.0 a second now".
    """
    if len(values) == 1:
        values = [*values, *values]  # a level line
    most = max(max(values, default=0), 1)
    step = WIDTH / max(1, len(values) - 1)
    points = [
        f"{number * step:.1f},{HEIGHT - _PAD - value / most * (HEIGHT - 2 * _PAD):.1f}"
        for number, value in enumerate(values)
    ]
    line = " ".join(points)
    return (
        f'<svg class="spark" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">'
        f'<polygon class="area" points="0,{HEIGHT} {line} {WIDTH},{HEIGHT}"/>'
        f'<polyline class="line" points="{line}"/></svg>'
    )


def bars(values: Sequence[tuple[str, float, str]], label: str) -> str:
    """Returns a bar for each (name, value, description), such as `("14:00", 12, "14:00: 12 requests")`.

    About six names are written below the bars.
    """
    most = max((value for _, value, _ in values), default=0) or 1
    width = WIDTH * 2
    room = width / max(1, len(values))
    parts = []
    every = max(1, len(values) // 6)
    for number, (name, value, words) in enumerate(values):
        height = max(value / most * (HEIGHT * 2 - 24), 1.5 if value else 0)
        left = number * room
        parts.append(
            f'<rect class="bar" x="{left + room * 0.12:.1f}" y="{HEIGHT * 2 - 16 - height:.1f}" '
            f'width="{room * 0.76:.1f}" height="{height:.1f}" rx="2"><title>{escape(words)}</title></rect>'
        )
        if number % every == 0:
            middle = min(max(left + room / 2, 30), width - 30)
            parts.append(f'<text class="tick" x="{middle:.1f}" y="{HEIGHT * 2 - 3}">{escape(name)}</text>')
    return (
        f'<svg class="bars" viewBox="0 0 {width} {HEIGHT * 2}" role="img" aria-label="{escape(label)}">'
        f'<line class="base" x1="0" x2="{width}" y1="{HEIGHT * 2 - 16}" y2="{HEIGHT * 2 - 16}"/>'
        f"{''.join(parts)}</svg>"
    )
