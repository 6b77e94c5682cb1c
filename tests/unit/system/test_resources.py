"""The limit of open files: raised as far as the system lets it, with room for all that opens files."""

import resource

import pytest

from heliograph.adapters.system.resources import RESERVED, most_connections


@pytest.mark.parametrize(
    ("soft", "hard", "others", "raised", "possible"),
    [
        (1_024, 100_000, 0, 4_096 + RESERVED, 4_096),
        (1_024, 100_000, 2_000, 6_096 + RESERVED, 4_096),
        (1_024, 5_000, 2_000, 5_000, 2_500),
        (65_536, 65_536, 2_000, 65_536, 4_096),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 2_000, resource.RLIM_INFINITY, 4_096),
    ],
)
def test_files_are_enough_for_connections_of_both_servers(
    soft: int, hard: int, others: int, raised: int, possible: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [(soft, hard)]
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: limits.append(new))
    assert most_connections(4_096, others) == possible
    assert limits[-1] == (raised, hard)
