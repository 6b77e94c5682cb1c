from pathlib import Path

import pytest

from heliograph.adapters.store.shared.sql import SqlDialect, Statement, fill, load, split

NAMED = SqlDialect(words={"bytewise": ""}, calls={"among": "IN (SELECT value FROM json_each(:{}))"})
NUMBERED = SqlDialect(words={"bytewise": 'COLLATE "C"'}, calls={"among": "= ANY (:{})"}, numbered=True)

ROUTES = """-- routes: All of them, in order.
SELECT id FROM route ORDER BY prefix {bytewise}, id;

-- cancel: Those that may be cancelled.
UPDATE message SET state = {State.CANCELLED}
WHERE key {among(keys)} AND account = :account AND state IN {before(Trigger.CANCEL)} AND :account > 0;
"""


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Folders of the shared statements and of an engine's own."""
    shared, own = tmp_path / "shared", tmp_path / "own"
    shared.mkdir()
    own.mkdir()
    (shared / "routes.sql").write_text(ROUTES)
    return shared, own


def test_parameters_keep_their_names_where_the_engine_knows_them(folders: tuple[Path, Path]) -> None:
    assert load(NAMED, *folders) == {
        "routes": Statement("SELECT id FROM route ORDER BY prefix , id", ()),
        "cancel": Statement(
            "UPDATE message SET state = 2\n"
            "WHERE key IN (SELECT value FROM json_each(:keys)) AND account = :account AND state IN (0) "
            "AND :account > 0",
            ("keys", "account"),
        ),
    }


def test_parameters_are_numbered_where_the_engine_wants_that(folders: tuple[Path, Path]) -> None:
    assert load(NUMBERED, *folders) == {
        "routes": Statement('SELECT id FROM route ORDER BY prefix COLLATE "C", id', ()),
        "cancel": Statement(
            "UPDATE message SET state = 2\nWHERE key = ANY ($1) AND account = $2 AND state IN (0) AND $2 > 0",
            ("keys", "account"),
        ),
    }


def test_an_engine_s_own_statement_replaces_the_shared_one(folders: tuple[Path, Path]) -> None:
    (folders[1] / "other.sql").write_text("-- routes: As this engine has them.\nSELECT 1;\n")
    statements = load(NUMBERED, *folders)
    assert statements["routes"].text == "SELECT 1"
    assert "cancel" in statements


def test_a_statement_over_rows_is_one_for_each_of_them(folders: tuple[Path, Path]) -> None:
    (folders[0] / "search.sql").write_text(
        "-- rows_new: By key.\nSELECT 0 AS time, key FROM message WHERE key > :key ORDER BY key DESC;\n\n"
        "-- rows_all: By time.\nSELECT time, key FROM message;\n"
    )
    (folders[1] / "own.sql").write_text(
        "-- page: Some.\nSELECT * FROM ({rows} LIMIT :most) AS looked ORDER BY {order};\n"
    )
    statements = load(NUMBERED, *folders)
    assert statements.keys() == {"routes", "cancel", "page_new", "page_all"}
    assert statements["page_new"] == Statement(
        "SELECT * FROM (SELECT 0 AS time, key FROM message WHERE key > $1 ORDER BY key DESC LIMIT $2) AS looked "
        "ORDER BY looked.key DESC",
        ("key", "most"),
    )
    assert statements["page_all"].text.endswith("ORDER BY looked.time DESC, looked.key DESC")


def test_a_statement_with_a_direction_is_one_for_each(folders: tuple[Path, Path]) -> None:
    (folders[0] / "lists.sql").write_text("-- list: Some.\nSELECT a FROM b ORDER BY a {up}, c {down};\n")
    statements = load(NUMBERED, *folders)
    assert statements.keys() == {"routes", "cancel", "list_up", "list_down"}
    assert statements["list_up"].text == "SELECT a FROM b ORDER BY a ASC, c DESC"
    assert statements["list_down"].text == "SELECT a FROM b ORDER BY a DESC, c ASC"


def test_a_name_stands_once_in_a_folder(folders: tuple[Path, Path]) -> None:
    (folders[0] / "again.sql").write_text("-- routes: Once more.\nSELECT 1;\n")
    with pytest.raises(ValueError, match="routes is there twice"):
        load(NAMED, *folders)


def test_what_looks_like_a_parameter_and_is_none() -> None:
    text = "-- one: Casts, texts, comments.\nSELECT a::bigint, ':b', \":c\" -- :d\nFROM e WHERE f = :g"
    assert list(split(text)) == [("one", text.partition("\n")[2])]
    assert fill("'{}'::bigint[]") == "'{}'::bigint[]", "an empty array is no fragment"


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("{State.SENT}", "1"),
        ("{Delivery.DELIVRD}", "2"),
        ("{CallbackEnd.FAILED}", "2"),
        ("{NO_ANSWER}", "-1"),
        ("IN {before(Trigger.FAIL)}", "IN (1)"),
    ],
)
def test_the_domain_s_values_are_filled_in(text: str, filled: str) -> None:
    assert fill(text) == filled


@pytest.mark.parametrize("text", ["{State.LOST}", "{nothing}", "{among(keys)}", "{before(State.SENT)}"])
def test_an_unknown_fragment_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        fill(text)


def test_comments_and_casts_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "one.sql").write_text(
        "-- one: All that has a colon.\nSELECT a::bigint, ':b', :c::text -- :d\nFROM e;\n"
    )
    assert load(NUMBERED, tmp_path) == {"one": Statement("SELECT a::bigint, ':b', $1::text -- :d\nFROM e", ("c",))}
