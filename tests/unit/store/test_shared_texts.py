"""Texts that rows have in common are in memory once, and only for as long as they are near each other."""

from heliograph.adapters.store.shared import rows


def text_of(number: int) -> str:
    return f"Offer {number}"


def test_equal_texts_of_rows_near_each_other_are_a_single_object() -> None:
    assert rows.share(text_of(1)) is rows.share(text_of(1))


def test_texts_of_earlier_rows_are_forgotten() -> None:
    first = rows.share(text_of(0))
    for number in range(1, 3 * rows.MOST_SHARED):
        assert rows.share(text_of(number)) == text_of(number)
        assert len(rows._shared) <= rows.MOST_SHARED

    assert rows.share(text_of(0)) is not first
