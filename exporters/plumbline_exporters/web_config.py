"""The file that says who may ask `plumbline serve`, and how answers travel: the web configuration
of Prometheus' own exporters (YAML), as far as Python can do the same, and tokens beside it. What is
not known is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from plumbline_db import regular
from plumbline_db.errors import UsageError

Version = Literal["TLS12", "TLS13"]
# 4 to 2^17 rounds: more would keep the server busy for minutes.
_BCRYPT = re.compile(r"\$2[aby]\$(0[4-9]|1[0-7])\$[./A-Za-z0-9]{53}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class TlsServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Paths are relative to the folder of the file that names them. `client_allowed_sans`: names of
    client certificates that are let in (none: all that are signed)."""

    cert_file: str
    key_file: str
    client_auth_type: Literal[
        "NoClientCert", "VerifyClientCertIfGiven", "RequireAndVerifyClientCert"
    ] = "NoClientCert"
    client_ca_file: str = ""
    client_allowed_sans: list[str] = []
    min_version: Version = "TLS12"
    max_version: Version = "TLS13"


class WebConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`basic_auth_users`: bcrypt hashes of passwords by user; `bearer_tokens`: SHA-256 of tokens,
    in hexadecimal, by whose they are. With neither everybody may ask."""

    tls_server_config: TlsServer | None = None
    basic_auth_users: dict[str, str] = {}
    bearer_tokens: dict[str, str] = {}

    @property
    def asks_who(self) -> bool:
        return bool(self.basic_auth_users or self.bearer_tokens)


def load(path: Path) -> WebConfig:
    """Raises UsageError with what is wrong and where; it shows no value of the file."""
    try:
        read = yaml.load(regular.read(path), _Strict)  # noqa: S506 - a SafeLoader
        config = msgspec.convert({} if read is None else read, WebConfig)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise UsageError(f"{path}{where}: {error.problem or 'no YAML'}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is no YAML") from error
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: {_without_values(error)}; docs/serve.md has all keys") from error
    _check(path, config)
    return msgspec.structs.replace(config, tls_server_config=_beside(path, config))


def _check(path: Path, config: WebConfig) -> None:
    for user, text in config.basic_auth_users.items():
        if not user or ":" in user or not _BCRYPT.fullmatch(text):
            raise UsageError(
                f"{path}: basic_auth_users: {user!r} has no bcrypt hash of 4 to 17 rounds: "
                "`htpasswd -nBC 10 NAME` prints one"
            )
    for name, text in config.bearer_tokens.items():
        if not _SHA256.fullmatch(text):
            raise UsageError(
                f"{path}: bearer_tokens: {name!r} has no SHA-256 in 64 small hexadecimal digits: "
                "`printf %s TOKEN | sha256sum` prints it"
            )
    tls = config.tls_server_config
    if tls is None:
        return
    if (tls.client_auth_type == "NoClientCert") == bool(tls.client_ca_file):
        raise UsageError(
            f"{path}: client_ca_file and a client_auth_type that verifies go together, or none"
        )
    if tls.client_allowed_sans and tls.client_auth_type != "RequireAndVerifyClientCert":
        raise UsageError(
            f"{path}: client_allowed_sans needs client_auth_type: RequireAndVerifyClientCert"
        )
    if tls.max_version < tls.min_version:
        raise UsageError(f"{path}: max_version is below min_version")


def _beside(path: Path, config: WebConfig) -> TlsServer | None:
    tls = config.tls_server_config
    if tls is None:
        return None
    names = ("cert_file", "key_file", "client_ca_file")
    texts = {name: getattr(tls, name) for name in names}
    folder = path.absolute().parent
    found = {name: str(folder / text) for name, text in texts.items() if text}
    return msgspec.structs.replace(tls, **found)


def _without_values(error: msgspec.ValidationError) -> str:
    return re.sub(r"Invalid enum value '[^']*'", "Invalid value", str(error))


class _Strict(yaml.SafeLoader):
    """A key stands once."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if name in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"the key {name!r} stands twice", problem_mark=key.start_mark
                )
            seen.add(name)
        return super().construct_mapping(node, deep)
