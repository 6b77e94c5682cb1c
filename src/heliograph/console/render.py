"""Renders templates, and formats values for them."""

import re
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any, Final
from zoneinfo import available_timezones

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from heliograph import __version__
from heliograph.app.resources.prices import format_since
from heliograph.console.menu import GROUPS, MENU, OWN
from heliograph.domain.calendar import parse_utc
from heliograph.domain.display import counted, duration
from heliograph.domain.message import ids
from heliograph.domain.money import amounts

_REGIONS: Final = frozenset(
    {"Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"}
)
"""The first part of the names of time zones that people choose from. Others, such as `US/Eastern`, are old names."""

_CODE = re.compile(r"`([^`]*)`")
_NAME = re.compile(r"(?<![\w<>])\*([A-Za-z][\w ]*)\*(?!\w)")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")

ASSETS = {
    "console.css": "text/css; charset=utf-8",
    "console.js": "text/javascript; charset=utf-8",
    "shortcuts.js": "text/javascript; charset=utf-8",
    "times.js": "text/javascript; charset=utf-8",
    "charts.js": "text/javascript; charset=utf-8",
    "uplot.js": "text/javascript; charset=utf-8",
    "uplot.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""Files that pages need, and their media types."""


def load_assets() -> dict[str, bytes]:
    folder = Path(__file__).with_name("assets")
    return {name: (folder / name).read_bytes() for name in ASSETS}


def credits_text(micro: int | None) -> str:
    """Returns exact credits with separators for thousands, such as `−1,250.5`."""
    if micro is None:
        return "–"
    whole, point, rest = amounts.format_credits(abs(micro)).partition(".")
    return f"{'−' if micro < 0 else ''}{int(whole):,}{point}{rest}"


def rounded(micro: int | None) -> str:
    """Returns credits for a quick look: 1,000 and more are rounded to hundredths, such as `1,234.57`."""
    if micro is None or abs(micro) < 1_000 * amounts.MICRO:
        return credits_text(micro)
    return f"{'−' if micro < 0 else ''}{abs(micro) / amounts.MICRO:,.2f}"


def priced(micro: int) -> str:
    """Returns exact credits with their unit: `1 credit`, `0.07 credits`."""
    return counted(credits_text(micro), "credit")


def moment(at: int | None, *, precise: bool = False) -> Markup:
    """Returns a time element with UTC. The console's script shows it in the visitor's time zone."""
    if at is None or not -62_000_000_000_000 < at < 253_000_000_000_000:
        return Markup("–")
    when = datetime.fromtimestamp(at / 1000, UTC)
    shown = when.strftime("%Y-%m-%d %H:%M:%S") + (f".{at % 1000:03d}" if precise else "")
    return Markup('<time datetime="{}">{}</time>').format(when.isoformat().replace("+00:00", "Z"), shown)


def count(number: float) -> str:
    return f"{number:,.0f}"


def rate(number: float) -> str:
    """Returns a rate a second, with a decimal below 10, such as `2.5` or `40`."""
    return f"{number:,.1f}" if 0 < number < 10 else f"{number:,.0f}"


def prose(text: str) -> Markup:
    """Returns a text with code for each part in backticks, emphasis for each part in asterisks, and a time element for
    each moment in UTC, such as `2027-01-15T08:00:00Z`."""

    def time(found: re.Match[str]) -> str:
        try:
            return moment(parse_utc(found[0]))
        except ValueError:
            return found[0]  # such as the 30th of February

    marked = _NAME.sub(r"<em>\1</em>", _CODE.sub(r"<code>\1</code>", str(escape(text))))
    return Markup(_MOMENT.sub(time, marked))  # noqa: S704 - escaped


def sentence(text: str) -> Markup:
    """Returns a help text with a capital at its beginning, and code for each part in backticks."""
    return prose(text[:1].upper() + text[1:])


@cache
def zone_names() -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Returns the names of time zones to choose from, by region: `("Europe", ("Europe/Amsterdam", ...))`."""

    def region(name: str) -> str:
        return name.partition("/")[0]

    names = sorted(name for name in available_timezones() if "/" in name and region(name) in _REGIONS)
    return ("UTC", ("UTC",)), *((each, tuple(of)) for each, of in groupby(names, region))


def event_name(name: str) -> str:
    """Returns the words of an event's name: `No answer` for NoAnswer."""
    return re.sub(r"(?<=[a-z])([A-Z])", lambda match: f" {match[1].lower()}", name)


def message_id(message: Any) -> str:
    """Returns the id of a message, outbound or inbound."""
    return ids.to_hex(message.key, message.tail)


class Renderer:
    """Renders pages from templates. All values are escaped."""

    def __init__(self) -> None:
        self.assets = load_assets()
        self.version = sha256(b"".join(self.assets.values())).hexdigest()[:12]
        self._environment = Environment(
            loader=PackageLoader("heliograph.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.filters |= {
            "credits": credits_text,
            "rounded": rounded,
            "priced": priced,
            "moment": moment,
            "chosen": lambda row, names: {name: row[name] for name in names if name in row},
            "told_moment": lambda text: moment(None if text is None else parse_utc(text)),
            "since": format_since,
            "duration": duration,
            "count": count,
            "counted": counted,
            "rate": rate,
            "id": message_id,
            "prose": prose,
            "sentence": sentence,
            "event": event_name,
        }
        self._environment.globals |= {
            "assets": self.version,
            "version": __version__,
            "menu": MENU,
            "menu_groups": GROUPS,
            "own": OWN,
            "zone_names": zone_names,
        }

    def compile(self) -> None:
        """Compiles all templates, so that the first visitor does not wait for that."""
        for name in self._environment.list_templates(extensions=["html"]):
            self._environment.get_template(name)

    def render(self, template: str, **values: Any) -> bytes:
        return self._environment.get_template(template).render(**values).encode()
