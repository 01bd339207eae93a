"""Builds and starts the C programs of this folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ROOM = ROOT / "collectives-alt"
MPICH = ROOT / "build" / "mpis" / "mpich-5.0"  # `make setup-mpis` puts it there

WARNINGS = ("-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", "-Werror")
FLAGS = ("-std=c11", "-D_GNU_SOURCE", "-O1", "-g", *WARNINGS)
UNDEFINED = "-fsanitize=undefined -fno-sanitize-recover=undefined"
ADDRESSES = f"-fsanitize=address -fno-omit-frame-pointer {UNDEFINED}"

# What the suite of the variants is made of, and the calls of its objects that it takes over.
SUITE = [
    *("variants.c", "cases.c", "expected.c", "design.c", "layouts.c", "subjects.c", "barrier.c"),
    *("nodes.c", "accounts.c", "watch.c"),
]
WRAPPED = [
    f"-Wl,--wrap={name}"
    for name in ("malloc", "calloc", "realloc", "aligned_alloc", "free", "PMPI_Comm_split_type")
]

FUZZER = [f"{name}.c" for name in ("fuzz", "calls", "operators", "draw", "cases", "layouts")]

# The parser of profiles, which is linked into a program of its own.
PARSER = [
    ROOM / "preload" / f"{name}.c" for name in ("profile", "rule", "overlap", "classes", "canary")
]

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class Build:
    """The library under test, in a folder of its own. The static library and what is linked with
    it have `sanitizers`; libplumbline.so is built as users get it."""

    folder: Path
    mpicc: str = "mpicc"
    sanitizers: str = UNDEFINED

    @property
    def preload(self) -> Path:
        return self.folder / "libplumbline.so"

    @property
    def preload_of_mutants(self) -> Path:
        """The same with the wrong variants of mutants.c as its catalogue."""
        return self.folder / "libplumbline-of-mutants.so"

    def program(self, name: str) -> Path:
        return self.folder / name


def make(folder: Path) -> Build:
    build = make_suite(Build(folder))
    make_library(build, build.preload, "-Werror")
    make_library_of_mutants(build)
    compile_program(build, "mutants", ["mutants.c", *SUITE], options=WRAPPED)
    compile_program(build, "fuzz", FUZZER)
    hygiene = ["hygiene.c", "cases.c", "layouts.c"]
    compile_program(build, "hygiene", hygiene)
    compile_program(build, "hygiene_of_mutants", ["mutants.c", *hygiene])
    for name in ("volume", "catalogue", "trees", "halving"):
        compile_program(build, name, [f"{name}.c"])
    compile_program(build, "profiles", ["profiles.c", *map(str, PARSER)])
    for name in (
        *("application", "communicators", "handler", "decides", "ranges", "empty"),
        *("keeps", "killed", "spawns", "elements", "refused", "crowd", "farewell", "jobs"),
    ):
        compile_program(build, name, [f"{name}.c"], linked=False)
    return build


def make_suite(build: Build) -> Build:
    """The archive and `variants` alone."""
    static = build.folder / "libcollectives-alt.a"
    make_library(build, static, f"-Werror {build.sanitizers}")
    compile_program(build, "variants", SUITE, options=WRAPPED)
    return build


def make_library(build: Build, target: Path, flags: str) -> None:
    where = ["-C", str(ROOM), f"BUILD={build.folder}", f"MPICC={build.mpicc}"]
    command = ["make", "-s", "-j2", *where, str(target), f"EXTRA_CFLAGS={flags}"]
    subprocess.run(command, check=True, timeout=300)


def make_library_of_mutants(build: Build) -> None:
    """Of the objects that the real one is made of, but for the catalogue."""
    objects = (build.folder / "obj" / "preload").glob("*/*.o")
    others = [str(one) for one in objects if one.name != "catalogue.o"]
    includes = ["-DPL_PRELOAD", "-fPIC", f"-I{ROOM}", f"-I{ROOM}/common"]
    command = [build.mpicc, "-shared", *FLAGS, *includes, "mutants.c", *others, "-pthread", "-ldl"]
    subprocess.run(
        [*command, "-o", str(build.preload_of_mutants)], check=True, cwd=HERE, timeout=100
    )


def compile_program(
    build: Build, name: str, sources: list[str], linked: bool = True, options: Sequence[str] = ()
) -> None:
    archive = str(build.folder / "libcollectives-alt.a")
    with_library = [*build.sanitizers.split(), archive, "-lm"]
    flags = [*FLAGS, f"-I{ROOM}", f"-I{ROOM}/common"]
    inputs = [*sources, *(with_library if linked else [])]
    subprocess.run(
        [build.mpicc, *flags, *options, *inputs, "-o", str(build.program(name))],
        check=True,
        cwd=HERE,
        timeout=100,
    )


def mpirun(
    nprocs: int,
    *command: str | Path,
    env: dict[str, str] | None = None,
    timeout: float = 100,
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Starts ranks. Each variable of `env` is given to the ranks, not to mpirun."""
    exports = [token for key, value in (env or {}).items() for token in ("-x", f"{key}={value}")]
    return subprocess.run(
        ["mpirun", "--oversubscribe", "-np", str(nprocs), *exports, *map(str, command)],
        env={**os.environ, **AS_ROOT},
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=cwd,
    )


def mpiexec(
    nprocs: int,
    *command: str | Path,
    env: dict[str, str],
    timeout: float,
    cwd: Path | None = None,
    prefix: Path = MPICH,
    surroundings: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Starts ranks under MPICH, or another library with a hydra, whose programs need
    `surroundings`. It spins: never more ranks than cores."""
    exports = [token for key, value in env.items() for token in ("-genv", key, value)]
    return subprocess.run(
        [str(prefix / "bin" / "mpiexec"), "-n", str(nprocs), *exports, *map(str, command)],
        env={**os.environ, **(surroundings or {})},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
