"""Which sweeps there are: the machine, the functions and the sizes of each, and what may be chosen
in a cell of them. Measures nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.guidelines import Guidelines
from plumbline.core.plan import PlanCase
from plumbline.libraries.simgrid import SELECTORS
from plumbline.measure import tables
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace
from plumbline.settings import Settings, identity
from plumbline.settings.campaign_file import of
from plumbline.settings.toolchain import Toolchain, find_toolchain, variants_tried
from plumbline.system.toml import Document

# Factors of four, so that blocks of 32 ranks are whole.
_SIZES = [64, 1024, 4096, 16384, 65536]
PATTERNS = [f"GL{number}" for number in (3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 26)]
_FEW = ["GL3", "GL4", "GL7", "GL8", "GL12"]
# Machines that nothing in the search was chosen on, with sizes between the usual ones.
_UNSEEN: dict[str, dict[str, Any]] = {
    "fat-tree-24x2": {"nodes": 24, "nprocs": 48, "topology": "fat-tree", "shape": [6, 4, 2]},
    "fat-tree-12x5": {"nodes": 12, "nprocs": 60, "topology": "fat-tree", "shape": [4, 3, 2]},
    "torus-6x6": {"nodes": 36, "nprocs": 36, "topology": "torus", "shape": [6, 6]},
    "slow-40": {
        "nodes": 40,
        "nprocs": 40,
        "latency_seconds": 2e-5,
        "bandwidth_bytes_per_second": 1.25e8,
    },
}
_FAST = {"latency_seconds": 1.7e-6, "bandwidth_bytes_per_second": 5e9}
_BETWEEN = [700, 9000, 23456, 150000]
# Recorded after all of these: another interconnect, and other libraries on this machine.
_FASTER = {"latency_seconds": 6e-7, "bandwidth_bytes_per_second": 1.25e10}
_LATER: dict[str, dict[str, Any]] = {
    "fat-tree-12x2": {"nodes": 12, "nprocs": 24, "topology": "fat-tree", "shape": [4, 3, 2]},
    "fat-tree-24x4": {"nodes": 24, "nprocs": 96, "topology": "fat-tree", "shape": [6, 4, 2]},
}
_LATER_SIZES = [300, 5000, 40000]
# By name the installation and the ranks: MPICH spins, so that its ranks want a core each.
_OTHERS = {"openmpi-5-4": ("openmpi-5.0", 4), "mpich-5-2": ("mpich-5.0", 2)}


class Sweep(msgspec.Struct, frozen=True):
    """`keys` are those of a campaign file. `launches`: how often the whole of it is recorded, in
    `blocks` each (0: those of the campaign) after `warmup` calls; one launch decides on a simulated
    machine. `prefix`: of a library that is not the one on PATH."""

    name: str
    keys: dict[str, Any]
    launches: int = 1
    blocks: int = 0
    warmup: int = 8
    prefix: Path | None = None

    @property
    def simulated(self) -> bool:
        return "simulate" in self.keys


def _all() -> list[Sweep]:
    # What is open when a budget ends would be no matter of the search.
    guidelines = ["GL3", "GL7", "GL8", "GL10", "GL11", "GL12"]
    patterns = {"budget_seconds": 3600.0, "guidelines": guidelines}
    sizes = {"sizes": [256, 1024, 4096, 16384, 65536]}
    found = [Sweep("openmpi-4", {"nprocs": 4} | sizes | patterns, launches=12, blocks=4)]
    for selector in SELECTORS:
        keys = {
            "simulate": {"library": selector},
            "nprocs": 32,
            "guidelines": PATTERNS,
            "sizes": _SIZES,
        }
        found.append(Sweep(f"{selector}-32", keys))
    for selector in SELECTORS:
        keys = {"simulate": {"library": selector}, "nprocs": 128, "nodes": 16, "guidelines": _FEW}
        found.append(Sweep(f"{selector}-128", keys | {"sizes": [1024, 8192, 65536]}))
    for machines, network, between in ((_UNSEEN, _FAST, _BETWEEN), (_LATER, _FASTER, _LATER_SIZES)):
        for (name, machine), selector in itertools.product(machines.items(), SELECTORS):
            ranks = {key: machine[key] for key in ("nodes", "nprocs")}
            simulate = network | {key: machine[key] for key in machine.keys() - ranks.keys()}
            keys = ranks | {"simulate": simulate | {"library": selector}, "sizes": between}
            found.append(Sweep(f"{selector}-{name}", keys | {"guidelines": PATTERNS}))
    for name, (library, nprocs) in _OTHERS.items():
        keys = {"nprocs": nprocs, "seed": 2} | sizes | patterns
        prefix = Path("build/mpis", library)
        found.append(Sweep(name, keys, launches=12, blocks=4, prefix=prefix))
    return found


SWEEPS = {one.name: one for one in _all()}


class Here(msgspec.Struct, frozen=True):
    """What a sweep is on this machine."""

    sweep: Sweep
    settings: Settings
    bench: Toolchain
    guidelines: Guidelines
    candidate_space: CandidateSpace
    spaces: dict[tuple[str, int], dict[Candidate, None]] = msgspec.field(default_factory=dict)

    def cases(self) -> list[PlanCase]:
        """Of the table."""
        return tables.cases(self.guidelines, self.settings)

    def sizes(self) -> dict[str, list[int]]:
        """Of each function in the table."""
        return tables.sizes_of(self.guidelines, self.settings)

    def cells(self) -> list[tuple[str, int]]:
        return [(function, size) for function, those in self.sizes().items() for size in those]

    def space(self, function: str, size: int) -> dict[Candidate, None]:
        """What may be chosen in a cell: the default; the library's algorithms and our own variants,
        each with every value of each of its parameters; mock-ups that a guideline names."""
        if (function, size) not in self.spaces:
            self.spaces[function, size] = dict.fromkeys(self._space(function, size))
        return self.spaces[function, size]

    def _space(self, function: str, size: int) -> Iterator[Candidate]:
        named = {one.variant for one in self.guidelines.patterns if one.lhs == function}
        left_out = (
            self.candidate_space.mockups(function) - named - set(self.guidelines.split.names())
        )
        yield DEFAULT
        for one in self.candidate_space.first(function):
            if one.variant in left_out:
                continue
            choices = self.candidate_space.choices(function, one, size)
            for values in itertools.product(*choices.values()):
                chosen = dict(zip(choices, values, strict=True))
                yield self.candidate_space.with_parameters(one, chosen) if chosen else one
            yield one

    def named(self, function: str, size: int, knobs: Mapping[str, str]) -> Candidate:
        """The candidate of the space that these knobs are: a rules file spells out what a candidate
        leaves at its default, and does not say what holds for the whole process."""
        entry = self.bench.space.of(function)
        exact = Candidate(configuration=Configuration.of(knobs))
        if not knobs or entry is None or exact in self.space(function, size):
            return exact
        fitting = []
        for number, (name, at) in enumerate(self.cells()):
            if name != function:
                continue
            for one in self.space(function, at):
                own = one.configuration.as_dict()
                if own.get(entry.knob) == knobs.get(entry.knob) is not None:
                    differ = sum(
                        knobs.get(knob, value) != value
                        for knob, value in own.items()
                        if knob.startswith(entry.knob)
                    )
                    fitting.append((differ, at != size, len(own), number, one))
        return min(fitting)[-1] if fitting else exact


def here(sweep: Sweep, **keys: Any) -> Here:
    """Raises PlumblineError where the library is not here, or not built for."""
    settings = of(Document(sweep.name), sweep.keys | keys, {})
    toolchain = find_toolchain(sweep.prefix, settings=settings)
    candidate_space = CandidateSpace(
        toolchain,
        settings.ranks.nprocs,
        tried=variants_tried(
            toolchain,
            settings,
            oversubscribed=settings.ranks.placement(
                toolchain.launcher.processing_units()
            ).oversubscribed,
        ),
    )
    return Here(sweep, settings, toolchain, identity.chosen(toolchain, settings), candidate_space)
