"""Makes inputs out of sound ones: by a seed, so that each can be made again."""

from collections.abc import Sequence
from random import Random
from typing import Final

LONGEST: Final = 4_096
"""Octets of an input, at most."""

_EXTREMES: Final = (
    b"\x00",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\r\n",
    b"\n",
    b"\r",
    b"\t",
    b" ",
    b",",
    b";",
    b":",
    b"=",
    b'"',
    b"'",
    b"\\",
    b"%",
    b"%25",
    b"%00",
    b"%ff",
    b"+",
    b"-",
    b"-1",
    b"0",
    b"1e999",
    b"1e-999",
    b"NaN",
    b"inf",
    b"-inf",
    b"true",
    b"null",
    b"65536",
    b"2147483648",
    b"4294967296",
    b"9223372036854775808",
    b"18446744073709551616",
    b"9" * 400,
    b"0" * 300,
    b"[" * 200,
    b"{" * 200,
    b"(" * 100,
    b"\xe2\x82\xac",
    b"\xf0\x9f\x98\x80",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xef\xbb\xbf",
    "\u0661\u0662\u0663".encode(),
    "\u202e".encode(),
    "\u00b2".encode(),
    b"${x}",
    b"{x}",
    b"{{",
    b"}}",
    b"{}",
    b"../",
    b"a" * 300,
)
"""Octets that parsers stumble over."""


def mutated(random: Random, seeds: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """Returns an input near one of the seeds, or rarely one of random octets. `words` are pieces that mean something to
    the target."""
    if random.random() < 0.02:
        return random.randbytes(random.randrange(200))
    octets = bytearray(random.choice(seeds))
    for _ in range(1 + int(random.expovariate(0.5))):
        _change(random, octets, seeds, words)
    return bytes(octets[:LONGEST])


def _change(random: Random, octets: bytearray, seeds: Sequence[bytes], words: Sequence[bytes]) -> None:
    at = random.randrange(len(octets) + 1)
    end = min(len(octets), at + 1 + int(random.expovariate(0.2)))
    match random.randrange(9):
        case 0 if at < len(octets):
            octets[at] ^= 1 << random.randrange(8)
        case 1 if at < len(octets):
            octets[at] = random.randrange(256)
        case 2:
            del octets[at:end]
        case 3:
            octets[at:at] = octets[at:end] * random.choice((1, 1, 2, 30))
        case 4:
            octets[at:at] = random.choice(_EXTREMES)
        case 5:
            octets[at:end] = random.choice(_EXTREMES)
        case 6:
            octets[at:at] = random.choice(words)
        case 7:
            octets[at:end] = random.choice(words)
        case _:
            other = random.choice(seeds)
            begin = random.randrange(len(other) + 1)
            octets[at:] = other[begin:]
