"""What a campaign is asked to do: defaults, a campaign file (TOML), options of the command line.

The settings are part of a campaign's identity: the same machine, library and settings are the
same campaign, which is continued. Keys that change no measurement are not (unmeasured.py)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from plumbline import application, toml
from plumbline.application import Application
from plumbline.hosts import Hosts, named
from plumbline.launch.flux import FluxTable
from plumbline.launch.pbs import PbsTable
from plumbline.launch.slurm import SlurmTable
from plumbline.machine import processing_units
from plumbline.placement import Bind, MapBy, Placement
from plumbline.plan import TYPE_BYTES
from plumbline.simulation import NPROCS as SIMULATED_NPROCS
from plumbline.simulation import Simulation, known
from plumbline.simulation import nodes as nodes_of
from plumbline.simulation import problem as machine_problem
from plumbline.unmeasured import Unmeasured
from plumbline_db.errors import UsageError

# The message sizes of the seed's Table 4 (PGMPI, section 5.1), 1 B to 100 KiB.
SIZES = [1, 2, 4, 8, 16, 32, 64, 100, 128, 256, 512, 1024, 1500, 2048, 4096, 5000, 8192, 10000]
SIZES += [16384, 32768, 102400]

LAUNCHES_MAX = 30
# What the usual budget is at least.
BUDGET_SECONDS, SIMULATED_BUDGET_SECONDS = 180.0, 900.0

EVERY = "all"  # in place of ids of guidelines: also those that are not verified by default
# The start scheme of a campaign that names none, and of one on a simulated machine, as of searches
# among cold knobs elsewhere: there the barriers of the library are in force for all of a launch.
BARRIER, OWN_BARRIER = "barrier", "dissemination"

# Ways of use that a campaign can be about, and the start schemes that each stands for, the usual
# one first. `loop` and `stream` start as the probe defines them (docs/plan-and-records.md).
SYNCHRONISED = "synchronised"
AFTER_BARRIER = "after_barrier"
USES: dict[str, tuple[str, ...]] = {
    SYNCHRONISED: ("window", "roundtime"),
    AFTER_BARRIER: (BARRIER,),
    "loop": (),
    "stream": (),
}

# A simulated machine does the same in every launch, and nearly so in every repetition. Its launches
# take as long as the simulator needs, however little time passes there.
SIMULATED: dict[str, float] = {"launches": 1, "launches_max": 1, "blocks": 1, "reps": 1}
SIMULATED |= {"launch_timeout_seconds": 3600.0}


# The tables that say where ranks come from; at most one of them is given.
SCHEDULERS = ("slurm", "pbs", "flux")
PLACES = ("simulate", "hosts", *SCHEDULERS)


_MOST_RANKS = 2**24
_LARGEST = 2**63 - 1
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Keys of a campaign file.

    nprocs: ranks (0: all cores; four, oversubscribed, where there are fewer than four).
    sizes: communication volumes in bytes. type, op, root: what is sent.
    guidelines: ids to verify, or `all` (empty: the default ones). functions: measured and verified
    for monotony and split-robustness beside the left sides of the guidelines. seed: of orders and
    data.
    launches: launches of the first look at a table. launches_max: launches at most of a cell that
    stays undecided (0: thirty, or twice `launches` where that is more; as many as `launches`: one
    look). Winners are confirmed by pairs of launches, as many at first and at most.
    blocks, reps: samples a launch takes of each case: blocks in random order times repetitions.
    rounds: how often violations open searches (0: verify only).
    budget_seconds: time inside launches after which no search is opened and no parameters are
    proposed (unset: what launches cost says it, and what searches find; search/budget.py); what is
    open is brought to its end, but that a simulated machine, where one launch decides, measures no
    more candidates that need launches of their own.
    alpha, tolerance: a violation exceeds the other, with an adjusted p below the one.
    unsafe: also use what is wrong for some legal programs.
    simulate: a simulated machine in place of this one (docs/simulated.md).
    slurm, pbs, flux: jobs of a scheduler in place of ranks here (docs/clusters.md).
    variants: ours that may be tried (unset: all).
    all: also search the cells of functions that no violated guideline names; the library's default
    is what their winners must beat (unset: no).
    settings: settings of the whole process are searched too: true, or the names of some.
    use: the way of use that the campaign is about: synchronised, after_barrier, loop or stream
    (unset: synchronised where each rank has a processing unit, else after_barrier).
    sync: how ranks start a call (unset: as the way of use says).
    nodes: that the ranks are spread over, as many on each (unset: one; where it is simulated a node
    a rank). bind, map_by: asked of mpirun (unset: the library's own, but that more ranks than
    processing units are bound to cores; bind = plain: also these as a plain mpirun has them).
    hosts: several machines in place of this one (docs/clusters.md); nodes: how many of them, the
    first ones (unset: all).
    environment: variables that are in force in every launch, and are not searched.
    preload: libraries that every launch preloads, behind ours (docs/profile.md says why).
    profile: an application's calls (a file of `plumbline profile`; docs/application.md). Then
    `sizes` (unset: none) are measured beside the application's own.
    """

    nprocs: int = 0
    sizes: list[int] = msgspec.field(default_factory=lambda: list(SIZES))
    type: str = "MPI_BYTE"
    op: str = "MPI_BOR"
    root: int = 0
    guidelines: list[str] = []
    functions: list[str] = []
    seed: int = 1
    launches: int = 9
    launches_max: int = 0
    blocks: int = 12
    reps: int = 4
    rounds: int = 4
    budget_seconds: Unmeasured[float | msgspec.UnsetType] = msgspec.UNSET
    launch_timeout_seconds: Unmeasured[float] = 120.0
    alpha: float = 0.05
    tolerance: float = 0.05
    unsafe: bool = False
    # Unset is not written: a campaign of this machine keeps its identity.
    simulate: Simulation | msgspec.UnsetType = msgspec.UNSET
    slurm: SlurmTable | msgspec.UnsetType = msgspec.UNSET
    pbs: PbsTable | msgspec.UnsetType = msgspec.UNSET
    flux: FluxTable | msgspec.UnsetType = msgspec.UNSET
    variants: list[str] | msgspec.UnsetType = msgspec.UNSET
    use: str | msgspec.UnsetType = msgspec.UNSET
    sync: str | msgspec.UnsetType = msgspec.UNSET
    nodes: int | msgspec.UnsetType = msgspec.UNSET
    bind: Bind | msgspec.UnsetType = msgspec.UNSET
    map_by: MapBy | msgspec.UnsetType = msgspec.UNSET
    hosts: Hosts | msgspec.UnsetType = msgspec.UNSET
    environment: dict[str, str] | msgspec.UnsetType = msgspec.UNSET
    all: bool | msgspec.UnsetType = msgspec.UNSET
    settings: bool | list[str] | msgspec.UnsetType = msgspec.UNSET
    preload: list[str] | msgspec.UnsetType = msgspec.UNSET
    profile: Application | msgspec.UnsetType = msgspec.UNSET

    @property
    def budget(self) -> float:
        """The budget that is asked for; else what the usual one is at least."""
        if not isinstance(self.budget_seconds, msgspec.UnsetType):
            return self.budget_seconds
        return BUDGET_SECONDS if self.simulation is None else SIMULATED_BUDGET_SECONDS

    @property
    def tunes_all(self) -> bool:
        return self.all is True

    @property
    def fixed(self) -> dict[str, str]:
        """Variables that are in force in every launch."""
        return {} if isinstance(self.environment, msgspec.UnsetType) else self.environment

    @property
    def preloaded(self) -> list[str]:
        """Libraries of the user's that every launch preloads, in this order."""
        return [] if isinstance(self.preload, msgspec.UnsetType) else self.preload

    @property
    def application(self) -> Application | None:
        return None if isinstance(self.profile, msgspec.UnsetType) else self.profile

    @property
    def called(self) -> list[str]:
        """The functions that the application calls on communicators of these ranks."""
        found = self.application
        return [] if found is None else found.functions(self.nprocs, self.node_count)

    def sizes_of(self, function: str) -> list[int]:
        """Sizes at which a function is measured."""
        found = self.application
        own = [] if found is None else found.sizes(function, self.nprocs, self.node_count)
        return sorted({*self.sizes, *own})

    def weights(self, sizes: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], float] | None:
        """The share of each measured cell in the application's work; None without a profile."""
        found = self.application
        if found is None:
            return None
        return application.weights(found, self.nprocs, self.node_count, sizes)

    @property
    def simulation(self) -> Simulation | None:
        return None if isinstance(self.simulate, msgspec.UnsetType) else self.simulate

    @property
    def start_scheme(self) -> str:
        if not isinstance(self.sync, msgspec.UnsetType):
            return self.sync
        usual = BARRIER if self.simulation is None else OWN_BARRIER
        return next(iter(USES.get(self.way_of_use, ())), usual)

    @property
    def way_of_use(self) -> str:
        """Empty where only a start scheme is named."""
        return "" if isinstance(self.use, msgspec.UnsetType) else self.use

    def on(self, processing_units: int | None) -> Settings:
        """With the way of use that they stand for on nodes of so many processing units (None:
        nobody knows). A simulated machine has one."""
        named = not (self.use is msgspec.UNSET and self.sync is msgspec.UNSET)
        if named or self.simulation is not None:
            return self
        crowded = processing_units is not None and self.ppn > processing_units
        return msgspec.structs.replace(self, use=AFTER_BARRIER if crowded else SYNCHRONISED)

    def tried(self, variants: Mapping[str, list[str]]) -> dict[str, list[str]]:
        """Of our variants, by function, those that may be tried."""
        if isinstance(self.variants, msgspec.UnsetType):
            return dict(variants)
        return {
            function: [name for name in names if name in self.variants]
            for function, names in variants.items()
        }

    @property
    def place(self) -> Any:
        """The table that says where ranks come from; None: this machine."""
        tables = (getattr(self, key) for key in PLACES)
        return next((one for one in tables if not isinstance(one, msgspec.UnsetType)), None)

    @property
    def node_count(self) -> int:
        if isinstance(self.nodes, msgspec.UnsetType):
            if not isinstance(self.hosts, msgspec.UnsetType):
                return len(self.hosts.names)
            return 1 if self.simulation is None else nodes_of(self.simulation, self.nprocs)
        return self.nodes

    @property
    def ppn(self) -> int:
        return self.nprocs // self.node_count

    def placement(self, processing_units: int | None) -> Placement:
        """`processing_units` of a node; None where nothing is shared."""
        return Placement(
            nodes=self.node_count,
            ppn=self.ppn,
            bind="" if isinstance(self.bind, msgspec.UnsetType) else self.bind,
            map_by="" if isinstance(self.map_by, msgspec.UnsetType) else self.map_by,
            oversubscribed=processing_units is not None and self.ppn > processing_units,
        )


_KEYS = Settings.__struct_fields__


def load(path: Path | None, overrides: Mapping[str, Any]) -> Settings:
    """The settings of a campaign file (None: defaults) for one campaign, with command-line options
    put over them. Raises UsageError naming the file and the key."""
    values = {} if path is None else read(path)
    return of(where(path), values, overrides)


def stored(text: str) -> Settings:
    """The settings that the database keeps of a campaign; what other commands keep beside them
    (`plumbline overlap tune`) is passed over."""
    known = {field.encode_name for field in msgspec.structs.fields(Settings)}
    values = msgspec.json.decode(text, type=dict[str, Any])
    return msgspec.convert(
        {name: value for name, value in values.items() if name in known}, Settings
    )


def where(path: Path | None) -> str:
    """How errors name a campaign file."""
    return f"campaign file {path}" if path else "campaign"


def read(path: Path) -> dict[str, Any]:
    """The file as it is, the files that it names (relative to it) by their whole paths. Raises
    UsageError where it cannot be read or is no TOML."""
    values = toml.read(path, where(path))
    for table, key in (("hosts", "file"), ("simulate", "platform")):
        keys = values.get(table)
        if isinstance(keys, dict) and isinstance(keys.get(key), str) and keys[key]:
            keys[key] = str(path.absolute().parent / keys[key])
    if isinstance(values.get("preload"), list):
        here = path.absolute().parent
        values["preload"] = [
            str(here / name) if isinstance(name, str) and name else name
            for name in values["preload"]
        ]
    if isinstance(values.get("profile"), str) and values["profile"]:
        values["profile"] = str(path.absolute().parent / values["profile"])
    return values


def of(name: str, values: Mapping[str, Any], overrides: Mapping[str, Any]) -> Settings:
    """`values` are keys of a campaign file; `name` is its name in errors."""
    values = dict(values)
    given = {name: value for name, value in overrides.items() if value is not None}
    selector = given.pop("simulate", None)
    if selector is not None:
        table = values.get("simulate")
        given["simulate"] = (table if isinstance(table, dict) else {}) | {
            "library": known(selector)
        }
    values |= given
    if "simulate" in values:
        values = SIMULATED | values
    if "profile" in values:
        values = {"sizes": []} | values | {"profile": _profile(name, values["profile"])}
    try:
        settings = msgspec.convert(values, Settings)
    except msgspec.ValidationError as error:
        raise UsageError(f"{name}: {error}") from error
    if not isinstance(settings.hosts, msgspec.UnsetType):
        settings = msgspec.structs.replace(settings, hosts=named(settings.hosts))
    return _checked(name, settings)


def _profile(where: str, path: Any) -> Any:
    """What the file says, in place of its name: a campaign does not change with the file."""
    if not isinstance(path, str) or not path:
        raise UsageError(f"{where}: profile must name a file that `plumbline profile` has written")
    return msgspec.to_builtins(application.read(Path(path)))


def _checked(where: str, settings: Settings) -> Settings:
    simulated = settings.simulation is not None
    nprocs = settings.nprocs or (SIMULATED_NPROCS if simulated else default_nprocs())
    hosts = settings.hosts
    if not isinstance(hosts, msgspec.UnsetType):
        nprocs = settings.nprocs or settings.node_count * processing_units()
        if settings.node_count > len(hosts.names):
            raise UsageError(
                f"{where}: {settings.node_count} nodes, but the table hosts names "
                f"{len(hosts.names)} of them"
            )
        hosts = msgspec.structs.replace(hosts, names=hosts.names[: max(1, settings.node_count)])
    unfit = [name for name in settings.fixed if not _VARIABLE.match(name)]
    if unfit:
        raise UsageError(f"{where}: environment: {unfit[0]!r} is no name of a variable")
    if "LD_PRELOAD" in settings.fixed:
        raise UsageError(
            f"{where}: environment: LD_PRELOAD: a campaign searches with a library of its own, "
            'which comes first; name others by the key preload = ["/path/tool.so"]'
        )
    if settings.preloaded:
        _require_libraries(where, settings)
    scheduled = [key for key in SCHEDULERS if getattr(settings, key) is not msgspec.UNSET]
    unfit_nodes = simulated and _unfit(msgspec.structs.replace(settings, nprocs=nprocs))
    problems = {
        f"nprocs must be at least 2, and at most {_MOST_RANKS}": not 2 <= nprocs <= _MOST_RANKS,
        f"numbers must be at most {_LARGEST}": any(
            isinstance(one, int) and one > _LARGEST
            for one in (*settings.sizes, *(getattr(settings, key) for key in _KEYS))
        ),
        "sizes must be positive and at least two": min(settings.sizes, default=1) < 1
        or (len(set(settings.sizes)) < 2 and settings.application is None),
        f"type must be one of {', '.join(TYPE_BYTES)}": settings.type not in TYPE_BYTES,
        "nodes must divide nprocs": not (simulated and settings.nodes is msgspec.UNSET)
        and (settings.node_count < 1 or nprocs % settings.node_count != 0),
        f"nodes = {settings.node_count}: several nodes need a table that says where they come from "
        f"({', '.join(f'[{key}]' for key in PLACES)})": settings.place is None
        and settings.node_count > 1,
        unfit_nodes or "": bool(unfit_nodes),
        "a simulated machine binds no ranks": simulated
        and not (settings.bind is msgspec.UNSET and settings.map_by is msgspec.UNSET),
        f"at most one of the tables {', '.join(PLACES)} can say where ranks come from": sum(
            not isinstance(getattr(settings, key), msgspec.UnsetType) for key in PLACES
        )
        > 1,
        "nprocs must be given where jobs of a scheduler are started": bool(scheduled)
        and not settings.nprocs,
        f"use must be one of {', '.join(USES)}": settings.way_of_use not in ("", *USES),
        f"sync = {settings.start_scheme} is no start of use = {settings.way_of_use}": bool(
            settings.way_of_use and settings.sync is not msgspec.UNSET
        )
        and settings.start_scheme not in USES.get(settings.way_of_use, ()),
        "a simulated machine has one way of use": simulated and bool(settings.way_of_use),
        "root must be a rank": not 0 <= settings.root < nprocs,
        "launches must be at least 6 (fewer cannot show anything)": not simulated
        and settings.launches < 6,
        "launches and launches_max must be 1, for a simulated machine repeats itself": (
            simulated and {settings.launches, settings.launches_max} != {1}
        ),
        "launches_max must be at least launches (0: chosen from them)": 0
        != settings.launches_max
        < settings.launches,
        "blocks and reps must be at least 1": min(settings.blocks, settings.reps) < 1,
        "rounds must not be negative": settings.rounds < 0,
        "budget_seconds must be a number of seconds, not negative": not (
            0 <= settings.budget < math.inf
        ),
        "launch_timeout_seconds must be a number of seconds, and positive": not (
            0 < settings.launch_timeout_seconds < math.inf
        ),
        "seed must not be negative": settings.seed < 0,
        "alpha must lie between 0 and 1": not 0 < settings.alpha < 1,
        "tolerance must lie between 0 and 1": not 0 <= settings.tolerance < 1,
    }
    for problem, broken in problems.items():
        if broken:
            raise UsageError(f"{where}: {problem}")
    if settings.application is not None:
        nodes = msgspec.structs.replace(settings, nprocs=nprocs).node_count
        application.require(settings.application, nprocs, nodes)
    return msgspec.structs.replace(
        settings,
        nprocs=nprocs,
        hosts=hosts,
        environment=dict(sorted(settings.fixed.items())) or msgspec.UNSET,
        preload=list(dict.fromkeys(settings.preloaded)) or msgspec.UNSET,
        sizes=sorted(set(settings.sizes)),
        launches_max=settings.launches_max or max(LAUNCHES_MAX, 2 * settings.launches),
        functions=sorted(set(settings.functions)),
        variants=msgspec.UNSET
        if isinstance(settings.variants, msgspec.UnsetType)
        else sorted(set(settings.variants)),
        settings=_of_the_process(settings.settings),
        use=_use(settings),
        sync=msgspec.UNSET
        if any(settings.sync == schemes[0] for schemes in USES.values() if schemes)
        else settings.sync,
        all=True if settings.tunes_all else msgspec.UNSET,
    )


# The loader, Open MPI's list, hydra's file and Intel MPI's tools take paths apart at these.
_TAKEN_APART = re.compile(r"[\s;:,=$'\"\\#]")


def _require_libraries(where: str, settings: Settings) -> None:
    """Raises UsageError for what cannot be preloaded."""
    if settings.simulation is not None:
        raise UsageError(
            f"{where}: preload: simulated ranks are no processes to preload into; link the library "
            "into the program (docs/simulated.md)"
        )
    for name in settings.preloaded:
        if not Path(name).is_file():
            raise UsageError(f"{where}: preload: there is no file {name!r}; name a library")
        unfit = _TAKEN_APART.search(name)
        if unfit:
            raise UsageError(
                f"{where}: preload: {name}: mpirun or the loader would split this path at "
                f"{unfit[0]!r}; move it to a path without"
            )


def _use(settings: Settings) -> str | msgspec.UnsetType:
    """A start scheme that is named says the way of use too; those of other schemes have no name."""
    if settings.way_of_use or settings.sync is msgspec.UNSET:
        return settings.use
    ways = (use for use, schemes in USES.items() if settings.sync in schemes)
    return next(ways, msgspec.UNSET)


def _of_the_process(
    wanted: bool | list[str] | msgspec.UnsetType,
) -> bool | list[str] | msgspec.UnsetType:
    """Not searched is not written."""
    if isinstance(wanted, list):
        return sorted(set(wanted)) or msgspec.UNSET
    return wanted is True or msgspec.UNSET


def _unfit(settings: Settings) -> str | None:
    """Why a simulated machine has no place for these ranks."""
    if settings.simulation is None or settings.node_count < 1:
        return None
    if settings.nprocs % settings.node_count:
        return f"nprocs must be a multiple of the {settings.node_count} nodes of the shape"
    return machine_problem(settings.simulation, settings.node_count)


def default_nprocs() -> int:
    """All processing units, or four ranks where there are fewer than four."""
    return max(4, processing_units())
