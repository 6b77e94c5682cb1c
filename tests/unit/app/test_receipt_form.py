"""The parameters of receipts by webhook."""

from dataclasses import replace
from urllib.parse import parse_qs
from zoneinfo import ZoneInfo

import msgspec
import pytest

from heliograph.app.configuration import Account
from heliograph.app.facts import Message
from heliograph.app.notice import Notice, ReachedState
from heliograph.app.notices.receipt_form import ReceiptRenderer
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.way import Way

ACCOUNT = Account(7, "acme", "", bytes(32))
USUAL = {"id", "message_status", "subdate", "donedate", "err", "text"}


def parameters(account: Account, network: str) -> dict[str, str]:
    message = Message(7, "4917", "A", 0, "Hi & bye", 1, 1, 0, 9, 1, 1, key=5, tail=6, way=Way.WEBHOOK, network=network)
    notice = Notice(7, 5, ReachedState(message, Delivery.DELIVRD, "", 9), 9)
    body = ReceiptRenderer(msgspec.json.encode).job(notice, account, ZoneInfo("UTC")).body
    if account.callback_format == "json":
        found: dict[str, str] = msgspec.json.decode(body)
        return found
    return {name: value for name, (value,) in parse_qs(body.decode(), keep_blank_values=True).items()}


@pytest.mark.parametrize("form", ["form", "json"])
def test_only_an_account_with_full_receipts_gets_the_network(form: str) -> None:
    account = replace(ACCOUNT, callback_format=form)
    assert parameters(account, "26201").keys() == USUAL
    full = replace(account, receipt_fields="full")
    assert parameters(full, "26201") == parameters(account, "26201") | {"network": "26201"}
    assert parameters(full, "")["network"] == ""
