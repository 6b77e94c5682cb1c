"""Plain words in docstrings and comments, and few slips, in the tree and in each folder."""

import pytest

from tests.tidy import words
from tests.tidy.rules import parsed, read_modules

TEXT = '''"""What one needs, such as `what`."""

LIMIT = 1  # Those whose limit nobody set; for
# example 7.
X = 2  # noqa: what


def _once() -> None:
    """One line."""


def _twice() -> None: ...


_once(), _twice(), _twice()
'''


def test_words_examples_and_slips_are_counted() -> None:
    figures = words.measure(parsed("app/a.py", TEXT))
    assert dict(figures.counts) == {
        "what": 1, "one": 2, "those": 1, "whose": 1, "nobody": 1, "examples": 1, "slips": 1
    }  # fmt: skip
    assert (figures.words, figures.lines) == (14, 15)


def test_a_folder_above_its_ceiling_is_named() -> None:
    folders = words.by_folder([parsed("app/a/b/c.py", '"""' + "one lane " * 100 + '"""\n')])
    assert list(folders) == ["app/a"]
    ceilings = {"app/a": {"one": 500.0}, "tree": {"one": 400.0}}
    assert words.excesses(folders, ceilings) == [
        "tree: 100 of 'one' are 500.00 per 1,000; at most 400. `make words` shows the modules."
    ]
    assert words.shrunk(folders, {"app/a": {"one": 600.0}, "tree": {"one": 400.0}}) == {
        "app/a": {"one": 550.0},
        "tree": {"one": 400.0},
    }


def test_small_folders_may_use_a_word_once_and_need_no_example() -> None:
    folders = words.by_folder([parsed("app/a.py", '"""One lane; what it is."""\n')])
    assert words.excesses(folders, {}) == []


def test_examples_have_a_least_rate() -> None:
    folders = words.by_folder([parsed("app/a.py", '"""' + "lane " * 1_700 + '"""\n')])
    assert [text.split(";")[1].split(".")[0] for text in words.excesses(folders, {})] == [" at least 1"] * 2


@pytest.fixture(scope="module")
def figures() -> dict[str, words.Figures]:
    return words.by_folder(read_modules())


def test_text_is_plain(figures: dict[str, words.Figures]) -> None:
    assert words.excesses(figures, words.read_ceilings()) == []


def test_ceilings_are_for_folders_that_are_there(figures: dict[str, words.Figures]) -> None:
    assert set(words.read_ceilings()) <= {words.TREE, *figures}


def test_short_modules_become_fewer() -> None:
    found = words.short_modules(read_modules())
    assert len(found) <= words.short_modules_allowed(words.read_ceilings()), "\n".join(found)
