"""Tests do not wait for the disk: none of them survives a power cut."""

from __future__ import annotations

import os

from plumbline_db import connection

AS_SHIPPED = connection.SYNCHRONOUS


def install() -> None:
    """Call it once, before any test."""
    connection.SYNCHRONOUS = "OFF"
    os.fsync = lambda _: None
