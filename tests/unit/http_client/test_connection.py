"""How answers are read, however they are cut and whatever is wrong with them; without a network."""

import asyncio
from dataclasses import dataclass, field
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heliograph.adapters.webhook.callback import has_reply, read_reply
from heliograph.adapters.webhook.local import WebhookLimits
from heliograph.app.webhook_job import WebhookJob
from heliograph.http_client.capacity import AccountLoad, SharedCapacity, Slot
from heliograph.http_client.connection import ClientConnection
from heliograph.http_client.requester import AnswerBody, Job
from tests.support.cases import for_each

SLOT = Slot(cast("SharedCapacity", None), AccountLoad(1))
LIMITS = WebhookLimits(head_octets=1_000, body_octets=2_000, reply_octets=40)


@dataclass
class ConnectionOwner:
    """Keeps what the connection said."""

    said: list[tuple[str, object]] = field(default_factory=list)

    def opened(self, connection: ClientConnection) -> None: ...

    def wants_body(self, job: Job, code: int, answer: AnswerBody) -> bool:
        return has_reply(code, answer)

    def answered(self, job: Job, code: int, answer: AnswerBody | None) -> None:
        reply, problem = ("", "") if answer is None else read_reply(answer, LIMITS.reply_octets)
        said = f"{code} {reply}{'!' * bool(problem)}{problem}" if job.wants_reply else code
        self.said.append(("answered", said))

    def failed(self, job: Job, problem: str) -> None:
        self.said.append(("failed", problem))

    def again(self, job: Job, path: str, started: float) -> None:
        self.said.append(("again", started))

    def released(self, connection: ClientConnection) -> None:
        self.said.append(("released", connection.busy))

    def lost(self, connection: ClientConnection) -> None:
        self.said.append(("lost", connection.busy))


class Wire:
    """A transport that keeps what was written and tells its protocol of the end when `settle` is called."""

    def __init__(self) -> None:
        self.written = b""
        self.cut = False

    def write(self, data: bytes) -> None:
        self.written += data

    def abort(self) -> None:
        self.cut = True


class Talk:
    """One connection with a job on it."""

    def __init__(self, *, wants_reply: bool = False) -> None:
        self.owner = ConnectionOwner()
        self.wire = Wire()
        self.connection = ClientConnection(self.owner, LIMITS, 100.0, SLOT)
        self.connection.connection_made(cast("asyncio.Transport", self.wire))
        self.send(wants_reply=wants_reply)

    def send(self, *, wants_reply: bool = False) -> None:
        job = WebhookJob(1, "dlr_1", "http://h/", b"", "text/plain", (), wants_reply=wants_reply)
        self.connection.send(job, "/", b"request", 100.0)

    def feed(self, *pieces: bytes) -> None:
        for piece in pieces:
            if self.wire.cut:
                return
            self.connection.data_received(piece)

    def end(self) -> list[tuple[str, object]]:
        self.connection.connection_lost(None)
        return self.owner.said


def cut(octets: bytes, step: int) -> list[bytes]:
    return [octets[at : at + step] for at in range(0, len(octets), step)]


REUSABLE = {
    b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok": 200,
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n": 200,
    b"HTTP/1.1 204 No Content\r\n\r\n": 204,
    b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n": 200,
    b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n": 200,
    b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n": 201,
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\na\r\n0\r\nTrailer: 1\r\n\r\n": 200,
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx": 200,
    b"HTTP/1.1 102 Wait\r\nA: b\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 1\r\n\r\nx": 500,
    b"HTTP/1.1 302 Found\r\nLocation: http://other/\r\nContent-Length: 0\r\n\r\n": 302,
    b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n": 410,
    b"HTTP/1.1 299 Odd\r\nContent-Length: 0\r\n\r\n": 299,
    b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n": 304,
    b"HTTP/1.1 200 OK\r\nUpgrade: h2,h2c\r\nConnection: Upgrade\r\nContent-Length: 0\r\n\r\n": 200,
    b"\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n": 200,
    b"HTTP/1.1 200 OK\r\nX: " + b"y" * 900 + b"\r\nContent-Length: 1900\r\n\r\n" + b"z" * 1_900: 200,
}


@for_each(("octets", "code"), REUSABLE.items())
@for_each("step", [1, 2, 7, 10_000])
async def test_a_good_answer_frees_the_connection(octets: bytes, code: int, step: int) -> None:
    talk = Talk()
    talk.feed(*cut(octets, step))
    assert talk.owner.said == [("answered", code), ("released", False)]
    assert not talk.wire.cut
    talk.send()
    talk.feed(b"HTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n")
    assert talk.owner.said[2:] == [("answered", 202), ("released", False)]


ANSWERED_ONCE = {
    "close": b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
    "upgrade and close": b"HTTP/1.1 200 OK\r\nUpgrade: h2\r\nConnection: Upgrade, close\r\nContent-Length: 0\r\n\r\n",
    "until the end": b"HTTP/1.1 200 OK\r\n\r\nall that comes",
    "body too long": b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b"x" * 5_000,
    "endless chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 2_000,
    "bad chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "cut off": b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nx",
    "two answers": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
    "more than said": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokok",
}


@for_each("octets", ANSWERED_ONCE.values())
@for_each("step", [7, 10_000])
async def test_an_answer_that_spoils_the_connection(octets: bytes, step: int) -> None:
    talk = Talk()
    talk.feed(*cut(octets, step))
    released = ("released", False) in talk.owner.said
    assert [one for one in talk.end() if one[0] != "released"] == [("answered", 200), ("lost", False)]
    # Where the surplus came apart from the answer, the connection was free in between, and was cut then.
    assert talk.wire.cut or not released


NO_ANSWER = {
    "nothing": (b"", "closed the connection"),
    "half a head": (b"HTTP/1.1 200 O", "closed the connection"),
    "no end of the head": (b"HTTP/1.1 200 OK\r\nA: b\r\n", "closed the connection"),
    "another protocol": (b"SSH-2.0-OpenSSH_9.2\r\n", "not HTTP"),
    "binary": (bytes(range(256)), "not HTTP"),
    "a request": (b"GET / HTTP/1.1\r\n\r\n", "not HTTP"),
    "status of letters": (b"HTTP/1.1 abc\r\n\r\n", "not HTTP"),
    "status too short": (b"HTTP/1.1 99 Low\r\n\r\n", "not HTTP"),
    "status too long": (b"HTTP/1.1 2000 High\r\n\r\n", "not HTTP"),
    "status zero": (b"HTTP/1.1 000 Zero\r\nContent-Length: 0\r\n\r\n", "HTTP 0"),
    "version 9": (b"HTTP/9.9 200 OK\r\n\r\n", "not HTTP"),
    "two lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", "not HTTP"),
    "negative length": (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "not HTTP"),
    "control in a header": (b"HTTP/1.1 200 OK\r\nA: \x00\r\n\r\n", "not HTTP"),
    "switching": (b"HTTP/1.1 101 Switch\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "HTTP 101"),
    "endless head": (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1_000, "too long"),
    "long header": (b"HTTP/1.1 200 OK\r\nA: " + b"b" * 5_000 + b"\r\n\r\n", "too long"),
    "endless interim": (b"HTTP/1.1 100 Continue\r\n\r\n" * 100, "too long"),
    "long reason": (b"HTTP/1.1 200 " + b"O" * 5_000, "too long"),
}


@for_each(("octets", "problem"), NO_ANSWER.values())
@for_each("step", [1, 7, 10_000])
async def test_no_answer(octets: bytes, problem: str, step: int) -> None:
    talk = Talk()
    talk.feed(*cut(octets, step))
    said = talk.end()
    assert [kind for kind, _ in said] == ["failed", "lost"]
    assert problem in str(said[0][1])


@given(st.lists(st.binary(max_size=40) | st.sampled_from([*REUSABLE, *(o for o, _ in NO_ANSWER.values())])))
def test_whatever_comes_there_is_one_verdict(pieces: list[bytes]) -> None:
    async def go() -> None:
        talk = Talk()
        talk.feed(*pieces)
        said = [kind for kind, _ in talk.end()]
        assert said.count("answered") + said.count("failed") == 1
        assert said[-1] == "lost"

    asyncio.run(go())


async def test_octets_on_a_resting_connection_end_it() -> None:
    talk = Talk()
    talk.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    talk.feed(b"HTTP/1.1 408 Timeout\r\nContent-Length: 0\r\n\r\n")
    assert talk.wire.cut
    assert talk.owner.said == [("answered", 200), ("released", False)]


async def test_a_job_comes_again_only_if_the_connection_had_rested_and_nothing_came() -> None:
    talk = Talk()
    talk.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    talk.send()
    assert talk.end()[2:] == [("again", 100.0), ("lost", False)]

    talk = Talk()
    talk.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    talk.send()
    talk.feed(b"H")
    assert [kind for kind, _ in talk.end()[2:]] == ["failed", "lost"]

    talk = Talk()
    talk.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    talk.send()
    talk.connection.expire()
    assert talk.end()[2:] == [("failed", "no answer within 10 s"), ("lost", False)]


async def test_the_rest_of_an_answer_gets_little_time() -> None:
    talk = Talk()
    now = asyncio.get_running_loop().time()
    talk.connection.deadline = now + 1_000
    talk.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nx")
    assert now <= talk.connection.deadline <= now + LIMITS.rest_seconds + 5


# --- replies


def text(body: bytes, kind: bytes = b"text/plain", *headers: bytes) -> bytes:
    lines = [b"HTTP/1.1 200 OK", b"Content-Type: " + kind, b"Content-Length: %d" % len(body), *headers, b"", body]
    return b"\r\n".join(lines)


_CHUNKED = b"HTTP/1.1 202 OK\r\nContent-type:text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"

REPLIES = {
    "plain": (text(b"Hello"), "200 Hello"),
    "blanks around it": (text(b"\r\n Hello \n"), "200 Hello"),
    "utf-8 without a word": (text("Grüße 🦊".encode()), "200 Grüße 🦊"),
    "a charset": (text("Grüße".encode("latin-1"), b"text/plain; charset=ISO-8859-1"), "200 Grüße"),
    "one in quotes": (text("Grüße".encode("utf-16-be"), b'Text/Plain ;x=y; Charset="UTF-16BE"'), "200 Grüße"),
    "chunks": (_CHUNKED + b"3\r\nHel\r\n2\r\nlo\r\n0\r\n\r\n", "202 Hello"),
    "after others": (b"HTTP/1.1 100 Continue\r\nContent-Type: text/html\r\n\r\n" + text(b"Hello"), "200 Hello"),
    "nothing": (text(b""), "200 "),
    "only blanks": (text(b" \r\n"), "200 "),
    "another type": (text(b"Hello", b"text/html"), "200 "),
    "no type": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nHello", "200 "),
    "no body": (b"HTTP/1.1 204 No Content\r\nContent-Type: text/plain\r\n\r\n", "204 "),
    "as long as may be": (text(b"x" * 40), f"200 {'x' * 40}"),
    "too long": (text(b"x" * 41), "200 !its text has more than 40 octets"),
    "not in its charset": (text(b"\xff"), "200 !its text is not utf-8"),
    "an unknown charset": (text(b"x", b"text/plain; charset=klingon"), "200 !its text is not klingon"),
    "no charset of texts": (text(b"x", b"text/plain; charset=zlib"), "200 !its text is not zlib"),
    "half a character": (text(b"+2AA-", b"text/plain; charset=utf-7"), "200 !its text is not utf-7"),
    "compressed": (text(b"x", b"text/plain", b"Content-Encoding: gzip"), "200 !its text is compressed"),
    "not taken": (text(b"Hello").replace(b"200 OK", b"500 No"), "500 "),
}


@for_each(("octets", "said"), REPLIES.values())
@for_each("step", [1, 7, 10_000])
async def test_the_text_of_an_answer_is_read_where_it_is_wanted(octets: bytes, said: str, step: int) -> None:
    talk = Talk(wants_reply=True)
    talk.feed(*cut(octets, step))
    assert talk.owner.said == [("answered", said), ("released", False)]
    talk.send()
    talk.feed(text(b"Hello"))
    talk.send(wants_reply=True)
    talk.feed(text(b"Hello"))
    assert [word for kind, word in talk.owner.said[2:] if kind == "answered"] == [200, "200 Hello"]


async def test_a_text_may_last_until_the_end_of_its_connection() -> None:
    talk = Talk(wants_reply=True)
    talk.feed(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nHel", b"lo")
    assert talk.owner.said == []
    assert talk.end() == [("answered", "200 Hello"), ("lost", False)]


@pytest.mark.parametrize(
    "octets",
    [text(b"Hello")[:-1], _CHUNKED + b"3\r\nHel\r\n", _CHUNKED + b"zz\r\n", _CHUNKED + b"1\r\nx\r\n" * 2_000],
)
async def test_a_text_that_does_not_come_whole_is_asked_for_again(octets: bytes) -> None:
    talk = Talk(wants_reply=True)
    talk.feed(octets)
    kinds = [kind for kind, word in talk.end() if kind != "released"]
    assert kinds == ["failed", "lost"] or talk.owner.said[0] == ("answered", "202 !its text has more than 40 octets")


async def test_a_text_has_the_time_of_its_answer() -> None:
    talk = Talk(wants_reply=True)
    deadline = talk.connection.deadline
    talk.feed(text(b"Hello")[:-1])
    assert talk.connection.deadline == deadline
    talk.connection.expire()
    assert talk.end() == [("failed", "no answer within 10 s"), ("lost", False)]
