"""A POSIX shell file to source before MPICH's mpirun: where its tables of algorithms are, and what
holds for a whole process."""

from __future__ import annotations

from plumbline_exporters import plumbline_sh
from plumbline_exporters.bundle import Bundle, put
from plumbline_exporters.family import hydra
from plumbline_exporters.family.mpich import coll, selection
from plumbline_exporters.registry import exporter


@exporter(
    "mpich-env",
    "shell file to source before MPICH's mpirun",
    needs=("mpich-json", "profile"),
    family="mpich",
)
def files(bundle: Bundle) -> dict[str, str]:
    remark = "# The files named here must be on all nodes."
    return hydra.files(bundle, plumbline_sh.text(bundle, "MPICH", [remark], variables(bundle)))


def variables(bundle: Bundle) -> dict[str, str]:
    """Variables that put the tables in force, and what holds for a whole process."""
    files = selection.variables(bundle)
    values = {name: str(bundle.directory / file) for name, file in files.items()}
    for winner in bundle.winners:
        for name, value in sorted(coll.left_over(winner).items()):
            put(values, winner, name, value)
    return values
