"""Programs of ranks that send and receive, run in memory: each rank is a generator that waits where
it receives. Contents lie in a memory of each rank, so that addresses are as a real program has
them, and call sites are lines of the programs here."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from plumbline.detect.kinds import Flag
from plumbline.detect.recording import Recording
from tests.tuner.detect.program import RankProgram

Array = npt.NDArray[Any]
Waits = Generator[Callable[[], bool], None, Any]
Main = Callable[["Rank"], Waits]

ARENA = 1 << 23
BASE = 0x7F00_0000_0000


class Comm:
    """Ranks by their place; `number` is what a recording calls it."""

    def __init__(self, ranks: Sequence[int], number: int) -> None:
        self.ranks, self.number = tuple(ranks), number


class Run:
    def __init__(self, nprocs: int, seed: int) -> None:
        self.program = RankProgram(nprocs)
        self.nprocs = nprocs
        self.seed = seed
        self.random = random.Random(seed)
        self.waiting: dict[tuple[int, int, int, int], int] = {}
        self.arrived: list[tuple[int, int, int, int]] = []
        self.world = Comm(range(nprocs), 0)
        self._comms = {tuple(range(nprocs)): self.world}

    def comm(self, ranks: Sequence[int]) -> Comm:
        key = tuple(ranks)
        if key not in self._comms:
            self._comms[key] = Comm(key, self.program.communicator(key))
        return self._comms[key]

    def recording(self, main: Main) -> Recording:
        ranks = [Rank(self, rank) for rank in range(self.nprocs)]
        running = {me.world_rank: main(me) for me in ranks}
        blocked: dict[int, Callable[[], bool]] = {}
        while running:
            ready = [rank for rank in running if rank not in blocked or blocked[rank]()]
            assert ready, f"deadlock of {sorted(running)}"
            rank = self.random.choice(ready)
            blocked.pop(rank, None)
            try:
                blocked[rank] = next(running[rank])
            except StopIteration:
                del running[rank]
        assert not any(self.waiting.values()), "messages are left over"
        return self.program.recording()


class Rank:
    """What a program calls. `rank` and `size` are of the communicator in use (`on`)."""

    def __init__(self, run: Run, rank: int, comm: Comm | None = None) -> None:
        self.run, self.world_rank = run, rank
        self.comm = comm or run.world
        self.rank, self.size = self.comm.ranks.index(rank), len(self.comm.ranks)
        self.random = np.random.default_rng([run.seed, rank])
        self.shared = random.Random(run.seed)
        self._arena = np.zeros(ARENA, np.uint8)
        self._used = 0
        self._turns = 0
        self._parent: Rank | None = None
        self._start = self._arena.__array_interface__["data"][0]

    def on(self, ranks: Sequence[int]) -> Rank:
        """The same rank on a communicator of its own; `ranks` are world ranks."""
        other = Rank.__new__(Rank)
        other.__dict__ |= self.__dict__
        other.comm = self.run.comm(ranks)
        other.rank, other.size = tuple(ranks).index(self.world_rank), len(ranks)
        other._parent = self
        return other

    def among(self, ranks: Sequence[int]) -> Rank:
        """The same rank among others without a communicator of their own: their places are
        turned into ranks of MPI_COMM_WORLD when they send."""
        other = Rank.__new__(Rank)
        other.__dict__ |= self.__dict__
        other.comm, other._parent = Comm(ranks, 0), self
        other.rank, other.size = tuple(ranks).index(self.world_rank), len(ranks)
        return other

    @property
    def right(self) -> int:
        return (self.rank + 1) % self.size

    @property
    def left(self) -> int:
        return (self.rank - 1) % self.size

    def others(self) -> list[int]:
        return [one for one in range(self.size) if one != self.rank]

    def turn(self, tag: int) -> int:
        """Another tag at each call."""
        top = self._parent or self
        top._turns += 1
        return tag + 1000 * top._turns

    def alloc(self, count: int, dtype: npt.DTypeLike = np.float64) -> Array:
        top = self._parent or self
        nbytes = count * np.dtype(dtype).itemsize
        start = top._used
        top._used += (nbytes + 191) // 64 * 64
        assert top._used <= ARENA
        return self._arena[start : start + nbytes].view(dtype)

    def data(self, count: int, dtype: npt.DTypeLike = np.float64) -> Array:
        """Memory with contents of its own."""
        array = self.alloc(count, dtype)
        self.fill(array)
        return array

    def fill(self, array: Array) -> None:
        if array.dtype.kind == "f":
            array[...] = self.random.uniform(1, 100, array.shape)
        else:
            array[...] = self.random.integers(1, 100, array.shape)

    def copy(self, array: Array) -> Array:
        other = self.alloc(array.size, array.dtype)
        other[...] = array
        return other

    def compute(self, ns: int) -> None:
        self.run.program.compute(self.world_rank, ns)

    def send(self, array: Array | None, to: int, tag: int = 0) -> None:
        key = (self.comm.number, self.world_rank, self.comm.ranks[to], tag)
        content, more = self._described(array)
        self.run.program.send(
            self.world_rank, key[2], content, tag=tag, comm=key[0], site=_sites(), **more
        )
        self.run.waiting[key] = self.run.waiting.get(key, 0) + 1
        self.run.arrived.append(key)

    def recv(self, array: Array | None, source: int, tag: int = 0) -> Waits:
        key = (self.comm.number, self.comm.ranks[source], self.world_rank, tag)
        if not self.run.waiting.get(key, 0):
            yield lambda: self.run.waiting.get(key, 0) > 0
        self._take(key, array, Flag(0))

    def recv_any(self, array: Callable[[int], Array | None] | Array | None, tag: int = 0) -> Waits:
        """From whoever comes first: his rank. `array`: a place, or one for each source."""

        def here() -> list[tuple[int, int, int, int]]:
            return [
                key
                for key in self.run.arrived
                if key[0] == self.comm.number and key[2:] == (self.world_rank, tag)
            ]

        if not here():
            yield lambda: bool(here())
        key = here()[0]
        source = self.comm.ranks.index(key[1])
        self._take(key, array(source) if callable(array) else array, Flag.ANY_SOURCE)
        return source

    def sendrecv(
        self, array: Array | None, to: int, other: Array | None, source: int, tag: int = 0
    ) -> Waits:
        self.send(array, to, tag)
        yield from self.recv(other, source, tag)

    def _take(self, key: tuple[int, int, int, int], array: Array | None, flags: Flag) -> None:
        self.run.waiting[key] -= 1
        self.run.arrived.remove(key)
        _, more = self._described(array)
        more["flags"] = more.get("flags", Flag(0)) | flags
        content = self.run.program.receive(
            self.world_rank, key[1], tag=key[3], comm=key[0], site=_sites(), **more
        )
        if array is not None:
            assert array.nbytes == len(content)
            array[...] = np.frombuffer(content, array.dtype).reshape(array.shape)

    def _described(self, array: Array | None) -> tuple[Array | bytes, dict[str, Any]]:
        if array is None or not array.size:
            return b"", {}
        address = BASE + array.__array_interface__["data"][0] - self._start
        flags = Flag(0) if array.flags.c_contiguous else Flag.NOT_CONTIGUOUS
        return np.ascontiguousarray(array), {"address": address, "flags": flags}


def run(nprocs: int, main: Main, seed: int = 1) -> Recording:
    return Run(nprocs, seed).recording(main)


def _sites() -> list[str]:
    """Lines of the programs, the innermost first."""
    frame, found = sys._getframe(1), []
    while frame is not None and len(found) < 8:
        name = frame.f_code.co_filename
        if "detection" in name and not name.endswith(("spmd.py", "__main__.py", "suite.py")):
            found.append(f"{name.rpartition('/')[2]}:{frame.f_lineno}:{frame.f_code.co_name}")
        frame = frame.f_back
    return found
