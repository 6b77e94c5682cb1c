"""Sentences for the findings of a ledger audit (`heliograph audit`)."""

from collections.abc import Iterator, Sequence
from string import Formatter
from typing import Any

from heliograph.domain.message.ids import to_hex
from heliograph.domain.money.amounts import format_credits

_DROPPED = (
    "Retention dropped messages of the account number {{account}} that had {{entries}} {} ({{amount_credits}}); "
    "its ledger has {{found}} without a message ({{ledger_credits}})."
)

CHECKS: dict[str, str] = {
    "balance": "The balance of the account {name} is {balance_credits}, but its ledger adds up to {ledger_credits}.",
    "ledger": "The ledger has an entry of {amount_credits} for the account number {account}, which does not exist.",
    "charge": "The message {id} costs {price_credits} and was charged {charged_credits}.",
    "batch_charge": "The messages of the batch {id} cost {cost_credits} together and were charged {charged_credits}.",
    "batch": "The message {id} belongs to a batch that does not exist.",
    "charged_nothing": (
        "The account number {account} was charged {amount_credits} for a message or batch that does not exist: {id}."
    ),
    "dropped_charges": _DROPPED.format("charges for messages"),
    "inbound_charge": "The inbound message {id} costs {price_credits} and was charged {charged_credits}.",
    "inbound_charged_nothing": (
        "The account number {account} was charged {amount_credits} for an inbound message that does not exist: {id}."
    ),
    "dropped_inbound": _DROPPED.format("charges for inbound messages"),
    "refund": "A refund of {amount_credits} of the account number {account} is not backed by a lost message: {id}.",
    "dropped_refunds": _DROPPED.format("refunds of messages"),
    "refunds": "The message {id} was refunded {times} times.",
    "no_refund": "The message {id} was cancelled or failed, and its price of {price_credits} was not refunded.",
    "state": "The message {id} has the state {state}, which does not exist.",
    "no_end": "The message {id} is cancelled or failed, but has no time of its end.",
    "ended": "The message {id} has ended, but its state is not final.",
    "not_queued": "The scheduled message {id} is not in the queue.",
    "queued": "The message {id} is in the queue, although it has ended, was submitted, or does not exist.",
    "unsent": "The message {id} waits to be sent, but its queue entry is missing, so it will not be sent.",
    "unrecognised": "The receipt of part {part} of the message {id} is awaited, but would not be recognised.",
    "no_callback": "A callback is pending for the message {id}, but its entry is missing, so it will not be made.",
    "no_inbound_callback": (
        "A callback is pending for the inbound message {id}, but its entry is missing, so it will not be made."
    ),
    "no_balance_callback": (
        "A callback is pending for the low balance of the account {name}, but its entry is missing, so it will not be "
        "made."
    ),
    "armed": "The balance of the account {name} is {balance_credits}, below {threshold_credits}, and it was not told.",
    "early_callback": "A callback is pending for the message {id}, although the message has not ended.",
    "joined_nothing": "The inbound message {id} was joined from parts, but does not exist.",
    "gone_queue": "The message {id} is claimed by the node {node}, which no longer exists.",
    "gone_callback": "The callback for the message {id} is claimed by the node {node}, which no longer exists.",
    "gone_part": (
        "A part of an inbound message from the connector {connector} is claimed by the node {node}, which no longer "
        "exists."
    ),
}
"""A sentence for each check that found a wrong row. Fields `..._credits` are money; `id` is a message or a batch."""


def format_finding(check: str, values: Sequence[Any]) -> str:
    """Fills the fields of the check's sentence with the values, in their order.

    A field `id` uses two values, key and tail. The tail is None if only the key is known.
    """
    sentence, rest = CHECKS[check], iter(values)
    names = (name for _, name, _, _ in Formatter().parse(sentence) if name)
    return sentence.format_map({name: _format_value(name, rest) for name in names})


def _format_value(name: str, values: Iterator[Any]) -> str:
    value = next(values)
    if name == "id":
        tail = next(values)
        return f"with the key {value}" if tail is None else to_hex(value, tail)
    return format_credits(int(value)) if name.endswith("_credits") else str(value)
