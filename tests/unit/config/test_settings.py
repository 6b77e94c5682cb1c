"""Settings: where they come from, which one wins, and what the errors say."""

from pathlib import Path

import pytest

from heliograph import config
from heliograph.config import Settings, SettingsError, changed, load, parse_address
from tests.support.cases import for_each


def write(folder: Path, text: str) -> Path:
    path = folder / config.FILE_NAME
    path.write_text(text, encoding="utf-8")
    return path


def test_without_file_and_variables_all_is_default(tmp_path: Path) -> None:
    assert load(tmp_path, environ={}) == Settings(data=tmp_path)


def test_data_directory_is_the_argument_then_the_variable_then_the_default(tmp_path: Path) -> None:
    environ = {"HELIOGRAPH_DATA": str(tmp_path / "variable")}
    assert load(tmp_path, environ=environ).data == tmp_path
    assert load(environ=environ).data == tmp_path / "variable"
    assert load(environ={}).data == Path("heliograph-data")


def test_variables_win_over_the_file_and_the_file_over_defaults(tmp_path: Path) -> None:
    path = write(tmp_path, '[http]\nlisten = "127.0.0.1:1"\nmax_body = 4096\n')
    settings = load(tmp_path, environ={"HELIOGRAPH_HTTP_LISTEN": "[::1]:2"})
    assert (settings.http.listen, settings.http.max_body, settings.file) == ("[::1]:2", 4096, path)
    assert settings.messages == Settings().messages


def test_a_named_file_is_read_instead_and_must_be_there(tmp_path: Path) -> None:
    write(tmp_path, "[messages]\nmax_segments = 3\n")
    other = tmp_path / "other.toml"
    other.write_text("[messages]\nmax_segments = 4\n")
    assert load(tmp_path, other, environ={}).messages.max_segments == 4
    assert load(tmp_path, environ={"HELIOGRAPH_CONFIG": str(other)}).messages.max_segments == 4
    with pytest.raises(SettingsError, match="there is no settings file"):
        load(tmp_path, tmp_path / "missing.toml", environ={})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[http]\nlisen = 'x'\n", ["http.lisen", "did you mean http.listen?"]),
        ("[htp]\nlisten = 'x'\n", ["[htp]", "did you mean [http]?"]),
        ("listen = 'x'\n", ["no setting listen", "did you mean http.listen?"]),
        ("http = 1\n", ["http", "must be a section"]),
        ("[http]\nmax_body = '1'\n", ["http.max_body", "a whole number from 1024 to 67108864 (bytes)", "'1'"]),
        ("[http]\nmax_body = true\n", ["http.max_body", "True"]),
        ("[http]\nmax_body = 1023\n", ["http.max_body", "1023"]),
        ("[http]\nmax_body = 4096.0\n", ["http.max_body", "4096.0"]),
        ("[messages]\nlist_interval_s = -1\n", ["messages.list_interval_s", "-1"]),
        ("[messages]\nlist_interval_s = nan\n", ["messages.list_interval_s", "nan"]),
        ("[messages]\nlist_interval_s = true\n", ["messages.list_interval_s", "True"]),
        ("[http]\nlisten = '8080'\n", ["http.listen", "HOST:PORT"]),
        ("[http]\nlisten = '127.0.0.1:65536'\n", ["http.listen", "65535"]),
        ("[log]\nlevel = 'loud'\n", ["log.level", "one of debug, info, warning, error", "'loud'"]),
        ("[log]\nsensitive = 'yes'\n", ["log.sensitive", "true or false"]),
        ("[callbacks]\nallowed_networks = '10.0.0.0/8'\n", ["callbacks.allowed_networks", "a list of texts"]),
        ("[callbacks]\nallowed_networks = ['10.0.0.1/8']\n", ["10.0.0.1/8", "host bits"]),
        ("[smpp]\nallowed_hosts = ['10.0.0.1/8']\n", ["smpp.allowed_hosts", "'10.0.0.1/8' is no name"]),
        ("[smpp]\nallowed_hosts = ['*.example.net']\n", ["smpp.allowed_hosts", "'*.example.net' is no name"]),
        ("[console]\nnames = ['sms.example.com:8443']\n", ["console.names", "'sms.example.com:8443' is no name"]),
        ("[smpp]\nallowed_hosts = ['192.0.2']\n", ["smpp.allowed_hosts", "'192.0.2' is no name"]),
        ("[http\n", ["not well-formed TOML"]),
    ],
)
def test_a_bad_file_names_the_setting_the_file_and_what_would_be_right(
    tmp_path: Path, text: str, words: list[str]
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, environ={})
    for word in [*words, str(path)]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("HELIOGRAPH_HTTP_LISEN", "x", ["HELIOGRAPH_HTTP_LISEN", "did you mean HELIOGRAPH_HTTP_LISTEN?"]),
        ("HELIOGRAPH_HTTP_MAX_BODY", "big", ["http.max_body", "HELIOGRAPH_HTTP_MAX_BODY", "a whole number"]),
        ("HELIOGRAPH_HTTP_MAX_BODY", "1", ["http.max_body", "1024"]),
        ("HELIOGRAPH_LOG_SENSITIVE", "maybe", ["log.sensitive", "true or false", "maybe"]),
    ],
)
def test_a_bad_variable_is_named(tmp_path: Path, variable: str, value: str, words: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        load(tmp_path, environ={variable: value})
    for word in words:
        assert word in str(caught.value)


def test_variables_take_every_type(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        environ={
            "HELIOGRAPH_MESSAGES_LIST_INTERVAL_S": "0.5",
            "HELIOGRAPH_MESSAGES_MAX_SEGMENTS": "3",
            "HELIOGRAPH_CALLBACKS_ALLOWED_NETWORKS": "10.0.0.0/8, fd00::/8",
            "HELIOGRAPH_LOG_SENSITIVE": "ON",
            "HELIOGRAPH_LOG_FORMAT": "json",
        },
    )
    assert settings.messages.list_interval_s == 0.5
    assert settings.messages.max_segments == 3
    assert settings.callbacks.allowed_networks == ("10.0.0.0/8", "fd00::/8")
    assert (settings.log.sensitive, settings.log.format) == (True, "json")


def test_a_variable_may_name_a_file_with_the_value(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("postgresql://u:p%20w@db/heliograph\n", encoding="utf-8")
    environ = {"HELIOGRAPH_DATABASE_URL_FILE": str(secret)}
    assert load(tmp_path, environ=environ).store.url == "postgresql://u:p%20w@db/heliograph"
    with pytest.raises(SettingsError, match="HELIOGRAPH_DATABASE_URL and HELIOGRAPH_DATABASE_URL_FILE are both set"):
        load(tmp_path, environ=environ | {"HELIOGRAPH_DATABASE_URL": "postgresql://db/other"})
    with pytest.raises(SettingsError, match=r"HELIOGRAPH_DATABASE_URL_FILE cannot be read: No such file"):
        load(tmp_path, environ={"HELIOGRAPH_DATABASE_URL_FILE": str(tmp_path / "none")})
    secret.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match=r"is not UTF-8") as caught:
        load(tmp_path, environ=environ)
    assert "\\xff" not in str(caught.value)
    with pytest.raises(SettingsError, match=r"HELIOGRAPH_LISTEN_FILE is no setting"):
        load(tmp_path, environ={"HELIOGRAPH_LISTEN_FILE": str(secret)})


def test_a_setting_that_names_a_file_takes_its_path(tmp_path: Path) -> None:
    environ = {"HELIOGRAPH_AUDIT_KEY_FILE": "/etc/heliograph/audit.key"}
    assert load(tmp_path, environ=environ).audit.key_file == "/etc/heliograph/audit.key"


def test_a_whole_number_is_good_where_any_number_is(tmp_path: Path) -> None:
    write(tmp_path, "[messages]\nlist_interval_s = 3\n")
    interval = load(tmp_path, environ={}).messages.list_interval_s
    assert isinstance(interval, float)
    assert interval == 3.0


def test_what_is_no_setting_but_known_is_passed_over(tmp_path: Path) -> None:
    environ = {
        "HELIOGRAPH_USER": "acme",
        "HELIOGRAPH_API_KEY": "k",
        "HELIOGRAPH_URL": "http://x",
        "HELIOGRAPH_CONTEXT": "local",
        "HELIOGRAPH_TOKEN": "hat_x",
        "HELIOGRAPH_SERVICE_HOST": "10.0.0.1",
        "HELIOGRAPH_SERVICE_PORT_HTTP": "80",
        "HELIOGRAPH_PORT": "tcp://10.0.0.1:80",
        "HELIOGRAPH_PORT_80_TCP_ADDR": "10.0.0.1",
        "OTHER": "x",
    }
    assert load(tmp_path, environ=environ) == Settings(data=tmp_path)
    with pytest.raises(SettingsError):
        load(tmp_path, environ={"HELIOGRAPH_PORT": "8080"})


def test_changed_checks_as_the_file_is_checked() -> None:
    found = changed(Settings(), "http.listen", "127.0.0.1:0", "--listen")
    assert found.http.listen == "127.0.0.1:0"
    with pytest.raises(SettingsError, match="--listen"):
        changed(Settings(), "http.listen", "nowhere", "--listen")
    with pytest.raises(SettingsError, match=r"http\.port"):
        changed(Settings(), "http.port", 1, "here")


@pytest.mark.parametrize(
    ("text", "address"),
    [("127.0.0.1:80", ("127.0.0.1", 80)), ("[::1]:0", ("::1", 0)), ("localhost:65535", ("localhost", 65535))],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", ":80", "host", "host:", "host:x", "host:-1", "::1:80", "host:65536", "h:٣"])
def test_no_addresses(text: str) -> None:
    with pytest.raises(ValueError):
        parse_address(text)


@for_each("entry", config.entries())
def test_every_setting_says_what_it_means_and_its_default_is_in_range(entry: config.SettingEntry) -> None:
    assert entry.doc.endswith(".")
    assert entry.unit or entry.type not in (int, float)
    assert changed(Settings(), entry.key, entry.default, "here") == Settings()
    for bound in (entry.least, entry.most):
        if bound is not None:
            changed(Settings(), entry.key, entry.type(bound), "here")
    for beyond in [
        *([entry.least - 1] if entry.least is not None else []),
        *([entry.most + 1] if entry.most is not None else []),
    ]:
        with pytest.raises(SettingsError):
            changed(Settings(), entry.key, entry.type(beyond), "here")


def test_hosts_of_connectors_are_names_addresses_and_networks(tmp_path: Path) -> None:
    write(tmp_path, "[smpp]\nallowed_hosts = ['smsc.example.net', '192.0.2.9', '10.20.0.0/16', 'fd00::/8', 'host']\n")
    assert len(load(tmp_path, environ={}).smpp.allowed_hosts) == 5
