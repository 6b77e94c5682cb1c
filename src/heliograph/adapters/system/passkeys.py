"""Passkeys with the library fido2, which is imported on first use."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from fido2.server import Fido2Server
    from fido2.webauthn import AttestedCredentialData

NAME = "Heliograph"


class WebauthnPasskeys:
    """Implements `app.ports.Passkeys`. A passkey verifies its user (by a PIN, a finger, a face) where it can."""

    def creation_options(self, host: str, user: str, known: Sequence[bytes], challenge: bytes) -> dict[str, Any]:
        from fido2.webauthn import PublicKeyCredentialUserEntity

        entity = PublicKeyCredentialUserEntity(name=user, id=user.encode(), display_name=user)
        options, _ = _server(host).register_begin(
            entity, _read(known), user_verification=_preferred(), challenge=challenge
        )
        return dict(options)

    def created(self, host: str, challenge: bytes, answer: Mapping[str, Any]) -> bytes:
        with _ValueErrors():
            made = _server(host).register_complete(_state(challenge), answer)
            if made.credential_data is None:
                raise ValueError("there is no passkey in the answer")
            return bytes(made.credential_data)

    def request_options(self, host: str, known: Sequence[bytes], challenge: bytes) -> dict[str, Any]:
        options, _ = _server(host).authenticate_begin(_read(known), user_verification=_preferred(), challenge=challenge)
        return dict(options)

    def proven(self, host: str, known: Sequence[bytes], challenge: bytes, answer: Mapping[str, Any]) -> int:
        with _ValueErrors():
            credentials = _read(known)
            used = _server(host).authenticate_complete(_state(challenge), credentials, answer)
            return credentials.index(used)


class _ValueErrors:
    """Turns the library's exceptions for malformed answers into ValueError."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, _: object) -> None:
        if isinstance(problem, Exception):
            raise ValueError("that is no answer of a passkey") from problem  # noqa: TRY004 - it is about octets


def _server(host: str) -> "Fido2Server":
    from fido2.server import Fido2Server
    from fido2.webauthn import PublicKeyCredentialRpEntity

    return Fido2Server(PublicKeyCredentialRpEntity(name=NAME, id=host), verify_origin=partial(_is_of, host))


def _is_of(host: str, origin: str) -> bool:
    """True if the origin is exactly `host`, over a secure connection.

    The library also accepts subdomains. Then the owner of `blog.example.com` could ask there for a passkey of
    `example.com`, and pass the answer on.
    """
    url = urlsplit(origin)
    local = url.scheme == "http" and (host == "localhost" or host.endswith(".localhost"))
    return bool(host) and url.hostname == host and (url.scheme == "https" or local)


def _read(known: Sequence[bytes]) -> "list[AttestedCredentialData]":
    from fido2.webauthn import AttestedCredentialData

    return [AttestedCredentialData(each) for each in known]


def _preferred() -> Any:
    from fido2.webauthn import UserVerificationRequirement

    return UserVerificationRequirement.PREFERRED


def _state(challenge: bytes) -> dict[str, Any]:
    from fido2.utils import websafe_encode

    return {"challenge": websafe_encode(challenge), "user_verification": _preferred()}
