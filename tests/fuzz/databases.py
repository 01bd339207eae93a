"""The import of databases under fuzz: an input is a script of changes to a file of `plumbline db
export`, at the level of values or of bytes, after which hashes and checksums are right again."""

from __future__ import annotations

import contextlib
import shutil
import struct
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import apsw

from plumbline.libraries import gate
from plumbline.results import report
from plumbline_db import campaigns, flat_tables, schema, transfer
from plumbline_db.connection import Database, check
from plumbline_db.errors import PlumblineError
from plumbline_exporters import registry
from plumbline_exporters.bundle import load_bundle
from tests.db import hostile_file

BYTES = b"\xff"  # begins a script of bytes
_PAGE = 4096


class Imports:
    """Files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cache  # noqa: B019 - one for the process
    def _sent(self) -> Path:
        return hostile_file.exported(self._folder)

    @cache  # noqa: B019
    def _columns(self) -> list[tuple[str, list[str], int]]:
        """Tables that have rows, with their columns and the number of rows."""
        with Database.open(self._sent()) as db:
            tables = db.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
            found = []
            for (table,) in tables:
                ((count,),) = db.rows(f'SELECT count(*) FROM "{table}"')
                names = [row[1] for row in db.rows(f"PRAGMA table_info({table})")]
                if count and not table.startswith("sqlite"):
                    found.append((table, names, count))
        return found

    def seeds(self) -> Iterable[bytes]:
        """A value of each kind for each table, and a few bytes."""
        for at, (_, names, _) in enumerate(self._columns()):
            yield b"\n".join(
                bytes([at, column, 0, kind]) + b"\x07x[1]"
                for column in range(len(names))
                for kind in range(6)
            )
        yield BYTES + b"\0\x20\x10\x04abcd"

    def read(self, data: bytes) -> None:
        """Import what the script makes, and show what came."""
        hostile = self._folder / "hostile.plumbline"
        shutil.copyfile(self._sent(), hostile)
        if data.startswith(BYTES):
            _change_bytes(hostile, data[1:])
        else:
            for line in data.split(b"\n")[:20]:
                self._change_value(hostile, line)
        # What cannot even be opened keeps its hashes.
        with contextlib.suppress(PlumblineError, ValueError, TypeError, LookupError, apsw.Error):
            hostile_file.hash_again(hostile)
        for name in self._folder.glob("there.db*"):
            name.unlink()
        there = self._folder / "there.db"
        with contextlib.suppress(PlumblineError):
            transfer.take(there, hostile)
        if there.exists():
            assert check(there) == []
            self._show(there)

    def _show(self, there: Path) -> None:
        with Database.open(there) as db:
            assert campaigns.own(db) == []
            for campaign in campaigns.every(db):
                assert campaign.imported_from
                looks: tuple[Callable[[], object], ...] = (
                    lambda: report.read(db, campaign.id),  # noqa: B023
                    lambda: [list(flat_tables.of(db, what, ())) for what in flat_tables.COLUMNS],
                    lambda: self._written(db, campaign.id),  # noqa: B023
                )
                for look in looks:
                    with contextlib.suppress(PlumblineError):
                        look()

    def _written(self, db: Database, id: str) -> None:
        bundle = load_bundle(db, id, self._folder / "out", gate.of_library, created="now")
        registry.texts(bundle, list(registry.exporters(bundle.library.family)))

    def _change_value(self, file: Path, line: bytes) -> None:
        """TABLE COLUMN ROW KIND, a byte each, and a value."""
        if len(line) < 4:
            return
        table, names, count = self._columns()[line[0] % len(self._columns())]
        column, row, rest = names[line[1] % len(names)], line[2] % count, line[4:]
        values: tuple[object, ...] = (
            int.from_bytes(rest[:8], "little", signed=True),
            struct.unpack("<d", rest[:8].ljust(8, b"\0"))[0],
            rest.decode(errors="replace"),
            rest,
            None,
        )
        connection = apsw.Connection(str(file), vfs=schema._checksum_vfs())
        with contextlib.closing(connection), contextlib.suppress(apsw.Error):
            connection.pragma("foreign_keys", False)
            connection.pragma("ignore_check_constraints", True)
            old = list(connection.execute(f'SELECT "{column}" FROM "{table}"'))[row][0]
            kind = line[3] % (len(values) + 1)
            value = values[kind] if kind < len(values) else _pieced(old, rest)
            connection.execute(
                f'UPDATE "{table}" SET "{column}" = ? WHERE "{column}" IS ?', (value, old)
            )


def _pieced(old: object, rest: bytes) -> object:
    """The old value with some of it replaced."""
    if isinstance(old, str) and rest:
        at = rest[0] % (len(old) + 1)
        return old[:at] + rest[1:].decode(errors="replace") + old[at + len(rest) - 1 :]
    if isinstance(old, bytes) and rest:
        at = rest[0] % (len(old) + 1)
        return old[:at] + rest[1:] + old[at + len(rest) - 1 :]
    return old


def _change_bytes(file: Path, script: bytes) -> None:
    """Three bytes of a place, one of a length, and the bytes; then checksums are right again."""
    data = bytearray(file.read_bytes())
    pages = set()
    while len(script) > 4:
        at, length = int.from_bytes(script[:3], "big") % len(data), script[3] % 64
        piece = script[4 : 4 + length]
        data[at : at + len(piece)] = piece[: len(data) - at]
        pages |= {at // _PAGE, (at + len(piece)) // _PAGE}
        script = script[4 + length :]
    for page in pages:
        place = slice(page * _PAGE, (page + 1) * _PAGE)
        if len(data[place]) == _PAGE:
            data[place] = _summed(data[place])
    file.write_bytes(data)


def _summed(page: bytes) -> bytes:
    """With the checksum that `cksumvfs` computes."""
    first = second = 0
    words = struct.unpack(f"<{(_PAGE - 8) // 4}I", page[:-8])
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return bytes(page[:-8]) + struct.pack("<II", first, second)
