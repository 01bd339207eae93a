"""How variables enter the ranks that a user's own mpirun starts, and nothing else of his shell:
mpirun itself must not be preloaded. By family; exported files do the same in sh
(exporters/plumbline_exporters/env.py, hydra.py, impi_env.py)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from plumbline.libraries import Installation
from plumbline_db.errors import PlumblineError

# What takes a path apart on its way: the loader, Open MPI's list, hydra's file, Intel MPI's tools.
_UNFIT = re.compile(r"[\s;:,=$'\"\\#]")
RANK_ENVIRONMENT = "OMPI_MCA_mca_base_env_list"
_INTERNAL = "OMPI_MCA_mca_base_env_list_internal"

_Way = Callable[[Installation, Path, Mapping[str, str], Mapping[str, str], Path], dict[str, str]]


def environment(
    installation: Installation,
    library: Path,
    variables: Mapping[str, str],
    given: Mapping[str, str],
    folder: Path,
) -> dict[str, str]:
    """What is added to the environment `given` so that ranks have `library` preloaded, before what
    else is preloaded there, and `variables`. `folder` is for files. Raises PlumblineError where
    that cannot be."""
    family = installation.library.family
    if family not in _WAYS:
        raise PlumblineError(
            f"nothing can be preloaded into ranks of {installation.library.id}; it works with "
            f"{', '.join(sorted(_WAYS))}"
        )
    for text in (str(library), *variables.values()):
        unfit = _UNFIT.search(text)
        if unfit:
            raise PlumblineError(
                f"{text}: mpirun or the loader would split this path at {unfit[0]!r}; move it to a "
                "path without"
            )
    return _WAYS[family](installation, library, variables, given, folder)


def _preloaded(library: Path, theirs: str) -> str:
    others = [word for word in re.split(r"[:\s]+", theirs) if word and word != str(library)]
    return ":".join([str(library), *others])


def _openmpi(
    installation: Installation,
    library: Path,
    variables: Mapping[str, str],
    given: Mapping[str, str],
    folder: Path,
) -> dict[str, str]:
    """`mca_base_env_list`; with Open MPI 4 the one behind it, where the user has not set it: -x on
    its mpirun's command line aborts beside the other."""
    del folder
    five = int(installation.library.version.partition(".")[0]) >= 5
    name = RANK_ENVIRONMENT if five or given.get(RANK_ENVIRONMENT) else _INTERNAL
    listed = [word for word in given.get(name, "").split(";") if word]
    theirs = [entry for entry in listed if entry.partition("=")[0] == "LD_PRELOAD"]
    preload = theirs[-1].partition("=")[2] if theirs else ""
    preload = preload or given.get("LD_PRELOAD", "")
    words = [entry for entry in listed if entry not in theirs]
    words += [f"LD_PRELOAD={_preloaded(library, preload)}"]
    words += [f"{name}={value}" for name, value in variables.items()]
    return {name: ";".join(words)}


def _hydra(
    installation: Installation,
    library: Path,
    variables: Mapping[str, str],
    given: Mapping[str, str],
    folder: Path,
) -> dict[str, str]:
    """A file of options: one line, without quotes. The variables are carried anyway."""
    del installation
    before = given.get("HYDRA_CONFIG_FILE")
    theirs = given.get("LD_PRELOAD", "")
    options = ""
    if before:
        try:
            lines = Path(before).read_text().splitlines()
        except OSError as error:
            raise PlumblineError(
                f"HYDRA_CONFIG_FILE names {before}: {error.strerror}; unset it"
            ) from error
        options = " ".join(line for line in lines if not line.lstrip().startswith("#")).strip()
        named = re.findall(r"-genv\s+LD_PRELOAD\s+(\S+)", options)
        theirs = named[-1] if named else theirs
        options = re.sub(r"-genv\s+LD_PRELOAD\s+\S+\s*", "", options)
    path = folder / "ranks.hydra"
    words = f"-genv LD_PRELOAD {_preloaded(library, theirs)} {options}"
    path.write_text(words.strip() + "\n")
    return {"HYDRA_CONFIG_FILE": str(path), **variables}


def _intelmpi(
    installation: Installation,
    library: Path,
    variables: Mapping[str, str],
    given: Mapping[str, str],
    folder: Path,
) -> dict[str, str]:
    """A tool before the program of each rank: `env LD_PRELOAD=…`."""
    del installation, folder
    before = given.get("I_MPI_GTOOL", "")
    theirs = given.get("LD_PRELOAD", "")
    ours = re.fullmatch(r"env LD_PRELOAD=(\S+):all", before)
    if before and not ours:
        raise PlumblineError(
            "I_MPI_GTOOL names a tool already: unset it, for the recording library comes in the "
            "same way"
        )
    if ours:
        theirs = ours[1]
    return {"I_MPI_GTOOL": f"env LD_PRELOAD={_preloaded(library, theirs)}:all", **variables}


_WAYS: dict[str, _Way] = {
    "openmpi": _openmpi,
    "mpich": _hydra,
    "mvapich": _hydra,
    "mvapich2": _hydra,
    "intelmpi": _intelmpi,
}


def for_ranks(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that mpirun sets for its ranks alone, from the list in `environment` (`;` between).
    What starts ranks without mpirun must do so too."""
    words = [
        word
        for holder, listed in environment.items()
        if holder.startswith(RANK_ENVIRONMENT)
        for word in listed.split(";")
    ]
    return dict(word.split("=", 1) for word in reversed(words) if "=" in word)
