"""What the files of a site do for a call, and its map: over campaigns of several layouts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.applied import standing
from plumbline.applied.generations import Generation
from plumbline.results import site, site_map, site_picture
from plumbline_db import campaigns, findings
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Campaign, Search, Trial, Winner
from plumbline_exporters import registry
from plumbline_exporters.bundle import NO_SUM
from plumbline_exporters.registry import write
from tests.db import build
from tests.exporters.bundles import bundle, tuned, variant
from tests.tuner.cli.command import plumbline

RING = "allreduce_ring"
SIZES = (1024, 16384, 262144)


def put(db: Database, root: Path, layout: tuple[int, int], day: int, *own: Winner) -> Campaign:
    """A finished campaign of nodes × ranks with exported winners: GL12 of Allreduce is violated at
    all sizes before, and after at those without a winner."""
    nodes, ppn = layout
    nprocs = nodes * ppn
    campaign = build.later(db, f"c-{nodes}x{ppn}", day, nprocs=nprocs, nodes=nodes, ppn=ppn)
    placed = [msgspec.structs.replace(winner, nprocs=nprocs, ppn=ppn) for winner in own]
    for stage in ("before", "after"):
        table = []
        for size in SIZES:
            won = stage == "after" and any(w.bytes_from <= size <= w.bytes_to for w in placed)
            word = "holds" if won else "violated"
            at: dict[str, Any] = {"nprocs": nprocs, "ppn": ppn, "bytes": size, "verdict": word}
            table.append(build.verdict(stage, launches=30, **at))
        findings.put_verdicts(db, campaign.id, stage, table)
    trial = Trial(RING, {}, "measured", 1.2, 1.1, 1.3, 6, "")
    tried = Search(1, "MPI_Allreduce", nprocs, ppn, 262144, ["GL12"], "nothing better", "none is",
                   [trial], [])  # fmt: skip
    findings.put_search(db, campaign.id, tried)
    findings.put_winners(db, campaign.id, placed)
    folder = root / campaign.id
    for export in write(bundle(*placed, directory=folder, campaign=campaign), ["env"]):
        campaigns.put_export(db, campaign.id, export)
    return campaign


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("site")
    with Database.open(root / "plumbline.db", write=True) as db:
        put(db, root, (1, 4), 1, variant("MPI_Allreduce", RING, 1024, 16384))
        put(db, root, (4, 1), 2, tuned("MPI_Allreduce", "nonoverlapping", 512, 20000))
        put(db, root, (2, 8), 3, variant("MPI_Allreduce", RING, 0, UNBOUNDED_BYTES))
    return root / "plumbline.db"


@pytest.fixture
def read(database: Path) -> site.SiteCampaigns:
    with Database.open(database) as db:
        return site.read(db, campaigns.get(db, "c-1x4"), alone=False)


def asked(
    read: site.SiteCampaigns, size: int, nprocs: int
) -> dict[tuple[int, int], site.SiteAnswer]:
    """The answers by nodes and ranks per node."""
    calls = site.calls(read, "MPI_Allreduce", [size], nprocs)
    return {(call.nodes, call.ppn): site.answer(read, call) for call in calls}


def test_a_variant_that_was_measured_for_the_call(read: site.SiteCampaigns) -> None:
    answered = asked(read, 16384, 4)[1, 4]
    assert (answered.state, answered.configuration) == ("measured", RING)
    assert answered.file.endswith("c-1x4/plumbline.profile") and answered.differs == []
    evidence = answered.evidence
    assert evidence is not None and evidence.campaign == "c-1x4"
    winner = build.winner()
    assert (evidence.speedup, evidence.speedup_low) == (winner.speedup, winner.speedup_low)
    assert (evidence.launches, evidence.violated_before, evidence.violated_after) == (
        30, ["GL12"], []
    )  # fmt: skip


def test_each_placement_has_its_own_answer(read: site.SiteCampaigns) -> None:
    answers = asked(read, 16384, 4)
    assert set(answers) == {(1, 4), (4, 1)}
    assert answers[4, 1].configuration == "coll_tuned_allreduce_algorithm=nonoverlapping"
    assert answers[4, 1].file.endswith("c-4x1/ompi-rules.conf")
    assert answers[4, 1].state == "measured"


def test_a_size_between_the_measured_ones_is_carried_over(read: site.SiteCampaigns) -> None:
    answered = asked(read, 4096, 4)[1, 4]
    assert (answered.state, answered.differs) == ("carried over", ["bytes"])
    assert answered.evidence is not None and answered.evidence.bytes in (1024, 16384)


def test_where_no_rule_is_the_library_decides(read: site.SiteCampaigns) -> None:
    answered = asked(read, 262144, 4)[1, 4]
    assert (answered.state, answered.configuration) == ("the library decides", "default")
    evidence = answered.evidence
    assert evidence is not None and evidence.violated_after == ["GL12"]
    assert (evidence.candidates, evidence.why, evidence.speedup) == (1, "none is", None)


def test_ranks_that_nobody_measured(read: site.SiteCampaigns) -> None:
    answers = asked(read, 16384, 12)
    assert set(answers) == {(1, 12), (2, 8), (12, 1)}
    for answered in answers.values():
        assert (answered.state, answered.evidence) == ("the library decides", None)


def test_a_profile_for_a_range_of_ranks_is_carried_over(
    read: site.SiteCampaigns, tmp_path: Path
) -> None:
    """The files of a site may hold for numbers of ranks between the measured ones."""
    (folder,) = [each.folder for each in read.campaigns if each.layout == (16, 2, 8)]
    assert folder is not None
    text = (folder / "plumbline.profile").read_text()
    given = bundle(*read.campaigns[-1].winners, directory=tmp_path)
    write(given, ["profile"])
    path = tmp_path / "plumbline.profile"
    assert "nprocs=16-16 nodes=2-2 ppn=8-8" in text
    path.write_text(_signed(text.replace("nprocs=16-16 nodes=2-2 ppn=8-8", "nprocs=9-16")))
    applied = msgspec.structs.replace(read, applied=tmp_path)
    answered = asked(applied, 16384, 12)[2, 8]
    assert (answered.state, answered.configuration) == ("carried over", RING)
    assert answered.differs == ["ranks"] and answered.evidence is not None
    assert answered.evidence.campaign == "c-2x8"
    assert asked(applied, 16384, 12)[1, 12].differs == ["ranks", "placement"]


def _signed(text: str) -> str:
    """The text with the checksum that Plumbline would have written."""
    bare = re.sub(r"(sum\W+)[0-9a-f]{16}", rf"\g<1>{NO_SUM}", text)
    return registry._with_sum(bare)


def test_an_edited_file_is_refused(read: site.SiteCampaigns, tmp_path: Path) -> None:
    write(bundle(*read.campaigns[0].winners, directory=tmp_path), ["profile"])
    path = tmp_path / "plumbline.profile"
    path.write_text(path.read_text().replace("bytes=1024", "bytes=1"))
    with pytest.raises(PlumblineError, match="was edited"):
        asked(msgspec.structs.replace(read, applied=tmp_path), 16384, 4)


def test_the_newest_campaign_of_a_layout_speaks(database: Path, tmp_path: Path) -> None:
    copied = tmp_path / "plumbline.db"
    copied.write_bytes(database.read_bytes())
    with Database.open(copied, write=True) as db:
        build.later(db, "c-empty", 20, nprocs=4, nodes=1, ppn=4)
        later = build.later(db, "c-later", 21, nprocs=4, nodes=1, ppn=4)
        findings.put_winners(db, later.id, [variant("MPI_Allreduce", "allreduce_tree", 0, 64)])
        of_site = site.read(db, later, alone=False)
        alone = site.read(db, later, alone=True)
    assert [each.campaign.id for each in of_site.campaigns] == ["c-later", "c-4x1", "c-2x8"]
    assert [each.campaign.id for each in alone.campaigns] == ["c-later"]


def test_the_map_counts_before_and_after(database: Path) -> None:
    with Database.open(database) as db:
        (drawn,) = site_map.every(db)
        campaign = campaigns.get(db, "c-1x4")
        assert site_map.of(db, campaign.machine, campaign.library_fingerprint) == drawn
        assert site_map.of(db, campaign.machine, "another") is None
    assert (drawn.sizes, drawn.before, drawn.after) == (list(SIZES), 9, 2)
    assert [(row.nodes, row.ppn) for row in drawn.rows] == [(4, 1), (1, 4), (2, 8)]
    cells = drawn.rows[1].cells
    assert [cell and site_picture.mark(cell) for cell in cells] == [
        "removed",
        "removed",
        "violated",
    ]
    assert cells[0] is not None and cells[0].winner is not None
    assert cells[0].winner.configuration == RING and cells[0].winner.campaign == "c-1x4"
    assert cells[2] is not None and cells[2].winner is None
    picture = site_picture.svg(drawn, site_picture.FILE)
    assert picture.count("<rect") == 1 + 9 and "9 before, 2 after" in picture
    assert "var(--" not in picture and "var(--good)" in site_picture.svg(drawn, site_picture.PAGE)


def test_the_command_answers_a_call(database: Path) -> None:
    words = ("results", "MPI_Allreduce", "--bytes", "16k", "--ranks", "4", "--db", database)
    said = plumbline(*words)
    assert said.status == 0
    assert "MPI_Allreduce, 16384 B, 4 ranks (1 x 4): allreduce_ring" in said.out
    assert "c-1x4/plumbline.profile" in said.out.replace("\n", "")
    answers = plumbline(*words, "--json").json
    assert [(each["nodes"], each["state"]) for each in answers] == [
        (1, "measured"),
        (4, "measured"),
    ]
    every = plumbline("results", "mpi_allreduce", "--db", database, "--json").json
    assert {(each["nprocs"], each["bytes"]) for each in every} == {
        (nprocs, size) for nprocs in (4, 16) for size in SIZES
    }


def test_the_command_shows_the_map(database: Path, tmp_path: Path) -> None:
    said = plumbline("results", "--map", "--db", database)
    assert said.status == 0 and "9 before, 2 after" in said.out
    document = plumbline("results", "--map", "--db", database, "--json").json
    assert (document["violations_before"], document["violations_after"]) == (9, 2)
    assert len(document["cells"]) == 9
    path = tmp_path / "map.svg"
    words = ("MPI_Allreduce", "--map", "--picture", path, "--db", database)
    assert plumbline("results", *words).status == 0
    assert path.read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--bytes", "8"], "name its function"),
        (["--ranks", "8"], "name its function"),
        (["MPI_Allredcue"], "MPI_Allreduce"),
        (["MPI_Bcast"], "name a size"),
    ],
)
def test_what_cannot_be_answered(database: Path, words: list[str], reason: str) -> None:
    said = plumbline("results", *words, "--db", database)
    assert said.status == 2 and reason in said.err


def whole_site(db: Database, root: Path, day: int, *more: str) -> Campaign:
    """The row of a whole site: its files serve 9 to 16 ranks on two nodes."""
    row = build.later(db, "site-16", day, nprocs=16, nodes=2, ppn=8, settings='{"command":"site"}')
    words = ["nprocs=9-16", *more, "carried=1x4,2x8", "checked=2x6"]
    carried = variant("MPI_Allreduce", RING, 0, UNBOUNDED_BYTES, 16)
    findings.put_winners(
        db, row.id, [msgspec.structs.replace(carried, restrictions=words, speedup=1.5)]
    )
    folder = root / row.id
    placed = msgspec.structs.replace(carried, ppn=8)
    for export in write(bundle(placed, directory=folder, campaign=row), ["profile"]):
        campaigns.put_export(db, row.id, export)
    path = folder / "plumbline.profile"
    path.write_text(_signed(path.read_text().replace("nprocs=16-16", "nprocs=9-16")
                            .replace(" ppn=8-8", "")))  # fmt: skip
    return row


def test_the_files_of_a_whole_site_answer_with_their_check(tmp_path: Path) -> None:
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        put(db, tmp_path, (2, 8), 3, variant("MPI_Allreduce", RING, 0, UNBOUNDED_BYTES))
        whole_site(db, tmp_path, 4)
        of_site = site.read(db, campaigns.get(db, "c-2x8"), alone=False)
        put(db, tmp_path, (1, 4), 5)
        newer = site.read(db, campaigns.get(db, "c-2x8"), alone=False)
    answered = asked(of_site, 16384, 12)[2, 8]
    assert answered.file.endswith("site-16/plumbline.profile")
    assert (answered.state, answered.differs) == ("carried over", ["ranks"])
    evidence = answered.evidence
    assert evidence is not None and evidence.campaign == "c-2x8"
    assert (evidence.carried_from, evidence.checked_on) == (["1x4", "2x8"], "2x6")
    assert evidence.speedup == 1.5
    assert newer.whole is None, "a campaign that is newer speaks for itself"
    assert asked(newer, 16384, 16)[2, 8].file.endswith("c-2x8/plumbline.profile")


def test_what_is_applied_decides_before_exported_files(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A generation of `plumbline apply` for the same build of the library; none of another one."""
    folder = tmp_path / "openmpi" / "3"
    write(bundle(variant("MPI_Allreduce", "allreduce_tree", 0, 64), directory=folder), ["profile"])

    def applied(fingerprint: str) -> None:
        library = msgspec.structs.replace(build.LIBRARY, fingerprint=fingerprint)
        about = ("f", 1, "openmpi", 3, 0, "", build.MACHINE, library)
        generation = Generation(*about, unsafe=False, sources=[], files={}, targets=[])
        states = [standing.AppliedState("user", tmp_path, generation, None)]
        monkeypatch.setattr(standing, "standing", lambda prefix: states)

    with Database.open(database) as db:
        applied(build.LIBRARY.fingerprint)
        here = site.read(db, campaigns.get(db, "c-1x4"), alone=False)
        applied("another")
        elsewhere = site.read(db, campaigns.get(db, "c-1x4"), alone=False)
    assert here.applied == folder and elsewhere.applied is None
    answered = asked(here, 16, 4)[1, 4]
    assert answered.file == str(folder / "plumbline.profile")
    assert (answered.configuration, answered.evidence) == ("allreduce_tree", None)
    assert asked(here, 16384, 4)[1, 4].configuration == "default", "nothing applied is for it"
