"""Variables that the files of a campaign set in an environment, whatever language says it: that of
a shell or of modulefiles."""

from __future__ import annotations

from plumbline_exporters import bundle as bundles
from plumbline_exporters import families, quoting
from plumbline_exporters.bundle import Bundle

# The preload library is not among the variables: only plumbline.sh can bring it into ranks.
WRAPPER = "plumbline-run"


def variables(bundle: Bundle) -> dict[str, str]:
    """Return the library's variables, in order; none is for the preload library. Raises
    PlumblineError where winners cannot be had together, or no file can hold a name or a value."""
    family_variables = families.of(bundle.library).variables(bundle)
    return {quoting.name(name): quoting.held(value) for name, value in family_variables.items()}


def heading(bundle: Bundle, use: str) -> list[str]:
    """Return the heading of a file for a shell that has not the preload library."""
    lines = bundles.heading(bundle, f"Environment for {bundle.library.id}, written by Plumbline.")
    lines.append(quoting.comment(f"Use: {use}"))
    if bundle.variants:
        wrapper = bundle.directory / WRAPPER
        lines.append(quoting.comment(f"Variants are in force for what is started by {wrapper}"))
    return lines
