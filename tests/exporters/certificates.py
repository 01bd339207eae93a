"""Certificates of an authority of our own, made by openssl."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def _openssl(*words: str) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("no openssl on PATH")
    subprocess.run([program, *words], check=True, capture_output=True, timeout=60)


class Authority:
    """Files in a folder: NAME.crt and NAME.key; its own are ca.crt and ca.key."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._request("ca", "-x509", "-days", "2")

    def path(self, name: str) -> Path:
        return self._folder / name

    def sign(self, name: str, alternative: str) -> None:
        """`alternative`: as in `DNS:localhost,IP:127.0.0.1`."""
        self._request(name)
        extensions = self.path(f"{name}.ext")
        extensions.write_text(f"subjectAltName={alternative}\n")
        _openssl(
            *("x509", "-req", "-in", str(self.path(f"{name}.crt")), "-days", "2"),
            *("-CA", str(self.path("ca.crt")), "-CAkey", str(self.path("ca.key"))),
            *("-CAcreateserial", "-extfile", str(extensions)),
            *("-out", str(self.path(f"{name}.crt"))),
        )

    def _request(self, name: str, *more: str) -> None:
        _openssl(
            *("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"),
            *("-subj", f"/CN={name}", "-keyout", str(self.path(f"{name}.key"))),
            *("-out", str(self.path(f"{name}.crt")), *more),
        )
