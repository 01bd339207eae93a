"""Where the parts of a scatter, a gather or an exchange lie in the memory of the rank that has them
all: side by side in the order of ranks, with a hole where its own part is. Looked at in
tuner/detection/layouts.c."""

from __future__ import annotations

import enum

import numpy as np

from plumbline.detect import core
from plumbline.detect.columns import Indices


class Arrangement(enum.IntEnum):
    """The worst one first."""

    OVERLAPPING = 0  # they were never there together
    APART = 1  # anywhere
    ORDER = 2  # side by side, but of unequal sizes or in another order
    REGULAR = 3  # equal blocks at equal distances, by ranks, at a larger stride (columns)
    ARRAY = 4  # the same, with room for the own one and nothing else


def layouts(
    address: Indices, nbytes: Indices, place: Indices, own: Indices, gaps: Indices, size: int
) -> Indices:
    """An Arrangement a row. Shape (rows, blocks): address and bytes of each block, and the place in
    the group of the rank that it is for or from; `own`, by row: the place of the rank that has
    them; `gaps`: 0, or bytes of an element of blocks with gaps, in which others may lie; `size`: of
    the group."""
    count, blocks = address.shape
    given = [np.ravel(each) for each in (address, nbytes, place)]
    return core.call("pl_layouts", count, blocks, size, *given, own, gaps)[0]
