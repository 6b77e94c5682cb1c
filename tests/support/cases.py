"""Many small cases in one test, where pytest would take longer than the cases."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

Test = Callable[..., None]


def for_each(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Like `pytest.mark.parametrize`, but all cases are a single test, which takes no fixtures.

    A case of pytest's own costs some 5 ms in all workers together. An error says which case it is of.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given = [dict(zip(keys, [case] if len(keys) == 1 else case, strict=True)) for case in cases]
    assert given, "no cases"

    def decorate(test: Test) -> Test:
        def in_turn(**outer: Any) -> None:
            for each in given:
                try:
                    test(**each, **outer)
                except Exception as error:
                    error.add_note(f"with {each}")
                    raise

        in_turn.__name__, in_turn.__doc__, in_turn.__module__ = test.__name__, test.__doc__, test.__module__
        return in_turn

    return decorate
