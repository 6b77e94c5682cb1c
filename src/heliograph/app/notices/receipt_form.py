"""The receipt of a state, as webhooks carry it: the six parameters, as a form or as JSON. An account with
`receipt_fields=full` also gets the network."""

from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote_plus
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.facts import Message
from heliograph.app.notice import Notice, ReachedState
from heliograph.app.webhook_job import WebhookJob
from heliograph.domain.calendar import format_local
from heliograph.domain.limits.defaults import RECEIPT_TEXT_CHARS
from heliograph.domain.message.ids import to_uuid
from heliograph.domain.message.receipt import Delivery, err_of

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"

_STATUSES: dict[Delivery, str] = {state: state.name for state in Delivery}


class ReceiptRenderer:
    """Renders notices of final and intermediate states for webhooks."""

    def __init__(self, encode_json: Callable[[dict[str, str]], bytes]) -> None:
        self._encode_json = encode_json

    def job(self, notice: Notice, account: Account, zone: ZoneInfo) -> WebhookJob:
        """Returns the next try of the notice; the first try makes `notice.body`."""
        final: ReachedState = notice.subject
        message = final.message
        uuid = to_uuid(message.key, message.tail)
        name = f"dlr_{uuid}_{final.state.name.lower()}" if notice.key < 0 else f"dlr_{uuid}"
        body = notice.body
        if not body:
            fields = receipt_fields(message, uuid, final.state, err_of(final.err, final.state), final.at, zone)
            if account.receipt_fields == "full":
                fields["network"] = message.network
            body = self._encode_json(fields) if account.callback_format == "json" else receipt_form(fields)
            notice.body = body
        return WebhookJob(
            notice.key, name, message.callback_url, body, content_type_of(body), (account.signing_secret,),
            "", final.err, False, notice.account,
        )  # fmt: skip


def content_type_of(body: bytes) -> str:
    """Returns the type of a stored body, such as `application/json`. The account may have another format by now."""
    return JSON if body.startswith(b"{") else FORM


def receipt_fields(message: Message, uuid: str, state: Delivery, err: str, at: int, zone: ZoneInfo) -> dict[str, str]:
    """Returns the six parameters of a delivery receipt, in the order of the contract."""
    return {
        "id": uuid,
        "message_status": _STATUSES[state],
        "subdate": format_local(message.time, zone),
        "donedate": format_local(at, zone),
        "err": err,
        "text": message.content[:RECEIPT_TEXT_CHARS],
    }


def receipt_form(fields: dict[str, str]) -> bytes:
    """Form-encodes the parameters. `id`, `message_status`, `err` and `network` need no quoting."""
    more = f"&network={fields['network']}" if "network" in fields else ""
    return (
        f"id={fields['id']}&message_status={fields['message_status']}&subdate={_quoted(fields['subdate'])}"
        f"&donedate={_quoted(fields['donedate'])}&err={fields['err']}&text={_quoted(fields['text'])}{more}"
    ).encode()


_quoted = lru_cache(maxsize=4_096)(quote_plus)
"""Caches quoted values, because many receipts share their seconds, and many messages their first words."""
