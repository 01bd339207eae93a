"""Files and parameters of Open MPI, as anybody wrote them: one module a format."""

from __future__ import annotations

from plumbline_exporters.families.openmpi.lint import (
    han_rules,
    mca_file,
    parameters,
    rules,
    rules_json,
)

# In the order in which they are asked whether a file is theirs.
FORMATS = {
    "ompi-json": rules_json,
    "ompi-han-rules": han_rules,
    "ompi-rules": rules,
    "mca-params": mca_file,
}
FILES, FINDINGS = parameters.FILES, parameters.of_variables
