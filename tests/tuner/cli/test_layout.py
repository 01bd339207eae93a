"""Options that say where ranks go."""

from __future__ import annotations

from pathlib import Path

import pytest

from plumbline.system.placement import Placement
from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_db.layout import asked, layout
from tests.tuner.cli.command import plumbline
from tests.tuner.simulated import SimulatedStarter

SMALL = ("--nprocs", "4", "--sizes", "1024,16384", "--guidelines", "GL12", "--launches", "12")


@pytest.mark.usefixtures("starter")
def test_they_are_settings_of_the_campaign(tmp_path: Path) -> None:
    database = tmp_path / "plumbline.db"
    said = plumbline("verify", *SMALL, "--bind", "core", "--map-by", "numa", "--db", database)
    assert said.status in (0, 3), said.err
    shown = " ".join(said.out.split())
    assert "4 ranks (oversubscribed), 1 x 4, bound to a core each, in turn over each numa" in shown
    assert "measured with mpirun -np 4\n" in said.out
    found = plumbline("results", "--db", database, "--json").json
    assert found["layout"] == "1 x 4, bound to a core each, in turn over each numa"
    assert found["placed"] == ["measured with mpirun -np 4"]
    assert plumbline("verify", *SMALL, "--db", database).status in (0, 3)
    with Database.open(database) as db:
        bound, plain = campaigns.all_campaigns(db)
    assert {layout(bound), layout(plain)} == {found["layout"], "1 x 4"}
    assert {asked(bound).bind, asked(plain).bind} == {"core", ""}


def test_more_ranks_than_cores_are_bound_and_that_is_said(
    starter: SimulatedStarter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plumbline.system.machine.processing_units", lambda: 2)
    starter.placement = Placement(nodes=1, ppn=4, oversubscribed=True)
    own = "-np 4 --oversubscribe --bind-to core:overload-allowed"
    said = plumbline("verify", *SMALL, "--db", tmp_path / "one.db")
    assert (
        f"started with {own}, so that launches are alike: not as a plain mpirun -np 4" in said.err
    )
    assert f"measured with mpirun {own}\n" in said.out
    starter.placement = starter.placement.plain()
    said = plumbline("verify", *SMALL, "--bind", "plain", "--db", tmp_path / "two.db")
    assert "marked as such\n" in said.err and "bound as mpirun binds by itself" in said.out
    assert "measured with mpirun -np 4 --oversubscribe\n" in said.out
