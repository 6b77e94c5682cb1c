"""The master key from a file, a command or the environment."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from heliograph.app.ports.encryption import KeyRefused
from heliograph.composition import encryption
from heliograph.composition.encryption import vault_of
from heliograph.config import Settings, load
from heliograph.config.settings import EncryptionSettings

KEY = "k" * 44


def settings(**given: str) -> Settings:
    return replace(Settings(), encryption=EncryptionSettings(**given))


def test_no_setting_is_no_vault() -> None:
    assert vault_of(Settings()) is None


def test_a_file_a_command_and_the_environment_give_the_same_key(tmp_path: Path) -> None:
    file = tmp_path / "master.key"
    file.write_text(f"{KEY}\n")
    command = f"{sys.executable} -c \"print('{KEY}')\""
    loaded = load(tmp_path, None, {"HELIOGRAPH_ENCRYPTION_KEY": KEY})
    vaults = [
        vault_of(settings(key_file=str(file))),
        vault_of(settings(key_command=command)),
        vault_of(loaded),
    ]
    wrapped = [vault.wrap(1, b"secrets") for vault in vaults if vault is not None]
    assert len(wrapped) == 3
    for vault in vaults:
        assert vault is not None
        assert [vault.unwrap(1, each) for each in wrapped] == [b"secrets"] * 3
    assert KEY not in repr(loaded)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"key": "short"}, "5 characters; 32"),
        ({"key": KEY, "key_file": "x"}, "keep one"),
        ({"key_file": "/nowhere/at/all"}, "key_file: the file cannot be read: No such file"),
        ({"key_command": "/nowhere/at/all"}, "key_command failed: No such file"),
        ({"key_command": "false"}, "it ended with 1"),
        ({"key_command": "'"}, "split into words"),
        ({"key_command": "true"}, "0 characters"),
        ({"key_command": "sleep 60"}, "it took more than"),
    ],
)
def test_what_gives_no_key_is_refused(given: dict[str, str], why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encryption, "COMMAND_S", 0.5 if "sleep" in str(given) else 60)
    with pytest.raises(KeyRefused, match=why):
        vault_of(settings(**given))


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    monkeypatch.delitem(sys.modules, "heliograph.adapters.encryption.aes_gcm", raising=False)
    with pytest.raises(KeyRefused, match=r"heliograph\[encryption\]"):
        vault_of(settings(key=KEY))
