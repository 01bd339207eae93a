"""Variables that preload into ranks: variables that exported files and recordings set for them."""

from __future__ import annotations

import re
from pathlib import Path

SRUN_LIST = "SLURM_EXPORT_ENV"  # what srun hands to its ranks
VARIABLES = (
    *("LD_PRELOAD", "PLUMBLINE_CALLS", "PLUMBLINE_PROFILE", "PLUMBLINE_REPORT"),
    *(SRUN_LIST, "PLUMBLINE_EXPORT_ENV"),
)


def before(library: Path, preloaded_before: str) -> str:
    """A value of LD_PRELOAD: `library`, then what else is preloaded."""
    others = [
        word for word in re.split(r"[:\s]+", preloaded_before) if word and word != str(library)
    ]
    return ":".join([str(library), *others])
