"""A recording replayed on a simulated machine, as it was and with MPI's own collectives in place of
those that are made by hand (SimGrid's `smpirun -replay`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline.detect import replay, simgrid_trace
from plumbline.detect.analysis import Analysed
from plumbline.detect.findings import HandMade
from plumbline.detect.instances import Instance
from plumbline.detect.savings import MoreRanks, SimulatedSaving
from plumbline.detect.shapes import on, shape_of
from plumbline.detect.simgrid_trace import Instead
from plumbline.detect.traffic import Traffic
from plumbline.launch.simulated import Simulated
from plumbline.launch.simulation import Simulation
from plumbline.libraries import Installation
from plumbline.libraries.space import Space
from plumbline.measure.launches import LaunchStore
from plumbline.settings import Settings
from plumbline.settings.toolchain import Toolchain
from plumbline.system import process
from plumbline.system.placement import Placement
from plumbline_db import scratch
from plumbline_db.errors import PlumblineError

_ACTIONS = {
    "MPI_Bcast": "bcast {bytes} {root}",
    "MPI_Reduce": "reduce {bytes} 0 {root}",
    "MPI_Allreduce": "allreduce {bytes} 0",
    "MPI_Gather": "gather {bytes} {bytes} {root}",
    "MPI_Scatter": "scatter {bytes} {bytes} {root}",
    "MPI_Allgather": "allgather {bytes} {bytes}",
    "MPI_Alltoall": "alltoall {bytes} {bytes}",
    "MPI_Scan": "scan {bytes} 0",
    "MPI_Barrier": "barrier",
}
_TIME = "Simulation time "
_LIMIT_SECONDS = 600.0

Folded = tuple[HandMade, Sequence[Instance]]
ByRank = tuple[tuple[str, ...], ...]


class SimulatedRun(msgspec.Struct, frozen=True):
    """`seconds` by simulated time; `left_out`: calls that the simulator has no action for."""

    seconds: float
    left_out: Mapping[str, int]


class Replayer:
    """Replays of one recording on one machine, in folders below `folder`."""

    def __init__(
        self,
        machine: Simulated,
        installation: Installation,
        traffic: Traffic,
        placement: Placement,
        folder: Path,
    ) -> None:
        self._machine, self._installation, self._placement = machine, installation, placement
        self._traffic, self._folder = traffic, folder
        self._count = 0

    @classmethod
    def on(
        cls, toolchain: Toolchain, settings: Settings, traffic: Traffic, folder: Path
    ) -> Replayer:
        """On the machine of the settings."""
        ranks, machine = settings.ranks, Simulated(_machine(settings))
        placement = Placement(nodes=ranks.node_count, ppn=ranks.ppn)
        installation = toolchain.installation
        return cls(machine, installation, traffic, placement, folder)

    def replay(self, folded: Sequence[Folded] = ()) -> SimulatedRun:
        """With the collectives of these findings in place of their messages. Raises PlumblineError
        where the simulator does not come to an end."""
        names = ", ".join(finding.function for finding, _ in folded) or "nothing"
        return self.run(self.instead(folded), f"with {names} in place")

    def run(self, instead: Mapping[int, Instead], how: str, nprocs: int = 0) -> SimulatedRun:
        """`how` errors name it; `nprocs`: as of simgrid_trace.write."""
        folder = self._folder / f"run-{self._count}"
        self._count += 1
        written = simgrid_trace.write(
            self._traffic.recording, folder, instead=instead, nprocs=nprocs
        )
        command = self._machine.command(
            self._installation,
            ["-replay", str(written.path)],
            self._placement,
            folder,
            ["--log=root.thresh:info"],
        )
        done = process.run(command, timeout_seconds=_LIMIT_SECONDS)
        said = f"{done.stdout}\n{done.stderr}"
        if done.status != 0 or _TIME not in said:
            last = (said.strip().splitlines() or ["nothing"])[-1]
            raise PlumblineError(
                f"SimGrid's replay {how} ended with status {done.status} and said: "
                f"{last}; another library may go (--simulate ompi)"
            )
        seconds = float(said.rpartition(_TIME)[2].split()[0])
        return SimulatedRun(seconds, written.left_out)

    def instead(
        self, folded: Sequence[Folded], by_rank: Callable[[Instance, int], ByRank] | None = None
    ) -> dict[int, Instead]:
        """By event. `by_rank`: what ranks do in place of an instance with this number; else they
        call the collective."""
        found: dict[int, Instead] = {}
        number = 0
        for finding, instances in folded:
            for instance in instances:
                number += 1
                root = instance.roots[0] if instance.roots else 0
                action = _ACTIONS[finding.function].format(bytes=instance.bytes, root=root)
                own = by_rank(instance, number) if by_rank is not None else ()
                for message in instance.messages:
                    for index in (
                        self._traffic.send_event[message],
                        self._traffic.receive_event[message],
                    ):
                        found[int(index)] = Instead(number, action, own)
        return found


def can_stand(finding: HandMade) -> bool:
    """Whether the simulator's trace has an action for it."""
    whole = finding.group_size == finding.nprocs and len(finding.groups) == 1
    return finding.category == "collective" and whole and finding.function in _ACTIONS


def simulate(replayer: Replayer, folded: Sequence[Folded], library: str) -> list[HandMade]:
    """The findings; those that are made by hand with what the simulator says. Raises PlumblineError
    where it cannot replay what was recorded."""
    recorded = replayer.replay().seconds
    alone: dict[int, float] = {}
    why: dict[int, str] = {}
    for each in folded:
        if not can_stand(each[0]):
            why[id(each[0])] = "the simulator has no action for it"
            continue
        try:
            alone[id(each[0])] = replayer.replay([each]).seconds
        except PlumblineError as error:
            why[id(each[0])] = str(error)
    standing = [each for each in folded if id(each[0]) in alone]
    together = _together(replayer, standing, alone, recorded)
    return [
        finding
        if finding.category != "collective"
        else msgspec.structs.replace(
            finding,
            simulated=SimulatedSaving(
                library, recorded, alone.get(id(finding)), together, why.get(id(finding), "")
            ),
        )
        for finding, _ in folded
    ]


def _together(
    replayer: Replayer, standing: Sequence[Folded], alone: Mapping[int, float], recorded: float
) -> float | None:
    if len(standing) < 2:
        return next(iter(alone.values()), recorded)
    try:
        return replayer.replay(standing).seconds
    except PlumblineError:
        return None


def more_ranks(store: LaunchStore, found: Sequence[HandMade], space: Space) -> list[HandMade]:
    """Return the same; those whose messages go a known way with what one call takes on the ranks
    that the store starts."""
    nprocs = store.starter.placement.nprocs
    larger: dict[int, HandMade] = {}
    names: dict[int, str] = {}
    for number, finding in enumerate(found):
        pattern = finding.patterns[len(finding.patterns) // 2] if finding.patterns else None
        shape = shape_of(pattern) if pattern is not None else None
        if finding.category == "collective" and pattern is not None and shape is not None:
            names[number] = shape.name
            larger[number] = msgspec.structs.replace(
                finding, group_size=nprocs, patterns=(on(pattern, shape, nprocs),)
            )
    if not larger:
        return list(found)
    answer = replay.replayed(store, list(larger.values()), {}, space, launches=1)
    measured = dict(zip(larger, answer.findings, strict=True))
    return [
        finding if number not in measured else _with(finding, measured[number], names[number])
        for number, finding in enumerate(found)
    ]


def _with(finding: HandMade, larger: HandMade, shape: str) -> HandMade:
    if finding.simulated is None or larger.saving is None:
        return finding
    size = larger.saving.sizes[0]
    if size.by_hand is None:
        return finding
    row = MoreRanks(
        larger.group_size, shape, size.bytes, size.by_hand.seconds, size.default.seconds
    )
    simulated = msgspec.structs.replace(
        finding.simulated, more_ranks=(*finding.simulated.more_ranks, row)
    )
    return msgspec.structs.replace(finding, simulated=simulated)


def of_recording(
    toolchain: Toolchain, settings: Settings, analysed: Analysed, found: Sequence[HandMade]
) -> list[HandMade]:
    """`found`: those of the analysis, in its order; with what a replay on the machine of the
    settings says. Raises PlumblineError as Replayer.replay does."""
    folded = list(zip(found, analysed.instances, strict=True))
    with scratch.folder() as folder:
        replayer = Replayer.on(toolchain, settings, analysed.detected.traffic, folder)
        return simulate(replayer, folded, _machine(settings).library)


def _machine(settings: Settings) -> Simulation:
    machine = settings.ranks.simulate
    if machine is None:
        raise ValueError("these settings have no simulated machine")
    return machine
