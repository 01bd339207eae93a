"""One run of a user's command with every rank recorded, and what comes of it."""

from __future__ import annotations

import datetime
import os
import re
import shutil
import statistics
import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from plumbline import libraries
from plumbline.core.application import Application, Calls
from plumbline.core.plan import COUNT_SHAPES
from plumbline.libraries import Family, Installation, into_ranks
from plumbline.settings import ranks_asked
from plumbline.system import paths, process, version
from plumbline_db import scratch, user_files
from plumbline_db.errors import PlumblineError

SUFFIX = ".calls"

_FILE = struct.Struct("=8s3I")
_HEADER = struct.Struct("=4I4i3q256s")
_ENTRY = struct.Struct("=q6i4q16q")
_SAMPLES = 8
_NAME_BYTES = 32
_MAGIC = b"PLCALLS3"
_FIRST_SLOT = 65536
_FUNCTION = re.compile(r"MPI_[A-Za-z_]+\Z")

# A record keeps up to so many volumes for a function and kind of communicator. If there are more,
# volumes within a quarter of an octave are combined.
_MOST_VOLUMES = 64

# The kinds of datatypes (collectives-alt/preload/classes.c), and those with a length in bytes that
# campaigns measure.
_KINDS = ("integer", "floating", "complex", "logical", "byte", "pair", "derived", "other")
_TYPES = {
    ("integer", 4): "MPI_INT",
    ("integer", 8): "MPI_INT64_T",
    ("floating", 4): "MPI_FLOAT",
    ("floating", 8): "MPI_DOUBLE",
    ("byte", 1): "MPI_BYTE",
    ("other", 1): "MPI_CHAR",
}

# function, nprocs, nodes, ppn, bytes
_Key = tuple[str, int, int, int, int]


class UsedCalls(msgspec.Struct, frozen=True):
    """Calls with one datatype and count shape (empty where a rank does not know them). `following`
    of them began sooner behind another collective than they took; `began_ns` of some, by their
    number among these calls: the same ones on all ranks."""

    type: str
    counts: str
    ns: int
    following: int
    began_ns: dict[int, int]


class ProfiledRank(msgspec.Struct, frozen=True):
    """The record that one rank left. `job` tells the ranks of one MPI_COMM_WORLD from others'. By
    key: calls, nanoseconds, nanoseconds of the fastest; and what is known of their use. `node`: the
    name of the file, which is one for each node."""

    job: int
    rank: int
    nprocs: int
    finished: bool
    elapsed_ns: int
    lost: int
    library: str
    calls: dict[_Key, tuple[int, int, int]]
    uses: dict[_Key, list[UsedCalls]] = {}
    node: str = ""


class _Sum(msgspec.Struct):
    """`kinds`: nanoseconds by datatype and count shape; `spreads_ns`: between the first and the
    last rank of a node that entered a call."""

    calls: float = 0.0
    seconds: float = 0.0
    fastest_seconds: float = 0.0
    following: float = 0.0
    kinds: Counter[tuple[str, str]] = msgspec.field(default_factory=Counter)
    spreads_ns: list[int] = msgspec.field(default_factory=list)

    @property
    def spread_seconds(self) -> float | None:
        return statistics.median(self.spreads_ns) / 1e9 if self.spreads_ns else None

    def use(self) -> tuple[str, str]:
        """Return the datatype and the count shape with most time, each of those that are known."""
        types, shapes = Counter[str](), Counter[str]()
        for (type, shape), ns in self.kinds.items():
            types[type] += ns if type else 0
            shapes[shape] += ns if shape else 0
        heaviest = (max(ns, key=lambda name: ns[name], default="") for ns in (types, shapes))
        return next(heaviest), next(heaviest)


def ranks(folder: Path) -> list[ProfiledRank]:
    """All that left something in the folder. Raises PlumblineError for a file that is not whole."""
    return [rank for path in sorted(folder.glob(f"*{SUFFIX}")) for rank in _ranks(path)]


class _Header(NamedTuple):
    """The fields of `struct header` before the names of functions, in its order."""

    header_bytes: int
    entry_bytes: int
    used: int
    present: int
    rank: int
    nprocs: int
    functions: int
    finished: int
    job: int
    elapsed_ns: int
    lost: int
    library: bytes


def _ranks(path: Path) -> Iterator[ProfiledRank]:
    try:
        with user_files.open_file(path) as file:
            magic, version, slot_bytes, slots = _FILE.unpack(file.read(_FILE.size))
            if (magic, version) != (_MAGIC, 1):
                raise ValueError("written by another version, or on a machine of another kind")
            if slot_bytes < _HEADER.size:
                raise ValueError(f"{slot_bytes} bytes are too few for a rank")
            end = min(_FIRST_SLOT + slots * slot_bytes, path.stat().st_size)
            for at in range(_FIRST_SLOT, end, slot_bytes):
                file.seek(at)
                if recorded_rank := _rank(file, slot_bytes, path.name):
                    yield recorded_rank
    except (OSError, ValueError, struct.error) as error:
        raise PlumblineError(f"{path}: no record of calls ({error}); run it again") from error


def _rank(file: BinaryIO, slot_bytes: int, node: str) -> ProfiledRank | None:
    """None where a rank has ended before it began."""
    header = _Header._make(_HEADER.unpack(file.read(_HEADER.size)))
    if not header.present:
        return None
    names_bytes = header.functions * _NAME_BYTES
    if header.entry_bytes != _ENTRY.size:
        raise ValueError("written by another version")
    if header.functions <= 0 or _HEADER.size + names_bytes > header.header_bytes:
        raise ValueError(f"the names of {header.functions} functions do not fit into the file")
    if header.header_bytes + header.used * _ENTRY.size > slot_bytes:
        raise ValueError(f"{slot_bytes} bytes do not hold {header.used} entries")
    if not 0 <= header.rank < header.nprocs or min(header.elapsed_ns, header.lost) < 0:
        raise ValueError(f"rank {header.rank} of {header.nprocs} does not exist")
    text = file.read(header.header_bytes - _HEADER.size)[:names_bytes]
    names = [_text(text[at : at + _NAME_BYTES]) for at in range(0, names_bytes, _NAME_BYTES)]
    entries = file.read(header.used * _ENTRY.size)
    if len(text) + len(entries) != names_bytes + header.used * _ENTRY.size:
        raise ValueError("it ends too early")
    calls: dict[_Key, tuple[int, int, int]] = {}
    uses: dict[_Key, list[UsedCalls]] = {}
    for entry in map(_Entry.of, _ENTRY.iter_unpack(entries)):
        if entry.calls:
            key = entry.key(names)
            count, ns, fastest = calls.get(key, (0, 0, entry.fastest_ns))
            calls[key] = (count + entry.calls, ns + entry.ns, min(fastest, entry.fastest_ns))
            uses.setdefault(key, []).append(entry.use)
    return ProfiledRank(
        job=header.job,
        rank=header.rank,
        nprocs=header.nprocs,
        finished=bool(header.finished),
        elapsed_ns=header.elapsed_ns,
        lost=header.lost,
        library=_text(header.library),
        calls=calls,
        uses=uses,
        node=node,
    )


class _Entry(NamedTuple):
    """The fields of `struct entry`, in its order. Nothing in them is believed."""

    volume: int
    function: int
    nprocs: int
    nodes: int
    ppn: int
    type: int
    shape: int
    calls: int
    ns: int
    fastest_ns: int
    following: int
    samples: tuple[int, ...]

    @classmethod
    def of(cls, fields: tuple[int, ...]) -> _Entry:
        return cls._make([*fields[:11], fields[11:]])

    def key(self, names: Sequence[str]) -> _Key:
        """Raises ValueError for what no rank writes."""
        if not 0 <= self.function < len(names) or not _FUNCTION.match(names[self.function]):
            raise ValueError(f"function {self.function} does not exist")
        name = names[self.function]
        numbers = (self.calls, self.ns, self.fastest_ns, self.nprocs - 1, self.nodes, self.ppn)
        if min(*numbers, self.volume + 1, self.following, self.calls - self.following) < 0:
            raise ValueError(f"{name}: a number is impossible")
        if self.shape not in range(len(COUNT_SHAPES) + 1):
            raise ValueError(f"{name}: count shape {self.shape} does not exist")
        return (name, self.nprocs, self.nodes, self.ppn, self.volume)

    @property
    def use(self) -> UsedCalls:
        kind = next((name for bit, name in enumerate(_KINDS) if self.type >> 16 == 1 << bit), "")
        numbers, began_ns = self.samples[:_SAMPLES], self.samples[_SAMPLES:]
        return UsedCalls(
            type=_TYPES.get((kind, self.type & 0xFFFF), kind),
            counts=("", *COUNT_SHAPES)[self.shape],
            ns=self.ns,
            following=self.following,
            began_ns={number: ns for number, ns in zip(numbers, began_ns, strict=True) if number},
        )


def _text(field: bytes) -> str:
    return field.partition(b"\0")[0].decode(errors="replace")


def application(
    recorded_ranks: Sequence[ProfiledRank],
    *,
    version: str,
    command: Sequence[str],
    started: str,
    status: int,
) -> Application:
    """One record of all jobs that a command has started. Their times and calls add up."""
    jobs: dict[int, list[ProfiledRank]] = {}
    for rank in recorded_ranks:
        jobs.setdefault(rank.job, []).append(rank)
    sums: dict[_Key, _Sum] = {}
    for job in jobs.values():
        _add(sums, job)
    sums = _coarser(sums)
    alone = _undelayed(sums)
    largest = max(recorded_ranks, key=lambda rank: rank.nprocs)
    return Application(
        schema=1,
        version=version,
        command=list(command),
        started=started,
        status=status,
        library=largest.library,
        nprocs=largest.nprocs,
        ranks=len(recorded_ranks),
        finished=sum(rank.finished for rank in recorded_ranks),
        seconds=sum(max(rank.elapsed_ns for rank in job) for job in jobs.values()) / 1e9,
        lost=sum(rank.lost for rank in recorded_ranks),
        calls=[
            Calls(
                function=function,
                nprocs=nprocs,
                nodes=nodes or None,
                ppn=ppn or None,
                bytes=volume if volume >= 0 else None,
                calls=total.calls,
                seconds=total.seconds,
                fastest_seconds=total.fastest_seconds,
                work_seconds=min(
                    total.seconds, total.calls * alone[function, nprocs, nodes, ppn, volume]
                ),
                type=total.use()[0],
                counts=total.use()[1],
                following=total.following,
                spread_seconds=total.spread_seconds,
            )
            for (function, nprocs, nodes, ppn, volume), total in sorted(sums.items())
        ],
    )


def _add(sums: dict[_Key, _Sum], job: Sequence[ProfiledRank]) -> None:
    fastest: dict[_Key, int] = {}
    for rank in job:
        for key, (calls, ns, least) in rank.calls.items():
            total = sums.setdefault(key, _Sum())
            total.calls += calls / rank.nprocs
            total.seconds += ns / rank.nprocs / 1e9
            fastest[key] = max(fastest.get(key, 0), least)
            for use in rank.uses.get(key, ()):
                total.following += use.following / rank.nprocs
                total.kinds[use.type, use.counts] += use.ns
    for key, spreads_ns in _spreads(job):
        sums[key].spreads_ns += spreads_ns
    for key, ns in fastest.items():
        total = sums[key]
        before = total.fastest_seconds
        total.fastest_seconds = min(before, ns / 1e9) if before else ns / 1e9


def _spreads(job: Sequence[ProfiledRank]) -> Iterator[tuple[_Key, list[int]]]:
    """Yield, for calls on communicators of all ranks, how far apart the ranks of a node entered
    sampled calls, in nanoseconds: they have one clock."""
    by_node: dict[str, list[ProfiledRank]] = {}
    for rank in job:
        by_node.setdefault(rank.node, []).append(rank)
    for ranks_of_node in by_node.values():
        first = ranks_of_node[0]
        for key in first.uses if len(ranks_of_node) > 1 else ():
            if key[1] != first.nprocs:
                continue
            began_ns: dict[tuple[str, str, int], list[int]] = {}
            for rank in ranks_of_node:
                for use in rank.uses.get(key, ()):
                    for number, ns in use.began_ns.items():
                        began_ns.setdefault((use.type, use.counts, number), []).append(ns)
            entered = (own for own in began_ns.values() if len(own) == len(ranks_of_node))
            yield key, [max(own) - min(own) for own in entered]


def _undelayed(sums: Mapping[_Key, _Sum]) -> dict[_Key, float]:
    """Return what a call takes at most when nobody is late: its fastest, or what the fastest of
    another volume says of it. A larger message takes no less (monotony), and in pieces it takes no
    less than whole (split-robustness). So a single call for which ranks have waited long does not
    pass for a slow one."""
    groups: dict[tuple[str, int, int, int], list[tuple[int, float]]] = {}
    for (function, nprocs, nodes, ppn, volume), total in sums.items():
        group = groups.setdefault((function, nprocs, nodes, ppn), [])
        group.append((volume, total.fastest_seconds))
    undelayed_seconds: dict[_Key, float] = {}
    for key, total in sums.items():
        volume = key[4]
        undelayed_seconds[key] = total.fastest_seconds
        if volume > 0:
            undelayed_seconds[key] = min(
                fastest * max(1, -(-volume // group_volume))
                for group_volume, fastest in groups[key[:4]]
                if group_volume > 0
            )
    return undelayed_seconds


def _coarser(sums: dict[_Key, _Sum]) -> dict[_Key, _Sum]:
    """The same where few volumes are told apart. Volumes that become one are the largest of them,
    with the mean of their fastest calls."""
    volumes: dict[tuple[str, int, int, int], list[int]] = {}
    for function, nprocs, nodes, ppn, volume in sums:
        volumes.setdefault((function, nprocs, nodes, ppn), []).append(volume)
    coarser_sums: dict[_Key, _Sum] = {}
    for group, own_volumes in volumes.items():
        bins: dict[int, list[int]] = {}
        for volume in sorted(own_volumes):
            near = len(own_volumes) > _MOST_VOLUMES and volume > 0
            bins.setdefault(_bin(volume) if near else volume, []).append(volume)
        for members in bins.values():
            parts = [sums[(*group, volume)] for volume in members]
            calls = sum(part.calls for part in parts)
            coarser_sums[(*group, members[-1])] = _Sum(
                calls=calls,
                seconds=sum(part.seconds for part in parts),
                fastest_seconds=sum(part.calls * part.fastest_seconds for part in parts) / calls,
                following=sum(part.following for part in parts),
                kinds=sum((part.kinds for part in parts), Counter()),
                spreads_ns=[ns for part in parts for ns in part.spreads_ns],
            )
    return coarser_sums


def _bin(volume: int) -> int:
    """The quarter of an octave: the two bits behind the first one, for all but the smallest."""
    shift = max(0, volume.bit_length() - 3)
    return (shift << 3) | (volume >> shift)


def profile(
    command: Sequence[str], program: Path, mpi_prefix: Path | None, beside: Path
) -> Application:
    """Runs `command` to its end; `program` is where its first word was found. Ranks keep their
    files in a folder in `beside`, which all nodes must see. Raises PlumblineError where no rank was
    recorded."""
    family, installation = library_of(program.absolute(), mpi_prefix)
    return profile_with(command, family, installation, beside)


def profile_with(
    command: Sequence[str],
    family: Family,
    installation: Installation,
    beside: Path,
    within: Mapping[str, str] | None = None,
) -> Application:
    """The same with a library that is known; `within`: the environment of the command (None: that
    of this process, and what the library needs)."""
    preload = paths.layout().preload(paths.build_id(installation.library))
    with scratch.folder(beside.absolute()) as folder:
        variables = {"PLUMBLINE_CALLS": str(folder)}
        own = within or usual_environment(family, installation)
        run = recorded_run(command, installation, preload, variables, folder, own)
        recorded_ranks = ranks(folder)
    run.require(bool(recorded_ranks))
    return application(
        recorded_ranks,
        version=version.PLUMBLINE,
        command=command,
        started=run.started,
        status=run.status,
    )


class ProfiledRun(msgspec.Struct, frozen=True):
    """A command that has ended; when it was started."""

    library: str
    started: str
    status: int

    def require(self, is_recorded: bool) -> None:
        """Raises PlumblineError where no rank was recorded."""
        if not is_recorded:
            raise PlumblineError(
                f"no rank was recorded (the command ended with status {self.status}): it starts no "
                f"ranks of {self.library}, or its program is linked statically, or mpirun was told "
                "another LD_PRELOAD, or srun (SLURM_EXPORT_ENV=NONE, --export)"
            )


def usual_environment(family: Family, installation: Installation) -> dict[str, str]:
    """Return the environment of this process, and what the library needs."""
    return os.environ | installation.environment | family.environment(installation)


def recorded_run(
    command: Sequence[str],
    installation: Installation,
    preload: Path,
    variables: Mapping[str, str],
    folder: Path,
    within: Mapping[str, str],
) -> ProfiledRun:
    """Run a command to its end, with a library and variables in its ranks. `folder` is for what
    brings them there; `within`: the environment of the command."""
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    own_environment = dict(within)
    added = into_ranks.environment(installation, preload, variables, own_environment, folder)
    program = shutil.which(command[0], path=own_environment.get("PATH"))
    if program is not None and ranks_asked.takes_all(Path(program)):
        added |= into_ranks.whole(preload, variables, own_environment)
    status = process.in_foreground(command, own_environment | added)
    return ProfiledRun(installation.library.id, started, status)


def library_of(program: Path, mpi_prefix: Path | None) -> tuple[Family, Installation]:
    """The library whose mpirun `program` is; else (it may be a script) the one on PATH."""
    if mpi_prefix is not None:
        return libraries.find(mpi_prefix)
    real = program.resolve()
    for prefix in dict.fromkeys((program.parent.parent, real.parent.parent)):
        for family in libraries.families().values():
            for installation in [] if family.simulates else family.find(prefix):
                tools = ("mpirun", "mpiexec", installation.mpirun.name)
                if program.parent == installation.mpirun.parent and program.name in tools:
                    return family, installation
                if real == installation.mpirun.resolve():
                    return family, installation
    if shutil.which("mpirun") is None and shutil.which("mpiexec") is None:
        raise PlumblineError(
            f"{program} is not the mpirun of a known library, and PATH contains no mpirun"
        )
    return libraries.find(None)
