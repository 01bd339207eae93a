"""One run of a user's command with every rank recorded, and what comes of it."""

from __future__ import annotations

import datetime
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline import libraries
from plumbline.core.application import Application
from plumbline.libraries import Family, Installation, into_ranks
from plumbline.results import recorded
from plumbline.settings import ranks_asked
from plumbline.system import paths, process, version
from plumbline_db import scratch
from plumbline_db.errors import PlumblineError


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
        recorded_ranks = recorded.ranks(folder)
    run.require(bool(recorded_ranks))
    return recorded.application(
        recorded_ranks,
        version=version.PLUMBLINE,
        command=command,
        started=run.started,
        status=run.status,
    )


class Run(msgspec.Struct, frozen=True):
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
) -> Run:
    """Run a command to its end, with a library and variables in its ranks. `folder` is for what
    brings them there; `within`: the environment of the command."""
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    own_environment = dict(within)
    added = into_ranks.environment(installation, preload, variables, own_environment, folder)
    program = shutil.which(command[0], path=own_environment.get("PATH"))
    if program is not None and ranks_asked.takes_all(Path(program)):
        added |= into_ranks.whole(preload, variables, own_environment)
    status = process.in_foreground(command, own_environment | added)
    return Run(installation.library.id, started, status)


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
