"""Many small cases in one test, where pytest would take longer than the cases."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

Test = Callable[..., Any]


def for_each(names: str | Sequence[str], cases: Iterable[Any]) -> Callable[[Test], Test]:
    """Like `pytest.mark.parametrize`, but all cases are a single test, and share its fixtures.

    A case of pytest's own costs some 5 ms in all workers together. An error says which case it is of.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given = [dict(zip(keys, [case] if len(keys) == 1 else case, strict=True)) for case in cases]
    assert given, "no cases"

    def decorate(test: Test) -> Test:
        def in_turn(**outer: Any) -> None:
            for case in given:
                with _named(case):
                    test(**case, **outer)

        async def awaited_in_turn(**outer: Any) -> None:
            for case in given:
                with _named(case):
                    await test(**case, **outer)

        one: Any = awaited_in_turn if inspect.iscoroutinefunction(test) else in_turn
        one.__name__, one.__doc__, one.__module__ = test.__name__, test.__doc__, test.__module__
        # pytest reads from it which fixtures the test takes
        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name not in keys]
        one.__signature__ = signature.replace(parameters=others)
        one.pytestmark = getattr(test, "pytestmark", [])
        wrapped: Test = one
        return wrapped

    return decorate


@contextmanager
def _named(case: dict[str, Any]) -> Iterator[None]:
    """Adds the case to an error."""
    try:
        yield
    except Exception as error:
        error.add_note(f"with {case}")
        raise
