"""A recording as SimGrid's time-independent trace (`smpirun -replay`): what each rank does, with
computation in flop. Ranks send as they have sent; waiting is the simulator's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np

from plumbline.detect.calls import plain_name
from plumbline.detect.columns import Indices
from plumbline.detect.kinds import EventKind, Flag
from plumbline.detect.recording import Recording
from plumbline.detect.steps import TraceCall, steps
from plumbline_db import scratch

LIST = "simgrid.txt"
_TAGS = 1 << 20
FLOPS = 1e9  # a second of computation, on a host of 1 Gf/s

# Actions in terms of the bytes of a rank's input and output, and of each rank's part of these.
_ACTIONS = {
    "Barrier": "barrier",
    "Bcast": "bcast {got} {root}",
    "Reduce": "reduce {given} 0 {root}",
    "Allreduce": "allreduce {given} 0",
    "Scan": "scan {given} 0",
    "Exscan": "exscan {given} 0",
    "Gather": "gather {given} {gathered} {root}",
    "Scatter": "scatter {scattered} {got} {root}",
    "Allgather": "allgather {given} {part_got}",
    "Alltoall": "alltoall {part_given} {part_got}",
}


class SimgridTrace(msgspec.Struct, frozen=True):
    """`left_out`: calls that the format has no action for, by function: collectives of some ranks,
    and with different amounts."""

    path: Path
    actions: int
    left_out: dict[str, int]


class _Rank(msgspec.Struct):
    """The things needed to write a rank's actions."""

    recording: Recording
    rank: int
    tags: Indices
    left_out: dict[str, int]


def write(recording: Recording, folder: Path, flops: float = FLOPS) -> SimgridTrace:
    """Write files `rank-N.trace` and the list of them, `simgrid.txt`, to `folder`. `flops`: how
    many a rank computes in a second between its calls."""
    folder.mkdir(parents=True, exist_ok=True)
    tags, left_out, count = _numbers(recording), dict[str, int](), 0
    names = []
    for rank in range(recording.nprocs):
        lines = list(_lines(_Rank(recording, rank, tags, left_out), flops))
        count += len(lines)
        names.append(f"rank-{rank}.trace")
        with scratch.replacing(folder / names[-1]) as path:
            path.write_text("\n".join(lines) + "\n")
    with scratch.replacing(folder / LIST) as path:
        path.write_text("".join(f"{(folder / name).absolute()}\n" for name in names))
    return SimgridTrace(folder / LIST, count, left_out)


def _numbers(recording: Recording) -> Indices:
    """Return by event the number of its message among those of its source and target: what stands
    as tag, as `wait` knows a request by source, target and tag alone. -1: no message."""
    events, messages = recording.events, recording.messages
    sends, receives = messages["send"], messages["receive"]
    channels = events["rank"][sends].astype(np.int64) * recording.nprocs + events["peer"][sends]
    order = np.argsort(channels, kind="stable")
    firsts = np.searchsorted(channels[order], channels[order])
    numbers = np.full(len(events), -1, np.int64)
    numbers[sends[order]] = numbers[receives[order]] = (np.arange(len(order)) - firsts) % _TAGS
    return numbers


def _lines(own: _Rank, flops: float) -> Iterator[str]:
    recording, rank = own.recording, own.rank
    recorded = recording.ranks[rank]
    yield f"{rank} init"
    last = recorded.begin_ns
    for step in steps(recording, rank):
        if step.start_ns > last:
            yield f"{rank} compute {(step.start_ns - last) * 1e-9 * flops:.0f}"
        last = max(last, step.end_ns)
        yield from _actions(own, step)
    if recorded.end_ns > last:
        yield f"{rank} compute {(recorded.end_ns - last) * 1e-9 * flops:.0f}"
    yield f"{rank} finalize"


def _actions(own: _Rank, step: TraceCall) -> Iterator[str]:
    recording, rank, tags = own.recording, own.rank, own.tags
    events = recording.events
    both = len(step.begun) == 2
    for index in step.begun:
        event = events[index]
        if event["kind"] == EventKind.INPUT:
            yield from _collective(own, index)
        elif event["kind"] != EventKind.OUTPUT and tags[index] >= 0:
            apart = both or event["flags"] & Flag.NONBLOCKING
            word = "send" if event["kind"] == EventKind.SEND else "recv"
            name = f"i{word}" if apart else word
            yield f"{rank} {name} {event['peer']} {tags[index]} {event['bytes']}"
    for index in step.completed:
        event = events[index]
        message = event["kind"] in (EventKind.SEND, EventKind.RECEIVE) and tags[index] >= 0
        if message and (both or not step.begun):
            source, target = rank, int(event["peer"])
            if event["kind"] == EventKind.RECEIVE:
                source, target = target, source
            yield f"{rank} wait {source} {target} {tags[index]}"


def _collective(own: _Rank, index: int) -> Iterator[str]:
    recording, event = own.recording, own.recording.events[index]
    name = recording.functions[event["function"]]
    action = _ACTIONS.get(plain_name(name))
    if action is None or event["comm"] != 0:
        own.left_out[name] = own.left_out.get(name, 0) + 1
        return
    sent, got = int(event["bytes"]), _output_bytes(recording, index)
    part_given, part_got = sent // recording.nprocs, got // recording.nprocs
    sizes = {"given": sent, "got": got, "part_given": part_given, "part_got": part_got}
    # Only the root has all blocks.
    sizes |= {"gathered": part_got or sent, "scattered": part_given or got}
    yield f"{own.rank} {action.format(root=max(int(event['peer']), 0), **sizes)}"


def _output_bytes(recording: Recording, index: int) -> int:
    """Return those of the output that belongs to an input: the next event of the rank on its
    communicator."""
    event, events = recording.events[index], recording.events
    own = events[index + 1 : recording.of_rank(int(event["rank"])).stop]
    fits = (own["kind"] == EventKind.OUTPUT) & (own["comm"] == event["comm"])
    places = np.flatnonzero(fits[:64] & (own["sequence"][:64] == event["sequence"]))
    return int(own["bytes"][places[0]]) if len(places) else 0
