"""Columns of numbers: which are equal, and numbers by owner, one row behind the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from plumbline.detect import core

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
    def passed(self) -> core.Passed:
        """`struct pl_rows`."""
        return core.Passed(count=len(self), first=self.first, at=self.at)


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
    return Rows(*core.call("pl_by_owner", len(owners), owners, count))


def numbered(left: Indices, right: Indices) -> Indices:
    """Equal pairs have one number; numbers are in the order in which pairs come first."""
    return core.call("pl_numbers", len(left), left, right)[0]


def first_of_each(numbers: Indices) -> Indices:
    """Return where each number comes first; they are as `numbered` makes them."""
    first = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # the last one written stays
    return first


def classes(left: Indices, right: Indices) -> Rows:
    """Indices of equal pairs, by class, in the order in which pairs come first."""
    return Rows(*core.call("pl_classes", len(left), left, right))


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
