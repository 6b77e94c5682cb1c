"""smpplib as customers use it, over a blocking socket."""

import contextlib
from collections.abc import Callable
from typing import Any

import smpplib.client

from tests.support.process import eventually
from tests.support.timeouts import PATIENCE_S


class SmpplibClient:
    """smpplib as customers use it: answers each deliver_sm with `status`."""

    def __init__(
        self, address: str, kind: str = "transceiver", status: int = 0, name: str = "demo", password: str = "demosmpp"
    ) -> None:
        host, _, port = address.rpartition(":")
        self._client = smpplib.client.Client(host, int(port), allow_unknown_opt_params=True, timeout=PATIENCE_S)
        self.ids: list[str] = []
        self.delivered: list[Any] = []
        self._client.set_message_sent_handler(lambda pdu: self.ids.append(pdu.message_id.decode()))
        self._client.set_message_received_handler(self._take)
        self._status = status
        self._client.connect()
        try:
            getattr(self._client, f"bind_{kind}")(system_id=name, password=password)
        except BaseException:
            self._client.disconnect()  # else a later test gets the warning of the open socket
            raise
        self._client._socket.settimeout(0.1)

    def _take(self, pdu: Any) -> int:
        self.delivered.append(pdu)
        return self._status

    def submit(self, text: str, to: str = "491701234567", sender: str = "Helio", **fields: Any) -> None:
        usual = {"source_addr_ton": 5, "dest_addr_ton": 1, "dest_addr_npi": 1, "registered_delivery": True}
        self._client.send_message(
            **{**usual, "source_addr": sender, "destination_addr": to, "short_message": text.encode(), **fields}
        )

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        """Reads until something is so."""

        def look() -> bool:
            with contextlib.suppress(TimeoutError):
                self._client.read_once(auto_send_enquire_link=False)
            return is_so()

        eventually(look, what, PATIENCE_S, pause=0)

    def close(self) -> None:
        self._client.disconnect()

    def receipts(self) -> dict[str, str]:
        """The states by the ids that the texts have."""
        words = [pdu.short_message.decode().split() for pdu in self.delivered]
        return {word[0].removeprefix("id:"): word[7].removeprefix("stat:") for word in words}
