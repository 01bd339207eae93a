"""Who may ask `plumbline serve`: TLS, client certificates, passwords and tokens, as a web
configuration says (web_config.py). A configuration that is read anew and is broken changes
nothing."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import secrets
import ssl
import threading
from pathlib import Path

import bcrypt
from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from plumbline_db.errors import PlumblineError, UsageError
from plumbline_exporters import web_config
from plumbline_exporters.web_config import TlsServer, WebConfig

_log = logging.getLogger("plumbline")
_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_VERIFY = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_REMEMBERED = 100  # passwords that were right
_GUESSES = 64  # that wait for their turn


class Access:
    """By a file; raises UsageError where it is broken."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._config = web_config.load(path)
        tls = self._config.tls_server_config
        self.context = None if tls is None else _context(path, tls)
        self._busy = threading.Lock()
        self._key = secrets.token_bytes(32)
        self._right: set[bytes] = set()

    def renew(self) -> None:
        """Reads the file and the certificates anew: users, tokens, and what is shown to clients
        that come from now on. Whether there is TLS, and what it asks of clients, stays."""
        try:
            config = web_config.load(self._path)
            before, after = self._config.tls_server_config, config.tls_server_config
            if _kind(before) != _kind(after):
                raise UsageError("what it asks of clients by TLS has changed: start serve anew")
            if self.context is not None and after is not None:
                _load(self._path, self.context, after)
        except PlumblineError as error:
            _log.error("the web configuration stays as it was: %s", error)
            return
        self._config = config
        self._right.clear()
        _log.warning("the web configuration was read anew: %s", self._path)

    @property
    def asks_who(self) -> bool:
        return self._config.asks_who

    @property
    def challenge(self) -> str:
        return "Basic" if self._config.basic_auth_users else "Bearer"

    def admits(self, authorization: str) -> bool:
        """By the header of a request. Takes the time of bcrypt where a password is new, one at a
        time, whether its user exists or not."""
        config = self._config
        scheme, _, value = authorization.strip().partition(" ")
        match scheme.lower():
            case "bearer":
                digest = hashlib.sha256(value.strip().encode()).hexdigest()
                known = [hmac.compare_digest(digest, one) for one in config.bearer_tokens.values()]
                return any(known)
            case "basic":
                return self._is_password(config, value.strip())
        return False

    def _is_password(self, config: WebConfig, value: str) -> bool:
        try:
            user, _, password = base64.b64decode(value, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return False
        if not config.basic_auth_users:
            return False
        known = config.basic_auth_users.get(user)
        # Of the same number of rounds: who does not exist is refused as late as who does.
        text = known or next(iter(config.basic_auth_users.values()))
        mark = hmac.digest(self._key, f"{user}\0{text}\0{password}".encode(), "sha256")
        if known and mark in self._right:
            return True
        with self._busy:
            try:
                right = bcrypt.checkpw(password.encode(), text.encode()) and known is not None
            except ValueError:  # longer than bcrypt can look at
                return False
        if right and len(self._right) < _REMEMBERED:
            self._right.add(mark)
        return right

    def allows(self, certificate: object) -> bool:
        """By the names of a client's certificate, as `ssl` shows it."""
        tls = self._config.tls_server_config
        if tls is None or not tls.client_allowed_sans:
            return True
        names = certificate.get("subjectAltName", ()) if isinstance(certificate, dict) else ()
        return any(name in tls.client_allowed_sans for _, name in names)


class Authenticated:
    """Lets requests through that `access` admits; the others get 401 and nothing else."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access
        # Of its own: whoever guesses passwords takes no worker from those who are let in.
        self._waiting = CapacityLimiter(_GUESSES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._access.asks_who:
            given = Headers(scope=scope).get("authorization", "")
            if not await to_thread.run_sync(self._access.admits, given, limiter=self._waiting):
                challenge = {"WWW-Authenticate": self._access.challenge}
                answer = PlainTextResponse("Unauthorized\n", status_code=401, headers=challenge)
                await answer(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _context(path: Path, tls: TlsServer) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[tls.min_version]
    context.maximum_version = _VERSIONS[tls.max_version]
    _load(path, context, tls)
    context.verify_mode = _VERIFY[tls.client_auth_type]
    if tls.client_ca_file:
        try:
            context.load_verify_locations(tls.client_ca_file)
        except OSError as error:
            raise UsageError(f"{path}: {tls.client_ca_file}: {_words(error)}") from error
    return context


def _load(path: Path, context: ssl.SSLContext, tls: TlsServer) -> None:
    try:
        context.load_cert_chain(tls.cert_file, tls.key_file, password=_no_password)
    except OSError as error:  # also what is no certificate
        names = f"{tls.cert_file} and {tls.key_file}"
        raise UsageError(f"{path}: {names}: {_words(error)}") from error


def _words(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return "no certificate in PEM, or not its key"
    return str(error.strerror)


def _no_password() -> str:
    """A key that asks for one would wait for ever."""
    return ""


def _kind(tls: TlsServer | None) -> object:
    if tls is None:
        return None
    asked = (tls.client_auth_type, tls.client_ca_file, tls.client_allowed_sans)
    return (*asked, tls.min_version, tls.max_version)
