"""Terms of a search for messages, read from what people type."""

from heliograph.domain.message.receipt import Delivery


def number_in(text: str) -> str:
    """Returns the digits of a number or its beginning, in any notation, for example `491701` for `+49 170-1`; empty if
    `text` is no number.
    """
    bare = text.strip().removeprefix("+").replace(" ", "").replace("-", "")
    return bare if bare.isascii() and bare.isdigit() and len(bare) <= 15 else ""


def ending_of(error: str) -> tuple[Delivery | None, str] | None:
    """Returns the state and the code in an error such as `UNDELIV`, `011`, or both; None and '' for a missing half.
    Returns None if no message can have them.
    """
    state: Delivery | None = None
    code = ""
    for word in error.upper().split():
        if word in Delivery.__members__:
            if state not in (None, Delivery[word]):
                return None
            state = Delivery[word]
        elif code in ("", word):
            code = word
        else:
            return None
    return state, code
