"""Shapes of requests and answers about templates."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

from heliograph.admin_api.shapes import Accepts, Name

Text = Annotated[
    str,
    Meta(
        description="The registered text, its variables such as `{#var#}` or `{#numeric#}`.",
        examples=["Your code is {#numeric#}. Helio"],
    ),
]
Sender = Annotated[str, Meta(description="The sender ID; empty for any.", examples=["HELIO"])]
OwnerName = Annotated[str, Meta(description="The account's name; empty for any.", examples=["acme"])]
Tlvs = Annotated[
    dict[str, str],
    Meta(description="TLVs that go along, by name or number.", examples=[{"entity": "1101456780000012345"}]),
]


class TemplateShape(Struct):
    """A text that a registry of operators has."""

    name: Name
    text: Text
    sender: Sender
    account: OwnerName
    tlvs: Tlvs


class TemplatesShape(Struct):
    """Templates by name."""

    templates: list[TemplateShape]


class NewTemplate(Accepts):
    """A template to add."""

    name: Name
    text: Text
    sender: Sender = ""
    account: OwnerName = ""
    tlvs: Tlvs = field(default_factory=dict)


class NewTemplates(Accepts):
    """Templates to add, or to replace those of the same names with, all or none."""

    templates: Annotated[list[NewTemplate], Meta(min_length=1)]


class PutTemplates(Struct):
    """The numbers of templates that are new, and that were replaced."""

    added: int
    changed: int


class TemplateSettings(Accepts):
    """The changes of a template."""

    text: Text | UnsetType = UNSET
    sender: Sender | UnsetType = UNSET
    account: OwnerName | UnsetType = UNSET
    tlvs: Annotated[
        dict[str, str] | UnsetType, Meta(description="Those named are set, or removed where the value is empty.")
    ] = UNSET


class TextToCheck(Accepts):
    """A message to try on the templates."""

    sender: Annotated[str, Meta(description="The sender ID of the message.", examples=["HELIO"])]
    text: Annotated[str, Meta(description="Its content.", examples=["Your code is 4711. Helio"])]
    account: Annotated[str, Meta(description="Only templates that this account may use; empty for all.")] = ""


class TemplateCheckShape(Struct):
    """Whether a text fits a template."""

    fits: bool
    template: Annotated[
        TemplateShape | None, Meta(description="The one that it fits, else the nearest; null where there is none.")
    ]
    problem: Annotated[str, Meta(description="Where the text first departs from the nearest; empty where it fits.")]
