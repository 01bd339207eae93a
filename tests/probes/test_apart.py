"""The probe and what an MPI library brings along share no symbol: the library calls its own hwloc,
whatever else there is, and the probe another one."""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from plumbline.overlap.timeline import COPIES, SOCKETS
from plumbline_db.probe_records import PingPong
from tests.probes.launch import ROOT
from tests.probes.mpich import MpichProbe, built

HERE = Path(__file__).parent
# What libraries are to find in the probe first (probes/overlap/system_calls.c).
SYSTEM_CALLS = COPIES | SOCKETS
PINGPONG = "set blocks=1 cache=cycle\npingpong bytes=8 reps=3\n"


def output(*words: str | Path) -> str:
    done = subprocess.run(words, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout


def symbols(program: str | Path, which: str) -> list[str]:
    lines = output("nm", "-D", f"--{which}-only", program).splitlines()
    return [line.split()[-1].partition("@")[0] for line in lines]


@pytest.mark.parametrize("program", ["probe", "loops"])
def test_programs_show_nothing_and_take_mpi_alone(build: Path, program: str) -> None:
    shown = set(symbols(build / program, "defined"))
    assert shown == (SYSTEM_CALLS if program == "probe" else set())
    taken = symbols(build / program, "undefined")
    assert any("MPI_" in name for name in taken)
    assert [name for name in taken if name.startswith(("hwloc_", "PAPI_", "pfm_", "udev_"))] == []


@pytest.fixture(scope="module")
def with_own_hwloc(tmp_path_factory: pytest.TempPathFactory) -> MpichProbe:
    """The probe, linked as it is by its Makefile, but with a library that has all functions of
    hwloc and PAPI ahead of MPI. Of MPICH, which needs no hwloc outside itself."""
    prefix, build = built("mpich-5.0")
    folder = tmp_path_factory.mktemp("own-hwloc")
    names: set[str] = set()
    for one in ("hwloc", "papi"):
        libraries = Path(output("pkg-config", "--variable=libdir", one).strip())
        lines = output("nm", "-D", "--defined-only", libraries / f"lib{one}.so").splitlines()
        names |= {words[2].partition("@")[0] for line in lines if (words := line.split())[1] == "T"}
    names = {one for one in names if one.startswith(("hwloc_", "PAPI_"))}
    assert {"hwloc_bitmap_and", "hwloc_topology_load", "PAPI_library_init"} <= names
    (folder / "names.h").write_text("".join(f"OWN({name})\n" for name in sorted(names)))
    library, program = folder / "libown_hwloc.so", folder / "probe"
    words = ["gcc", "-D_GNU_SOURCE", "-O1", "-fPIC", "-shared", f"-I{folder}", "-o", str(library)]
    output(*words, HERE / "own_hwloc.c")
    output(*linked(prefix, build, program), library, f"-Wl,-rpath,{folder}")
    return MpichProbe(program, folder, folder, prefix)


def linked(prefix: Path, build: Path, program: Path) -> list[str]:
    """How make would link the probe, into another place."""
    mpicc, target = prefix / "bin" / "mpicc", str(build / "probe")
    words = ["make", "-n", "V=1", "-C", str(ROOT / "probes"), f"MPICC={mpicc}", target]
    said = output(*words, f"--what-if={build}/obj/probes/probe.o").replace("\\\n", " ")
    (line,) = (line for line in said.splitlines() if f" -o {target} " in line)
    return [str(program) if word == target else word for word in shlex.split(line)]


@pytest.mark.mpi
def test_an_mpi_library_with_an_hwloc_of_its_own(with_own_hwloc: MpichProbe) -> None:
    """Its MPI_Init aborts where it meets another's functions; its own do where others call them."""
    probe = with_own_hwloc
    done = probe.start([*probe.command(2, {}), str(probe.binary), "system"])
    assert (done.code, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["topology"]["cores"] > 0 and found["topology"]["xml"].startswith("<?xml")
    factors = {one["name"]: one for one in found["factors"]}
    assert factors["hwloc"]["values"][0].startswith("interface 2.")
    assert len(found["variables"]) > 100


@pytest.mark.mpi
def test_its_ranks_are_told_where_they_are(with_own_hwloc: MpichProbe) -> None:
    """By the first rank of the host: the pair of ranks is in some class."""
    launch = with_own_hwloc.run(PINGPONG, 2)
    assert (launch.code, launch.stderr) == (0, "")
    assert launch.header.cache.bytes > 0
    assert all(one.pair != "other_node" for one in launch.of(PingPong))
