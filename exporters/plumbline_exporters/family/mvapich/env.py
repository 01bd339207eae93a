"""A POSIX shell file for MVAPICH 3 and 4: the same as for MVAPICH2, with MPICH's variables."""

from __future__ import annotations

from plumbline_exporters.bundle import Bundle
from plumbline_exporters.family.mvapich2.env import sourced
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
    return sourced(bundle, "MVAPICH", remark)
