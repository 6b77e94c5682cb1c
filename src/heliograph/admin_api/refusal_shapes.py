"""Shapes of answers about refused requests."""

from typing import Annotated

from msgspec import Meta, Struct

from heliograph.admin_api.shapes import Moment
from heliograph.domain.error import Reason

ReasonWord = Annotated[
    str, Meta(description=f"One of {', '.join(f'`{each}`' for each in Reason)}.", examples=["credit"])
]


class RefusalTotalShape(Struct):
    """Number of requests of an account that were refused for a reason."""

    account: str
    reason: ReasonWord
    requests: int
    latest: Annotated[Moment, Meta(description="Time of the last one.")]


class RefusalHourShape(Struct):
    """Number of requests that were refused in an hour."""

    hour: Annotated[Moment, Meta(description="Its beginning.")]
    requests: int


class RefusedRequestShape(Struct):
    """A request that was refused. Texts are left out, numbers shown in part."""

    time: Moment
    account: str
    reason: ReasonWord
    status: Annotated[int, Meta(description="HTTP status of the answer.")]
    method: str
    path: str
    field: Annotated[str, Meta(description="The field at fault; empty where none was.")]
    message: Annotated[str, Meta(description="What the customer was told.")]
    address: Annotated[str, Meta(description="Address of the client.")]
    request_id: Annotated[str, Meta(description="The `X-Request-Id` of the answer.")]


class RefusalsShape(Struct):
    """Refused requests of customers; those of the last seconds may be missing."""

    requests: Annotated[int, Meta(description="Refused requests in total.")]
    totals: Annotated[list[RefusalTotalShape], Meta(description="By account and reason, the largest 200 first.")]
    hours: Annotated[list[RefusalHourShape], Meta(description="By hour; hours without any are left out.")]
    latest: Annotated[
        list[RefusedRequestShape],
        Meta(description="The newest first; the last 20 of each account and reason are kept."),
    ]
