"""MPICH: found by `mpichversion` beside a hydra, described by it; what it can be told is what its
MPI_T reports through the probe."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from plumbline import libraries
from plumbline.core.reach import Reach
from plumbline.libraries import (
    DeliberateError,
    Installation,
    Knob,
    built,
    family,
    hydra,
    into_ranks,
)
from plumbline.system import paths, process
from plumbline.system.placement import Placement
from plumbline_db import user_files
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library
from plumbline_exporters.family.mpich import coll, selection

FALLBACK = "MPIR_CVAR_COLLECTIVE_FALLBACK"
_COMPLAINTS = re.compile(
    "User set collective algorithm is not usable|Unable to open collective tuning file"
    "|unrecognized key |Invalid (character|value) .*MPIR_CVAR_"
)
# Settings that a site needs to send messages at all: networks, providers, interfaces, ports. The
# search may try another network; if the site has named one, that is the default.
OF_THE_SITE = (
    "(CH4_NETMOD|NEMESIS_NETMOD|NETMOD|NEMESIS_TCP_NETWORK_IFACE|NEMESIS_TCP_HOST_LOOKUP_RETRIES"
    "|NETWORK_IFACE|OFI_USE_PROVIDER|OFI_SKIP_IPV6|OFI_USE_MIN_NICS|CH4_OFI_PREF_NIC"
    "|CH4_OFI_MAX_NICS|CH3_INTERFACE_HOSTNAME|INTERFACE_HOSTNAME|CH3_PORT_RANGE|PORT_RANGE"
    "|PMI_VERSION)$"
)
# MPICH_ is another prefix of the same names; hydra reads the file of options.
_SETTINGS = re.compile(rf"(MPIR_CVAR|MPIR_PARAM|MPICH)_(?!{OF_THE_SITE})|HYDRA_CONFIG_FILE$")
_MPIRUNS = ("mpirun.mpich", "mpiexec.mpich", "mpirun", "mpiexec", "mpiexec.hydra")
_SYSTEM_CAP_BYTES = 4 * 1024 * 1024  # `probe system` prints 200 KB


@family
class Mpich(hydra.Started):
    name = "mpich"
    complaints = _COMPLAINTS

    def find(
        self, prefix: Path | None, added: Mapping[str, str] | None = None
    ) -> list[Installation]:
        if prefix is not None:
            folders = [prefix / "bin"]
        else:
            folders = [Path(word) for word in os.environ.get("PATH", "").split(":") if word]
        environment = os.environ | dict(added or {})
        installations = [
            installation_here
            for folder in dict.fromkeys(folders)
            if (installation_here := _in(folder, environment))
        ]
        # /bin is /usr/bin on many systems: this is one installation, named by its first folder.
        distinct = {
            str(installation.mpirun.resolve()): installation
            for installation in reversed(installations)
        }
        return [installation for installation in installations if installation in distinct.values()]

    def knobs(self, installation: Installation) -> dict[str, Knob]:
        probe = paths.layout().probe(paths.build_id(installation.library))
        clean = os.environ | installation.environment
        for name in self.settings_in(clean):
            del clean[name]
        done = process.run(
            [probe, "system"],
            timeout_seconds=60,
            environment=clean | self.environment(installation),
            cap_bytes=_SYSTEM_CAP_BYTES,
        )
        try:
            if done.status != 0:
                raise ValueError(f"exit status {done.status}: {done.stderr.strip()[-300:]}")
            return libraries.reported(done.stdout)
        except (ValueError, msgspec.ValidationError) as error:
            raise PlumblineError(
                f"{probe} system does not say what {installation.library.id} can be told "
                f"({error}); run `make build MPICC={installation.mpicc or '<its mpicc>'}` again"
            ) from error

    def environment(self, installation: Installation) -> dict[str, str]:
        del installation
        return {}

    def words(self, placement: Placement, reach: Reach | None = None) -> list[str]:
        return hydra.words(placement, reach, binding=hydra.mpich_binding(placement))

    def in_environment(self, knobs: Mapping[str, str]) -> dict[str, str]:
        """An algorithm that does not apply is an error then, and no other one in its place."""
        return dict(knobs) | ({FALLBACK: "error"} if knobs else {})

    def canaries(self, environment: Mapping[str, str], folder: Path) -> list[DeliberateError]:
        """Return, in each table, in place of each choice of ours that of another function, one at a
        time: the library ends the process that meets it, be it in a call of its own, before ours. A
        variable gets no value of its type."""
        canaries = []
        for variable in (selection.VARIABLE, selection.COMPOSITIONS_VARIABLE):
            table = Path(environment.get(variable, ""))
            if variable not in environment:
                continue
            for number, corrupted in enumerate(selection.corrupted(user_files.text(table))):
                copy = folder / f"canary-{number}-{table.name}"
                copy.write_text(corrupted.text)
                canaries.append(
                    DeliberateError(
                        name=table.name,
                        environment=dict(environment) | {variable: str(copy)},
                        functions=(corrupted.function,),
                        bytes_from=corrupted.bytes_from,
                        bytes_to=corrupted.bytes_to,
                        fails="launch",
                    )
                )
        for name in sorted(environment):
            if name.startswith("MPIR_CVAR_") and not name.endswith("_FILE"):
                wrong = dict(environment) | {name: "canary"}
                canaries.append(
                    DeliberateError(name, wrong, coll.functions_of(name), fails="launch")
                )
        return canaries

    def settings_in(self, environment: dict[str, str]) -> list[str]:
        own_variables = into_ranks.VARIABLES
        return sorted(
            name for name in environment if _SETTINGS.match(name) or name in own_variables
        )


def _in(folder: Path, environment: Mapping[str, str]) -> Installation | None:
    """Return what MPICH there is in a folder of programs. Its descendants have a `mpichversion`
    too, and say another name there; beside Open MPI's mpirun, Debian's has a name of its own."""
    tool = shutil.which("mpichversion", path=str(folder))
    if tool is None or shutil.which("mpiname", path=str(folder)):
        return None
    done = process.run([tool], timeout_seconds=20, environment=environment)
    lines = done.stdout.splitlines()
    fields = dict(_field(line) for line in lines if ":" in line)
    version = fields.get("MPICH Version", "")
    mpirun = _mpirun(folder, environment)
    if done.status != 0 or not version or mpirun is None:
        return None
    mpicc = shutil.which("mpicc.mpich", path=str(folder)) or shutil.which("mpicc", path=str(folder))
    identity = [line for line in lines if not line.startswith("MPICH Release date")]
    identity += built.facts(mpirun)
    return Installation(
        library=Library(
            id=f"mpich-{version}",
            family="mpich",
            version=version,
            version_string=next(line for line in lines if _field(line)[0] == "MPICH Version"),
            prefix=str(folder.parent),
            fingerprint=built.fingerprint(identity),
            build={name: fields[key] for name, key in _BUILD.items() if fields.get(key)},
        ),
        mpirun=mpirun,
        mpicc=Path(mpicc) if mpicc else None,
    )


def _mpirun(folder: Path, environment: Mapping[str, str]) -> Path | None:
    """The first one that says that it is hydra."""
    for name in _MPIRUNS:
        path = shutil.which(name, path=str(folder))
        if path is not None and _is_hydra(path, environment):
            return Path(path)
    return None


def _is_hydra(mpirun: str, environment: Mapping[str, str]) -> bool:
    done = process.run([mpirun, "-version"], timeout_seconds=20, environment=environment)
    return "HYDRA build details" in done.stdout


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip(), value.strip()


_BUILD = {
    "released": "MPICH Release date",
    "abi": "MPICH ABI",
    "device": "MPICH Device",
    "configure": "MPICH configure",
    "compiler": "MPICH CC",
    "features": "MPICH features",
}
