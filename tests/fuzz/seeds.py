"""Sound inputs of each target, and the words that mean something to it."""

from collections.abc import Sequence
from typing import Any, Final

from heliograph.config.entry import entries
from heliograph.smpp import codec
from heliograph.smpp import pdu as p
from tests.fuzz.esme_targets import SEPARATOR, piece_of
from tests.support.gateway import API_KEY, PASSWORD, basic

_SEND: Final = (
    b'{"to":"447700900123","from":"Helio","content":"Hello","dlr":true,"dlr-url":"https://example.com/r",'
    b'"reference":"r1","time":1800000100}'
)
_FORM: Final = (
    b"to=447700900123&from=Helio&content=Hello+%E2%82%AC&dlr=yes&dlr-url=https%3A%2F%2Fexample.com&type=text"
    b"&time=1800000100"
)
_V1: Final = b"Authorization: " + basic("acme", API_KEY) + b"\r\n"
_POST: Final = (
    b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\n"
    + _V1
    + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
)
_CHUNKED: Final = b"POST /x HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nT: x\r\n\r\n"
_RECEIPT: Final = b"id:1a2b sub:001 dlvrd:001 submit date:2611200658 done date:2611200658 stat:DELIVRD err:000 text:x"
_PDUS: Final = (
    codec.encode(p.SubmitSmResp(1, 0, message_id="17")),
    codec.encode(p.EnquireLink(5)) + codec.encode(p.Unbind(6)),
    codec.encode(p.BindTransceiver(1, 0, system_id="a", password="b")),
    codec.encode(
        p.DeliverSm(2, source_addr="447700900123", destination_addr="3388", esm_class=4, short_message=_RECEIPT)
    ),
    codec.encode(p.SubmitSm(3, source_addr="Helio", destination_addr="447700900123", short_message=b"Hello")),
)
_ADDRESSED: Final[dict[str, Any]] = {
    "source_addr_ton": 5, "source_addr": "Helio", "dest_addr_ton": 1, "dest_addr_npi": 1,
    "destination_addr": "447700900123",
}  # fmt: skip
_OF_CLIENT: Final[tuple[p.Pdu, ...]] = (
    p.SubmitSm(2, short_message=b"Hello", registered_delivery=1, **_ADDRESSED),
    p.SubmitSm(3, 0, ((0x0424, b"Hi" * 200), (0x1402, b"order-7\0"), (0x0204, b"\0\7")), data_coding=3, **_ADDRESSED),
    p.SubmitSm(4, 0, ((0x020C, b"\0\1"), (0x020E, b"\2"), (0x020F, b"\1")), data_coding=8, esm_class=0x40,
               short_message=b"\5\0\3\1\2\1\0H\0i", **_ADDRESSED),
    p.SubmitSm(5, schedule_delivery_time="000001000000000R", validity_period="270131235959000+", data_coding=0xF5,
               registered_delivery=18, short_message=b"\1\2", **_ADDRESSED),
    p.SubmitMulti(6, source_addr="Helio", short_message=b"Hi", destinations=(
        p.Address(1, 1, "447700900123"), p.Address(0, 0, "+447700900124"), p.Address(2, 1, "07700"))),
    p.SubmitMulti(7, source_addr="Helio", short_message=b"Hi", destinations=(p.DistributionList("all"),)),
    p.DataSm(8, 0, ((0x0424, b"Hi"),), source_addr="Helio", destination_addr="447700900123"),
    p.QuerySm(9, message_id="019e2b1c-5f3a-7000-8c1d-e1f5a0b7c3d2"),
    p.CancelSm(10, message_id="1234567890123456789"),
    p.ReplaceSm(11, message_id="1", short_message=b"Hi"),
    p.EnquireLink(12),
    p.DeliverSmResp(2, 0x64),
    p.GenericNack(3, 3),
    p.Unbind(13),
)  # fmt: skip
_BIND: Final = codec.encode(p.BindTransceiver(1, 0, system_id="acme", password="smpp-pw", interface_version=0x34))
_PROXY_2: Final = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\2\1\x7f\0\0\1\x9c\xb0\x0a\xd7"
_STREAM: Final = b"".join(map(codec.encode, _OF_CLIENT))
_PIECES: Final = tuple(map(piece_of, _OF_CLIENT))
_TOML: Final = b"".join(
    b"[%b]\n%b = %b\n"
    % (
        entry.section.encode(),
        entry.name.encode(),
        (
            repr(list(entry.default))
            if isinstance(entry.default, tuple)
            else repr(entry.default).lower()
            if isinstance(entry.default, bool)
            else repr(entry.default)
        ).encode(),
    )
    for entry in entries()
    if entry.section in ("http", "smpp", "console")
    and entry.name in ("listen", "connections", "trusted_proxies", "allowed_hosts", "idle_minutes", "connect_timeout_s")
)

SEEDS: Final[dict[str, Sequence[bytes]]] = {
    "frames": _PDUS,
    "body_of_pdu": (b"\x04\x00" + _PDUS[3][16:], b"\x0c\x00" + _PDUS[4][16:], b"\x01\x00a\0b\0c\0\x34\0\0\0"),
    "session": (
        b"\x02\x05\x05" + _PDUS[2],
        b"\x01\x07\x01" + b"".join(codec.encode(p.SubmitSmResp(n, 0, message_id="1")) for n in (2, 3, 3, 9)),
        b"\x01\x40\x01" + _PDUS[3] + _PDUS[1],
    ),
    "receipt": (
        bytes([4, 0, len(_RECEIPT)]) + _RECEIPT,
        b"\x04\x08\x10id:1 stat:DELIVR\x00\x1e\x00\x031a\0\x04\x27\x00\x01\x02",
    ),
    "listener": (
        b"\x42\x00\x40" + _STREAM,
        b"\x51\x8b\x02" + _STREAM,
        b"\x02\x00\x08" + _BIND + _STREAM,
        b"\x20\x00\x01PROXY TCP4 192.0.2.1 127.0.0.1 40112 2775\r\n" + _BIND,
        b"\x20\x00\x40" + _PROXY_2 + _BIND + codec.encode(_OF_CLIENT[0]),
    ),
    "pdus_of_client": (
        b"\x02\x00" + SEPARATOR.join(_PIECES),
        b"\x12\x93" + SEPARATOR.join(reversed(_PIECES)),
        *(bytes((2, number * 17 % 256)) + piece for number, piece in enumerate(_PIECES)),
    ),
    "connection": (
        b"\x07GET /x HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x01" + _POST % (len(_SEND), _SEND),
        b"\x1f" + _CHUNKED + _CHUNKED,
        (
            b"\x10PUT /a%2fb?c=d HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabc"
            b"GET / HTTP/1.1\r\nHost: y\r\n\r\n"
        ),
        b"\x03PATCH http://x/y HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi",
    ),
    "body": (
        b"\0" + _SEND,
        b"\x01" + _FORM,
        b"\x02" + _SEND,
        b"\x03" + _SEND,
        b"\x04" + _FORM,
        b"\x05{}",
        (
            b'\0{"to":["447700900123","447700900124"],"from":"H3lio","content":"\\u20ac {x}",'
            b'"tlvs":{"0x1400":"61"},"udh":"050003010201"}'
        ),
    ),
    "query": (
        b"\0limit=10&state=DELIVERED&to=447700900123",
        b"\x01after=17&limit=5&wait=1",
        b"\x02after=447700900123&limit=2",
        b"\x03hg_0123456789",
    ),
    "headers": (
        basic("acme", API_KEY) + b"\napplication/json; charset=utf-8\nr-1",
        b"Bearer hg_0123456789abcdef\napplication/x-www-form-urlencoded\n",
        basic("other", PASSWORD) + b"\ntext/plain\n" + b"a" * 70,
    ),
    "cookies": (
        b'heliograph_session=abc; heliograph_theme=dark; other="a b"',
        b"heliograph_notice=Saved%20it; heliograph_theme=light",
        b'Saved. It is "there" now',
    ),
    "forwarded": (b"192.0.2.7, 10.0.0.1", b"[2001:db8::1]:443, 127.0.0.1", b"unknown, _x:80", b"2001:db8::2"),
    "toml": (
        _TOML,
        b'# heliograph\n[http]\nlisten = "[::1]:8080"\n[smpp]\nallowed_hosts = ["10.0.0.0/8", "smsc.example"]\n',
    ),
    "settings": tuple(
        bytes((0, n, 99)) + text
        for n in range(0, 60, 3)
        for text in (b"127.0.0.1:8080", b"12", b"0.5", b"10.0.0.0/8,::1", b"true")
    ),
    "recipients_file": (
        b'to,name,content,time\n447700900123,Ann,Hello,2027-01-01T00:00:00Z\n447700900124,Bob,"a ""b""\n c",\n',
        b"to;name\n447700900123;x\n",
        b"\xef\xbb\xbfto,so\n+44 7700 900123,x\n",
    ),
    "recipients_pasted": (
        b"447700900123\n+44 7700 900124, 0044 7700 900125",
        b"name;number\nAnn;447700900123\n{name};x\n",
        b'a,a,a 3\n447700900123,"x\ny",z\n',
        b"name\tnumber\nAnn\t447700900123",
    ),
    "number_list": (
        b"number,since\n447700900123,2026\n# x\n+44 7700 900124;y\n",
        b"\"447700900123\"\n'00447700900124'\n",
    ),
}

_HTTP_WORDS: Final = (
    b"Content-Length: 3\r\n",
    b"Content-Length: 99\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip, chunked\r\n",
    b"Host: y\r\n",
    b"Connection: close\r\n",
    b"Connection: upgrade\r\nUpgrade: h2c\r\n",
    b"Expect: 100-continue\r\n",
    b"GET / HTTP/1.1\r\n",
    b"HTTP/2.0",
    b"\r\n\r\n",
    b"0\r\n\r\n",
    b"3\r\nabc\r\n",
    b" ",
    b"\x0b",
    b"X: ",
    b" folded\r\n",
)
_FIELDS: Final = tuple(
    name.encode()
    for name in (
        "to",
        "from",
        "content",
        "time",
        "type",
        "dlr",
        "dlr-url",
        "reference",
        "tlvs",
        "udh",
        "validity",
        "binary",
        "flash",
        "limit",
        "after",
        "wait",
        "state",
        "since",
        "until",
    )
)
_TEXTS: Final = (
    b"\n",
    b"\r\n",
    b",",
    b";",
    b"\t",
    b'"',
    b'""',
    b"{to}",
    b"{name}",
    b"447700900123",
    b"to",
    b"content",
    b"name",
    b"# ",
)
_SETTINGS: Final = (
    b"[http]\n",
    b"[x]\n",
    b"[[http]]\n",
    b"= ",
    b"1e9\n",
    b'"""',
    b"2026-01-01T00:00:00Z",
    b"inf",
    b"nan",
    b"0x7f",
    b"[::]:0",
    b"10.0.0.0/33",
    b"http://[",
    b"postgresql://a:b@[::1]:x/d,",
    b"\\u0000",
)
_PDU_WORDS: Final = (
    b"\0\0\0\x10",
    b"\x80\0\0\x04",
    b"\0\0\0\x05",
    b"\x04\x24\0\x05hello",
    b"\0\x1e\0\x02a\0",
    b"\x02\x0c\0\x02\0\x01",
    b"stat:",
    b"id:",
    b"err:",
    b"\x05\0\x03\x01\x02\x01",
    b"DELIVRD",
    b"done date:",
)

WORDS: Final[dict[str, Sequence[bytes]]] = {
    **dict.fromkeys(("frames", "body_of_pdu", "session", "receipt"), _PDU_WORDS),
    "listener": (*_PDU_WORDS, _BIND, b"PROXY ", b"\r\n", *map(codec.encode, _OF_CLIENT)),
    "pdus_of_client": (*_PDU_WORDS, SEPARATOR, b"\0\0\0", b"\x14\2\0\4key\0", b"000000000001000R", *_PIECES),
    "connection": _HTTP_WORDS,
    **dict.fromkeys(
        ("body", "query"), (*_FIELDS, b"&", b"=", b'":"', b'","', b"[", b"]", b"\\u0000", b"\\ud800", b"1.0", b"&&")
    ),
    "headers": (b"Basic ", b"Bearer ", b"\n", b"application/json", b"; charset=", b":", b"=="),
    "cookies": (
        b"heliograph_session=",
        b"heliograph_theme=",
        b"; ",
        b"\\054",
        b'\\"',
        b"$Version=1",
        b"; Path=/",
        b"; Secure",
        b"\r\nSet-Cookie: x=y",
    ),
    "forwarded": (b", ", b"127.0.0.1", b"[", b"]", b":", b"::ffff:10.0.0.1", b"https", b"fe80::1%eth0"),
    **dict.fromkeys(("toml", "settings"), _SETTINGS),
    **dict.fromkeys(("recipients_file", "recipients_pasted", "number_list"), _TEXTS),
}
