"""The bodies of requests and answers of the admin API. Decoding, encoding and the OpenAPI document use these types.

The OpenAPI document leaves out the suffix `Shape`, which keeps the names of classes apart. Amounts
are exact decimal text, times are ISO 8601 in UTC, messages are named by their ids of 32 hexadecimal characters.
"""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

# Patterns under `extra_json_schema` are for the document: what does not fit them is told in our own words.
_NAME = Meta(extra_json_schema={"pattern": "^[A-Za-z0-9._-]{1,64}$"})
Name = Annotated[str, _NAME, Meta(examples=["acme"])]
ConnectorName = Annotated[str, _NAME, Meta(examples=["op1"])]
Credits = Annotated[str, Meta(examples=["12.5"], extra_json_schema={"pattern": "^-?[0-9]{1,12}([.][0-9]{1,6})?$"})]
Moment = Annotated[str, Meta(examples=["2027-01-15T08:00:00.000Z"])]
Cursor = Annotated[
    str | None,
    Meta(description="Given back as `cursor`, it brings what follows; null where nothing does.", examples=["17"]),
]


class DoneShape(Struct):
    """The change is done."""

    done: bool = True


class ProblemShape(Struct, rename="pascal"):
    """A fault: an entry of the error catalogue, which is the customers' API's."""

    status: Annotated[str, Meta(description="The code of the entry.", pattern="^[0-9]{2}$", examples=["03"])]
    message: Annotated[str, Meta(description="What is wrong and what to do.", examples=["The field to is missing."])]
    field: Annotated[str, Meta(description="The field at fault.", examples=["to"])] | UnsetType = UNSET
