"""SimGrid's SMPI: simulated ranks, and the decisions of another library re-created.

One installation is several libraries, one for each selector: `simgrid-3.32-mvapich2`. Their probe
is one and the same."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from plumbline import process
from plumbline.canary import Canary
from plumbline.hosts import Reach
from plumbline.placement import Placement
from plumbline.simulation import SELECTORS
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library

from . import Installation, Knob, family

_VERSION = re.compile(r"SimGrid version (\d+\.\d+)")


@family("simgrid")
class SimGrid:
    name = "simgrid"
    simulates = True

    def find(self, prefix: Path | None) -> list[Installation]:
        search = str(prefix / "bin") if prefix else None
        smpirun = shutil.which("smpirun", path=search)
        if smpirun is None:
            return []
        build = _say(smpirun, "-version")
        found = _VERSION.match(build)
        if found is None:
            raise PlumblineError(f"{smpirun} -version says {build!r}: is this SimGrid's?")
        version = found[1]
        smpicc = shutil.which("smpicc", path=search)
        facts = {"version": build, "revision": _say(smpirun, "-git-version")}
        return [
            Installation(
                library=Library(
                    id=f"simgrid-{version}-{selector}",
                    family=self.name,
                    version=version,
                    version_string=f"SMPI Version {version}, {selector} re-created",
                    prefix=str(Path(smpirun).parent.parent),
                    fingerprint=_fingerprint([*facts.values(), selector]),
                    build=facts | {"selector": selector},
                ),
                mpirun=Path(smpirun),
                mpicc=Path(smpicc) if smpicc else None,
            )
            for selector in SELECTORS
        ]

    def missing(self, prefix: Path | None) -> str:
        where = f"under {prefix}" if prefix else "on PATH"
        return (
            f"no smpirun {where}: simulated ranks need SimGrid (Debian: libsimgrid-dev); then "
            "`make build MPICC=smpicc`"
        )

    def knobs(self, installation: Installation) -> dict[str, Knob]:
        del installation
        return {}

    def environment(self, installation: Installation) -> dict[str, str]:
        del installation
        return {}

    def words(self, placement: Placement, reach: Reach | None = None) -> list[str]:
        del reach
        return ["-np", str(placement.nprocs)]

    def in_environment(self, knobs: Mapping[str, str]) -> dict[str, str]:
        if knobs:
            raise ValueError("no parameter of SimGrid can be set")
        return {}

    def canaries(self, environment: Mapping[str, str], folder: Path) -> list[Canary]:
        del environment, folder
        return []

    def settings_in(self, environment: dict[str, str]) -> list[str]:
        ours = ("LD_PRELOAD", "PLUMBLINE_PROFILE", "PLUMBLINE_REPORT")
        return sorted(name for name in environment if name in ours)

    def complaint(self, stderr: str) -> str | None:
        """A setting that SimGrid does not know ends the launch, so that none is ignored."""
        del stderr
        return None


def _say(smpirun: str, option: str) -> str:
    done = process.run([smpirun, option], timeout_seconds=20)
    if done.status != 0:
        raise PlumblineError(
            f"{smpirun} {option} failed with status {done.status}: {done.stderr.strip()[-300:]}; "
            "check the SimGrid installation"
        )
    return done.stdout.strip()


def _fingerprint(facts: list[str]) -> str:
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
