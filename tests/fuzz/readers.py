"""Readers of what comes from outside, in Python: one function each. Whatever the bytes are, it
returns, or raises PlumblineError; anything else is a finding."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import shutil
import subprocess
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from plumbline import libraries
from plumbline.core import application, guidelines, printed_text, profile_file
from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.daemon import configuration
from plumbline.detect import read, record
from plumbline.foreign import storing
from plumbline.launch import allocation, parts
from plumbline.libraries import Installation, hydra, mpiname, mvapich2, openmpi, space_file
from plumbline.libraries.mpich import Mpich
from plumbline.results import profiling
from plumbline.settings import campaign_file
from plumbline.suites import description as suites_file
from plumbline.system import placement
from plumbline_db import ndjson, runs, scratch
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import PingPong
from plumbline_db.records import UNBOUNDED_BYTES
from plumbline_exporters.families import Context
from plumbline_exporters.family.openmpi import site as ompi_site
from plumbline_exporters.family.openmpi.site import SiteRule
from plumbline_exporters.lint import formats
from tests.db import build
from tests.exporters import hostile
from tests.exporters.bundles import library
from tests.fuzz.databases import Imports
from tests.tuner.core import cube_profile, mpisee_profile
from tests.tuner.detect import rank_files
from tests.tuner.families.recorded import openmpi as recorded_openmpi
from tests.tuner.foreign import printed, printed_more

ROOT = Path(__file__).parents[2]
KEPT = Path(__file__).with_name("corpora")
_whole_process = contextlib.ExitStack()
_FOLDER = _whole_process.enter_context(scratch.folder(prefix="plumbline-fuzz-"))


class Reader(NamedTuple):
    """`seeds`: inputs that it takes; what it once stumbled over is kept under corpora/NAME."""

    read: Callable[[bytes], object]
    seeds: Callable[[], Iterable[bytes]]

    def inputs(self, name: str) -> list[bytes]:
        kept = sorted(path for path in (KEPT / name).glob("*") if path.is_file())
        return [*self.seeds(), *(path.read_bytes() for path in kept)]


def _file(data: bytes, name: str = "input") -> Path:
    path = _FOLDER / name
    path.write_bytes(data)
    return path


def _all(pattern: str) -> Callable[[], Iterable[bytes]]:
    return lambda: [path.read_bytes() for path in sorted(ROOT.glob(pattern))]


def _rules(data: bytes) -> None:
    text = data.decode("utf-8", errors="replace")
    with contextlib.suppress(PlumblineError):
        formats.lint(_file(data, "settings"), Context("", _known()))
    for format in formats.formats().values():
        format.recognises("rules", text)
        formats.check(text, format, Context("", _known()))
        format.refers(text)
    openmpi.rules_canary(text)
    ours = {"MPI_Bcast": {4: [SiteRule(0), SiteRule(8, 1, ours=True), SiteRule(64)]}}
    ompi_site.joined(ours, text, library("4.1.8"), unsafe=False)


@cache
def _spaces() -> Path:
    """Where a search space finds the one that it may be like."""
    shutil.copy(ROOT / "search-spaces" / "mpich.toml", _FOLDER)
    return _FOLDER


@cache
def _known() -> tuple[object, ...]:
    return space_file.known_parameters(ROOT / "search-spaces")


def _site_rules() -> list[bytes]:
    table = {
        "MPI_Bcast": {0: [SiteRule(0)], 4: [SiteRule(0), SiteRule(8, 1), SiteRule(UNBOUNDED_BYTES)]}
    }
    lines = [f"{len(table)}", "7", "2", "0", "1", "0 0 0 0", "4", "2", "0 0 0 0", "8 1 0 0"]
    return [
        "\n".join(lines).encode() + b"\n",
        b"rule-file-version-2\n# x\n" + "\n".join(lines).encode() + b" 7\n",
        b'{"rule_file_version": 3, "module": "tuned", "collectives": {"bcast": [{"comm_size_min":'
        b' 4, "comm_size_max": "inf", "rules": [{"msg_size_min": 8, "msg_size_max": 9, "alg": 1},'
        b' {"alg": "binomial", "faninout": 4}]}]}}',
        b'{"collective=bcast": {"comm_type=intra": {"comm_size<=4": {"algorithm=MPIR_Bcast_intra_'
        b'binomial": {}}, "comm_size=any": {"algorithm=MPIR_Bcast_intra_smp": {}}}}}',
        b"1 # collectives\nbcast\n1\n2\n1\n1\n2\n0 han\n1024 tuned\n",
        b"coll_tuned_use_dynamic_rules = 1\ncoll_tuned_bcast_algorithm = 6 # x\n--mca btl tcp\n",
        b"export I_MPI_ADJUST_BCAST='1:0-8@2-4;2:9-64'\nsetenv MV2_INTER_BCAST_TUNING "
        b"2:0-8192,5:8193-+\nmpirun -x A=1 --mca coll_tuned_bcast_algorithm 1 ./a \\\n  b\n",
        b'set -gx OMPI_MCA_coll_tuned_priority 99\nsetenv("MPIR_CVAR_BCAST_INTRA_ALGORITHM", "x")',
        *_all("tests/cases/tuning/*.*")(),
        *_all("tests/cases/tuning/passing/*")(),
    ]


def _ompi_info(data: bytes) -> None:
    text = data.decode(errors="replace")
    openmpi.reported(text)
    openmpi.described(text, Path("/opt/openmpi"), [])


def _calls(data: bytes) -> None:
    path = _FOLDER / "calls"
    path.mkdir(exist_ok=True)
    half = len(data) // 2
    for inputs in ([data], [data[:half], data[half:]]):
        for old in path.glob("*"):
            old.unlink()
        for number, part in enumerate(inputs):
            (path / f"{number}.calls").write_bytes(part)
        found = profiling.ranks(path)
        if not found:  # said by `plumbline profile`
            continue
        one = profiling.application(found, version="", command=[], started="", status=0)
        application.decoded(msgspec.json.encode(one), path)


def calls_file(
    *entries: tuple[int, ...], rank: int = 0, nprocs: int = 4, functions: int = 2, **head: int
) -> bytes:
    """Of the layout of collectives-alt/preload/calls.c."""
    names = b"".join(name.ljust(32, b"\0") for name in (b"MPI_Bcast", b"MPI_Reduce"))
    header = profiling._HEADER.pack(
        head.get("header_bytes", profiling._HEADER.size + len(names)), profiling._ENTRY.size,
        head.get("used", len(entries)), 1, rank, nprocs, functions, 1, 7,
        head.get("elapsed_ns", 10**9), head.get("lost", 0), b"Open MPI v4.1.4",
    )  # fmt: skip
    file = profiling._FILE.pack(b"PLCALLS3", 1, head.get("slot_bytes", 4096), 1)
    packed = b"".join(profiling._ENTRY.pack(*entry) for entry in entries)
    return file.ljust(profiling._FIRST_SLOT, b"\0") + header + names + packed


def _recording(data: bytes) -> None:
    path = _FOLDER / "recording"
    path.mkdir(exist_ok=True)
    (path / read.ABOUT).unlink(missing_ok=True)
    if data.startswith(b"{"):
        (path / read.ABOUT).write_bytes(data)
        data = rank_files.alone()
    (path / "rank-0.record").write_bytes(data)
    record.summary(read.read(path), "", 0)


def _compressed(data: bytes) -> None:
    """Packed by gzip or zstd; the rest of an input that is not is packed here."""
    for packed in (data, gzip.compress(data[:8]) + gzip.compress(data[8:])):
        path = _file(packed, "packed")
        with contextlib.suppress(PlumblineError):
            profile_file.read_with_remarks(path)
        with contextlib.suppress(PlumblineError):
            storing.of(printed_text.read(path), [4], "input")


def _zstd(text: str) -> bytes:
    words = [shutil.which("zstd") or "zstd", "--quiet", "--stdout"]
    return subprocess.run(words, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


def _allocation(data: bytes) -> None:
    """Read what a scheduler says: two variables with a bar between, or the file of PBS."""
    first, _, second = data.decode(errors="surrogateescape").replace("\0", "").partition("|")
    for environment in (
        {"SLURM_JOB_NODELIST": first, "SLURM_JOB_CPUS_PER_NODE": second},
        {"SLURM_NODELIST": first, "SLURM_TASKS_PER_NODE": second, "SLURM_NTASKS": "4"},
        {"LSB_MCPU_HOSTS": first, "LSB_QUEUE": second},
        {"PBS_NODEFILE": str(_file(data, "nodes"))},
        {"PBS_NODEFILE": first},
    ):
        with contextlib.suppress(PlumblineError):
            found = allocation.found(environment)
            assert found is None or (found.slots > 0 and all(found.hosts))


def _installed(data: bytes) -> None:
    """Read what the programs of an installation say of it, and the file of hydra's options."""
    text = data.decode(errors="replace")
    folder = Path("/opt/mpi")
    mpiname._of_mpiname(text, folder)
    mpiname._of_mpichversion(text, folder)
    mvapich2.shown(text)
    with contextlib.suppress(ValueError):  # as its callers do
        libraries.reported_among(text)
    placement.units(text)
    preloaded = data.decode(errors="surrogateescape").replace("\0", "")
    given = {hydra.CONFIG_FILE: str(_file(data, "hydra")), "LD_PRELOAD": preloaded}
    installation = Installation(build.LIBRARY, Path("/opt/bin/mpirun"), None)
    Mpich().into_ranks(installation, Path("/opt/lib.so"), {}, given, _FOLDER)


def _plan(data: bytes) -> None:
    """What enters a plan is a word of it, and no more."""
    words = data.decode("utf-8", errors="surrogateescape").split("|")
    cases = [
        PlanCase(
            function=one,
            bytes=len(one),
            variant=words[-1],
            configuration=Configuration.of({words[0]: one}),
        )
        for one in words
    ]
    text = Plan(name=words[0], seed=1, cases=tuple(cases)).text()
    found = parts.case_lines(text)
    assert list(found) == list(range(len(cases))), text
    for one, line in zip(words, found.values(), strict=True):
        assert parts.words_of(line)["function"] == one
    parts.split(text)


def _record(data: bytes) -> None:
    """Whole or cut, of any plan or of that of the seeds."""
    refusals = []
    for partial, plan in itertools.product((False, True), (None, _recorded()[1])):
        try:
            ndjson.decode(_file(data), partial=partial, plan=plan, seconds=60)
        except PlumblineError as error:
            refusals.append(error)
    if refusals:
        raise refusals[0]


_stored = itertools.count()


@cache
def _database() -> Database:
    db = Database.open(_FOLDER / "plumbline.db", write=True)
    build.started(db)
    return db


def _store(data: bytes) -> None:
    """What is read of a launch can be kept, or is refused; what stands before it is kept then."""
    for plan in (None, _recorded()[1]):
        try:
            records = ndjson.decode(_file(data), plan=plan, seconds=60)
        except ndjson.BadRecordsError as error:
            records = error.records
        runs.put(_database(), build.run(sequence=next(_stored)), records)


@cache
def _recorded() -> tuple[bytes, str]:
    """The records of a launch, and the plan that asks for them."""
    knobs = {"c1": {"coll_tuned_priority": "9"}}
    cases = [build.Timed(), build.Timed(config="c1"), build.Timed(outcome="wrong", bytes=8)]
    written = build.records(build.run(), cases, blocks=2, reps=3, knobs=knobs)
    plan = build.plan(written) + "pingpong bytes=8 reps=2\n"
    written.insert(-1, PingPong(0, 3, "same_socket", 8, [0, 0]))
    return b"".join(msgspec.json.encode(one) + b"\n" for one in written), plan


def _exports(data: bytes) -> None:
    """Texts with bars between: what people read, a folder, values. Asked of all shells."""
    text, folder, *values = (data.decode("utf-8", errors="surrogateescape") + "||").split("|")
    wanted = {f"t_{number}": f"x{value}" for number, value in enumerate(values)}
    inside = _FOLDER / "inside"
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir()
    for name, reader in hostile.READERS.items():
        if reader is None:
            continue
        place = _FOLDER / "exports"
        shutil.rmtree(place, ignore_errors=True)
        given = hostile.made(Path("/x" + folder.replace("\0", "")), text, wanted)
        hostile.written(given, place)
        found = hostile.heard(reader, place, inside)
        said = {f"OMPI_MCA_{one}": value for one, value in wanted.items()}
        assert found == said or name == hostile.INEXACT
        assert hostile.heard(reader, place, inside, text.replace("\0", "")) in ({}, found)
        assert not (inside / hostile.CARRIED_OUT).exists()


_imports = Imports(_FOLDER)

READERS: dict[str, Reader] = {
    "import": Reader(_imports.read, _imports.seeds),
    "plan-writer": Reader(_plan, lambda: [b"MPI_Bcast|MPI_Reduce", b"a=b|c#d|e f", b"name:k=4"]),
    "record": Reader(_record, lambda: [_recorded()[0]]),
    "store": Reader(_store, lambda: [_recorded()[0]]),
    "campaign": Reader(
        lambda data: campaign_file.tasks(_file(data, "campaign.toml"), {}, None),
        _all("docs/examples/*.toml"),
    ),
    "suites": Reader(
        lambda data: suites_file.read(_file(data, "suites.toml")),
        _all("tuner/plumbline/suites/standard/*.toml"),
    ),
    "watch": Reader(
        lambda data: configuration.read(_file(data, "watch.toml")),
        _all("tuner/plumbline/daemon/*.toml"),
    ),
    "search-space": Reader(
        lambda data: space_file.load(_spaces() / _file(data, "space.toml").name),
        _all("search-spaces/*.toml"),
    ),
    "guidelines": Reader(
        lambda data: guidelines.load(_file(data, "guidelines.toml")),
        _all("tuner/plumbline/core/guidelines.toml"),
    ),
    "rules": Reader(_rules, _site_rules),
    "ompi-info": Reader(
        _ompi_info, lambda: [recorded_openmpi.INFO.encode(), recorded_openmpi.ALL.encode()]
    ),
    "calls": Reader(
        _calls,
        lambda: [
            calls_file(
                (1024, 0, 4, 1, 4, 1 << 17 | 8, 1, 10, 4000, 100, 5, *range(1, 17)),
                (-1, 1, 2, 0, 0, 0, 0, 1, 9, 9, 0, *[0] * 16),
            ),
            calls_file((8, 1, 4, 1, 4, 1 << 16 | 4, 4, 1, 1, 1, 0, 1, *[0] * 15))
            + calls_file((8, 1, 4, 1, 4, 1 << 22, 2, 2, 9, 1, 2, 1, *[0] * 15), rank=1),
        ],
    ),
    "recording": Reader(
        _recording,
        lambda: [
            rank_files.alone(),
            b'{"schema":1,"version":"0","command":["a"],"started":"","status":0}',
        ],
    ),
    "compressed": Reader(
        _compressed,
        lambda: [
            *(gzip.compress(text.encode()) for text in (printed.OSU, printed.MPIP)),
            *(_zstd(text) for text in (printed.IMB, printed.MPIP)),
            printed.OSU.encode(),
        ],
    ),
    "allocation": Reader(
        _allocation,
        lambda: [b"n[1-3,07],login,r[1-2]n[1-2]|4(x2),3", b"batch1 1 c01n01 42 c01n02 42|x"],
    ),
    "installed": Reader(
        _installed,
        lambda: [
            b"MVAPICH2 2.3.7 Wed March 02 22:00:00 EST 2022 ch3:mrail\n\nCompilation\nCC: gcc -O2\n"
            b"\nConfiguration\n--prefix=/opt\n",
            b"MVAPICH Version:\t4.0\nMVAPICH Device:\tch4:ofi\nMVAPICH CC:\tgcc\n",
            b'{"probe":"system","variables":[{"name":"a","type":"int","scope":"all","value":"1",'
            b'"enumerators":[{"value":1,"name":"x"}]}]}\n',
            b"# options\n-genv LD_PRELOAD /a.so -genv A 1\n",
            b"\tMV2_USE_SHMEM_COLL : 1\n0-3,8\n",
        ],
    ),
    "application": Reader(
        lambda data: application.decoded(data, Path("input")),
        lambda: [
            b'{"record":"application","schema":1,"version":"0","command":["a"],"started":"",'
            b'"status":0,"library":"x","nprocs":4,"ranks":4,"finished":4,"seconds":1.0,"lost":0,'
            b'"calls":[{"function":"MPI_Bcast","nprocs":4,"nodes":1,"ppn":4,"bytes":8,"calls":1.0,'
            b'"seconds":1e-3,"fastest_seconds":1e-6,"work_seconds":1e-4}]}'
        ],
    ),
    "foreign": Reader(
        lambda data: storing.of(data, [4], "input"),
        lambda: [
            *(text.encode() for text in (printed.OSU, printed.IMB, printed.SKAMPI)),
            *(text.encode() for text in (printed.REPROMPI, printed.REPROMPI_RAW, printed.MADMPI)),
            *(text.encode() for text in (printed_more.PICO, printed_more.REFRAME)),
            printed_more.REFRAME_OLD.encode(),
            *_all("tests/cases/foreign/*.txt")(),
        ],
    ),
    "mpip": Reader(
        lambda data: profile_file.read_mpip(printed_text.lines(data)),
        lambda: [printed.MPIP.encode(), *_all("tests/cases/foreign/*.mpiP")()],
    ),
    "mpisee": Reader(
        lambda data: profile_file.read(_file(b"SQLite format 3\0" + data[16:], "mpisee.db")),
        lambda: [
            mpisee_profile.made(_FOLDER / "made.db").read_bytes(),
            mpisee_profile.made(_FOLDER / "made.db", mpisee_profile.V_FUNCTIONS).read_bytes(),
        ],
    ),
    "scorep": Reader(
        profile_file.read_scorep,
        lambda: [
            *(cube_profile.made(), cube_profile.made(packed=True)),
            *_all("tests/cases/foreign/*.cubex")(),
        ],
    ),
    "exports": Reader(
        _exports, lambda: [b'h|out|a\'b|$x `y` "z" !w \\', "é\r\n|a b|[x]{y}|\u2028".encode()]
    ),
}
