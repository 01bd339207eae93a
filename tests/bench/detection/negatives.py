"""Programs without a collective made by hand, or that only look like it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.bench.detection.spmd import Rank, Waits


def halo(me: Rank, rounds: int = 4, zeros: bool = False) -> Waits:
    """A line cut into parts; each has a cell of its neighbours' on both sides."""
    cells = me.alloc(18) if zeros else me.data(18)
    for _ in range(rounds):
        for other, mine, tag in ((me.rank - 1, cells[1:2], 1), (me.rank + 1, cells[16:17], 2)):
            if 0 <= other < me.size:
                me.send(mine, other, tag)
        for other, theirs, tag in ((me.rank - 1, cells[0:1], 2), (me.rank + 1, cells[17:18], 1)):
            if 0 <= other < me.size:
                yield from me.recv(theirs, other, tag)
        if not zeros:
            cells[1:17] = (cells[0:16] + cells[2:18]) / 2


def halo_around(me: Rank, rounds: int = 4) -> Waits:
    """The same on a ring, with more cells, one tag."""
    cells = me.data(24)
    for _ in range(rounds):
        me.send(cells[4:8], me.left, 1)
        me.send(cells[16:20], me.right, 2)
        yield from me.recv(cells[20:24], me.right, 1)
        yield from me.recv(cells[0:4], me.left, 2)
        cells[4:20] = cells[4:20] * 0.5 + cells[2:18] * 0.25


def halo_of_a_plane(me: Rank, rounds: int = 3) -> Waits:
    """Two dimensions, the second one as columns (derived types)."""
    rows = max(row for row in range(1, me.size + 1) if me.size % row == 0 and row * row <= me.size)
    columns = me.size // rows
    row, column = divmod(me.rank, columns)
    plane = me.data(100).reshape(10, 10)
    sides = [
        ((row - 1) % rows * columns + column, plane[1, 1:9], plane[9, 1:9], 1),
        ((row + 1) % rows * columns + column, plane[8, 1:9], plane[0, 1:9], 2),
        (row * columns + (column - 1) % columns, plane[1:9, 1], plane[1:9, 9], 3),
        (row * columns + (column + 1) % columns, plane[1:9, 8], plane[1:9, 0], 4),
    ]
    for _ in range(rounds):
        for other, mine, _, tag in sides:
            me.send(mine, other, tag)
        for (_, _, theirs, tag), (other, _, _, _) in zip(
            sides, (sides[1], sides[0], sides[3], sides[2]), strict=True
        ):
            yield from me.recv(theirs, other, tag)
        plane[1:9, 1:9] = plane[1:9, 1:9] * 0.6 + plane[0:8, 1:9] * 0.4


def many_contacts(me: Rank, rounds: int = 2) -> Waits:
    """Each rank tells all others but the one across from it the same (AMG's contacts)."""
    mine = me.alloc(4)
    across = {0, me.size // 2, me.size - me.size // 2}
    others = [other for other in range(me.size) if (me.rank - other) % me.size not in across]
    for _ in range(rounds):
        me.fill(mine)
        yield from _told_in_turn(me, dict.fromkeys(others, mine))


def lists_of_contacts(me: Rank, rounds: int = 12) -> Waits:
    """Each rank exchanges blocks with its contacts on a ring of four, in one place with all others,
    and there the same with each (AMG)."""
    if me.size != 4:
        return
    mine, theirs = me.alloc(12).reshape(4, 3), me.alloc(12).reshape(4, 3)
    near = [(me.rank - 1) % 4, (me.rank + 1) % 4]
    for number in range(rounds):
        me.fill(mine)
        yield from _exchanged(me, mine, theirs, near)
        if number % 4 == 3:
            mine[...] = mine[0]
        if number % 2:
            yield from _exchanged(me, mine, theirs, sorted({*range(4)} - {me.rank}))


def _exchanged(me: Rank, mine: Any, theirs: Any, others: list[int]) -> Waits:
    for other in others:
        me.send(mine[other], other, 3)
    for other in others:
        yield from me.recv(theirs[other], other, 3)


def larger_objects(me: Rank, rounds: int = 24) -> Waits:
    """The larger one of objects comes along a tree to rank 0, which sends it to a root (mpi4py's
    `reductions`): of few ranks all have it then."""
    best, got = me.alloc(1, "S16"), me.alloc(1, "S16")
    for number in range(rounds):
        me.fill(best.view(np.uint8))
        yield from _larger(me, best, got, number % me.size)


def _larger(me: Rank, best: Any, got: Any, root: int) -> Waits:
    mask = 1
    while mask < me.size:
        if me.rank & mask:
            me.send(best, me.rank - mask, 7)
            break
        if me.rank + mask < me.size:
            yield from me.recv(got, me.rank + mask, 7)
            best[...] = max(best[0], got[0])
        mask *= 2
    if root and me.rank == 0:
        me.send(best, root, 7)
    elif root and me.rank == root:
        yield from me.recv(got, 0, 7)


def edges_that_all_need(me: Rank, rounds: int = 3) -> Waits:
    """Rank 1 has few cells: all of them are what most others need. These exchange other things."""
    mine = me.data(4 * me.size)
    others = [other for other in range(me.size - 1) if other != me.rank]
    for _ in range(rounds):
        me.fill(mine)
        edges = np.split(mine, me.size)
        if me.rank < me.size - 1:
            yield from _told_in_turn(
                me, {other: edges[0 if me.rank == 1 else other] for other in others}
            )


def _told_in_turn(me: Rank, mine: dict[int, Any]) -> Waits:
    """Of each two ranks the lower one first."""
    theirs = me.alloc(4)
    for other, edge in mine.items():
        if me.rank < other:
            me.send(edge, other, 6)
        yield from me.recv(theirs, other, 6)
        if me.rank > other:
            me.send(edge, other, 6)


def counts_of_leavers(me: Rank) -> Waits:
    """How many particles leave, which are none, then these; once in each direction of a cube
    (miniMD)."""
    count, other_count, bit = me.alloc(1, np.int32), me.alloc(1, np.int32), 1
    while bit < me.size:
        other = me.rank ^ bit
        if other < me.size:
            yield from me.sendrecv(count, other, other_count, other)
            yield from me.sendrecv(None, other, None, other)
        bit <<= 1


def halves_of_sums(me: Rank, rounds: int = 3) -> Waits:
    """Of each two ranks one adds up the lower half of both terms, and one the upper half; then
    those that have the same half add these (NPB's CG on 8 ranks): no collective does that."""
    total, got = me.data(24), me.alloc(12)
    for _ in range(rounds):
        own, other = (total[:12], total[12:]) if me.rank % 2 == 0 else (total[12:], total[:12])
        for partner, mine in ((me.rank ^ 1, other), (me.rank ^ 2, own)):
            if partner < me.size:
                yield from me.sendrecv(mine, partner, got, partner)
                own += got


def token_ring(me: Rank, rounds: int = 3) -> Waits:
    """A token that says the same all the time."""
    token = me.alloc(2, np.int32)
    token[...] = 7, 11
    for _ in range(rounds):
        yield from _around(me, token)


def counted_token(me: Rank, rounds: int = 3) -> Waits:
    """A token that each rank changes."""
    token = me.data(3, np.int64)

    def change() -> None:
        token[0] += 3
        token[2] = (token[2] * 48271) % 1000

    for _ in range(rounds):
        yield from _around(me, token, change)


def empty_token(me: Rank) -> Waits:
    yield from _around(me, None)


def _around(me: Rank, token: Any, change: Callable[[], None] = lambda: None) -> Waits:
    if me.rank:
        yield from me.recv(token, me.left)
    change()
    me.send(token, me.right)
    if me.rank == 0:
        yield from me.recv(token, me.left)


def broadcast_but_one(me: Rank, rounds: int = 2) -> Waits:
    data = me.data(20)
    for _ in range(rounds):
        if me.rank == 0:
            me.fill(data)
            for other in range(1, me.size - 1):
                me.send(data, other)
        elif me.rank < me.size - 1:
            yield from me.recv(data, 0)


def gather_but_one(me: Rank, rounds: int = 2) -> Waits:
    whole = np.split(me.data(20 * me.size), me.size)
    for _ in range(rounds):
        if me.rank == 0:
            for other in range(1, me.size - 1):
                yield from me.recv(whole[other], other)
        elif me.rank < me.size - 1:
            me.fill(whole[me.rank])
            me.send(whole[me.rank], 0)


def broadcast_of_different(me: Rank) -> Waits:
    """One rank gets something else."""
    data = me.data(20)
    if me.rank == 0:
        for other in range(1, me.size):
            if other == me.size - 1:
                data[3] += 1
            me.send(data, other)
    else:
        yield from me.recv(data, 0)


def pipeline(me: Rank, rounds: int = 5) -> Waits:
    """Each rank computes on what it gets, and hands its own on: a wavefront."""
    got, mine = me.alloc(6), me.alloc(6)
    for _ in range(rounds):
        if me.rank:
            yield from me.recv(got, me.rank - 1)
        mine[...] = me.random.normal(size=6)
        if me.rank < me.size - 1:
            me.send(mine, me.rank + 1)


def long_pipeline(me: Rank, rounds: int = 4) -> Waits:
    """The same with contents of which a recording keeps no bytes."""
    got, mine = me.alloc(200), me.alloc(200)
    for _ in range(rounds):
        if me.rank:
            yield from me.recv(got, me.rank - 1)
        mine[...] = np.tanh(got) + me.random.normal(size=200)
        if me.rank < me.size - 1:
            me.send(mine, me.rank + 1)


def wrong_operator(me: Rank, rounds: int = 2) -> Waits:
    """Recursive doubling of differences: ranks do not agree."""
    half = 1 << (me.size.bit_length() - 1)
    total, got = me.alloc(4, np.int64), me.alloc(4, np.int64)
    for _ in range(rounds):
        me.fill(total)
        mask = 1
        while mask < half and me.rank < half:
            yield from me.sendrecv(total, me.rank ^ mask, got, me.rank ^ mask, mask)
            total -= 3 * got
            mask <<= 1


def sorting_network(me: Rank) -> Waits:
    """Neighbours keep the smaller and the larger half, in turn."""
    mine, got = me.data(8), me.alloc(8)
    for step in range(me.size):
        other = me.rank + (1 if (me.rank + step) % 2 == 0 else -1)
        if 0 <= other < me.size:
            yield from me.sendrecv(mine, other, got, other)
            both = np.sort(np.concatenate([mine, got]))
            mine[...] = both[:8] if me.rank < other else both[8:]


def rotation(me: Rank) -> Waits:
    """Blocks go round and are used, each in the place of the one before (Cannon)."""
    block, total = me.data(16), me.alloc(16)
    for _ in range(me.size - 1):
        total += block
        me.send(block, me.right)
        yield from me.recv(block, me.left)


def master_and_workers(me: Rank, tasks: int = 5) -> Waits:
    """Each worker gets a new task when he has done one."""
    if me.rank:
        task, result = me.alloc(3), me.alloc(2)
        while True:
            yield from me.recv(task, 0, 1)
            if task[0] < 0:
                return
            result[...] = task[:2] * me.random.uniform(1, 2)
            me.send(result, 0, 2)
    tasks *= me.size
    task, result = me.alloc(3), me.alloc(2)
    for worker in range(1, me.size):
        me.fill(task)
        me.send(task, worker, 1)
    for number in range(tasks):
        worker = yield from me.recv_any(result, 2)
        me.fill(task)
        if number >= tasks - me.size + 1:
            task[0] = -1
        me.send(task, worker, 1)


def random_traffic(me: Rank, rounds: int = 30) -> Waits:
    """Messages between any ranks."""
    buffer = me.alloc(10)
    for number in range(rounds):
        source, target = me.shared.choices(range(me.size), k=2)
        if source == target:
            continue
        if me.rank == source:
            me.fill(buffer)
            me.send(buffer, target, number)
        elif me.rank == target:
            yield from me.recv(buffer, source, number)


def transposed_pairs(me: Rank, rounds: int = 3) -> Waits:
    """Each rank exchanges with the one opposite: CG's transpose."""
    mine, got = me.data(12), me.alloc(12)
    for _ in range(rounds):
        other = me.size - 1 - me.rank
        if other != me.rank:
            yield from me.sendrecv(mine, other, got, other)
        mine[...] = got * 0.5 + mine


def halo_with_corners(me: Rank, rounds: int = 4) -> Waits:
    """Two columns of boxes, with corners: of four ranks each is everybody's neighbour. What goes
    out, and what comes, lies side by side (HPCG)."""
    row, column = divmod(me.rank, 2)
    others = [
        (other, 8 if other // 2 == row or other % 2 == column else 1)
        for other in me.others()
        if abs(other // 2 - row) <= 1
    ]
    ends = np.cumsum([0] + [count for _, count in others])
    mine, got = me.alloc(int(ends[-1])), me.alloc(int(ends[-1]))
    for _ in range(rounds):
        me.fill(mine)
        for at, (other, _) in enumerate(others):
            me.send(mine[ends[at] : ends[at + 1]], other, 1)
        for at, (other, _) in enumerate(others):
            yield from me.recv(got[ends[at] : ends[at + 1]], other, 1)


def multipartition(me: Rank, rounds: int = 3) -> Waits:
    """Faces for the next and the last rank in three directions; where faces came, what goes on in a
    direction is packed then (BT and SP). Of fewer than four ranks all are neighbours of all."""
    if me.size < 4:
        return
    came, got = me.alloc(80), me.alloc(80)
    for _ in range(rounds):
        yield from _faces(me, came)
        for step in (1, 2, 3):
            yield from _solve(me, came, got, step)


def _faces(me: Rank, came: Any) -> Waits:
    steps = [step for step in (1, -1, 2, -2, 3, -3) if step % me.size]
    for tag, step in enumerate(steps):
        me.send(me.data(12), (me.rank + step) % me.size, tag)
    for tag, step in enumerate(steps):
        yield from me.recv(came[12 * tag : 12 * tag + 12], (me.rank - step) % me.size, tag)


def _solve(me: Rank, packed: Any, got: Any, step: int) -> Waits:
    yield from _solved(me, packed, got, step)


def _solved(me: Rank, packed: Any, got: Any, step: int) -> Waits:
    if step % me.size:
        me.fill(packed[:40])
        me.send(packed[:40], (me.rank + step) % me.size, 9)
        yield from me.recv(got[:40], (me.rank - step) % me.size, 9)


def edges_of_a_plane(me: Rank) -> Waits:
    """Once each: a short edge for a rank in one direction, a longer one in the other, from one
    place, where an edge has come, too (LU)."""
    edge = me.alloc(16)
    for step, count in ((2, 12), (1, 16)):
        sends = me.rank >= step and (step == 2 or me.rank % 2 == 1)
        gets = me.rank + step < me.size and (step == 2 or me.rank % 2 == 0)
        if sends:
            me.fill(edge)
            me.send(edge[:count], me.rank - step, step)
        if gets:
            yield from me.recv(edge[:count], me.rank + step, step)


def memory_used_again(me: Rank) -> Waits:
    """What goes on lies where something longer came before, and has nothing to do with it: memory
    that was given back (AMG)."""
    memory = me.alloc(16 * me.size)
    if me.rank:
        yield from _fetched(me, memory)
    if me.rank < me.size - 1:
        _offered(me, memory)


def _fetched(me: Rank, memory: Any) -> Waits:
    yield from _taken(me, memory[: 16 * (me.size - me.rank)])


def _taken(me: Rank, memory: Any) -> Waits:
    yield from me.recv(memory, me.rank - 1)


def _offered(me: Rank, memory: Any) -> None:
    _given(me, memory[: 16 * (me.size - me.rank - 1)])


def _given(me: Rank, memory: Any) -> None:
    me.fill(memory)
    me.send(memory, me.rank + 1)


def neighbours_of_a_matrix(me: Rank, rounds: int = 3) -> Waits:
    """Parts of a vector between ranks whose rows have something to do with each other: all but two.
    What comes lies side by side (AMG)."""
    others = [other for other in me.others() if {me.rank, other} != {0, me.size - 1}]
    mine, got = me.alloc(100), me.alloc(5 * me.size)
    for _ in range(rounds):
        me.fill(mine)
        for other in others:
            me.send(mine[3 * other : 3 * other + 5], other, 1)
        for at, other in enumerate(others):
            yield from me.recv(got[5 * at : 5 * at + 5], other, 1)


ALL = (
    halo,
    halo_around,
    halo_of_a_plane,
    token_ring,
    counted_token,
    empty_token,
    broadcast_but_one,
    gather_but_one,
    broadcast_of_different,
    pipeline,
    long_pipeline,
    wrong_operator,
    sorting_network,
    rotation,
    master_and_workers,
    random_traffic,
    transposed_pairs,
    halo_with_corners,
    multipartition,
    edges_of_a_plane,
    memory_used_again,
    neighbours_of_a_matrix,
    many_contacts,
    lists_of_contacts,
    larger_objects,
    edges_that_all_need,
    counts_of_leavers,
    halves_of_sums,
)
