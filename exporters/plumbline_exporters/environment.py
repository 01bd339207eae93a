"""What the files of a campaign set in an environment, whatever language says it: that of a shell or
of modulefiles."""

from __future__ import annotations

from plumbline_exporters import families, quoting
from plumbline_exporters.bundle import Bundle

# The preload library is not among the variables: how it enters ranks alone, plumbline.sh knows.
WRAPPER = "plumbline-run"


def variables(bundle: Bundle) -> dict[str, str]:
    """Those of the library, in order; none is for the preload library. Raises PlumblineError where
    winners cannot be had together, or no file can hold a name or a value."""
    found = families.of(bundle.library).variables(bundle)
    return {quoting.name(name): quoting.held(value) for name, value in found.items()}
