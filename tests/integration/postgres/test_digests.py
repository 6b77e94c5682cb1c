"""The database and the program make the same digests of suppressed numbers."""

import asyncpg

from heliograph.domain.message.suppression import suppression_digest

BLOCK, INNER, OUTER = 64, 0x36, 0x5C
"""Octets of a block of SHA-256, and those that HMAC pads a key with (RFC 2104, 2)."""

SAMPLES = [(1, "4917012345678"), (2, "4917012345678"), (1, "1234567"), (2**62, "9" * 15), (17, "447700900123")]


def unpadded(padded: bytes, pad: int) -> bytes:
    return bytes(octet ^ pad for octet in padded)


async def test_the_digests_are_the_domains(url: str) -> None:
    db = await asyncpg.connect(url, server_settings={"search_path": "heliograph"})
    try:
        inner, outer = await db.fetchrow("SELECT inner_pad, outer_pad FROM suppression_key")
        key = unpadded(inner, INNER)[:32]
        assert (len(inner), unpadded(inner, INNER)[32:]) == (BLOCK, bytes(32))
        assert unpadded(inner, INNER) == unpadded(outer, OUTER)
        assert len(set(key)) > 8, "a key of random octets"
        for account, number in SAMPLES:
            made = await db.fetchval("SELECT suppression_digest($1, $2)", account, number)
            assert made == suppression_digest(key, account, number)
    finally:
        await db.close()
