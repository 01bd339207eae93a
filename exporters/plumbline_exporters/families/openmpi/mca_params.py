"""Lines for an `openmpi-mca-params.conf`: what holds for every process that reads it."""

from __future__ import annotations

from plumbline_exporters import ompi_han, ompi_rules, ompi_tuned, quoting
from plumbline_exporters.bundle import Bundle, heading
from plumbline_exporters.knobs import global_knobs, is_profile, is_rule
from plumbline_exporters.registry import exporter

FILE_NAME = "mca-params.conf"


def parameters(bundle: Bundle) -> dict[str, str]:
    """MCA parameters that put the rules files and the global knobs in force."""
    ompi_tuned.version(bundle.library)
    values: dict[str, str] = {}
    if any(is_rule(winner) for winner in bundle.winners):
        values["coll_tuned_use_dynamic_rules"] = "1"
        values["coll_tuned_dynamic_rules_filename"] = str(
            bundle.directory / ompi_rules.file_name(bundle.library)
        )
    if any(ompi_han.is_past_han(winner) for winner in bundle.winners):
        values["coll_han_use_dynamic_file_rules"] = "1"
        values["coll_han_dynamic_rules_filename"] = str(bundle.directory / ompi_han.FILE_NAME)
    return values | global_knobs(bundle)


@exporter(
    "mca-params",
    "parameter file for Open MPI (name = value)",
    needs=("ompi-rules", "ompi-han-rules"),
    family="openmpi",
)
def files(bundle: Bundle) -> dict[str, str]:
    lines = heading(bundle, "MCA parameters for Open MPI, written by Plumbline.")
    lines.append("# In force in a file that OMPI_MCA_mca_base_param_files names, or in one of")
    lines.append("# $HOME/.openmpi/mca-params.conf and PREFIX/etc/openmpi-mca-params.conf.")
    if any(is_profile(winner) for winner in bundle.winners):
        lines.append("# Variants need the preload library, which this file cannot start: use env.")
    lines += [quoting.mca(name, value) for name, value in parameters(bundle).items()]
    return {FILE_NAME: "\n".join(lines) + "\n"}
