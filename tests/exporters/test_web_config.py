"""A web configuration is read strictly."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline_db.errors import UsageError
from plumbline_exporters import web_config
from plumbline_exporters.access import Access

HASH = "$2b$04$abcdefghijklmnopqrstuuZ1HkS2oUJ0jvXgqvPEIH1f9bn3aBZHC"
TLS = "tls_server_config: {cert_file: a.crt, key_file: a.key"


def read(tmp_path: Path, text: str) -> web_config.WebConfig:
    path = tmp_path / "web.yml"
    path.write_text(text)
    return web_config.load(path)


def test_an_empty_one_asks_nobody(tmp_path: Path) -> None:
    config = read(tmp_path, "# nothing yet\n")
    assert not config.asks_who and config.tls_server_config is None


def test_paths_are_beside_the_file(tmp_path: Path) -> None:
    tls = read(tmp_path, TLS + "}").tls_server_config
    assert tls is not None
    assert (tls.cert_file, tls.client_ca_file) == (str(tmp_path / "a.crt"), "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("users: {}", "users"),
        ("basic_auth_users: {ann: secret}", "htpasswd"),
        (f"basic_auth_users: {{'a:b': '{HASH}'}}", "a:b"),
        (f"basic_auth_users: {{ann: '{HASH.replace('$04$', '$31$')}'}}", "4 to 17"),
        (f"basic_auth_users:\n  ann: '{HASH}'\n  ann: '{HASH}'", "line 3: the key 'ann'"),
        ("bearer_tokens: {x: secret}", "sha256sum"),
        ("basic_auth_users: [ann", "line 1"),
        ("- a list", "Expected `object`"),
        ("!!python/object/apply:os.system [true]", "could not determine a constructor"),
        (TLS + ", client_auth_type: RequireAnyClientCert}", "client_auth_type"),
        (TLS + ", client_auth_type: RequireAndVerifyClientCert}", "client_ca_file"),
        (TLS + ", client_ca_file: ca.crt}", "client_auth_type"),
        (TLS + ", client_allowed_sans: [x]}", "client_allowed_sans"),
        (TLS + ", min_version: TLS10}", "min_version"),
        (TLS + ", min_version: TLS13, max_version: TLS12}", "max_version"),
        (TLS + ", cipher_suites: [x]}", "cipher_suites"),
        ("tls_server_config: {cert_file: a.crt}", "key_file"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(tmp_path, text)
    assert words in str(refused.value) and str(tmp_path / "web.yml") in str(refused.value)
    assert "secret" not in str(refused.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        web_config.load(tmp_path / "none.yml")
    path = tmp_path / "web.yml"
    path.write_text(TLS + "}")
    with pytest.raises(UsageError, match=r"a\.crt and .*No such file"):
        Access(path)
    for name in ("a.crt", "a.key"):
        (tmp_path / name).write_text("nothing")
    with pytest.raises(UsageError, match="no certificate"):
        Access(path)


@given(st.one_of(st.text(), st.binary()))
def test_any_text_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, text: str | bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yml"
    path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    with contextlib.suppress(UsageError):
        web_config.load(path)
