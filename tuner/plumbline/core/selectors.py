"""The libraries whose decisions SimGrid's SMPI re-creates (smpi/coll-selector)."""

from __future__ import annotations

from typing import Literal, get_args

Selector = Literal["ompi", "mpich", "mvapich2", "impi"]
SELECTORS: tuple[str, ...] = get_args(Selector)
