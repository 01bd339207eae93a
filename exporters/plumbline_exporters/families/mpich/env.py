"""A POSIX shell file to source before MPICH's mpirun: where its tables of algorithms are, and what
holds for a whole process."""

from __future__ import annotations

from plumbline_db.errors import PlumblineError
from plumbline_exporters import env, hydra, installed, mpich_coll, mpich_selection, quoting
from plumbline_exporters.bundle import Bundle, heading
from plumbline_exporters.knobs import is_profile
from plumbline_exporters.registry import exporter


@exporter(
    "mpich-env",
    "shell file to source before MPICH's mpirun",
    needs=("mpich-json", "profile"),
    family="mpich",
)
def files(bundle: Bundle) -> dict[str, str]:
    lines = heading(bundle, "Environment for MPICH, written by Plumbline.")
    lines.append(env.use(bundle))
    lines.append("# The files named here must be on all nodes.")
    text = "\n".join(lines) + "\n" + installed.check_sh(bundle)
    text += quoting.exports(variables(bundle))
    if not any(is_profile(winner) for winner in bundle.winners):
        return {env.FILE_NAME: text}
    return hydra.files(bundle) | {env.FILE_NAME: text + hydra.script(bundle)}


def variables(bundle: Bundle) -> dict[str, str]:
    """Variables that put the tables in force, and what holds for a whole process."""
    values: dict[str, str] = {}
    if any(mpich_coll.algorithm(winner) is not None for winner in bundle.winners):
        values[mpich_selection.VARIABLE] = str(bundle.directory / mpich_selection.FILE_NAME)
        compositions = bundle.directory / mpich_selection.COMPOSITIONS_FILE_NAME
        values[mpich_selection.COMPOSITIONS_VARIABLE] = str(compositions)
    for winner in bundle.winners:
        for name, value in sorted(mpich_coll.left_over(winner).items()):
            if values.setdefault(name, value) != value:
                raise PlumblineError(
                    f"{winner.function}, {winner.nprocs} ranks: wants {name}={value}, another "
                    f"winner wants {values[name]}; a process has one value: drop one of them"
                )
    return values
