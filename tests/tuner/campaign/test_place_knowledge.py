"""The knowledge of databases about one place: whose winners are used, and what is still unknown."""

from __future__ import annotations

import datetime
from pathlib import Path

import msgspec
import pytest

from plumbline.campaign import place_knowledge
from plumbline.campaign.place_knowledge import Knowledge, KnownPlace, SlowRule
from plumbline.settings import Settings
from plumbline_db import campaigns, findings, spool, transfer
from plumbline_db.connection import Database
from tests.tuner import planted
from tests.tuner.applications import application, calls
from tests.tuner.campaign.test_campaign import run
from tests.tuner.simulated import SimulatedStarter, toolchain

NOW = datetime.datetime.now(datetime.UTC)
PLACE = KnownPlace(toolchain(), planted.settings())


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("knowledge")
    path = folder / "plumbline.db"
    with Database.open(path, write=True) as db:
        run(db, folder / "exports", SimulatedStarter(planted.costs()), settings())
    return path


def settings(**changes: object) -> Settings:
    few = {"guidelines": ["GL12", "GL16"], "sizes": [1024, 16384], "all": True}
    return planted.settings(**(few | changes))


def read(*databases: Path, place: KnownPlace = PLACE, now: datetime.datetime = NOW) -> Knowledge:
    return place_knowledge.read(databases, place, now)


def test_only_what_is_worth_it_and_unknown_is_lacking(finished: Path) -> None:
    profile = application(
        calls("MPI_Allreduce", 1024, 1e6, 1e-5),  # measured
        calls("MPI_Allreduce", 1500, 1e6, 1e-5),  # next to a measured size
        calls("MPI_Allreduce", 8, 1e6, 1e-5),
        calls("MPI_Bcast", 1024, 1e6, 1e-5),  # another function
        calls("MPI_Bcast", 8, 10, 1e-5),  # no share in the time
        calls("MPI_Reduce", 1, 1e6, 1e-5),  # less than an element
        calls("MPI_Unknown", 64, 1e6, 1e-5),
        calls("MPI_Bcast", 64, 1e6, 1e-5, nprocs=2),  # another communicator
    )
    lacking = read(finished).lacking(profile)
    assert [(each.function, each.bytes) for each in lacking] == [
        ("MPI_Allreduce", 8),
        ("MPI_Bcast", 1024),
    ]
    nothing = read().lacking(profile)
    assert len(nothing) == 4
    later = NOW + place_knowledge.STALE + datetime.timedelta(days=1)
    assert read(finished, now=later).lacking(profile) == nothing


def test_what_was_not_searched_is_lacking(finished: Path, tmp_path: Path) -> None:
    profile = application(
        calls("MPI_Allreduce", 1024, 1e6, 1e-5), calls("MPI_Allreduce", 16384, 1e6, 1e-5)
    )
    assert read(finished).lacking(profile) == []
    violated = tmp_path / "violated.db"  # only these cells are searched
    with Database.open(violated, write=True) as db:
        run(db, tmp_path / "exports", SimulatedStarter(planted.costs()), settings(all=False))
    lacking = read(violated).lacking(profile)
    assert [each.bytes for each in lacking] == [1024]


def test_another_place_is_not_known_but_another_node_is(finished: Path) -> None:
    tool = toolchain()
    library = msgspec.structs.replace(tool.installation.library, fingerprint="another")
    installation = msgspec.structs.replace(tool.installation, library=library)
    machine = msgspec.structs.replace(tool.machine, cpu_model="another")
    same_kind = msgspec.structs.replace(tool.machine, id="another", host="next")
    next_node = KnownPlace(msgspec.structs.replace(tool, machine=same_kind), PLACE.settings)
    assert len(read(finished, place=next_node).sources) == 1
    for place in (
        KnownPlace(msgspec.structs.replace(tool, installation=installation), PLACE.settings),
        KnownPlace(msgspec.structs.replace(tool, machine=machine), PLACE.settings),
        KnownPlace(tool, planted.settings(nprocs=8)),
        KnownPlace(tool, PLACE.settings.but(nodes=2)),
        KnownPlace(tool, planted.settings(bind="core")),
        KnownPlace(tool, PLACE.settings, site_rules="1 # rules of the site"),
    ):
        assert read(finished, place=place).sources == []


def test_files_of_winners_of_two_campaigns(finished: Path, tmp_path: Path) -> None:
    """The newer campaign measured Allreduce at one size. The older one still decides the other."""
    newer = tmp_path / "newer.db"
    with Database.open(newer, write=True) as db:
        one_size = settings(guidelines=["GL12"], sizes=[16384])
        done = run(db, tmp_path / "exports", SimulatedStarter(planted.costs()), one_size)
        assert {winner.function for winner in done.winners()} == {"MPI_Allreduce"}
    known = read(finished, newer)
    assert len(known.sources) == 2
    files = place_knowledge.active_files([known], tmp_path / "files")
    assert files is not None and files.script.is_file() and files.campaign.id == done.campaign.id
    ranges = [(each.function, each.bytes_from, each.bytes_to) for each in files.winners]
    assert ranges == [
        ("MPI_Allreduce", 16384, 16384),
        ("MPI_Scan", 1024, 16384),
        ("MPI_Allreduce", 1024, 16383),
    ]
    for winner in files.winners:
        sizes = files.settings.sizes_of(winner.function)
        assert any(winner.bytes_from <= size <= winner.bytes_to for size in sizes)
    again = place_knowledge.active_files([known], tmp_path / "files")
    assert again is not None and again.script == files.script
    assert place_knowledge.active_files([read()], tmp_path / "files") is None


def test_an_older_winner_keeps_the_sizes_that_no_newer_campaign_decided(
    finished: Path, tmp_path: Path
) -> None:
    """The newer campaign found nothing better than the library at one size in the middle."""
    known = read(finished)
    (older,) = known.sources
    (winner,) = [each for each in older.winners if each.function == "MPI_Scan"]
    wide = msgspec.structs.replace(winner, bytes_from=64, bytes_to=65536)
    others = [each for each in older.winners if each != winner]
    older = msgspec.structs.replace(older, winners=[wide, *others])
    newer = msgspec.structs.replace(older, winners=[], sizes={"MPI_Scan": [4096]})
    both = msgspec.structs.replace(known, sources=[newer, older])
    files = place_knowledge.active_files([both], tmp_path / "files")
    assert files is not None
    parts = [each for each in files.winners if each.function == "MPI_Scan"]
    assert [(each.bytes_from, each.bytes_to) for each in parts] == [(64, 4095), (4097, 65536)]


def test_a_rule_that_was_slower_is_left_out_until_a_newer_campaign(
    finished: Path, tmp_path: Path
) -> None:
    known = read(finished)
    before, later = "2020-01-01T00:00:00+00:00", (NOW + datetime.timedelta(days=1)).isoformat()
    for time, functions in ((before, {"MPI_Allreduce", "MPI_Scan"}), (later, {"MPI_Allreduce"})):
        slower = [SlowRule("MPI_Scan", 0, 1 << 30, time)]
        files = place_knowledge.active_files([known], tmp_path / "files", slower)
        assert files is not None and {each.function for each in files.winners} == functions


def test_a_site_learns_what_a_job_switched_off(finished: Path, tmp_path: Path) -> None:
    """The job's own database sends it to that of the site, through a spool and twice."""
    own, site, folder = tmp_path / "own.db", tmp_path / "site.db", tmp_path / "spool"
    folder.mkdir()
    slower = SlowRule("MPI_Scan", 0, 1 << 30, (NOW + datetime.timedelta(days=1)).isoformat())
    row = place_knowledge.store_slower(own, PLACE, "program-1x4", [slower])
    spool.put(own, folder, row, NOW.isoformat())
    for number in range(2):
        (moved,) = spool.take(site, folder).moved
        assert moved.run.endswith(row) and moved.new == (number == 0)
    known = read(finished, site)
    files = place_knowledge.active_files([known], tmp_path / "files")
    assert files is not None and {each.function for each in files.winners} == {"MPI_Allreduce"}
    other_place = KnownPlace(toolchain(), planted.settings(nprocs=8))
    assert read(site, place=other_place).slower == []
    measured_again = [msgspec.structs.replace(slower, time="2020-01-01T00:00:00+00:00")]
    place_knowledge.store_slower(tmp_path / "old.db", PLACE, "program-1x4", measured_again)
    files = place_knowledge.active_files([read(finished, tmp_path / "old.db")], tmp_path / "files")
    assert files is not None and {each.function for each in files.winners} >= {"MPI_Scan"}
    with Database.open(site) as db:
        assert campaigns.all_campaigns(db) == []
        (job,) = campaigns.of_jobs(db)
    with Database.open(site, write=True) as db:
        campaigns.settle(db, job.id, '{"command": "run", "slower": [{"function": 3}]}')
    assert read(site).slower == []


def test_a_stranger_s_winner_that_is_not_allowed_is_left_out(
    finished: Path, tmp_path: Path
) -> None:
    sent, site = tmp_path / "sent.plumbline", tmp_path / "site.db"
    transfer.export(finished, sent, [], NOW.isoformat())
    transfer.take(site, sent)
    whole = place_knowledge.active_files([read(site)], tmp_path / "files")
    assert whole is not None and len(whole.winners) == 2
    with Database.open(site, write=True) as db:
        (campaign,) = campaigns.all_campaigns(db)
        chosen = findings.get_winners(db, campaign.id)
        bad = msgspec.structs.replace(chosen[0], configuration={"mca_base_env_list": "X=y"})
        findings.put_winners(db, campaign.id, [bad, *chosen[1:]])
    assert place_knowledge.active_files([read(site)], tmp_path / "files") is None


def test_rules_of_communicators_stand_beside_those_of_all_ranks(
    finished: Path, tmp_path: Path
) -> None:
    """A campaign that is not limited to its ranks may change calls of all ranks."""
    path = tmp_path / "part.db"
    few = settings(nprocs=2, limited_to="ranks", within="1x4")
    with Database.open(path, write=True) as db:
        run(db, tmp_path / "part", SimulatedStarter(planted.costs(), nprocs=2), few)
    part = msgspec.structs.replace(PLACE, settings=few, is_part=True)
    whole, known = read(finished, path), read(finished, path, place=part)
    assert len(whole.sources) == len(known.sources) == 1
    files = place_knowledge.active_files([whole, known], tmp_path / "files")
    assert files is not None
    assert {each.nprocs for each in files.winners} == {2, PLACE.settings.ranks.nprocs}
    rules = (files.script.parent / "plumbline.profile").read_text()
    assert "nprocs=2" in rules
    place_knowledge.store_slower(
        path,
        PLACE,
        "program-1x4",
        [
            SlowRule(
                "MPI_Allreduce", 0, 1 << 30, (NOW + datetime.timedelta(days=1)).isoformat(), 2, 2
            )
        ],
    )
    whole, known = read(finished, path), read(finished, path, place=part)
    assert len(whole.slower) == len(known.slower) == 1  # switched off in a job of all ranks
    fewer = place_knowledge.active_files([whole, known], tmp_path / "files")
    assert fewer is not None
    left = {(each.nprocs, each.function) for each in files.winners} - {(2, "MPI_Allreduce")}
    assert {(each.nprocs, each.function) for each in fewer.winners} == left
    with Database.open(path, write=True) as db:
        run(db, tmp_path / "all", SimulatedStarter(planted.costs(), nprocs=2), settings(nprocs=2))
    assert len(read(path, place=part).sources) == 1
    assert len(read(path, place=msgspec.structs.replace(part, is_part=False)).sources) == 2
