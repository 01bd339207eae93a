"""Programs without collectives made by hand: no advice is given."""

from __future__ import annotations

import pytest

from plumbline.detect import words
from plumbline.detect.analysis import analysis
from plumbline.detect.words import patch_sketch
from tests.bench.detection import negatives, spmd


@pytest.mark.parametrize("program", negatives.ALL, ids=lambda program: program.__name__)
@pytest.mark.parametrize("nprocs", [4, 8])
def test_nothing_is_to_be_replaced(program: spmd.Main, nprocs: int) -> None:
    found = analysis(spmd.run(nprocs, program))
    assert not [each for each in found if each.category in ("collective", "use")]
    assert all(each.saving is None for each in found)
    assert not any("MPI_Bcast(" in patch_sketch(each) for each in found)
    assert "made by hand:" not in words.lines(found)
