"""Overlap as a guideline: found, searched, confirmed, exported, on a pretended library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from plumbline.overlap import tune
from plumbline.results import report
from plumbline.settings import identity
from plumbline_db import campaigns, coverage, findings
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.records import EVERY_FUNCTION, Verdict
from plumbline_exporters.metrics import DatabaseCollector
from tests.tuner.overlap.pretended import (
    DEPTH,
    EAGER,
    Library,
    asked,
    find_toolchain,
    run,
    settings,
)
from tests.tuner.simulated import Interrupted

MESSAGE = {4096: 2_000, 65536: 20_000}  # nanoseconds
CURE = "16384"  # of the eager limit
FALSE_CURE = "8192"  # halves the ratio by making messages slow
HARMFUL = "32768"  # the best for what is violated, and bad for all else


def times(name: str, size: int, work: int, knobs: Mapping[str, str]) -> tuple[float, float]:
    """At 64 KiB message and work together take 1.3 times their sum, at 4 KiB the longer."""
    alone = float(MESSAGE[size])
    own = knobs.get(EAGER, "")
    if size == 4096:
        alone *= 2 if own == HARMFUL else 1
        return alone, max(alone, work) + 0.3 * min(alone, work) if work else alone
    if work == 0:
        return alone, alone
    if own == FALSE_CURE:
        return 4 * alone, 1.05 * (4 * alone + work)
    return alone, {CURE: 1.0, HARMFUL: 0.8}.get(own, 1.3) * (alone + work)


def table(db: Database, campaign: str, stage: str) -> dict[tuple[str, int], Verdict]:
    return {(one.guideline, one.bytes): one for one in findings.get_verdicts(db, campaign, stage)}


def test_found_searched_confirmed_and_exported(db: Database, tmp_path: Path) -> None:
    campaign = run(db, Library(times), tmp_path / "files")
    before = table(db, campaign.id, "before")
    assert {place for place, one in before.items() if one.verdict == "violated"} == {("OV1", 65536)}
    found = before["OV1", 65536]
    assert (found.kind, found.function) == ("overlap", "sender")
    assert found.ratio == pytest.approx(1.3, rel=0.03)
    work = found.lhs.removeprefix("overlapped:")
    assert work in ("work=message", "work_us=100") and found.rhs == f"serialised:{work}"
    (winner,) = findings.get_winners(db, campaign.id)
    assert winner.function == EVERY_FUNCTION
    assert winner.configuration == {EAGER: CURE, "pml": "ob1"}
    assert winner.speedup == pytest.approx(1.3, rel=0.05)
    assert winner.removes == ["OV1@65536 (sender)"]
    after = table(db, campaign.id, "after")
    assert {one.verdict for one in after.values()} == {"holds"}
    (search,) = findings.all_searches(db, campaign.id)
    assert search.opened_by == ["OV1@65536 (sender)"] and search.outcome == "winner"
    slower = {one.knobs[EAGER]: one.detail for one in search.trials if EAGER in one.knobs}
    assert "sender at 4096 B" in slower[HARMFUL]
    env = (tmp_path / "files" / "plumbline.sh").read_text()
    assert f"export OMPI_MCA_{EAGER}={CURE}\n" in env
    assert "export OMPI_MCA_pml=ob1\n" in env
    assert str(tmp_path / "files" / "plumbline.sh") in {
        one.path for one in campaigns.exports(db, campaign.id)
    }
    lines = tune.tuned_lines(db, campaign, find_toolchain().guidelines)
    line = next(one for one in lines if (one.guideline, one.bytes) == ("OV1", 65536))
    assert line.after is not None and line.before.measured is not None
    assert line.before.measured / (line.after.measured or 0) == pytest.approx(1.3, rel=0.1)


def test_a_good_ratio_of_slow_messages_is_no_cure(db: Database, tmp_path: Path) -> None:
    """The false cure alone: T_measured grows, so nothing is kept, and the violation is left."""

    def none_helps(
        name: str, size: int, work: int, knobs: Mapping[str, str]
    ) -> tuple[float, float]:
        own = knobs.get(EAGER, "")
        return times(name, size, work, {EAGER: own} if own == FALSE_CURE else {})

    campaign = run(db, Library(none_helps), tmp_path / "files")
    assert findings.get_winners(db, campaign.id) == []
    (search,) = findings.all_searches(db, campaign.id)
    assert search.outcome == "nothing better"
    assert table(db, campaign.id, "after")["OV1", 65536].verdict == "violated"
    (left,) = report.read(db, campaign.id).remaining()
    assert "none saves time" in left.reason


def test_what_is_gone_with_the_files_is_dropped(db: Database, tmp_path: Path) -> None:
    """The exported files name pml too; under both the cure does nothing here."""

    def fails_when_exported(
        name: str, size: int, work: int, knobs: Mapping[str, str]
    ) -> tuple[float, float]:
        exported = len(library.launches) and library.launches[-1][0].startswith("confirm")
        return times(name, size, work, {} if exported else knobs)

    library = Library(fails_when_exported)
    campaign = run(db, library, tmp_path / "files")
    assert findings.get_winners(db, campaign.id) == []
    notes = report.read(db, campaign.id).notes()
    assert any("winner dropped: confirm:" in one and "no gain is left" in one for one in notes)
    assert EAGER not in (tmp_path / "files" / "plumbline.sh").read_text()


def test_non_blocking_against_blocking(db: Database, tmp_path: Path) -> None:
    def slow_to_begin(
        name: str, size: int, work: int, knobs: Mapping[str, str]
    ) -> tuple[float, float]:
        alone, both = float(MESSAGE[size]), MESSAGE[size] + float(work)
        cured = knobs.get(DEPTH) == "2"
        return alone, both if work or size == 4096 or cured else 1.5 * both

    campaign = run(db, Library(slow_to_begin), tmp_path / "files")
    before = table(db, campaign.id, "before")
    assert {place for place, one in before.items() if one.verdict == "violated"} == {("OV2", 65536)}
    found = before["OV2", 65536]
    assert (found.kind, found.lhs, found.rhs) == ("nonblocking", "nonblocking", "blocking")
    assert found.ratio == pytest.approx(1.5, rel=0.03)
    (winner,) = findings.get_winners(db, campaign.id)
    assert winner.configuration[DEPTH] == "2"
    assert table(db, campaign.id, "after")["OV2", 65536].verdict == "holds"


def test_a_limit_asks_for_overlap(db: Database, tmp_path: Path) -> None:
    """One after the other is no violation, unless somebody wants better."""

    def serial(name: str, size: int, work: int, knobs: Mapping[str, str]) -> tuple[float, float]:
        return float(MESSAGE[size]), MESSAGE[size] + float(work)

    loose = run(db, Library(serial), tmp_path / "loose")
    assert {one.verdict for one in table(db, loose.id, "after").values()} == {"holds"}
    strict = run(db, Library(serial), tmp_path / "strict", asked(limit=0.5), rounds=0)
    assert strict.id != loose.id
    found = table(db, strict.id, "after")["OV1", 65536]
    assert (found.verdict, found.rhs) == ("violated", "serialised:work=message,limit=0.5")
    assert found.ratio == pytest.approx(2 / 1.5, rel=0.03)
    assert findings.all_searches(db, strict.id) == []


def test_interrupted_it_goes_on(db: Database, tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        run(db, Library(times, stop_after=20), tmp_path / "files")
    rest = Library(times)
    campaign = run(db, rest, tmp_path / "files")
    again = Library(times)
    assert run(db, again, tmp_path / "files").id == campaign.id
    assert again.launches == []
    assert findings.get_winners(db, campaign.id)[0].configuration == {EAGER: CURE, "pml": "ob1"}


def test_readers_of_campaigns_know_it_by_its_name_alone(db: Database, tmp_path: Path) -> None:
    """It takes no campaign's place: not in lists, not as the last one, not in the metrics."""
    campaign = run(db, Library(times), tmp_path / "files")
    assert campaigns.get(db, campaign.id) == campaign
    assert campaigns.all_campaigns(db) == [] and coverage.of_campaigns(db) == []
    (covered,) = coverage.of_overlap(db)
    assert covered.stages["before"].guidelines["OV1"].violations == 1
    assert covered.stages["after"].guidelines["OV1"].violations == 0
    registry = CollectorRegistry(auto_describe=False)
    registry.register(DatabaseCollector(tmp_path / "plumbline.db"))
    text = generate_latest(registry).decode()
    assert 'guideline="OV1",host="' in text and "plumbline_scrape_success" in text
    assert 'plumbline_scrape_success{collector="guidelines"} 1.0' in text
    found = report.read(db, campaign.id)
    assert found.of_benchmarks() and found.remaining() == []
    assert report.documents([found], all_cells=True)


def test_a_campaign_of_collectives_sends_people_here() -> None:
    with pytest.raises(UsageError, match="plumbline overlap tune"):
        identity.chosen(find_toolchain(), settings(guidelines=["GL12", "OV1"]))
