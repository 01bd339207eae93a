"""Settings make a campaign what it is: which guidelines, the same one again, another folder."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.campaign import loop
from plumbline.core.guidelines import Guidelines
from plumbline.core.guidelines import load as load_guidelines
from plumbline.measure.launches import LaunchStore
from plumbline.settings import identity
from plumbline.settings.campaign_file import load
from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from tests.tuner import planted
from tests.tuner.campaign.test_campaign import FEW, run
from tests.tuner.simulated import SimulatedStarter, toolchain


def test_an_unknown_guideline_is_refused_before_anything_is_stored(db: Database) -> None:
    with pytest.raises(UsageError, match=r"no guideline is called GL99; nearest: GL9$"):
        identity.begin(db, toolchain(), planted.settings(guidelines=["GL12", "GL99"]), new=False)
    with pytest.raises(UsageError, match="at least one pattern guideline"):
        identity.begin(db, toolchain(), planted.settings(guidelines=["GL1"]), new=False)
    with pytest.raises(UsageError, match="op must be one of MPI_BOR, MPI_SUM"):
        identity.begin(db, toolchain(), planted.settings(op="MPI_SUMM"), new=False)
    with pytest.raises(UsageError, match=r"sync = windwo: .* no such start scheme; it has barrier"):
        identity.begin(db, toolchain(), planted.settings(sync="windwo"), new=False)
    assert campaigns.all_campaigns(db) == []


def test_the_same_settings_are_the_same_campaign(db: Database) -> None:
    first = identity.begin(db, toolchain(), planted.settings(), new=False)
    assert identity.begin(db, toolchain(), planted.settings(), new=False) == first
    other = identity.begin(db, toolchain(), planted.settings(seed=2), new=False)
    assert other.id != first.id
    afresh = identity.begin(db, toolchain(), planted.settings(), new=True)
    assert afresh.id not in (first.id, other.id)
    assert first.nprocs == 4
    assert first.state == "running"


def test_another_output_folder_forgets_the_first(tmp_path: Path, db: Database) -> None:
    """The database lists what was confirmed last, wherever an interrupted start wrote."""
    whole = run(db, tmp_path / "one", SimulatedStarter(planted.costs()), FEW)
    store = LaunchStore(db, whole.campaign.id, SimulatedStarter(planted.costs(), stop_after=0))
    started = msgspec.structs.replace(whole.campaign, state="running", finished="")
    loop.CampaignLoop(store, toolchain(), started, FEW, tmp_path / "two").run()
    assert {Path(one.path).parent for one in campaigns.exports(db, whole.campaign.id)} == {
        tmp_path / "two"
    }
    assert list((tmp_path / "one").iterdir())


def test_which_guidelines_are_verified() -> None:
    """A campaign verifies those of the file that are not marked, all of them, or those named."""
    every = load_guidelines()
    there = msgspec.structs.replace(toolchain(), guidelines=every)

    def chosen(*ids: str) -> Guidelines:
        return identity.chosen(there, load(None, {"nprocs": 4, "guidelines": list(ids)}))

    assert chosen("all") == every and every.rank is not None
    assert chosen() == every.selected(())
    assert len(chosen().patterns) < len(every.patterns) and chosen().rank is None
    found = chosen("GL3", every.rank.id)
    assert [one.id for one in found.patterns] == ["GL3"] and found.rank == every.rank
    own = msgspec.structs.replace(every.patterns[0], id="own_one")
    there = msgspec.structs.replace(
        there, guidelines=msgspec.structs.replace(every, patterns=[own, *every.patterns[1:]])
    )
    assert [one.id for one in chosen("Own_one").patterns] == ["own_one"]
    with pytest.raises(UsageError, match=r"called WHAT; there are .*PL1"):
        chosen("what")
