"""docs/variants.md has the catalogue as the probe has it."""

from __future__ import annotations

import pytest

from tests.tuner.simulated import ROOT
from tests.tuner.test_end_to_end import plumbline


@pytest.mark.mpi
def test_the_page_has_the_catalogue() -> None:
    said = plumbline("variants", "--markdown")
    assert said.returncode == 0, said.stderr
    page = (ROOT / "docs" / "variants.md").read_text(encoding="utf-8")
    assert said.stdout.strip() in page, "write it again: plumbline variants --markdown"
