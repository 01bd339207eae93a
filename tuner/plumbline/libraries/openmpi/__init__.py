"""Open MPI: found by its own mpirun and ompi_info, described by `ompi_info --parsable`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import ClassVar

from plumbline.core.reach import Reach
from plumbline.libraries import (
    DeliberateError,
    Family,
    Installation,
    Knob,
    ParameterFiles,
    RulesKnown,
    built,
    family,
    in_copy,
    into_ranks,
)
from plumbline.libraries.built import tool_output
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Library
from plumbline_exporters.family.openmpi import mca_params, tuned
from plumbline_exporters.family.openmpi.site import MARK

_VERSION = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})+[A-Za-z0-9.+-]{0,64}\Z")
_FILES_READ = re.compile(
    r"^mca:mca:base:param:mca_base_(?:(?:override_)?param_files?|component_path):value:(.*)$", re.M
)
_OF_DEBIAN = ["lib/*/openmpi/lib"]
_LIBRARIES = [f"lib{name}.so*" for name in ("mpi", "open-*", "pmix", "prrte")]
_LIBRARIES += ["openmpi*", "openmpi*/mca_*.so"]
_ENUMERATOR = re.compile(r"[^:]*:(?P<number>-?[0-9]{1,18}):(?P<label>.*)\Z", re.DOTALL)
# Exported files use mca_base_env_list_internal on Open MPI 4.
# The site decides about networks and daemons; how messages are sent is measured.
_SETTINGS = re.compile(
    r"OMPI_MCA_(coll$|coll_|mca_base_env_list|mca_base_param_files$|mpi_|pml$|smsc$"
    r"|smsc_|pml_(?!ucx_(tls|devices)$)|btl_(sm|vader|tcp)_(?!if_|port_|disable_family$|backing_directory$))"
)


def reported(text: str) -> dict[str, Knob]:
    """The parameters that `ompi_info --parsable --all` speaks of. Raises PlumblineError where it
    says what it never says."""
    fields: dict[str, dict[str, str]] = {}
    choices: dict[str, dict[str, int]] = {}
    for line in text.splitlines():
        words = line.split(":", 6)
        if len(words) < 7 or words[0] != "mca" or words[3] != "param":
            continue
        name, field, value = words[4], words[5], words[6]
        if field == "enumerator":
            match = _ENUMERATOR.match(value)
            if match is None:
                raise PlumblineError(f"ompi_info says {line[:200]!r}: is this Open MPI?")
            choices.setdefault(name, {})[match["label"]] = int(match["number"])
        else:
            fields.setdefault(name, {})[field] = value
    return {
        name: Knob(
            name=name,
            value=field.get("value", ""),
            type=field.get("type", ""),
            writable=field.get("status") == "writeable",
            choices=choices.get(name, {}),
            source=field.get("source", "").replace("default", ""),
        )
        for name, field in fields.items()
    }


def _folders(prefix: Path | None) -> list[Path]:
    """Return where programs may lie, each once: a folder on PATH may be a link to another."""
    if prefix is not None:
        return [prefix.absolute() / "bin"]
    listed = [Path(word).absolute() for word in os.environ.get("PATH", "").split(":") if word]
    return list({path.resolve(): path for path in reversed(listed)}.values())[::-1]


def _installed(folder: Path, added: Mapping[str, str]) -> Installation | None:
    """The one whose programs lie together in `folder`. On Debian mpirun may be another MPI's, and
    mpirun.openmpi is not."""
    where = str(folder)
    mpirun = shutil.which("mpirun.openmpi", path=where) or shutil.which("mpirun", path=where)
    info = shutil.which("ompi_info", path=where)
    if mpirun is None or info is None:
        return None
    mpicc = shutil.which("mpicc.openmpi", path=where) or shutil.which("mpicc", path=where)
    facts = built.facts(Path(mpirun), ["libmpi.so*"], ["openmpi*/mca_coll_*.so"], _OF_DEBIAN)
    status = os.stat(info)
    changed = (status.st_mtime_ns, status.st_size, *facts)
    text = _identity(Path(info), changed, tuple(sorted(_clean(added).items())))
    return Installation(
        library=described(text, folder.parent, facts),
        mpirun=Path(mpirun),
        mpicc=Path(mpicc) if mpicc else None,
    )


def described(text: str, where: Path, facts: list[str]) -> Library:
    """The library under `where` that `ompi_info --parsable` speaks of; `facts` tell its builds
    apart too. Raises PlumblineError where it says what it never says."""
    version = _field(text, "ompi:version:full")
    if not _VERSION.match(version):
        raise PlumblineError(f"ompi_info says it is version {version[:200]!r}: is this Open MPI?")
    # A library that was moved (a Python wheel) names the prefix that it was built for.
    prefix = _field(text, "path:prefix")
    if not os.path.isdir(os.path.join(prefix, "bin")):
        prefix = str(where)
    # Configuration and component versions distinguish builds; times and users do not.
    identity = [
        line
        for line in text.splitlines()
        if line.startswith(("ident:", "path:", "config:cli:", "compiler:c:version:", "mca:"))
    ]
    return Library(
        id=f"openmpi-{version}",
        family="openmpi",
        version=version,
        version_string=f"Open MPI v{version}",
        prefix=prefix,
        fingerprint=built.fingerprint([*identity, *facts]),
        build=_build(text),
    )


# Facts about the build -> keys of `ompi_info --parsable`, joined with a blank.
_BUILD = {
    "package": ("package",),
    "released": ("ompi:version:release_date",),
    "built": ("build:timestamp",),
    "built_by": ("build:user",),
    "built_on": ("build:host",),
    "architecture": ("config:arch",),
    "compiler": ("compiler:c:familyname", "compiler:c:version"),
    "compiler_path": ("compiler:c:absolute",),
    "configure": ("config:cli",),
    "debug": ("option:debug",),
    "memory_debug": ("option:mem-debug",),
    "profiling_of_memory": ("option:mem-profile",),
    "parameter_check": ("option:mpi-param-check",),
    "threads": ("option:threads",),
    "dlopen": ("option:dlopen",),
}


def _build(text: str) -> dict[str, str]:
    """Return what the library says about its making; what it does not say is left out."""
    lines = text.splitlines()
    facts = {
        name: " ".join(
            line[len(key) + 1 :].strip().strip('"')
            for key in keys
            for line in lines
            if line.startswith(key + ":")
        )
        for name, keys in _BUILD.items()
    }
    return {name: value for name, value in facts.items() if value}


def _clean(added: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what the user (or a module) has set for applications, which
    is not what the library comes with."""
    given = os.environ | dict(added)
    return {name: value for name, value in given.items() if not _SETTINGS.match(name)}


@cache
def _identity(
    info: Path, changed: tuple[int | str, ...], environment: tuple[tuple[str, str], ...]
) -> str:
    """Return what the library reports of its build. A process asks again only if the tool, the
    library (both in `changed`) or the environment has changed."""
    del changed
    return _say(info, ["--parsable"], dict(environment))


def _say(info: Path, options: list[str], environment: Mapping[str, str]) -> str:
    return tool_output([info, *options], "Open MPI", environment, read=partial(_read_by, info))


def _read_by(info: Path, text: str) -> Iterator[Path]:
    """Yield the libraries, the components and the files of parameters that an answer of ompi_info
    depends on."""
    yield from (Path.home() / _USER_FILE, Path.home() / ".openmpi" / "components")
    for words in _FILES_READ.findall(text):
        yield from map(Path, filter(None, re.split('[,:"]', words)))
    yield from built.files(info, _LIBRARIES, _OF_DEBIAN)


def _field(text: str, key: str) -> str:
    for line in text.splitlines():
        if line.startswith(key + ":"):
            return line[len(key) + 1 :]
    raise PlumblineError(f"ompi_info reports no {key}; is this Open MPI?")


_NO_SUCH_VALUE = "An invalid value was supplied for an enum variable"
_COMPLAINTS = re.compile(
    f"{_NO_SUCH_VALUE}|is an unrecognized parameter|The following MCA parameter has been"
    "|was unable to open the rules file"
)
RULES = mca_params.PREFIX + mca_params.RULES
NO_SUCH_ALGORITHM = "99"
# The components of non-blocking collectives and of their persistent forms.
_LIBNBC = re.compile(mca_params.PREFIX + r"coll_libnbc_i([a-z_]+)_algorithm\Z")
_USER_FILE = Path(".openmpi", "mca-params.conf")
_SITE_FILE = "openmpi-mca-params.conf"
_SENT = re.compile(r"I\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs sent")
_SELECTED = re.compile(
    r"\[(?P<rank>[^]]+)\] coll:base:comm_select: "
    r"(new communicator: (?P<communicator>\S+)|"
    r"selecting +(?P<name>\w+), priority +(?P<priority>\d+), Enabled)"
)


_CHOSEN = re.compile(r"^\[[^]]+\] select: component (\w+) selected$", re.MULTILINE)


@family
class OpenMpi(Family):
    name = "openmpi"
    complaints = _COMPLAINTS
    launcher_prefixes: tuple[str, ...] = ("PMIX_MCA_", "PRTE_MCA_")
    rank_lists: ClassVar[tuple[str, ...]] = ("OMPI_MCA_mca_base_env_list",)
    counts: ClassVar[str] = "pml_monitoring_enable"
    counting: ClassVar[dict[str, str]] = {
        "OMPI_MCA_pml_monitoring_enable": "2",
        "OMPI_MCA_pml_monitoring_enable_output": "2",
    }
    counted: ClassVar[str] = "msgs sent"
    silencing: ClassVar[re.Pattern[str]] = re.compile(
        r"(coll|coll_\w+_priority|coll_tuned_\w+|mca_base_(override_)?param_files?)\Z"
    )
    component_talk: ClassVar[dict[str, str]] = {"OMPI_MCA_coll_base_verbose": "20"}
    choice_talk: ClassVar[dict[str, str]] = {"OMPI_MCA_pml_base_verbose": "10"}

    def find(
        self, prefix: Path | None, added: Mapping[str, str] | None = None
    ) -> list[Installation]:
        return [
            installation
            for folder in _folders(prefix)
            if (installation := _installed(folder, added or {}))
        ]

    def knobs(self, installation: Installation) -> dict[str, Knob]:
        info, *words = _every_parameter(installation)
        return reported(_say(Path(info), words, _clean(installation.environment)))

    def reported_in(
        self, installation: Installation, environment: Mapping[str, str]
    ) -> dict[str, Knob]:
        return reported(tool_output(_every_parameter(installation), "Open MPI", environment))

    def rules(self, installation: Installation) -> Iterator[RulesKnown]:
        library = installation.library
        version = tuned.version(library)
        forms = "by number of ranks and message size"
        if version >= tuned.JSON_SINCE:
            forms = (
                f"in JSON {forms}, for one node or any placement; the classic form reads otherwise"
            )
        elif tuned.reads_version_2(library):
            forms += ", with a limit of requests (version 2)"
        yield RulesKnown(f"{library.id} reads rules of coll/tuned {forms}", True)
        knobs, count, agree = self.knobs(installation), 0, True
        for function, collective in tuned.COLLECTIVES.items():
            knob = knobs.get(tuned.parameter_prefix(function))
            if knob is None or not knob.choices:
                continue
            reported_names = {number: name for name, number in knob.choices.items() if number}
            expected = dict(enumerate(collective.names_in(version), start=1))
            count += len(reported_names)
            differing = sorted(reported_names.items() ^ expected.items())
            if differing:
                agree = False
                listed = ", ".join(f"{number} {name}" for number, name in differing)
                text = f"{function}: known and reported algorithms differ in {listed}"
                yield RulesKnown(f"{text}: rules for them may mean others", False)
        if agree:
            text = (
                f"all {count} algorithms that {library.id} reports are as known"
                if count
                else (f"{library.id} reports no algorithms of coll/tuned: rules cannot be compared")
            )
            yield RulesKnown(text, count > 0)

    def undoing(self, knob: Knob) -> str:
        if knob.source == "environment":
            return f"unset {mca_params.PREFIX}{knob.name}"
        place = re.fullmatch(r"file \((.*)\)", knob.source)
        return f"take it out of {place[1]}" if place else f"set by {knob.source}"

    def environment(self, installation: Installation) -> dict[str, str]:
        del installation
        if os.geteuid() != 0:
            return {}
        names = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT")
        return {name + suffix: "1" for name in names for suffix in ("", "_CONFIRM")}

    def words(self, placement: Placement, reach: Reach | None = None) -> list[str]:
        words = ["-np", str(placement.nprocs)]
        if reach is not None:
            words += _to_hosts(placement, reach)
        bind = "core" if placement.held else placement.binding
        if placement.oversubscribed:
            words += ["--oversubscribe"]
        if placement.map_by:
            words += ["--map-by", placement.map_by]
        if bind:
            overload = placement.oversubscribed and bind != "none"
            words += ["--bind-to", f"{bind}:overload-allowed" if overload else bind]
        return words

    def in_environment(self, knobs: Mapping[str, str]) -> dict[str, str]:
        values = {f"OMPI_MCA_{name}": value for name, value in knobs.items()}
        if any(name.startswith("coll_tuned_") and "_algorithm" in name for name in knobs):
            values["OMPI_MCA_coll_tuned_use_dynamic_rules"] = "1"
            # Open MPI 4 would prefer the rules in a file.
            values[RULES] = ""
        return values

    def canaries(self, environment: Mapping[str, str], folder: Path) -> list[DeliberateError]:
        canaries = [
            DeliberateError(
                name=variable,
                environment={**environment, variable: NO_SUCH_ALGORITHM},
                functions=functions,
                fails="launch",
                says=_NO_SUCH_VALUE,
            )
            for variable, functions in _forms(environment)
        ]
        rules = environment.get(RULES)
        if rules is not None:
            corrupted = in_copy(environment, rules, rules_canary, folder)
            name, functions = Path(rules).name, tuple(tuned.COLLECTIVES)
            canaries.append(DeliberateError(name=name, environment=corrupted, functions=functions))
        return canaries

    def into_ranks(
        self,
        installation: Installation,
        library: Path,
        variables: Mapping[str, str],
        given: Mapping[str, str],
        folder: Path,
    ) -> dict[str, str]:
        """Return by `mca_base_env_list`; with Open MPI 4 by the one behind it, where the user has
        not set it: -x on its mpirun's command line aborts beside the other. Daemons that mpirun
        starts by srun on other nodes are preloaded nothing."""
        del folder
        (name,) = self.rank_lists
        five = int(installation.library.version.partition(".")[0]) >= 5
        name = name if five or given.get(name) else f"{name}_internal"
        listed = [word for word in given.get(name, "").split(";") if word]
        preloads = [entry for entry in listed if entry.partition("=")[0] == "LD_PRELOAD"]
        preload = preloads[-1].partition("=")[2] if preloads else ""
        preload = preload or given.get("LD_PRELOAD", "")
        words = [entry for entry in listed if entry not in preloads]
        words += [f"LD_PRELOAD={into_ranks.preloaded_before(library, preload)}"]
        words += [f"{name}={value}" for name, value in variables.items()]
        args = "PRTE_MCA_plm_slurm_args" if five else "OMPI_MCA_plm_slurm_args"
        daemons = given.get(args, "")
        if "--export" not in daemons:
            daemons = f"{daemons} --export=ALL".strip()
        return {name: ";".join(words), args: daemons}

    def parameter_files(self, installation: Installation, *, of_user: bool) -> ParameterFiles:
        """The library says which files it reads, and in which order."""
        library, knobs = installation.library, self.knobs(installation)
        listed = knobs["mca_base_param_files"].value if "mca_base_param_files" in knobs else ""
        files = [Path(word) for word in listed.split(",") if word]
        user = Path.home() / _USER_FILE
        site = next((file for file in files if file.name == _SITE_FILE), None)
        target = user if of_user else site
        if target is None or target not in files:
            raise PlumblineError(
                f"{library.id} does not read {target or _SITE_FILE}, but {listed or 'no file'} "
                "(mca_base_param_files): nothing written there would be in force"
            )
        if not of_user and not target.parent.is_dir():
            raise PlumblineError(
                f"{library.id} reads {target}, whose folder is not there (a library that was "
                "moved?): use --user or --modules"
            )
        override_knob = knobs.get("mca_base_override_param_file")
        override = [Path(override_knob.value)] if override_knob and override_knob.value else []
        at = files.index(target)
        note = (
            f"{user} is read by every Open MPI that you start; this is for {library.id} in "
            f"{library.prefix}"
        )
        return ParameterFiles(
            wanted=target,
            overrides=[*override, *files[:at]],
            overridden=files[at + 1 :],
            notes=[note] if of_user else [],
        )

    def messages(self, stderr: str) -> Iterator[tuple[int, int, int, int]]:
        """Return the messages that pml/monitoring has counted."""
        for sender, receiver, size, count in _SENT.findall(stderr):
            yield int(sender), int(receiver), int(count), int(size)

    def settings_in(self, environment: dict[str, str]) -> list[str]:
        own_variables = (
            *into_ranks.VARIABLES,
            "OMPI_MCA_plm_slurm_args",
            "PRTE_MCA_plm_slurm_args",
        )
        return sorted(
            name for name in environment if _SETTINGS.match(name) or name in own_variables
        )

    def components(self, stderr: str) -> list[str]:
        priorities: dict[str, int] = {}
        rank, inside = "", False
        for match in _SELECTED.finditer(stderr):
            rank = rank or match["rank"]
            if match["rank"] != rank:
                continue
            if match["communicator"]:
                inside = match["communicator"] == "MPI_COMM_WORLD"
            elif inside:
                priorities[match["name"]] = int(match["priority"])
        return [
            f"{component} ({priorities[component]})"
            for component in sorted(
                priorities, key=lambda component_name: -priorities[component_name]
            )
        ]

    def choice(self, stderr: str) -> dict[str, str]:
        """Return the component that the layer for messages has chosen: pml/cm alone may look for
        devices for 0.2 s."""
        chosen = set(_CHOSEN.findall(stderr))
        return {"OMPI_MCA_pml": chosen.pop()} if len(chosen) == 1 else {}


def _every_parameter(installation: Installation) -> list[str]:
    info = installation.mpirun.parent / "ompi_info"
    return [str(info), "--parsable", "--all", "--level", "9"]


def _to_hosts(placement: Placement, reach: Reach) -> list[str]:
    """Each name is read by the version that knows it: the daemons of Open MPI 5 are PRRTE's, and
    have their agent and their interfaces under names of their own."""
    hosts = ",".join(f"{name}:{placement.ppn}" for name in reach.names[: placement.nodes])
    words = ["--host", hosts, "--mca", "plm_rsh_agent", reach.agent]
    if reach.interface:
        for layer in ("btl", "oob"):
            words += ["--mca", f"{layer}_tcp_if_include", reach.interface]
    for name in reach.variables:
        if not name.startswith(("OMPI_", "PMIX_", "PRTE_")):  # those are carried there anyway
            words += ["-x", name]
    return words


def rules_canary(text: str) -> str:
    """A rules file in which every algorithm but 0 (the library's own decision) does not exist; or,
    where winners are marked, those of theirs."""
    lines = []
    marked = any(_mark(line) for line in text.splitlines())
    for line in text.splitlines():
        body, mark, comment = line.partition("#")
        words = body.split()
        if len(words) in (4, 5) and (_mark(line) if marked else words[1] != "0"):
            words[1] = NO_SUCH_ALGORITHM
            body = " ".join(words) + " "
        lines.append(body + mark + comment)
    return "\n".join(lines) + "\n"


def _mark(line: str) -> bool:
    body, _, comment = line.partition("#")
    return bool(body.strip()) and comment.strip() == MARK


def _forms(environment: Mapping[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The variables that say how non-blocking collectives are done, with the functions that each
    decides for."""
    for variable in environment:
        match = _LIBNBC.match(variable)
        if match is not None:
            name = match[1]
            yield variable, (f"MPI_I{name}", f"MPI_{name.capitalize()}_init")
