"""A against A under the real library: the same function under two names (`default` calls MPI_, and
`library` calls PMPI_, which is the same code here) must violate nothing."""

from __future__ import annotations

import statistics
from pathlib import Path

import msgspec
import pytest

from plumbline.core.guidelines import MESSAGE_PATTERNS, Pattern
from plumbline.core.plan import Data, measurable
from plumbline.measure import tables
from plumbline.measure.comparison import claim_of
from plumbline.measure.launches import LaunchStore, Series
from plumbline.settings import identity, starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline_db.connection import Database
from plumbline_db.records import Suite

pytestmark = [pytest.mark.mpi, pytest.mark.alone]


def test_a_function_does_not_violate_a_guideline_against_itself(tmp_path: Path) -> None:
    toolchain = find_toolchain()
    same = [
        Pattern(f"AA{number}", f"{function} ⪯ {function}", function, "library", [function])
        for number, function in enumerate(toolchain.guidelines.lhs_functions())
        if function not in MESSAGE_PATTERNS
    ]
    guidelines = msgspec.structs.replace(toolchain.guidelines, patterns=same)
    settings = load(None, {"nprocs": 4, "sizes": [16, 256, 1024, 16384]})
    with Database.open(tmp_path / "aa.db", write=True) as db:
        begun = identity.begin(db, toolchain, settings, new=False)
        store = LaunchStore(db, begun.id, starting.starter(toolchain, settings))
        plan = tables.plan(settings, tables.cases(guidelines, settings))
        Series(store, Suite("before"), plan, {}).advance(settings.sampling.launches)
        verdicts = tables.ViolationTable(
            store, "before", guidelines, settings, Suite("before")
        ).decide()
    found = [one for one in verdicts if one.kind == "pattern"]
    cells = [measurable(one.lhs, settings.sizes_of(one.lhs), 4, Data()) for one in same]
    assert len(found) == sum(map(len, cells)) > 3 * len(same)
    assert [one for one in found if one.verdict == "violated"] == []
    looks = claim_of(settings).design.launches  # a cell may be left out of one of them
    assert all(looks[0] <= one.launches <= looks[-1] for one in found)
    ratios = [one.ratio for one in found if one.ratio is not None]
    assert statistics.median(ratios) == pytest.approx(1.0, abs=0.05)
