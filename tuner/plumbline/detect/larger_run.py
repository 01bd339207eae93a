"""A whole recording on more ranks than it has: only where it says what these would do, as all
messages belong to collectives of all ranks. Then each rank does between its calls what one of the
recorded ones did, and calls are as large as they were: the problem grows with the ranks."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from plumbline.detect.analysis import Analysed
from plumbline.detect.findings import HandMade
from plumbline.detect.instances import Instance
from plumbline.detect.kinds import Flag, Kind
from plumbline.detect.patterns import pattern_of
from plumbline.detect.savings import LargerRun
from plumbline.detect.shapes import on, shape_of
from plumbline.detect.simulated_replay import ByRank, Folded, Replayer, can_stand
from plumbline.detect.traffic import Traffic
from plumbline.settings import Settings
from plumbline.settings.toolchain import Toolchain
from plumbline_db import scratch
from plumbline_db.errors import PlumblineError

_TAGS = 1 << 20


def on_more_ranks(
    toolchain: Toolchain, settings: Settings, analysed: Analysed, found: Sequence[HandMade]
) -> list[HandMade]:
    """`found`: those of the analysis, in its order; those that were simulated with the run on the
    ranks of the settings."""
    folded = [pair for pair in zip(found, analysed.instances, strict=True) if can_stand(pair[0])]
    with scratch.folder() as folder:
        replayer = Replayer.on(toolchain, settings, analysed.detected.traffic, folder)
        run = larger(replayer, analysed.detected.traffic, folded, settings.ranks.nprocs)
    return [_with(finding, run) for finding in found]


def _with(finding: HandMade, run: LargerRun) -> HandMade:
    simulated = finding.simulated
    if simulated is None:
        return finding
    return msgspec.structs.replace(
        finding,
        simulated=msgspec.structs.replace(simulated, larger=(*simulated.larger, run)),
    )


def larger(
    replayer: Replayer, traffic: Traffic, folded: Sequence[Folded], nprocs: int
) -> LargerRun:
    """`folded`: all findings that the simulator has an action for."""
    why = _why_not(traffic, folded, nprocs)
    if why:
        return LargerRun(nprocs, None, None, why)
    ranks = f"on {nprocs} ranks"
    try:
        own = replayer.run(replayer.instead(folded), f"with collectives {ranks}", nprocs)
    except PlumblineError as error:
        return LargerRun(nprocs, None, None, str(error))
    if own.left_out:
        return LargerRun(nprocs, None, None, f"SimGrid has no action for {', '.join(own.left_out)}")
    try:
        ways = replayer.instead(folded, functools.partial(_by_hand, traffic, nprocs))
        by_hand = replayer.run(ways, f"by hand {ranks}", nprocs).seconds
    except PlumblineError as error:
        return LargerRun(nprocs, None, own.seconds, str(error))
    return LargerRun(nprocs, by_hand, own.seconds)


def _why_not(traffic: Traffic, folded: Sequence[Folded], nprocs: int) -> str:
    """ "" where it can be told what more ranks would do."""
    if nprocs % traffic.nprocs:
        return f"{nprocs} ranks are no multiple of the {traffic.nprocs} recorded ones"
    columns = traffic.recording.columns
    message = (columns["kind"] == Kind.SEND) & (columns["flags"] & Flag.CANCELLED == 0)
    messages = sum(len(each.messages) for _, instances in folded for each in instances)
    left = int(message.sum()) - messages
    if left > 0:
        return f"{left} messages belong to no collective of all ranks, and may go anywhere there"
    comms = np.unique(columns["comm"][columns["kind"] == Kind.INPUT])
    return "collectives are called on some ranks, and others may on more" if comms.any() else ""


def _by_hand(traffic: Traffic, nprocs: int, instance: Instance, number: int) -> ByRank:
    """Raises PlumblineError where it is not known which way messages would go."""
    pattern = pattern_of(traffic, instance)
    shape = shape_of(pattern)
    if shape is None:
        raise PlumblineError(
            f"which way the messages of a {instance.collective} made by hand would go on {nprocs} "
            "ranks is not known"
        )
    steps = on(pattern, shape, nprocs).steps
    return tuple(tuple(_actions(rank, own, number % _TAGS)) for rank, own in enumerate(steps))


def _actions(rank: int, steps: str, tag: int) -> Iterator[str]:
    """Of a rank, from steps as plans have them."""
    begun: list[str] = []
    for step in filter(None, steps.split(",")):
        word, *numbers = step.split(":")
        if word == "wait":
            yield f"wait {begun[int(numbers[0])]} {tag}"
            continue
        peer, size, _ = numbers
        if word.startswith("i"):
            begun.append(f"{rank} {peer}" if "send" in word else f"{peer} {rank}")
        yield f"{word.replace('ss', 's')} {peer} {tag} {size}"
