"""Independent work on several cores: by copies of this process, which have all that it has."""

from __future__ import annotations

import contextlib
import os
import pickle
from collections.abc import Callable, Sequence
from typing import TypeVar

from plumbline.system.machine import processing_units

# So many numbers of work are worth a process.
SHARE = 1 << 17

Item = TypeVar("Item")
Result = TypeVar("Result")


def mapped(
    work: Callable[[Item], Result], items: Sequence[Item], sizes: Sequence[int]
) -> list[Result]:
    """What `work` gives for each, in their order. `sizes`: how much work each one is. What another
    process did not bring to its end is done here."""
    shares = _shares(sizes, min(processing_units(), len(items), sum(sizes) // SHARE))
    begun = [(share, *_begun(work, [items[at] for at in share])) for share in shares[1:]]
    found = {at: work(items[at]) for at in shares[0]}
    for share, process, pipe in begun:
        with contextlib.suppress(EOFError, pickle.UnpicklingError), open(pipe, "rb") as results:
            found |= zip(share, pickle.load(results), strict=True)  # noqa: S301 own copy
        os.waitpid(process, 0)
    return [found[at] if at in found else work(items[at]) for at in range(len(items))]


def _shares(sizes: Sequence[int], count: int) -> list[list[int]]:
    """The largest first, to whoever has least."""
    shares: list[list[int]] = [[] for _ in range(max(1, count))]
    given = [0] * len(shares)
    for at in sorted(range(len(sizes)), key=lambda at: -sizes[at]):
        least = given.index(min(given))
        shares[least].append(at)
        given[least] += sizes[at]
    return shares


def _begun(work: Callable[[Item], Result], items: Sequence[Item]) -> tuple[int, int]:
    """A process, and where its results can be read."""
    out, into = os.pipe()
    process = os.fork()
    if process:
        os.close(into)
        return process, out
    try:
        os.close(out)
        with open(into, "wb") as results:
            pickle.dump([work(item) for item in items], results, pickle.HIGHEST_PROTOCOL)
    finally:
        os._exit(0)
