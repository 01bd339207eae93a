"""Knowledge from before a race, and what the race adds to it for later ones."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.search.space.candidates import Candidate
from plumbline_db.records import Trial, Winner

from . import neighbours
from .company import Company
from .evidence import Evidence


class Past(msgspec.Struct):
    """Times (`evidence`), candidates that `failed` to give a result, and what `company` was found
    to touch whom. `in_force`: the winners that the race has in force, and `before`: the times
    without them; `earlier` returns what earlier campaigns have chosen for a cell."""

    evidence: Evidence
    failed: dict[tuple[Target, Candidate], Trial] = {}
    company: Company | None = None
    in_force: Sequence[Winner] = ()
    before: Evidence | None = None
    earlier: neighbours.Earlier = neighbours.nothing
