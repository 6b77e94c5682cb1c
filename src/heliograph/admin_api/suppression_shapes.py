"""Shapes of requests and answers about phones that opted out."""

from typing import Annotated

from msgspec import Meta, Struct

from heliograph.admin_api.shapes import Accepts, Cursor, Moment


class SuppressionShape(Struct):
    """A phone that an account must not send to."""

    number: Annotated[str, Meta(description="E.164 without `+`.", examples=["491701234567"])]
    since: Moment
    source: Annotated[str, Meta(description="`message` (from the phone), `api`, `console`, `command` or `import`.")]


class SuppressionsShape(Struct):
    """Suppressions by number."""

    suppressions: list[SuppressionShape]
    cursor: Cursor


class NewSuppressions(Accepts):
    """Phones to suppress. Nothing is changed where one of them is no number."""

    numbers: Annotated[
        list[str], Meta(description="7 to 15 digits with country code; a leading `+` is dropped.", min_length=1)
    ]


class SuppressedShape(Struct):
    """The outcome: every one of the numbers is suppressed now."""

    added: Annotated[int, Meta(description="How many were not suppressed before.")]
    known: Annotated[int, Meta(description="How many were, those that were given twice included.")]
