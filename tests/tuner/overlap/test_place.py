"""Where the ranks of an overlap suite are."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.overlap import benches
from plumbline_db.errors import UsageError


def test_this_machine_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ranks bound where each has a processing unit."""
    monkeypatch.setattr(benches, "processing_units", lambda: 2)
    found = benches.settings(None, {"nprocs": None, "nodes": None})
    assert (found.ranks.nprocs, found.ranks.node_count, found.sampling.launch_timeout_seconds) == (
        2,
        1,
        120.0,
    )
    assert found.ranks.placement(2).bind == "core" and benches.facts(found) != []
    more = benches.settings(None, {"nprocs": 4096, "nodes": None})
    assert more.ranks.placement(2).bind == "" and benches.facts(more) == []


def test_what_a_campaign_file_says_of_places_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(
        'nprocs = 4\nsizes = [1, 2]\nlaunch_timeout_seconds = 9.0\nbind = "core"\n'
        '[hosts]\nnames = ["one", "two"]\n[environment]\nOMPI_MCA_btl = "self,tcp"\n'
    )
    found = benches.settings(file, {"nprocs": None, "bind": None})
    assert (found.ranks.nprocs, found.ranks.node_count, found.sampling.launch_timeout_seconds) == (
        4,
        2,
        9.0,
    )
    assert found.ranks.placement(None).bind == "core" and found.fixed.environment == {
        "OMPI_MCA_btl": "self,tcp"
    }
    (facts,) = benches.facts(found)
    for word in ("one", "two", "core", "self,tcp"):
        assert word in facts
    other = benches.settings(file, {"nprocs": 2, "bind": "none"})
    assert other.ranks.nprocs == 2 and benches.facts(other) != [facts]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[simulate]\nlibrary = "ompi"\n', "takes no time"),
        ('libraries = ["a", "b"]\n', "--mpi"),
        ('layouts = ["1x2"]\n', "--nprocs"),
        ("nprocs = 1\n", "nprocs must be at least 2"),
        ("nodes = 2\n", "several nodes need a table"),
    ],
)
def test_places_where_nothing_can_overlap(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        benches.settings(file, {})
