"""The use cases of administration on a gateway elsewhere, as far as its admin API has them.

Each class has the methods of one of `app.admin` that commands call, by the same names, and gives back the same values;
what an answer of the API does not tell (ids, digests) is empty in them, and no command shows it.
"""

from typing import Any

from heliograph.admin_api import shapes
from heliograph.cli.failure import Failure
from heliograph.cli.remote.gateway import RemoteGateway
from heliograph.domain.calendar import parse_utc
from heliograph.domain.message import ids


class RemoteUseCases:
    """The base of these classes. A method that the admin API has no operation for needs the machine."""

    def __init__(self, gateway: RemoteGateway) -> None:
        self.gateway = gateway

    def __getattr__(self, name: str) -> Any:
        raise needs_the_machine(self.gateway.name)


class RemoteViews(RemoteUseCases):
    """The methods of `Views` that change messages."""

    async def cancel(self, key: int, tail: int) -> None:
        self.gateway.ask("POST", shapes.DoneShape, "messages", ids.to_hex(key, tail), "cancel")

    async def reschedule(self, key: int, tail: int, time: str) -> int:
        name = ids.to_hex(key, tail)
        self.gateway.ask("POST", shapes.DoneShape, "messages", name, "reschedule", body={"time": time})
        return parse_utc(self.gateway.get(shapes.MessageInFull, "messages", name).time)


def needs_the_machine(context: str) -> Failure:
    return Failure(
        f"this command needs the machine of the gateway; the context {context} is one elsewhere.",
        "Run it there, or with --context local if you mean the gateway of this machine.",
    )
