"""The library failing.c in this process, which was started with it preloaded: which call is to
fail."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")


class Fault(IntEnum):
    """As failing.c numbers them. `FULL`: no space for a number of calls; `CLOCK`: wrong from that
    reading on, by a number of seconds. Others are a single call that fails."""

    NONE = 0
    START = 1
    CHILD = 2
    WRITE = 3
    FULL = 4
    SYNC = 5
    READ = 6
    RENAME = 7
    CLOCK = 8


def build(folder: Path) -> Path:
    target = folder / "failing.so"
    warnings = ("-Wall", "-Wextra", "-Wshadow", "-Werror")
    words = ["cc", "-std=gnu11", "-O2", *warnings, "-shared", "-fPIC"]
    subprocess.run([*words, SOURCE, "-o", target], check=True, timeout=60)
    return target


class Faults:
    """`seen` and `fired` are of the fault that was armed last, in all processes from here on."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        if not hasattr(self._library, "faults_arm"):
            raise RuntimeError("failing.so is not preloaded")
        self._library.faults_seen.restype = ctypes.c_long
        os.environ.pop("LD_PRELOAD", None)  # programs that are started are left alone

    @contextmanager
    def armed(self, root: Path, fault: Fault, number: int, amount: int = 1) -> Iterator[None]:
        """Call `number` of what the fault is about, below `root`."""
        numbers = (ctypes.c_int(fault), ctypes.c_long(number), ctypes.c_long(amount))
        self._library.faults_arm(os.fsencode(root), *numbers)
        try:
            yield
        finally:
            self._fault_ends()

    def _fault_ends(self) -> None:
        self._seen = self._library.faults_seen()
        self._fired = bool(self._library.faults_fired())
        self._library.faults_arm(b"/", ctypes.c_int(Fault.NONE), ctypes.c_long(0), ctypes.c_long(0))

    @property
    def seen(self) -> int:
        return self._seen

    @property
    def fired(self) -> bool:
        return self._fired
