"""What the files of a campaign set in an environment, whatever language says it: that of a shell or
of modulefiles."""

from __future__ import annotations

from collections.abc import Callable

from plumbline_exporters import (
    impi_env,
    mca_params,
    mpich_env,
    mvapich_env,
    quoting,
    simgrid_env,
)
from plumbline_exporters.bundle import Bundle

# Formats whose files are named in the variables.
NEEDS = ("ompi-rules", "ompi-han-rules", "mpich-json", "profile")
# The preload library is not among the variables: how it enters ranks alone, plumbline.sh knows.
WRAPPER = "plumbline-run"

_OF_FAMILY: dict[str, Callable[[Bundle], dict[str, str]]] = {
    "openmpi": lambda bundle: {
        f"OMPI_MCA_{name}": value for name, value in mca_params.parameters(bundle).items()
    },
    "intelmpi": impi_env.variables,
    "mpich": mpich_env.variables,
    "mvapich": mvapich_env.variables,
    "mvapich2": mvapich_env.variables,
    "simgrid": simgrid_env.variables,
}


def variables(bundle: Bundle) -> dict[str, str]:
    """Those of the library, in order; none is for the preload library. Raises PlumblineError where
    winners cannot be had together, or no file can hold a name or a value."""
    found = _OF_FAMILY[bundle.library.family](bundle)
    return {quoting.name(name): quoting.held(value) for name, value in found.items()}
