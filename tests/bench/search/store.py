"""Recorded launches on disk: a gzip member a launch, appended as soon as the launch is at its end.
What a killed process has left half written is cut off when the file is opened again."""

from __future__ import annotations

import fcntl
import os
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from plumbline_db.probe_records import Header

FOLDER = Path("build/bench/search")


class Timed(msgspec.Struct, frozen=True):
    """What a launch has of one case: `ns` by block; none where `outcome` is not ok ("failed": the
    launch ends with this case under way)."""

    function: str
    bytes: int
    variant: str
    knobs: dict[str, str]
    outcome: str
    detail: str
    ns: list[list[int]]


class Recorded(msgspec.Struct, frozen=True):
    """`options`: knobs in force for the whole launch; `rules`: those of the profile in force.
    `seconds`: from mpirun's start to its end; `wall_ns`: inside the probe; `timed_ns`: inside the
    calls."""

    name: str
    options: dict[str, str]
    rules: list[str]
    header: Header | None
    seconds: float
    wall_ns: int
    timed_ns: int
    cases: list[Timed]


class Store:
    """All launches of one sweep. `probe`: the program that measures; what an older one has recorded
    is thrown away, since simulated times of both would be compared with each other."""

    def __init__(self, name: str, folder: Path = FOLDER, *, probe: Path | None = None) -> None:
        self.path = folder / f"{name}.gz"
        if probe and self.path.exists() and self.path.stat().st_mtime < probe.stat().st_mtime:
            self.path.unlink()
        self._lock = threading.Lock()
        self.launches = []
        if self.path.exists():
            with self.path.open("rb+") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # of several processes one writes at a time
                data = file.read()
                whole = 0
                for end, text in _members(data):
                    self.launches.append(msgspec.json.decode(text, type=Recorded))
                    whole = end
                file.truncate(whole)
        self._names = {one.name for one in self.launches}

    def has(self, name: str) -> bool:
        return name in self._names

    def add(self, launch: Recorded) -> None:
        pack = zlib.compressobj(9, wbits=31)
        data = pack.compress(msgspec.json.encode(launch)) + pack.flush()
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            self.launches.append(launch)
            self._names.add(launch.name)

    launches: list[Recorded]


def _members(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Where each whole member ends, and what it holds."""
    begin = 0
    while begin < len(data):
        unpack = zlib.decompressobj(wbits=31)
        try:
            text = unpack.decompress(data[begin:])
        except zlib.error:
            return
        if not unpack.eof:
            return
        begin = len(data) - len(unpack.unused_data)
        yield begin, text
