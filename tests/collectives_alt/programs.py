"""Builds and starts the C programs of this folder."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests import own_core
from tests.probes.launch import build_folder

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ROOM = ROOT / "collectives-alt"
MPICH = ROOT / "build" / "mpis" / "mpich-5.0"  # `make setup-mpis` puts it there

UNDEFINED = "-fsanitize=undefined -fno-sanitize-recover=undefined"
# Without optimisation the many files of the variants compile faster, and run as fast.
ADDRESSES = f"-O0 -g1 -fsanitize=address -fno-omit-frame-pointer {UNDEFINED}"

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass(frozen=True)
class Build:
    """The programs of this folder, and libplumbline.so and the variants as users get them."""

    folder: Path
    preload: Path

    @property
    def archive(self) -> Path:
        """The variants of `make build`."""
        return self.preload.with_name("libcollectives-alt.a")

    @property
    def preload_of_mutants(self) -> Path:
        """The same with the wrong variants of mutants.c as its catalogue."""
        return self.folder / "libplumbline-of-mutants.so"

    def program(self, name: str) -> Path:
        return self.folder / name


def make(
    *programs: str, mpicc: str = "mpicc", sanitizers: str = UNDEFINED, kind: str = "tests"
) -> Build:
    """Brings programs up to date; all, where none is named. Tests at the same time wait here."""
    house = build_folder(mpicc)
    build = Build(ROOT / "build" / kind / house.name, house / "libplumbline.so")
    build.folder.mkdir(parents=True, exist_ok=True)
    targets = [str(build.program(name)) for name in programs] or ["all"]
    where = [f"BUILD={build.folder}", f"MPICC={mpicc}", f"EXTRA_CFLAGS={sanitizers}"]
    with (build.folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = ["make", "-s", "-j2", "-C", str(HERE), *where, *targets, str(build.preload)]
        subprocess.run(command, check=True, timeout=600)
    return build


def mpirun(
    nprocs: int,
    *command: str | Path,
    env: dict[str, str] | None = None,
    timeout: float = 100,
    cwd: Path | None = None,
    launcher: str | Path = "mpirun",
) -> subprocess.CompletedProcess[str]:
    """Starts ranks under Open MPI. Each variable of `env` is given to the ranks, not to mpirun."""
    exports = [token for key, value in (env or {}).items() for token in ("-x", f"{key}={value}")]
    return subprocess.run(
        [
            *own_core.words(),
            *(str(launcher), "--oversubscribe", "-np", str(nprocs)),
            *exports,
            *map(str, command),
        ],
        env={**os.environ, **AS_ROOT},
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=cwd,
    )


def of_parts(
    program: Path, *parts: tuple[int, Mapping[str, str | Path]]
) -> subprocess.CompletedProcess[str]:
    """A job whose parts have so many ranks and an environment of their own."""
    words: list[str] = []
    for nprocs, env in parts:
        exports = [token for name, value in env.items() for token in ("-x", f"{name}={value}")]
        words += [":", "-np", str(nprocs), *exports, str(program)]
    return subprocess.run(
        ["mpirun", "--oversubscribe", *words[1:]],
        env={**os.environ, **AS_ROOT},
        capture_output=True,
        text=True,
        timeout=60,
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
