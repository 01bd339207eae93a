"""Programs for an MPI library, made of the C sources that lie beside the Python ones: in a checkout
in its build folder, as `make build` does; else in the user's state folder."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from plumbline.system import paths, process
from plumbline_db import lock, scratch
from plumbline_db.errors import PlumblineError

_ROOMS = {"collectives-alt": "", "probes": "", "tuner/detection": "detection"}
_PROGRAMS = ("probe", "libplumbline.so", "plumbline.o", "loops", "librecorder.so")
_MOST_SECONDS = 1800.0
_MOST_SAID = 2000  # characters


class Built(msgspec.Struct, frozen=True):
    """`mpi_id` is what they are for; `programs` are their whole paths."""

    mpi_id: str
    mpicc: str
    programs: list[str]
    seconds: float


def build(layout: paths.Layout, mpicc: Path, environment: Mapping[str, str] = {}) -> Built:
    """Build with the compiler wrapper `mpicc`, and `environment` beside this process's. Raises
    PlumblineError where something is missing that the sources need."""
    sources = layout.sources
    if sources is None or not (sources / "probes").is_dir():
        raise PlumblineError(
            "the C sources are missing: install Plumbline from a wheel or with pip"
        )
    target = layout.own or layout.programs
    for folder in (sources, target):
        if any(letter.isspace() for letter in str(folder)):
            raise PlumblineError(
                f"make does not work with blanks in {folder}: name another folder (XDG_STATE_HOME "
                "for "
                "build results)"
            )
    variables = os.environ | environment | {"MPICC": str(mpicc)}
    _require(sources, variables)
    started = time.monotonic()
    mpi_id = _run(["sh", sources / "probes" / "mpi-id.sh", mpicc], variables).strip()
    lock.make(target)
    if layout.own is None:
        _make(sources, target, mpi_id, variables)
    else:
        with scratch.folder(target) as part:
            _make(sources, part, mpi_id, variables)
            for name in (mpi_id, "detection"):
                _take(part / name, target / name)
    programs = [target / mpi_id / name for name in _PROGRAMS]
    programs += [target / "detection" / "libdetection.so"]
    return Built(
        mpi_id=mpi_id,
        mpicc=str(mpicc),
        programs=[str(path) for path in programs if path.is_file()],
        seconds=round(time.monotonic() - started, 1),
    )


def _require(sources: Path, variables: Mapping[str, str]) -> None:
    """Compiler, make and headers, before anything is compiled."""
    _run(["sh", sources / "packaging" / "needs.sh", "--say", "build", "mpi"], variables)


def _make(sources: Path, target: Path, mpi_id: str, variables: Mapping[str, str]) -> None:
    for room, folder in _ROOMS.items():
        words = ["make", "--no-print-directory", "-j", str(os.cpu_count() or 1), "-C"]
        words += [str(sources / room), "all", f"BUILD={target / (folder or mpi_id)}"]
        _run([*words, f"MPI_ID={mpi_id}", f"MPICC={variables['MPICC']}"], variables)


def _take(built: Path, target: Path) -> None:
    """Put what has been built in the place of what was there: a program that runs keeps its
    file."""
    lock.make(target)
    for name in (*_PROGRAMS, "libdetection.so"):
        if (built / name).is_file():
            with scratch.replacing(target / name) as part:
                shutil.copy(built / name, part)


def _run(words: list[str | Path], variables: Mapping[str, str]) -> str:
    done = process.run(words, timeout_seconds=_MOST_SECONDS, environment=variables)
    if done.status != 0 or done.timed_out:
        output = f"{done.stdout}\n{done.stderr}".strip()[-_MOST_SAID:]
        name = " ".join(Path(word).name for word in done.argv[:2])
        raise PlumblineError(f"{name} ends with status {done.status}: {output or 'no answer'}")
    return done.stdout
