"""MVAPICH 3 and 4, which are made from MPICH. Their shell file is the same as for MVAPICH2, with
MPICH's variables."""

from __future__ import annotations

from plumbline_exporters.bundle import Bundle
from plumbline_exporters.families import Family, Linting
from plumbline_exporters.family import hydra, mvapich2
from plumbline_exporters.family.mpich import lint_tables
from plumbline_exporters.family.mvapich2 import question
from plumbline_exporters.registry import exporter

SCRIPT = "mvapich-env"


@exporter(
    SCRIPT,
    "shell file to source before mpiexec",
    needs=("profile",),
    family="mvapich",
)
def files(bundle: Bundle) -> dict[str, str]:
    remark = "MPIR_CVAR_ENABLE_DYNAMIC_TUNING is left as it is: what is set here is not tuned."
    return mvapich2.sourced(bundle, "MVAPICH", remark)


FAMILY = Family(
    prefixes=("MVP_",),
    script=SCRIPT,
    variables=mvapich2.variables,
    question=question,
    lint=Linting(
        versions=((4, 0, 0),),
        variables=lint_tables.PATTERN,
        findings=lint_tables.variable_findings,
        refusal=("fails", "ends every program in MPI_Init"),
        own_decision=("auto",),
        aliases=lint_tables.ALIASES,
        options=hydra.OPTIONS,
        instead_of="mpich",
    ),
)
