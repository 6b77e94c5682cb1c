"""Shapes of reports."""

from typing import Annotated

from msgspec import Meta, Struct

ZonedMoment = Annotated[
    str, Meta(description="ISO 8601, in the report's time zone.", examples=["2027-01-15T09:00:00.000+01:00"])
]
Millis = Annotated[int | None, Meta(description="Milliseconds, right to 1/32; null where there is none.")]


class DelayShape(Struct):
    """Times that so many percent did not exceed."""

    p50: Millis
    p90: Millis
    p95: Millis
    p99: Millis


class CountsShape(Struct):
    """Counts of messages, requests and credits."""

    accepted: Annotated[int, Meta(description="Messages.")]
    segments: Annotated[int, Meta(description="Segments of the accepted messages.")]
    submitted: Annotated[int, Meta(description="Messages whose first part an operator took.")]
    delivered: Annotated[int, Meta(description="Messages reported as delivered.")]
    failed: Annotated[int, Meta(description="Messages that ended otherwise, but for cancelled ones.")]
    cancelled: int
    inbound: Annotated[int, Meta(description="Messages from phones.")]
    refused: Annotated[int, Meta(description="Requests that got an error.")]
    spend: Annotated[str, Meta(description="Credits charged, without those given back.", examples=["12.035"])]
    delivery_share: Annotated[
        float | None, Meta(description="Delivered ones among those that ended; null where none did.")
    ]


class PointShape(CountsShape, kw_only=True):
    """Counts of a step of time."""

    time: Annotated[ZonedMoment, Meta(description="Its beginning.")]


class PartShape(CountsShape, kw_only=True):
    """Counts of an account, a connector or a country."""

    name: Annotated[str, Meta(description="A name, or a country by ISO 3166-1; empty for what has none.")]
    to_operator: DelayShape
    to_receipt: DelayShape


class DelayPointShape(Struct):
    """Delays of a step of time."""

    time: Annotated[ZonedMoment, Meta(description="Its beginning.")]
    to_operator: DelayShape
    to_receipt: DelayShape


class CodeShape(Struct):
    """Number of messages, or requests, with a code."""

    code: Annotated[
        str, Meta(description="State and the operator's own code, or a reason of refusals.", examples=["UNDELIV 001"])
    ]
    count: int


class ReportShape(Struct):
    """Series of a range of time. What was counted in the last seconds may be missing."""

    range: str
    zone: Annotated[
        str, Meta(description="Time zone by its IANA name: whose days these are.", examples=["Europe/Berlin"])
    ]
    note: Annotated[
        str, Meta(description="Where days are those of UTC though another zone was asked for: why; else empty.")
    ]
    start: ZonedMoment
    end: ZonedMoment
    step_s: Annotated[int, Meta(description="Seconds between two points; fewer or more where clocks are changed.")]
    total: CountsShape
    before: Annotated[CountsShape, Meta(description="The range of the same length before.")]
    to_operator: Annotated[DelayShape, Meta(description="From when a message was due until an operator had taken it.")]
    to_receipt: Annotated[DelayShape, Meta(description="From then until it was reported as delivered.")]
    points: list[PointShape]
    points_before: list[PointShape]
    delays: list[DelayPointShape]
    accounts: Annotated[list[PartShape], Meta(description="Those with the most messages first.")]
    connectors: list[PartShape]
    countries: list[PartShape]
    failures: Annotated[list[CodeShape], Meta(description="Failed messages by state and code, the most first.")]
    refusals: Annotated[list[CodeShape], Meta(description="Refused requests by reason, the most first.")]
