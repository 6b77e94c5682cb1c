"""The names of commits that are compared, their turns, and the table of their runs."""

from pathlib import Path

import pytest
from bench.loop.commits import Tree, in_turns, read_commits, rows_of
from bench.loop.figures import Refused, Run


def test_two_commits_or_more_are_named() -> None:
    assert read_commits(" c0c75b60  HEAD~2 ") == ["c0c75b60", "HEAD~2"]


@pytest.mark.parametrize("text", ["", "HEAD", "HEAD HEAD", "HEAD --output=x"])
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(Refused, match="two commits or more"):
        read_commits(text)


def test_an_unknown_commit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="no commit nowhere"):
        Tree("nowhere", tmp_path, compiled=False)


def test_every_other_round_is_reversed() -> None:
    assert in_turns(["a", "b"], 3) == [["a", "b"], ["b", "a"], ["a", "b"]]


def test_ratios_are_of_the_runs_of_one_round() -> None:
    def runs(*costs: float) -> list[Run]:
        return [Run("", called_back=1e5 / cost, cpu_us={"loop": cost}) for cost in costs]

    first, second = rows_of({"a": runs(100, 200), "b": runs(110, 240)})
    assert first[-1] == "1.000 (1.000 to 1.000)"
    assert second == ("b", "663", "175.0", "175 loop", "0.871 (0.833 to 0.909)", "1.150 (1.100 to 1.200)")
