"""The ground truth: programs, and the collectives that are in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from plumbline.detect.detecting import detect
from plumbline.detect.recording import Recording
from plumbline.detect.traffic import SMALLEST_GROUP, Instance
from tests.bench.detection import barriers, broadcasts, exchanges, negatives, reductions, rooted
from tests.bench.detection.spmd import Main, Rank, Waits, run

POWERS = {2, 4, 8, 16}
SIZES = tuple(range(2, 17))


class Truth(msgspec.Struct, frozen=True):
    """`roots`: the rank that is the root; empty where there is none."""

    collective: str
    group: tuple[int, ...]
    times: int = 1
    root: int = -1


class Case(msgspec.Struct, frozen=True):
    name: str
    nprocs: int
    main: Callable[[Rank], Waits]
    truth: tuple[Truth, ...]

    def recording(self, seed: int = 1) -> Recording:
        return run(self.nprocs, self.main, seed)


class Score(msgspec.Struct, frozen=True):
    case: str
    right: int
    missed: int
    wrong: int
    told: tuple[str, ...] = ()


def score(case: Case, seed: int = 1) -> Score:
    """Instances that are there and found, not found, found and not there."""
    instances = [each for each in detect(case.recording(seed)).instances if not each.missing]
    wanted = [truth for truth in case.truth for _ in range(truth.times)]
    left: list[Instance] = []
    for instance in instances:
        match = next((truth for truth in wanted if _is(instance, truth)), None)
        if match is None:
            left.append(instance)
        else:
            wanted.remove(match)
    told = tuple(f"{each.collective} {each.group} {each.roots}" for each in left)
    return Score(case.name, len(instances) - len(left), len(wanted), len(left), told)


def _is(instance: Instance, truth: Truth) -> bool:
    return (
        instance.collective == truth.collective
        and instance.group == truth.group
        and (truth.root < 0 or truth.root in instance.roots)
    )


def everybody(nprocs: int) -> tuple[int, ...]:
    return tuple(range(nprocs))


def cases(sizes: Sequence[int] = SIZES) -> Iterator[Case]:
    """On two ranks, which have no collective but messages, there is nothing to be found."""
    for case in _cases(sizes):
        truth = tuple(each for each in case.truth if len(each.group) >= SMALLEST_GROUP)
        yield msgspec.structs.replace(case, truth=truth)


def _cases(sizes: Sequence[int]) -> Iterator[Case]:
    for nprocs in sizes:
        yield from _spread(nprocs)
        yield from _rooted(nprocs)
        yield from _exchanged(nprocs)
        yield from _copied(nprocs)
        yield from _by_bruck(nprocs)
        yield from _reduced(nprocs)
        yield from _barriers(nprocs)
        yield from _negative(nprocs)
        yield from _mixed(nprocs)
    for rows, columns in ((3, 3), (3, 4), (4, 4)):
        yield from _grid(rows, columns)


def repeated(times: int, program: Callable[..., Waits], *arguments: Any) -> Main:
    """So many calls of `program` with these arguments behind the rank."""

    def main(me: Rank) -> Waits:
        for _ in range(times):
            yield from program(me, *arguments)

    return main


def _spread(nprocs: int) -> Iterator[Case]:
    for pattern in broadcasts.ALL:
        for count in (1, 40) if pattern in broadcasts.ALL[:6] else (64,):

            def main(me: Rank, pattern: Any = pattern, count: Any = count) -> Waits:
                data = me.data(count)
                for time in range(3):
                    if me.rank == time % me.size:
                        me.fill(data)
                    yield from pattern(me, data, time % me.size)

            truth = tuple(Truth("bcast", everybody(nprocs), 1, time % nprocs) for time in range(3))
            yield Case(f"bcast {pattern.__name__} {count}", nprocs, main, truth)


def _rooted(nprocs: int) -> Iterator[Case]:
    for name, patterns in (("gather", rooted.GATHERS), ("scatter", rooted.SCATTERS)):
        for pattern in patterns:
            for root, count in ((0, 20), (nprocs - 1, 4)):
                truth = (Truth(name, everybody(nprocs), 2, root),)
                main = repeated(2, pattern, count, root)
                yield Case(f"{name} {pattern.__name__} {root}", nprocs, main, truth)


def _exchanged(nprocs: int) -> Iterator[Case]:
    for name, patterns in (("allgather", exchanges.ALLGATHERS), ("alltoall", exchanges.ALLTOALLS)):
        for pattern in patterns:
            if pattern is not exchanges.allgather_doubling or nprocs in POWERS:
                yield from _twice(name, nprocs, pattern, (1, 20))


def _copied(nprocs: int) -> Iterator[Case]:
    """256 bytes, 4 KiB, 64 KiB a rank. Of three ranks nobody sends anything but his own."""
    patterns = exchanges.COPIED if nprocs in POWERS else exchanges.COPIED[:1]
    for pattern in patterns if nprocs > 3 else ():
        counts = (32, 512, 8192) if nprocs in (4, 5, 8) else (32,)
        yield from _twice("allgather", nprocs, pattern, counts)


def _by_bruck(nprocs: int) -> Iterator[Case]:
    """Of three ranks each block is sent straight to its own. Of four, blocks in turn may be those
    of neighbours in three directions."""
    for pattern in (*exchanges.BRUCK, *exchanges.IN_TURN) if nprocs > 3 else ():
        counts = (1, 32, 512, 8192) if nprocs in (4, 5, 8) else (1, 32)
        yield from _twice("alltoall", nprocs, pattern, counts)


def _twice(
    collective: str, nprocs: int, pattern: Callable[..., Waits], counts: Sequence[int]
) -> Iterator[Case]:
    for count in counts:
        truth = (Truth(collective, everybody(nprocs), 2),)
        name = f"{collective} {pattern.__name__} {count}"
        yield Case(name, nprocs, repeated(2, pattern, count), truth)


OPERATORS = {"sum": np.add, "max": np.maximum}


def _reduced(nprocs: int) -> Iterator[Case]:
    def term(me: Rank, pattern: Any, count: int, dtype: Any, combine: Any) -> Waits:
        return pattern(me, me.data(count, dtype), combine, 0)

    for name, patterns in (("reduce", reductions.REDUCES), ("allreduce", reductions.ALLREDUCES)):
        for pattern in patterns:
            for operator, combine in OPERATORS.items():
                for dtype, count in ((np.int64, 1), (np.int64, 8), (np.float64, 60)):
                    truth = (Truth(name, everybody(nprocs), 4, 0 if name == "reduce" else -1),)
                    title = f"{name} {pattern.__name__} {operator} {np.dtype(dtype)} {count}"
                    main = repeated(4, term, pattern, count, dtype, combine)
                    yield Case(title, nprocs, main, truth)
    yield from _reduced_apart(nprocs)


def _reduced_apart(nprocs: int) -> Iterator[Case]:
    def terms(me: Rank, pattern: Any) -> Waits:
        return pattern(me, me.data(12 * me.size), np.add)

    def scan(me: Rank) -> Waits:
        return reductions.scan_chain(me, me.data(8, np.int64), np.add)

    patterns = {
        "allreduce ring": reductions.allreduce_ring,
        "reduce_scatter pairwise": reductions.reduce_scatter_pairwise,
    }
    if nprocs in POWERS:
        patterns["reduce_scatter halving"] = reductions.reduce_scatter_halving
        patterns["allreduce rabenseifner"] = reductions.allreduce_rabenseifner
    for name, pattern in patterns.items():
        truth = (Truth(name.split()[0], everybody(nprocs), 2),)
        yield Case(name, nprocs, repeated(2, terms, pattern), truth)
    yield Case("scan chain", nprocs, repeated(4, scan), (Truth("scan", everybody(nprocs), 4),))


def _barriers(nprocs: int) -> Iterator[Case]:
    def signalled(me: Rank, pattern: Any, empty: bool) -> Waits:
        return pattern(me, None if empty else barriers.token(me))

    for pattern in (*barriers.ALL, *((barriers.doubling,) if nprocs in POWERS else ())):
        for empty in (True, False):
            truth = (Truth("barrier", everybody(nprocs), 3),)
            main = repeated(3, signalled, pattern, empty)
            yield Case(f"barrier {pattern.__name__} {empty}", nprocs, main, truth)


def _negative(nprocs: int) -> Iterator[Case]:
    for program in negatives.ALL:
        yield Case(f"negative {program.__name__}", nprocs, program, ())

    zeros = partial(negatives.halo, zeros=True)
    yield Case("negative halo of zeros", nprocs, zeros, ())


def _mixed(nprocs: int) -> Iterator[Case]:
    everyone = everybody(nprocs)

    def noisy(me: Rank) -> Waits:
        data = me.data(30)
        for _ in range(3):
            yield from negatives.random_traffic(me, 6)
            if me.rank == 0:
                me.fill(data)
            yield from broadcasts.binomial(me, data, 0, 1000)
            yield from negatives.halo(me, 1)

    def several(me: Rank) -> Waits:
        for _ in range(2):
            yield from rooted.scatter_linear(me, 10, 0)
            yield from exchanges.alltoall_pairwise(me, 6)
            yield from barriers.dissemination(me, None)
            yield from reductions.allreduce_doubling(me, me.data(5, np.int64), np.add)
            yield from rooted.gather_linear(me, 10, 0)

    def one_tag(me: Rank) -> Waits:
        yield from rooted.scatter_linear(me, 10, 0, tag=0)
        yield from exchanges.allgather_ring(me, 10, tag=0)
        yield from reductions.reduce_binomial(me, me.data(5), np.add, 0, tag=0)
        yield from rooted.gather_binomial(me, 10, 0, tag=0)
        yield from broadcasts.chain(me, me.data(10), 0, tag=0)

    def interleaved(me: Rank) -> Waits:
        left, right = me.data(10), me.data(10)
        if me.rank < 2:
            for other in me.others():
                me.send(left if me.rank == 0 else right, other, me.rank)
        if me.rank != 0:
            yield from me.recv(left, 0, 0)
        if me.rank != 1:
            yield from me.recv(right, 1, 1)

    def panels(me: Rank) -> Waits:
        """Each one shorter than the one before, and in its place (HPL)."""
        data = me.data(60)
        for time in range(5):
            panel, root = data[: 60 - 6 * time], time % me.size
            if me.rank == root:
                me.fill(panel)
            yield from broadcasts.ring_but_next(me, panel, root, 7)

    truth = tuple(Truth("bcast", everyone, 1, time % nprocs) for time in range(5))
    yield Case("mixed panels", nprocs, panels, truth)
    yield Case("mixed noisy", nprocs, noisy, (Truth("bcast", everyone, 3, 0),))
    names = ("scatter", "alltoall", "barrier", "allreduce", "gather")
    yield Case("mixed several", nprocs, several, tuple(Truth(name, everyone, 2) for name in names))
    names = ("scatter", "allgather", "reduce", "gather", "bcast")
    yield Case("mixed one tag", nprocs, one_tag, tuple(Truth(name, everyone) for name in names))
    truth = (Truth("bcast", everyone, 1, 0), Truth("bcast", everyone, 1, 1))
    yield Case("mixed interleaved", nprocs, interleaved, truth)


def _grid(rows: int, columns: int) -> Iterator[Case]:
    """Rows and columns, on communicators of their own and on MPI_COMM_WORLD."""
    nprocs = rows * columns
    lines = {
        "row": [tuple(range(row * columns, (row + 1) * columns)) for row in range(rows)],
        "column": [tuple(range(column, nprocs, columns)) for column in range(columns)],
    }
    programs = {
        "bcast": lambda me: broadcasts.binomial(me, me.data(20), 0),
        "allgather": lambda me: exchanges.allgather_ring(me, 7),
        "alltoall": lambda me: exchanges.alltoall_pairwise(me, 7),
        "gather": lambda me: rooted.gather_linear(me, 7, 0),
        "scatter": lambda me: rooted.scatter_linear(me, 7, 1),
        "allreduce": lambda me: reductions.allreduce_doubling(me, me.data(7), np.add),
        "barrier": lambda me: barriers.tree(me, None),
    }

    def inside(me: Rank, groups: Any, program: Any, own: bool) -> Waits:
        group = next(group for group in groups if me.world_rank in group)
        return program(me.on(group) if own else me.among(group))

    for kind, groups in lines.items():
        for name, program in programs.items():
            for own in (True, False):
                title = f"{name} on {kind}s of {rows} x {columns}{'' if own else ' of the world'}"
                main = repeated(2, inside, groups, program, own)
                yield Case(title, nprocs, main, tuple(Truth(name, group, 2) for group in groups))
