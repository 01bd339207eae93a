"""The way in which variables enter the ranks that a user's own mpirun or srun starts, and nothing
else of his shell: mpirun itself must not be preloaded. Each family knows how for its mpirun;
exported files do the same in sh (exporters/plumbline_exporters/family, plumbline_sh.py)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from plumbline.libraries import EntersRanks, Installation, families
from plumbline_db.errors import PlumblineError
from plumbline_exporters.plumbline_sh import whole as whole_path

SRUN_LIST = "SLURM_EXPORT_ENV"  # what srun hands to its ranks
VARIABLES = (
    *("LD_PRELOAD", "PLUMBLINE_CALLS", "PLUMBLINE_PROFILE", "PLUMBLINE_REPORT"),
    *("PLUMBLINE_CONTROL", "PLUMBLINE_CONTROL_OUT"),
    *(SRUN_LIST, "PLUMBLINE_EXPORT_ENV"),
)


def preloaded_before(library: Path, preloaded_before: str) -> str:
    """A value of LD_PRELOAD: `library`, then what else is preloaded."""
    others = [
        word for word in re.split(r"[:\s]+", preloaded_before) if word and word != str(library)
    ]
    return ":".join([str(library), *others])


PRELOAD = "LD_PRELOAD"
# Characters that split a path on its way: in the loader, Open MPI's list, hydra's file, or Intel
# MPI's tools.
_NOTHING = {"NONE", "NIL"}
_UNFIT = r"[\s;:,=$'\"\\#]"


def environment(
    installation: Installation,
    library: Path,
    variables: Mapping[str, str],
    given: Mapping[str, str],
    folder: Path,
) -> dict[str, str]:
    """Return what is added to the environment `given` so that ranks have `library` preloaded,
    before what else is preloaded there, and `variables`. `folder` is for files. Raises
    PlumblineError where that cannot be."""
    entering = _entering()
    family = entering.get(installation.library.family)
    if family is None:
        raise PlumblineError(
            f"nothing can be preloaded into ranks of {installation.library.id}; it works with "
            f"{', '.join(sorted(entering))}"
        )
    for text in (str(library), *variables.values()):
        whole_path(Path(text), _UNFIT, "mpirun")
    added = family.into_ranks(installation, library, variables, given, folder)
    return added | _by_srun(library, variables, given)


def whole(library: Path, variables: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """The same for a program whose ranks take its environment as it is."""
    return {PRELOAD: preloaded_before(library, given.get(PRELOAD, "")), **variables}


def _by_srun(
    library: Path, variables: Mapping[str, str], given: Mapping[str, str]
) -> dict[str, str]:
    """srun hands its ranks what this list names, `ALL` of the shell by default. Nothing is added
    for who wants none of it."""
    words = [word for word in given.get(SRUN_LIST, "").split(",") if word] or ["ALL"]
    if _NOTHING.intersection(words):
        return {}
    named = [word for word in words if word.startswith(f"{PRELOAD}=")]
    preloaded_before = named[-1].partition("=")[2] if named else given.get(PRELOAD, "")
    own_variables = whole(library, variables, {PRELOAD: preloaded_before})
    words = [word for word in words if word.partition("=")[0] not in own_variables]
    words += [f"{name}={value}" for name, value in own_variables.items()]
    return {SRUN_LIST: ",".join(words)}


def rank_lists() -> tuple[str, ...]:
    """Beginnings of the variables that list what mpirun sets for ranks."""
    return tuple(prefix for family in _entering().values() for prefix in family.rank_lists)


def for_ranks(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that mpirun sets for its ranks alone, by the lists (`;` between) in `environment`.
    What starts ranks without mpirun must do so too."""
    words = [
        word
        for holder, listed in environment.items()
        if holder.startswith(rank_lists())
        for word in listed.split(";")
    ]
    return dict(word.split("=", 1) for word in reversed(words) if "=" in word)


def _entering() -> dict[str, EntersRanks]:
    return {name: family for name, family in families().items() if isinstance(family, EntersRanks)}
