"""The compiled core of the analysis, libdetection.so (tuner/detection/): its loops over messages,
called with columns of int64 and answering such; and columns of numbers: which are equal, and
numbers by owner, one row behind the other."""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
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


Indices = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Rows(msgspec.Struct, frozen=True, eq=False):
    """Row i is at[first[i]:first[i + 1]]."""

    first: Indices
    at: Indices

    def __len__(self) -> int:
        return len(self.first) - 1

    def __getitem__(self, row: int) -> Indices:
        return self.at[self.first[row] : self.first[row + 1]]

    @property
    def lengths(self) -> Indices:
        return self.first[1:] - self.first[:-1]

    @property
    def owners(self) -> Indices:
        """Return by number: its row."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def picked(self, rows: Indices) -> Rows:
        """These rows alone, in this order."""
        lengths = self.lengths[rows]
        return Rows(starts(lengths), self.at[ranges(self.first[rows], lengths)])

    def with_any(self, of_number: Mask) -> Mask:
        """Return by row: whether it has a number of which this holds."""
        return np.asarray(self.sums(of_number) > 0)

    def sums(self, of_number: Indices | Mask) -> Indices:
        """Return by row: the sum over its numbers."""
        summed = starts(of_number[self.at].astype(np.int64))
        return np.asarray(summed[self.first[1:]] - summed[self.first[:-1]])

    def tuples(self) -> list[tuple[int, ...]]:
        """Rows as tuples, each sorted and without a number twice."""
        most = int(self.at.max(initial=0)) + 1
        keys = np.sort(self.owners * most + self.at)
        if len(keys) > 1 and (keys[1:] == keys[:-1]).any():
            keys = np.unique(keys)
        ends = np.searchsorted(keys, np.arange(1, len(self) + 1) * most).tolist()
        numbers = (keys % most).tolist()
        return [tuple(numbers[at:end]) for at, end in itertools.pairwise([0, *ends])]

    @property
    def passed(self) -> Passed:
        """`struct pl_rows`."""
        return Passed(count=len(self), first=self.first, at=self.at)


def starts(lengths: Indices) -> Indices:
    """Return where rows of these lengths begin, and where the last one ends."""
    firsts = np.zeros(len(lengths) + 1, np.int64)
    lengths.cumsum(out=firsts[1:])
    return firsts


def ranges(begins: Indices, lengths: Indices) -> Indices:
    """begin, begin + 1, … of each, one behind the other."""
    before = starts(lengths)
    return np.arange(before[-1]) - np.repeat(before[:-1] - begins, lengths)


def rows(listed: Iterable[Sequence[int] | Indices]) -> Rows:
    """Return the rows that these tuples, lists or columns make."""
    every = list(listed)
    first = starts(np.array([len(row) for row in every], np.int64))
    if every and isinstance(every[0], np.ndarray):
        return Rows(first, np.concatenate(every))
    return Rows(first, np.fromiter(itertools.chain.from_iterable(every), np.int64, int(first[-1])))


def by_owner(owners: Indices, count: int) -> Rows:
    """Row i: the indices whose owner is i, in order."""
    return Rows(*call("pl_by_owner", len(owners), owners, count))


def numbered(left: Indices, right: Indices) -> Indices:
    """Equal pairs have one number; numbers are in the order in which pairs come first."""
    return call("pl_numbers", len(left), left, right)[0]


def first_of_each(numbers: Indices) -> Indices:
    """Return where each number comes first; they are as `numbered` makes them."""
    first = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # the last one written stays
    return first


def classes(left: Indices, right: Indices) -> Rows:
    """Indices of equal pairs, by class, in the order in which pairs come first."""
    return Rows(*call("pl_classes", len(left), left, right))


def distinct(values: Indices, behind: int) -> Indices:
    """Numbers in [0, behind), each once, sorted."""
    if behind <= max(1 << 16, 4 * len(values)):
        return np.flatnonzero(np.bincount(values, minlength=behind))
    return np.unique(values)


def counted(values: Indices, behind: int) -> tuple[Indices, Indices]:
    """The same, and how often each is there."""
    if behind <= max(1 << 16, 4 * len(values)):
        counts = np.bincount(values, minlength=behind)
        present = np.flatnonzero(counts)
        return present, counts[present]
    return np.unique(values, return_counts=True)
