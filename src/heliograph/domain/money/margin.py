"""The least margin of a segment: its price less the cost of a connector."""

from dataclasses import dataclass
from typing import Final

from heliograph.domain.money.amounts import MICRO, format_credits, parse_credits

_WHOLE: Final = 100 * MICRO
"""100 %, in millionths of a percent."""


@dataclass(frozen=True, slots=True)
class MinMargin:
    """A bound on the margin of a segment. It may be negative, which allows a loss up to it."""

    amount: int
    """Micro-credits; or millionths of a percent, for example 10,000,000 for 10 %."""
    is_percent: bool = False
    """Whether it is a part of the price."""

    def allows(self, price: int, cost: int) -> bool:
        """Returns whether a segment with this price and cost (micro-credits) earns enough."""
        if self.is_percent:
            return (price - cost) * _WHOLE >= price * self.amount
        return price - cost >= self.amount

    def __str__(self) -> str:
        return format_credits(self.amount) + "%" * self.is_percent


def read_min_margin(text: str) -> MinMargin:
    """Reads `0.001`, `-0.5` or `10%`. Raises ValueError with a sentence for people."""
    number = text.strip()
    is_percent = number.endswith("%")
    try:
        amount = parse_credits(number.removesuffix("%").rstrip())
    except ValueError:
        raise ValueError(f"{text!r} is neither credits, such as 0.001, nor a part of the price, such as 10%") from None
    if is_percent and amount > _WHOLE:
        raise ValueError(f"{text} is out of reach: a margin is at most 100 % of the price")
    return MinMargin(amount, is_percent)
