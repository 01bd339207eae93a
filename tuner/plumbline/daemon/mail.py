"""A message by mail: over TLS and with a password, where the configuration says so. The password is
read anew for each message, and stands nowhere but in its file."""

from __future__ import annotations

import os
import smtplib
import socket
import ssl
import stat
from email.message import EmailMessage

from plumbline.daemon import deadline
from plumbline.daemon.configuration import Notify
from plumbline.daemon.texts import host_port
from plumbline.daemon.told import Told
from plumbline_db.errors import PlumblineError

_MOST_BYTES = 1024


def send(notify: Notify, subject: str, text: str, told: Told) -> None:
    """Raises OSError, smtplib.SMTPException, and PlumblineError for the file of the password."""
    del told
    message = EmailMessage()
    message["Subject"] = " ".join(f"[plumbline] {subject}".split())
    message["From"] = notify.mail_from
    message["To"] = ", ".join(notify.mail_to)
    message.set_content(text)
    with _connected(notify) as server:
        if notify.smtp_user:
            _log_in(server, notify)
        server.send_message(message)


class _Smtp(smtplib.SMTP):
    def _get_socket(self, host: str, port: int, timeout: float) -> socket.socket:
        connection: socket.socket = super()._get_socket(host, port, timeout)  # type: ignore[misc]
        deadline.connected(connection)
        return connection


class _SmtpTls(smtplib.SMTP_SSL, _Smtp):
    """The connection is known before its handshake begins."""


def _connected(notify: Notify) -> smtplib.SMTP:
    """Certificates are those of the system, or of SSL_CERT_FILE."""
    host, port = host_port("notify.smtp", notify.smtp)
    if notify.smtp_tls == "tls":
        context = ssl.create_default_context()
        return _SmtpTls(host, port, timeout=2 * deadline.SECONDS, context=context)
    server = _Smtp(host, port, timeout=2 * deadline.SECONDS)
    if notify.smtp_tls == "starttls":
        try:
            server.starttls(context=ssl.create_default_context())
        except BaseException:
            server.close()
            raise
    return server


def _log_in(server: smtplib.SMTP, notify: Notify) -> None:
    try:
        server.login(notify.smtp_user, password(notify.smtp_password_file))
    except smtplib.SMTPResponseException as error:
        # What a server answers may repeat what it was sent.
        raise PlumblineError(
            f"the mail server refuses {notify.smtp_user} (code {error.smtp_code}): look at "
            f"notify.smtp_user and {notify.smtp_password_file}"
        ) from None


def password(path: str) -> str:
    """The first line. Raises PlumblineError where others could read or change it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise PlumblineError(f"cannot read {path}: {error.strerror}") from error
    try:
        facts = os.fstat(file)
        if not stat.S_ISREG(facts.st_mode):
            raise PlumblineError(f"{path} is no plain file: notify.smtp_password_file names one")
        if facts.st_uid not in (os.geteuid(), 0) or stat.S_IMODE(facts.st_mode) & 0o077:
            raise PlumblineError(
                f"{path} can be read by others: chmod 600 it, and let it belong to who runs this"
            )
        text = os.read(file, _MOST_BYTES).decode("utf-8", "replace")
    finally:
        os.close(file)
    first = text.partition("\n")[0].strip("\r")
    if not first:
        raise PlumblineError(f"{path} is empty: its first line is the password")
    return first
