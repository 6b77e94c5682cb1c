"""The file of ported numbers."""

from pathlib import Path

import pytest

from heliograph.adapters.system.ported_numbers import AGAIN_S, BLOCK, LOOK_S, PortedFile, UnusablePorted
from tests.support.gateway import MemoryJournal

FIRST = 491700000000


def write(path: Path, lines: list[str], *, ending: str = "\n") -> Path:
    path.write_text("".join(line + ending for line in sorted(lines)), encoding="ascii")
    return path


def numbers(count: int) -> dict[str, str]:
    """Every third number of a range, with a network of five or six digits, and some shorter numbers."""
    found = {str(FIRST + 3 * n): str(26201 + n % 7 if n % 5 else 310410) for n in range(count)}
    return found | {str(FIRST // 100 + n): "26299" for n in range(5)}


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("head", ["", "number,mccmnc\n"])
@pytest.mark.parametrize("count", [0, 1, 2_000])
def test_each_number_of_the_file_is_found_and_no_other(tmp_path: Path, count: int, head: str, ending: str) -> None:
    listed = numbers(count) if count else {}
    path = write(tmp_path / "ported.csv", [f"{number},{network}" for number, network in listed.items()], ending=ending)
    path.write_text(head + path.read_text("ascii"), encoding="ascii")
    ported = PortedFile(path, MemoryJournal())
    assert count < 2_000 or path.stat().st_size > 4 * BLOCK
    for number, network in listed.items():
        assert ported.find(number) == network
        for other in (f"{number}0", number[:-1], str(int(number) + 1)):
            assert ported.find(other) == listed.get(other, "")
    assert ported.find("1") == ported.find("999999999999999") == ""


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("491700000002,26201\n" * 600 + "491700000001,26201\n" * 600, "not sorted"),
        ("+491700000002,26201\n4917", "does not begin a line"),
        ("491700000002;26201\n", "does not begin a line"),
    ],
)
def test_an_unusable_file_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "ported.csv"
    path.write_text(text, encoding="ascii")
    with pytest.raises(UnusablePorted, match=problem):
        PortedFile(path, MemoryJournal())
    with pytest.raises(UnusablePorted, match="No such file"):
        PortedFile(tmp_path / "none.csv", MemoryJournal())
    with pytest.raises(UnusablePorted, match="no regular file"):
        PortedFile(tmp_path, MemoryJournal())


async def test_a_changed_file_is_read_and_an_unusable_file_changes_nothing(tmp_path: Path) -> None:
    path, journal = write(tmp_path / "ported.csv", ["491700000001,26201"]), MemoryJournal()
    ported = PortedFile(path, journal)

    async def look(times: int) -> str:
        for _ in range(times * LOOK_S):
            await ported.refresh()
        return ported.find("491700000001")

    write(tmp_path / "new.csv", ["491700000001,26202"]).replace(path)
    assert await look(1) == "26201"  # it may still be copied
    assert await look(1) == "26202"
    path.unlink()
    assert await look(3) == "26202"
    path.write_text("nonsense\nnonsense\n", encoding="ascii")
    assert await look(3) == "26202"
    write(tmp_path / "new.csv", ["491700000001,26203"]).replace(path)
    assert await look(30) == "26203"
    assert [event for _, event, _ in journal.lines] == ["ported.read", "ported.unusable", "ported.read"]


async def test_an_unusable_file_is_read_again_once_a_minute(tmp_path: Path) -> None:
    path, journal = write(tmp_path / "ported.csv", ["491700000001,26201"]), MemoryJournal()
    ported = PortedFile(path, journal)
    path.write_text("nonsense\nnonsense\n", encoding="ascii")
    told = []
    for _ in range(3 * AGAIN_S):
        await ported.refresh()
        told.append(len(journal.lines))
    assert told[2 * LOOK_S - 1] == 1
    assert told[-1] == 3
