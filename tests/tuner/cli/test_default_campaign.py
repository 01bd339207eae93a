"""Commands that name no campaign: a later check of a small thing takes no large one's place."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from plumbline.libraries import gate
from plumbline_db import campaigns, findings
from plumbline_db.connection import Database
from plumbline_db.layout import verifies_only
from plumbline_exporters.bundle import load_bundle
from plumbline_exporters.registry import write
from tests.db import build
from tests.tuner.cli.command import Result, plumbline
from tests.tuner.cli.conftest import SMALL
from tests.tuner.families.installations import script
from tests.tuner.simulated import SimulatedStarter

CHECK = ("--nprocs", "4", "--sizes", "1024,16384", "--guidelines", "GL12", "--launches", "12")


@pytest.fixture
def checked(starter: SimulatedStarter, tmp_path: Path) -> tuple[Path, str]:
    """The database of a finished campaign and a later `plumbline verify`; the campaign's id."""
    del starter
    database = tmp_path / "plumbline.db"
    with Database.open(database, write=True) as db:
        large = build.done(db)
        folder = tmp_path / "exports" / large.id
        preload = Path("/opt/plumbline/libplumbline.so")
        bundle = load_bundle(
            db,
            large.id,
            folder,
            gate.of_library,
            created=large.finished,
            preload_library=preload,
        )
        for file in write(bundle, ["env"]):
            campaigns.put_export(db, large.id, file)
    assert plumbline("verify", *CHECK, "--db", database).status in (0, 3)
    with Database.open(database) as db:
        assert campaigns.get(db, None).id != large.id
    return database, large.id


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> None:
    def execve(*_: object) -> None:
        raise SystemExit(0)

    monkeypatch.setattr(os, "execve", execve)


def count(database: Path, id: str) -> int:
    with Database.open(database) as db:
        return len(findings.get_winners(db, id))


def test_verify_leaves_nothing_that_others_take_for_winners(checked: tuple[Path, str]) -> None:
    database, large = checked
    with Database.open(database) as db:
        check = campaigns.get(db, None)
        assert check.state == "finished" and verifies_only(check.settings)
        assert campaigns.exports(db, check.id) == [] != campaigns.exports(db, large)
        assert findings.get_verdicts(db, check.id, "before")
    assert not (database.parent / "exports" / check.id).exists()


def test_run_takes_the_campaign_that_has_winners(checked: tuple[Path, str], became: None) -> None:
    database, large = checked
    said = plumbline("run", "--no-proof", "--db", database, "--", "true")
    assert said.status == 0, said.err
    assert f"{count(database, large)} winners of {large} in force" in said.err
    assert f"campaign {large}, finished 20" in said.err
    assert "the one started last, " in said.err and " has no winners" in said.err


@pytest.mark.parametrize(
    ("ranks", "said"),
    [
        ("3", "0 of 2 winners of c-20250301-a apply to 3 ranks: they are for communicators of 4 r"),
        ("4", "plumbline: 2 winners of c-20250301-a in force\n"),
    ],
)
def test_run_says_where_winners_are_for_other_numbers_of_ranks(
    checked: tuple[Path, str], became: None, tmp_path: Path, ranks: str, said: str
) -> None:
    for name in ("mpirun", "mine"):
        script(tmp_path / name, "exit 0")
    words = ("run", "--no-proof", "--db", checked[0], "--")
    assert said in plumbline(*words, tmp_path / "mpirun", "-np", ranks, tmp_path / "mine").err
    unknown = plumbline(*words, tmp_path / "mine").err
    assert "2 winners of c-20250301-a in force, for communicators of 4 ranks" in unknown


def test_export_does(checked: tuple[Path, str], tmp_path: Path) -> None:
    database, large = checked
    out = tmp_path / "out"
    said = plumbline("export", "json", "--output", out, "--db", database)
    assert said.status == 0, said.err
    written = msgspec.json.decode((out / "plumbline.json").read_bytes())
    assert written["campaign"]["id"] == large
    assert len(written["winners"]) == count(database, large) > 0
    assert large in said.err


def test_apply_does(
    finished: tuple[Path, Result], starter: SimulatedStarter, home: Path, tmp_path: Path
) -> None:
    """After a check of one guideline at two sizes the campaign's winners are applied, all of
    them."""
    del starter
    database = Path(shutil.copy(finished[0], tmp_path / "plumbline.db"))
    with Database.open(database) as db:
        large = campaigns.get(db, None).id
    before = plumbline("apply", "--user", "--dry-run", "--json", "--db", database).json
    assert plumbline("verify", *CHECK, "--db", database).status in (0, 3)
    with Database.open(database) as db:
        assert campaigns.get(db, None).id != large
    said = plumbline("apply", "--no-proof", "--user", "--db", database)
    assert said.status == 0, said.err
    assert f"applied: {large}" in said.err
    assert (home / ".openmpi" / "mca-params.conf").is_file()
    after = plumbline("apply", "--user", "--dry-run", "--json", "--db", database).json
    assert after["campaigns"] == before["campaigns"] == [large]


def test_results_show_the_last_one_and_say_whose_winners_are_used(
    checked: tuple[Path, str],
) -> None:
    database, large = checked
    said = plumbline("results", "--db", database, "--json")
    assert said.json["campaign"] != large
    assert f"are those of {large}, finished 20" in said.err
    assert f"`plumbline results --campaign {large}` shows it" in said.err
    named = plumbline("results", "--db", database, "--json", "--campaign", large)
    assert named.json["campaign"] == large and named.err == ""


def test_one_that_is_under_way_does_not_count(checked: tuple[Path, str], became: None) -> None:
    database, large = checked
    with Database.open(database, write=True) as db:
        under_way = build.later(db, "c-9", 9, state="running", finished="")
        findings.put_winners(db, under_way.id, [build.winner()])
    said = plumbline("run", "--no-proof", "--db", database, "--", "true")
    assert f"winners of {large} in force" in said.err
    assert "the one started last, c-9, is not finished" in said.err


def test_among_several_with_winners_the_one_finished_last(
    checked: tuple[Path, str], tmp_path: Path
) -> None:
    database, large = checked
    with Database.open(database, write=True) as db:
        build.later(db, "c-9", 1, finished="2025-02-01T10:01:00Z")
        findings.put_winners(db, "c-9", [build.winner()])
    said = plumbline("export", "json", "--output", tmp_path / "out", "--db", database)
    assert f"campaign {large}, finished" in said.err
    assert (
        "others with winners (--campaign ID): c-9, finished 2025-02-01T10:01:00Z (1 wi" in said.err
    )
    with Database.open(database, write=True) as db:
        newest = msgspec.structs.replace(campaigns.get(db, "c-9"), finished="2100-01-01T00:00:00Z")
        campaigns.put(db, newest)
    said = plumbline("export", "json", "--output", tmp_path / "out", "--db", database)
    assert "campaign c-9, finished 2100" in said.err and f": {large}, finished" in said.err


def test_no_winners_anywhere(starter: SimulatedStarter, tmp_path: Path, became: None) -> None:
    database = tmp_path / "plumbline.db"
    plumbline("verify", *CHECK, "--db", database)
    said = plumbline("run", "--no-proof", "--db", database, "--", "true")
    assert said.status == 1
    assert "has no winners, and no other one here has" in said.err
    assert "`plumbline campaign` searches" in said.err
    said = plumbline("apply", "--no-proof", "--user", "--db", database)
    assert said.status == 1 and "found nothing better than the default" in said.err
    said = plumbline("export", "json", "--output", tmp_path / "out", "--db", database)
    assert said.status == 0 and "has no winners to put in force" in said.err


def test_two_databases_in_one_folder_export_beside_each_other(
    starter: SimulatedStarter, tmp_path: Path
) -> None:
    """Campaigns of the same settings have the same id in both."""
    found = {}
    for name in ("plumbline.db", "other.db"):
        said = plumbline("campaign", *SMALL, "--db", tmp_path / name, "--json")
        assert said.status == 0, said.err
        found[name] = {Path(one["path"]).parent for one in said.json["exports"]}
        id = said.json["campaign"]
    assert found["plumbline.db"] == {tmp_path / "exports" / id}
    assert found["other.db"] == {tmp_path / "other-exports" / id}
