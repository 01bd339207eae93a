"""A checksum on each page of the file, checked whenever the page is read: SQLite's own `cksumvfs`
(sqlite.org/cksumvfs.html), which apsw's wheels bring along. Other programs may read such a file;
what they write into it counts as damage."""

from __future__ import annotations

import ctypes
from contextlib import closing
from functools import cache

import apsw
from apsw import sqlite_extra

from plumbline_db.errors import PlumblineError

# The bytes that checksums take in each page; byte 20 of a file has this number.
RESERVED_BYTES = 8


@cache
def vfs() -> str:
    """The name of the VFS that computes and checks them."""
    with closing(apsw.Connection(":memory:")) as connection:
        try:
            sqlite_extra.load(connection, "cksumvfs")
        except (LookupError, sqlite_extra.NotAvailable, apsw.Error) as error:
            raise PlumblineError(
                f"this apsw has no page checksums ({error}): install its wheel, "
                "`pip install --force-reinstall --only-binary apsw apsw`"
            ) from error
    return "cksmvfs"


def add(connection: apsw.Connection) -> None:
    """The pages of a new file have them; one that has them already stays as it is."""
    reserved = ctypes.c_int(RESERVED_BYTES)
    connection.file_control("main", apsw.SQLITE_FCNTL_RESERVE_BYTES, ctypes.addressof(reserved))
