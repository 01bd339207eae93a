"""SimGrid's SMPI: simulated ranks, and the decisions of another library re-created.

One installation is several libraries, one for each selector: `simgrid-3.32-mvapich2`. Their probe
is one and the same. Knobs are options of smpirun, `--cfg=smpi/gather:ompi_binomial`; the variable
PLUMBLINE_SMPIRUN holds them for our launcher and for people (`smpirun $PLUMBLINE_SMPIRUN …`)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from plumbline.core.reach import Reach
from plumbline.core.selectors import SELECTORS
from plumbline.libraries import (
    DeliberateError,
    Family,
    Installation,
    Knob,
    built,
    family,
    into_ranks,
)
from plumbline.libraries.built import tool_output
from plumbline.system import process
from plumbline.system.placement import Placement
from plumbline_db import scratch
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library
from plumbline_exporters.family.simgrid import OPTIONS

# Functions whose choices depend on earlier calls (probes/measure/run.c).
SETTLING = ("mvapich2",)

NO_SUCH_ALGORITHM = "no_such_algorithm"
_PREFIX = "--cfg="
_COLLECTIVE = "Which collective to use for"
_CHOICES = re.compile(r"Valid algorithms: (.+)\.")
_SELECTOR = "smpi/coll-selector"

_VERSION = re.compile(r"SimGrid version (\d+\.\d+)")


@family
class SimGrid(Family):
    name = "simgrid"
    simulates = True
    # SimGrid ends the launch at an unknown setting, so that no setting is ignored.
    complaints = re.compile("(?!)")

    def find(
        self, prefix: Path | None, added: Mapping[str, str] | None = None
    ) -> list[Installation]:
        del added
        search = str(prefix / "bin") if prefix else None
        smpirun = shutil.which("smpirun", path=search)
        if smpirun is None:
            return []
        build = tool_output([smpirun, "-version"], "SimGrid", None, 20).strip()
        match = _VERSION.match(build)
        if match is None:
            raise PlumblineError(f"{smpirun} -version says {build!r}: is this SimGrid's?")
        version = match[1]
        smpicc = shutil.which("smpicc", path=search)
        facts = {
            "version": build,
            "revision": tool_output([smpirun, "-git-version"], "SimGrid", None, 20).strip(),
        }
        bytes_of = built.facts(Path(smpirun), ["libsimgrid.so*"])
        return [
            Installation(
                library=Library(
                    id=f"simgrid-{version}-{selector}",
                    family=self.name,
                    version=version,
                    version_string=f"SMPI Version {version}, {selector} re-created",
                    prefix=str(Path(smpirun).parent.parent),
                    fingerprint=built.fingerprint([*facts.values(), selector, *bytes_of]),
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
        """Return what SimGrid says of its options, and the algorithms of each collective."""
        return _knobs(str(installation.mpirun))

    def environment(self, installation: Installation) -> dict[str, str]:
        del installation
        return {}

    def words(self, placement: Placement, reach: Reach | None = None) -> list[str]:
        del reach
        return ["-np", str(placement.nprocs)]

    def in_environment(self, knobs: Mapping[str, str]) -> dict[str, str]:
        words = [f"{_PREFIX}{name}:{value}" for name, value in sorted(knobs.items())]
        return {OPTIONS: " ".join(words)} if words else {}

    def canaries(self, environment: Mapping[str, str], folder: Path) -> list[DeliberateError]:
        """An algorithm that does not exist ends the launch."""
        del folder
        words = options_in(environment)
        canaries = []
        for number, word in enumerate(words):
            knob = word.removeprefix(_PREFIX).partition(":")[0]
            if knob == _SELECTOR:
                continue
            corrupted = [
                *words[:number],
                f"{_PREFIX}{knob}:{NO_SUCH_ALGORITHM}",
                *words[number + 1 :],
            ]
            function = f"MPI_{knob.removeprefix('smpi/').capitalize()}"
            canaries.append(
                DeliberateError(
                    name=f"{knob} of {OPTIONS}",
                    environment={**environment, OPTIONS: " ".join(corrupted)},
                    functions=(function,),
                    fails="launch",
                    says=f"has no algorithm '{NO_SUCH_ALGORITHM}'",
                )
            )
        return canaries

    def settings_in(self, environment: dict[str, str]) -> list[str]:
        return sorted(environment.keys() & {*into_ranks.VARIABLES, OPTIONS})


def options_in(environment: Mapping[str, str]) -> list[str]:
    """The words for smpirun's command line. Raises PlumblineError for one that sets no option."""
    words = environment.get(OPTIONS, "").split()
    for word in words:
        if not word.startswith(f"{_PREFIX}smpi/"):
            raise PlumblineError(f"{OPTIONS} has {word!r} in it: unset it")
    return words


@cache
def _knobs(smpirun: str) -> dict[str, Knob]:
    help_text = _asked(smpirun, "--help")
    knobs = {}
    for name, summary, type, value in _OPTION.findall(help_text):
        choices: dict[str, int] = {}
        if summary.startswith(_COLLECTIVE):
            answer = _CHOICES.search(_asked(smpirun, f"{_PREFIX}{name}:{NO_SUCH_ALGORITHM}"))
            if answer is None:
                raise PlumblineError(f"{smpirun} does not say which algorithms {name} has")
            choices = dict.fromkeys(answer[1].split(", "), 0)
        knobs[name] = Knob(name=name, value=value, type=type, writable=False, choices=choices)
    if not knobs:
        raise PlumblineError(f"{smpirun} … --help shows no option: is this SimGrid's?")
    return knobs


_OPTION = re.compile(r"^ +(smpi/\S+): (.*)\n +Type: (\w+); Current value: (.*)$", re.MULTILINE)

# Options are read before ranks start, so that any file can stand in for the program.
_ONE_HOST = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <zone id="zone" routing="Full"><host id="host" speed="1Gf"/></zone>
</platform>
"""


def _asked(smpirun: str, option: str) -> str:
    """All that one simulated rank says with an option."""
    with scratch.folder() as folder:
        platform, hosts = folder / "platform.xml", folder / "hosts"
        platform.write_text(_ONE_HOST)
        hosts.write_text("host\n")
        place = ["-platform", str(platform), "-hostfile", str(hosts)]
        words = [smpirun, "-quiet", "-np", "1", *place, str(platform), option]
        done = process.run(words, timeout_seconds=20)
    return done.stdout + done.stderr
