"""A low balance, as webhooks carry it: always JSON, whatever the account's `callback_format`."""

from collections.abc import Callable
from typing import cast
from zoneinfo import ZoneInfo

from heliograph.app.configuration import Account
from heliograph.app.notice import LowBalance, Notice
from heliograph.app.notices.receipt_form import JSON
from heliograph.app.ports import Journal
from heliograph.app.webhook_job import WebhookJob
from heliograph.domain.calendar import format_local
from heliograph.domain.money.amounts import format_credits


class BalanceRenderer:
    """Renders notices of low balances for webhooks, and logs each before its first try."""

    def __init__(self, encode_json: Callable[[dict[str, str]], bytes], journal: Journal) -> None:
        self._encode_json = encode_json
        self._journal = journal

    def job(self, notice: Notice, account: Account, zone: ZoneInfo) -> WebhookJob:
        """Returns the next try of the notice; the first try makes `notice.body`."""
        low = cast("LowBalance", notice.subject)
        if not notice.body:
            balance, threshold = format_credits(low.balance), format_credits(low.threshold)
            self._journal.log("info", "balance.low", account=account.name, balance=balance, threshold=threshold)
            notice.body = self._encode_json(
                {
                    "type": "account.low_balance",
                    "account": account.name,
                    "balance": balance,
                    "threshold": threshold,
                    "time": format_local(low.at, zone),
                }
            )
        return WebhookJob(
            notice.key,
            f"low_{low.id}_{low.at}",
            account.callback_url,
            notice.body,
            JSON,
            (account.signing_secret,),
            account=notice.account,
        )
