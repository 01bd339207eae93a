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


class Passed:
    """A structure of the core: numbers, columns (int64, or bytes where the core reads these) and
    structures within it, in C's order. It keeps the columns."""

    structure: ctypes.Structure

    def __init__(self, **columns: int | npt.NDArray[np.generic] | Passed) -> None:
        self._kept: list[object] = []
        fields: dict[str, Any] = {}
        for name, value in columns.items():
            if isinstance(value, Passed):
                self._kept.append(value)
                fields[name] = value.structure
            elif isinstance(value, int):
                fields[name] = ctypes.c_int64(value)
            else:
                dtype = np.uint8 if value.dtype == np.uint8 else np.int64
                column = np.ascontiguousarray(value, dtype)
                self._kept.append(column)
                fields[name] = ctypes.c_void_p(_address(column))
        kind = _structure(tuple((name, type(field)) for name, field in fields.items()))
        self.structure = kind(*fields.values())


@functools.cache
def _structure(fields: tuple[tuple[str, type], ...]) -> type[ctypes.Structure]:
    return type("_Structure", (ctypes.Structure,), {"_fields_": fields})


def records(array: npt.NDArray[np.void]) -> Passed:
    """Structures as a file or a recording has them, one behind the other."""
    return Passed(count=len(array), at=np.ascontiguousarray(array).view(np.uint8))


def call(name: str, *arguments: int | Column | npt.NDArray[np.bool_] | Passed) -> list[Column]:
    """The columns that a function of the core answers."""
    kept: list[Column] = []
    passed: list[object] = []
    for argument in arguments:
        if isinstance(argument, int):
            passed.append(ctypes.c_int64(argument))
        elif isinstance(argument, Passed):
            passed.append(ctypes.byref(argument.structure))
        else:
            kept.append(np.ascontiguousarray(argument, np.int64))
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
