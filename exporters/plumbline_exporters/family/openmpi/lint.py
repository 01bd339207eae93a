"""Files and parameters of Open MPI, as anybody wrote them: one module a format."""

from __future__ import annotations

from plumbline_exporters.family.openmpi import lint_han_rules as han_rules
from plumbline_exporters.family.openmpi import lint_mca_file as mca_file
from plumbline_exporters.family.openmpi import lint_parameters as parameters
from plumbline_exporters.family.openmpi import lint_rules as rules
from plumbline_exporters.family.openmpi import lint_rules_json as rules_json

# In the order in which they are asked whether a file is theirs.
FORMATS = {
    "ompi-json": rules_json,
    "ompi-han-rules": han_rules,
    "ompi-rules": rules,
    "mca-params": mca_file,
}
FILES, FINDINGS = parameters.FILES, parameters.of_variables
