"""Fingerprints: they distinguish two requests with the same `reference`."""

import hashlib
import json

from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Door
from heliograph.domain.numbers import phone


def fingerprint(fields: Fields) -> bytes:
    """Returns the SHA-256 of the decoded fields, the reference left out; of requests with the required fields only.

    Each field is hashed with its length, such as `5:Hello`, so that no two requests are hashed alike. Stored
    fingerprints outlive the release that made them, so an absent new field must add nothing. The name of a submission
    is made of its octets, and replaces its fields, because times in them may be relative.
    """
    if fields.submission is not None:
        return hashlib.sha256(fields.submission.encode()).digest()
    parts = [
        ",".join(fields.to or ()), fields.sender or "", fields.content or "", str(int(fields.kind)),
        str(int(fields.wants_receipt)), fields.url or "", fields.time or "",
    ]  # fmt: skip
    if fields.given:
        parts.append(json.dumps(fields.given, sort_keys=True, default=str))
    digest = hashlib.sha256()
    for part in parts:
        octets = part.encode()
        digest.update(b"%d:" % len(octets) + octets)
    return digest.digest()


def could_have_been_accepted(fields: Fields, door: Door) -> bool:
    """True if the door may have accepted these fields at some other time.

    False for a request that this door never accepts, even if another door accepted the same request before.
    """
    if fields.unreadable or not (fields.to and fields.sender is not None and fields.content):
        return False
    if fields.time is not None and not door.schedules:
        return False
    if "" in (fields.url, fields.time) or (fields.wants_receipt and not fields.url and not door.default_callback):
        return False
    return door.numeric_senders or phone.sender_problem(fields.sender, msisdn_allowed=False) is None
