"""Days that data are kept, in the admin API."""

from typing import Annotated

from msgspec import Meta, UnsetType

from heliograph.domain.message.retention import MOST_DAYS

KeptDays = Annotated[float | None, Meta(description="Days, 0 for ever; null is the gateway's setting.")]

RetainDays = Annotated[float, Meta(ge=0, le=MOST_DAYS)] | UnsetType | None
