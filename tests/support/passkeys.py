"""A passkey in software: makes keys and answers as a browser with an authenticator does (WebAuthn, CTAP2 formats)."""

import hashlib
import json
import struct
from base64 import urlsafe_b64encode
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from fido2 import cbor

PRESENT, HAS_CREDENTIAL = 0x01, 0x40


def _text(octets: bytes) -> str:
    return urlsafe_b64encode(octets).decode().rstrip("=")


def _cose(key: ec.EllipticCurvePublicKey) -> dict[int, Any]:
    """Returns an ES256 key as COSE has it (RFC 9053)."""
    numbers = key.public_numbers()
    return {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}


class SoftPasskey:
    """Keeps a key pair for any site."""

    def __init__(self, identity: bytes = b"i" * 16) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.identity = identity

    def make(self, options: dict[str, Any], origin: str) -> dict[str, Any]:
        """Answers options for making a passkey."""
        asked = options["publicKey"]
        public = cbor.encode(_cose(self._key.public_key()))
        credential = bytes(16) + struct.pack(">H", len(self.identity)) + self.identity + public
        data = self._data(asked["rp"]["id"], PRESENT | HAS_CREDENTIAL) + credential
        attestation = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", asked["challenge"], origin)
        return self._answer({"clientDataJSON": _text(client), "attestationObject": _text(attestation)})

    def use(self, options: dict[str, Any], origin: str, flags: int = PRESENT) -> dict[str, Any]:
        """Answers options for using a passkey."""
        asked = options["publicKey"]
        data = self._data(asked["rpId"], flags)
        client = self._client("webauthn.get", asked["challenge"], origin)
        signature = self._key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(
            {"clientDataJSON": _text(client), "authenticatorData": _text(data), "signature": _text(signature)}
        )

    def _data(self, host: str, flags: int) -> bytes:
        return hashlib.sha256(host.encode()).digest() + bytes([flags]) + bytes(4)

    def _client(self, kind: str, challenge: str, origin: str) -> bytes:
        return json.dumps({"type": kind, "challenge": challenge, "origin": origin, "crossOrigin": False}).encode()

    def _answer(self, response: dict[str, str]) -> dict[str, Any]:
        identity = _text(self.identity)
        return {"id": identity, "rawId": identity, "type": "public-key", "response": response}
