"""Variables that a campaign file fixes: in force in every launch, part of what the campaign is, and
never what a search or an exported file sets."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.campaign import loop
from plumbline.launch.starter import Starter
from plumbline.measure.launches import LaunchStore
from plumbline.settings import identity, starting
from plumbline.settings.toolchain import Toolchain
from plumbline_db import campaigns
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_exporters.bundle import heading
from tests.exporters.bundles import bundle
from tests.tuner import fake_mpi, planted
from tests.tuner.simulated import SimulatedStarter, toolchain

YIELD = {"OMPI_MCA_mpi_yield_when_idle": "1"}


@pytest.mark.parametrize("name", ["PLUMBLINE_PROFILE", "OMPI_MCA_coll_tuned_bcast_algorithm"])
def test_what_a_search_sets_cannot_be_fixed(name: str) -> None:
    with pytest.raises(UsageError, match=f"environment: {name}: a campaign searches"):
        starting.starter(toolchain(), planted.settings(environment=YIELD | {name: "1"}))
    assert starting.starter(toolchain(), planted.settings(environment=YIELD))


def fixed(folder: Path, script: str) -> Starter:
    one = fake_mpi.starter(folder, script)
    one._fixed = YIELD | {"MINE": "1"}
    return one


def test_every_launch_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINE", "0")
    ranks = fixed(tmp_path, "env >&2")
    run, _ = ranks.start("c", "s", 0, "plan", {"B": "2"})
    seen = dict(line.split("=", 1) for line in run.stderr.splitlines() if "=" in line)
    assert (seen["MINE"], seen["B"]) == ("1", "2")
    assert seen.items() >= YIELD.items()
    assert run.environment == YIELD | {"MINE": "1", "B": "2"}
    assert ranks.clean_environment().items() >= YIELD.items()


def test_they_count_once(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the shell has under the same name is not in force, and does not count."""
    fixed = {"OMPI_MCA_opal_abort_delay": "1"}
    plain = identity.begin(db, toolchain(), planted.settings(), new=False)
    first = identity.begin(db, toolchain(), planted.settings(environment=fixed), new=False)
    monkeypatch.setenv("OMPI_MCA_opal_abort_delay", "0")
    again = identity.begin(db, toolchain(), planted.settings(environment=fixed), new=False)
    assert first.id == again.id != plain.id
    assert identity.begin(db, toolchain(), planted.settings(), new=False).id not in (
        plain.id,
        first.id,
    )
    assert len(campaigns.all_campaigns(db)) == 3


def test_what_a_module_sets_counts_too(db: Database) -> None:
    def with_module(**variables: str) -> Toolchain:
        here = toolchain()
        found = msgspec.structs.replace(here.installation, environment=variables)
        return msgspec.structs.replace(here, installation=found)

    plain = identity.begin(db, toolchain(), planted.settings(), new=False)
    searched = with_module(OMPI_MCA_coll_tuned_bcast_algorithm="1")  # in force in no launch
    assert identity.begin(db, searched, planted.settings(), new=False) == plain
    ids = {
        identity.begin(db, with_module(UCX_TLS=one), planted.settings(), new=False).id
        for one in ("tcp", "sm")
    }
    assert len(ids | {plain.id}) == 3


def test_what_is_left_out_is_said(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_coll_tuned_bcast_algorithm", "1")
    monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "0")
    settings = planted.settings(environment=YIELD, rounds=0, guidelines=["GL12"], sizes=[64, 1024])
    started = identity.begin(db, toolchain(), settings, new=False)
    for _ in range(2):  # once, also when it is replayed
        store = LaunchStore(db, started.id, SimulatedStarter(planted.costs()))
        loop.CampaignLoop(store, toolchain(), started, settings, tmp_path / "out").run()
    said = [one.text for one in campaigns.events(db, started.id) if one.kind == "left out"]
    assert said == ["OMPI_MCA_coll_tuned_bcast_algorithm is set here, and in force in no launch"]


def test_exported_files_say_what_was_asked_for(db: Database) -> None:
    asked = planted.settings(environment=YIELD, bind="core", map_by="numa")
    made = identity.begin(db, toolchain(), asked, new=False)
    text = "\n".join(heading(msgspec.structs.replace(bundle(), campaign=made), "A file."))
    assert "nodes x ranks a node: 1 x 4, bound to a core each, in turn over each numa" in text
    assert "# measured under OMPI_MCA_mpi_yield_when_idle=1" in text
    made = identity.begin(db, toolchain(), planted.settings(bind="none"), new=False)
    text = "\n".join(heading(msgspec.structs.replace(bundle(), campaign=made), "A file."))
    assert "1 x 4, not bound" in text and "measured under" not in text
