"""Patterns of more ranks than were recorded: where messages go one of the ways that people write by
hand, the same way on any number of ranks."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from plumbline.detect.patterns import HandPattern

Edges = list[tuple[int, int]]  # from, to; as seen from the root, which is 0; in causal order


def _linear(nprocs: int) -> Edges:
    return [(0, rank) for rank in range(1, nprocs)]


def _chain(nprocs: int) -> Edges:
    return [(rank, rank + 1) for rank in range(nprocs - 1)]


def _binomial(nprocs: int) -> Edges:
    """The farthest first, as MPICH's: rank r has its content from r without its lowest bit."""
    distance = 1
    while distance < nprocs:
        distance *= 2
    found = []
    while distance > 1:
        distance //= 2
        found += [
            (rank, rank + distance)
            for rank in range(0, nprocs, 2 * distance)
            if rank + distance < nprocs
        ]
    return found


def _doubling(nprocs: int) -> Edges:
    """The nearest first: in each round those that have it send it twice as far."""
    found, distance = [], 1
    while distance < nprocs:
        found += [(rank, rank + distance) for rank in range(min(distance, nprocs - distance))]
        distance *= 2
    return found


SHAPES: dict[str, Callable[[int], Edges]] = {
    "linear": _linear,
    "chain": _chain,
    "binomial tree": _binomial,
    "binomial tree, nearest first": _doubling,
}


class Shape(msgspec.Struct, frozen=True):
    """`bytes`: of each message; `gathers`: they go to the root; `apart`: they are begun and waited
    for."""

    name: str
    bytes: int
    gathers: bool
    apart: bool


def shape_of(pattern: HandPattern) -> Shape | None:
    """None where it has no root, messages of several sizes, or goes another way."""
    edges, sizes = set(), set()
    nprocs = len(pattern.group)
    for rank, steps in enumerate(pattern.steps):
        for step in steps.split(",") if steps else ():
            word, *numbers = step.split(":")
            if word.endswith("send"):
                peer, size, tag = map(int, numbers)
                sizes.add(size)
                edges.add((rank, peer))
                if tag > 0:
                    return None
    if pattern.root < 0 or len(sizes) != 1:
        return None
    (size,) = sizes
    seen = {((a - pattern.root) % nprocs, (b - pattern.root) % nprocs) for a, b in edges}
    apart = any("isend" in steps or "issend" in steps for steps in pattern.steps)
    for name, of_ranks in SHAPES.items():
        there = set(of_ranks(nprocs))
        if seen == there:
            return Shape(name, size, False, apart)
        if seen == {(b, a) for a, b in there}:
            return Shape(name, size, True, apart)
    return None


def on(pattern: HandPattern, shape: Shape, nprocs: int) -> HandPattern:
    """Messages as long, of the same root as far as there is one so high."""
    root = pattern.root % nprocs
    edges = SHAPES[shape.name](nprocs)
    if shape.gathers:
        edges = [(target, source) for source, target in reversed(edges)]
    steps: list[list[str]] = [[] for _ in range(nprocs)]
    for source, target in edges:
        sender, receiver = (source + root) % nprocs, (target + root) % nprocs
        steps[sender].append(f"{'i' if shape.apart else ''}send:{receiver}:{shape.bytes}:0")
        steps[receiver].append(f"recv:{sender}:{shape.bytes}:0")
    for own in steps:
        own += [f"wait:{at}" for at in range(sum("isend" in step for step in own))]
    return msgspec.structs.replace(
        pattern,
        group=tuple(range(nprocs)),
        root=root,
        steps=tuple(",".join(own) for own in steps),
    )
