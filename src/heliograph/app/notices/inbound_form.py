"""An inbound message, as webhooks carry it: a form or JSON."""

from collections.abc import Callable
from typing import cast
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.facts import InboundMessage
from heliograph.app.notice import Notice
from heliograph.app.notices.receipt_form import content_type_of
from heliograph.app.webhook_job import WebhookJob
from heliograph.domain.calendar import format_local
from heliograph.domain.message.ids import to_uuid
from heliograph.domain.message.opt_out import Wish


class InboundRenderer:
    """Renders notices of inbound messages for webhooks."""

    def __init__(self, encode_json: Callable[[dict[str, str]], bytes]) -> None:
        self._encode_json = encode_json

    def job(self, notice: Notice, account: Account, zone: ZoneInfo) -> WebhookJob:
        """Returns the next try of the notice; the first try makes `notice.body`."""
        message = cast("InboundMessage", notice.subject)
        uuid = to_uuid(message.key, message.tail)
        body = notice.body
        if not body:
            fields = inbound_fields(message, uuid, zone)
            body = self._encode_json(fields) if account.callback_format == "json" else urlencode(fields).encode()
            notice.body = body
        return WebhookJob(
            notice.key,
            f"mo_{uuid}",
            account.inbound_url,
            body,
            content_type_of(body),
            (account.signing_secret,),
            wants_reply=account.inbound_reply == "body",
            account=notice.account,
        )


def inbound_fields(message: InboundMessage, uuid: str, zone: ZoneInfo) -> dict[str, str]:
    """Returns the parameters of an inbound message, in the order of the contract. For example, `from` is
    `491701234567`, `to` is `3388`, and `time` is `2026-11-27 02:54:36`."""
    suspected = {"opt_out_suspected": "yes"} if message.wish is Wish.SUSPECTED else {}
    return {
        "id": uuid,
        "from": message.sender,
        "to": message.recipient,
        "content": message.content,
        "binary": message.octets.hex(),
        "coding": str(message.coding),
        "time": format_local(message.at, zone),
        "parts": str(message.parts),
        "complete": "yes" if message.complete else "no",
        "keyword": message.keyword,
        **suspected,
    }
