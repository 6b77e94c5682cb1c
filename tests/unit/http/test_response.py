"""The framing of answers (RFC 9112, 6)."""

import pytest

from heliograph.http.asgi import Headers
from heliograph.http.response import Response

START = b"HTTP/1.1 200 OK\r\n"
GET = ("GET", "1.1")


def written(
    pieces: list[bytes],
    headers: Headers,
    request: tuple[str, str] = GET,
    status: int = 200,
    keep: bool = True,
) -> tuple[bytes, bool]:
    """All of it without its start, and whether the connection stays."""
    response = Response(START, status, headers, request, keep)
    octets = b"".join(response.octets(piece, number < len(pieces)) for number, piece in enumerate(pieces, 1))
    return octets.removeprefix(START), response.keep_alive


@pytest.mark.parametrize("request_line", [GET, ("HEAD", "1.1"), ("GET", "1.0")])
def test_a_body_of_a_known_length(request_line: tuple[str, str]) -> None:
    body = b"" if request_line[0] == "HEAD" else b"abcd"
    octets, stays = written([b"ab", b"", b"cd"], [(b"Content-Length", b"4")], request_line)
    assert (octets, stays) == (b"content-length: 4\r\n\r\n" + body, True)


def test_it_has_begun_when_something_of_it_is_to_be_written() -> None:
    response = Response(START, 200, [], GET, True)
    states = [response.begun]
    response.octets(b"", True)
    states.append(response.begun)
    assert states == [False, True]


def test_a_body_of_unknown_length_comes_in_chunks() -> None:
    octets, stays = written([b"ab", b"", b"x" * 17, b""], [])
    chunks = b"2\r\nab\r\n11\r\n" + b"x" * 17 + b"\r\n0\r\n\r\n"
    assert (octets, stays) == (b"transfer-encoding: chunked\r\n\r\n" + chunks, True)
    assert written([b""], [])[0] == b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n"


def test_one_who_knows_no_chunks_reads_to_the_end() -> None:
    assert written([b"ab", b"cd"], [], ("GET", "1.0")) == (b"connection: close\r\n\r\nabcd", False)


@pytest.mark.parametrize("request_line", [GET, ("HEAD", "1.1"), ("HEAD", "1.0")])
@pytest.mark.parametrize("status", [204, 304])
def test_some_answers_have_no_body(status: int, request_line: tuple[str, str]) -> None:
    assert written([b"abc", b""], [], request_line, status) == (b"\r\n", True)
    length = b"" if status == 204 else b"content-length: 3\r\n"
    assert written([b""], [(b"content-length", b"3")], request_line, status) == (length + b"\r\n", True)


def test_the_connection_is_the_servers_affair() -> None:
    assert written([b""], [(b"content-length", b"0"), (b"Connection", b"Close")]) == (
        b"content-length: 0\r\nconnection: close\r\n\r\n",
        False,
    )
    assert written([b""], [(b"content-length", b"0"), (b"connection", b"keep-alive")], keep=False)[1] is False


@pytest.mark.parametrize(
    "header",
    [
        (b"a\r\nb", b"c"), (b"a", b"b\r\nc: d"), (b"a", b"b\nc"), (b"a", b"b\0"), (b"a:", b"b"), (b"", b"b"),
        (b"a b", b"c"), (b"transfer-encoding", b"chunked"), (b"content-length", b"-1"), (b"content-length", b"1, 1"),
    ],
)  # fmt: skip
def test_what_splits_an_answer_is_not_written(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match="answer"):
        Response(START, 200, [header], GET, True)


@pytest.mark.parametrize("pieces", [[b"abc"], [b"a"], [b"a", b"bc"], []])
def test_a_body_of_another_length_than_it_says_is_not_written(pieces: list[bytes]) -> None:
    with pytest.raises(ValueError, match="length"):
        written([*pieces, b""], [(b"content-length", b"2")])
