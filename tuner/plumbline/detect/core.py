"""The compiled core of the analysis, libdetection.so (tuner/detection/): its loops over messages,
called with columns of int64 and answering such."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from plumbline.system import paths

Column = npt.NDArray[np.int64]

_MOST_COLUMNS = 24


class _Column(ctypes.Structure):
    _fields_ = (("at", ctypes.c_void_p), ("count", ctypes.c_int64))


class _Answer(ctypes.Structure):
    """`struct pl_answer`."""

    _fields_ = (("count", ctypes.c_int64), ("columns", _Column * _MOST_COLUMNS))


_ANSWERS = ctypes.POINTER(_Answer)


class Passed(ctypes.Structure):
    """A structure of pointers to columns, which it keeps."""

    kept: list[npt.NDArray[np.generic]]

    def keep(self, name: str, column: npt.NDArray[np.generic]) -> None:
        """int64, or bytes where the core reads these."""
        dtype = np.uint8 if column.dtype == np.uint8 else np.int64
        given = np.ascontiguousarray(column, dtype)
        self.kept = [*getattr(self, "kept", []), given]
        setattr(self, name, _address(given))

    def nest(self, name: str, inner: Passed) -> None:
        """A structure within this one."""
        self.kept = [*getattr(self, "kept", []), *inner.kept]
        setattr(self, name, inner)


class Rows(Passed):
    """`struct pl_rows`."""

    _fields_ = (
        ("count", ctypes.c_int64),
        ("first", ctypes.c_void_p),
        ("at", ctypes.c_void_p),
    )


def rows(first: Column, at: Column) -> Rows:
    passed = Rows()
    passed.count = len(first) - 1
    passed.keep("first", first)
    passed.keep("at", at)
    return passed


class Records(Passed):
    """Structures as a file or a recording has them, one behind the other."""

    _fields_ = (("count", ctypes.c_int64), ("at", ctypes.c_void_p))


def records(array: npt.NDArray[np.void]) -> Records:
    passed = Records()
    passed.count = len(array)
    passed.keep("at", np.ascontiguousarray(array).view(np.uint8))
    return passed


def call(name: str, *given: int | Column | npt.NDArray[np.bool_] | Passed) -> list[Column]:
    """The columns that a function of the core answers."""
    kept: list[Column] = []
    passed: list[object] = []
    for each in given:
        if isinstance(each, int):
            passed.append(ctypes.c_int64(each))
        elif isinstance(each, Passed):
            passed.append(ctypes.byref(each))
        else:
            kept.append(np.ascontiguousarray(each, np.int64))
            passed.append(ctypes.c_void_p(_address(kept[-1])))
    answer = _function(name)(*passed)
    if not answer:
        raise MemoryError(name)
    try:
        return [_copied(answer.contents.columns[at]) for at in range(answer.contents.count)]
    finally:
        _library().pl_release(answer)


@contextmanager
def memory_kept() -> Iterator[None]:
    """Memory that columns and the core give back stays with the process meanwhile: pages that the
    kernel has to clear again and again are a tenth of the time of an analysis."""
    _library().pl_keep_memory(ctypes.c_int64(1))
    try:
        yield
    finally:
        _library().pl_keep_memory(ctypes.c_int64(0))


def _copied(column: _Column) -> Column:
    count = column.count
    copied = np.empty(count, np.int64)
    if count:
        ctypes.memmove(_address(copied), column.at, 8 * count)
    return copied


def _address(column: npt.NDArray[np.generic]) -> int:
    """`column.ctypes.data`, without what else that makes."""
    if column.size and column.flags.writeable:
        return ctypes.addressof(ctypes.c_char.from_buffer(column.data))
    address: int = column.__array_interface__["data"][0]
    return address


@functools.cache
def _function(name: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(_library(), name)
    function.restype = _ANSWERS  # type: ignore[attr-defined]
    return function


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(paths.layout().detection()))
    library.pl_release.restype = library.pl_keep_memory.restype = None
    library.pl_release.argtypes = [ctypes.POINTER(_Answer)]
    return library


def fields(numbers: str, columns: str) -> list[tuple[str, type]]:
    """Of a structure: numbers, then pointers to columns, as in C."""
    return [
        *((name, ctypes.c_int64) for name in numbers.split()),
        *((name, ctypes.c_void_p) for name in columns.split()),
    ]
