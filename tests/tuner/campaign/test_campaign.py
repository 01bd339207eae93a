"""The whole loop on a simulated library with planted faults."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
from rich.table import Table
from rich.text import Text

from plumbline.campaign import loop
from plumbline.campaign.exported import ExportedFiles
from plumbline.cli import tables as text_tables
from plumbline.core.guidelines import load as load_guidelines
from plumbline.libraries import DeliberateError
from plumbline.libraries.openmpi import OpenMpi
from plumbline.measure import tables
from plumbline.measure.launches import LaunchStore
from plumbline.results import report
from plumbline.settings import Settings, identity
from plumbline.settings.toolchain import Variant, variants_tried
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import CaseRecord, ProbeRecord
from plumbline_db.records import UNBOUNDED_BYTES, Campaign, Event, Run, Search, Verdict, Winner
from plumbline_exporters import profile
from plumbline_exporters.family.openmpi import mca_params as ompi_rules
from tests.exporters.bundles import tuned
from tests.tuner import planted, whole
from tests.tuner.simulated import PARTS, Costs, Interrupted, SimulatedStarter, failed, toolchain

WITHIN_BUDGET = planted.settings()
FEW = planted.settings(guidelines=["GL12"], sizes=[4096, 16384])


@dataclass
class Done:
    db: Database
    campaign: Campaign
    folder: Path
    starter: SimulatedStarter

    def table(self, stage: str, word: str) -> set[tuple[str, str, int]]:
        found = findings.get_verdicts(self.db, self.campaign.id, stage)
        return {(one.guideline, one.function, one.bytes) for one in found if one.verdict == word}

    def winners(self) -> list[Winner]:
        return findings.get_winners(self.db, self.campaign.id)

    def launches(self) -> list[Run]:
        return runs.listing(self.db, self.campaign.id)

    def verdicts(self, stage: str) -> list[Verdict]:
        return findings.get_verdicts(self.db, self.campaign.id, stage)

    def searches(self) -> list[Search]:
        return findings.all_searches(self.db, self.campaign.id)

    def events(self, kind: str) -> list[Event]:
        return [one for one in campaigns.events(self.db, self.campaign.id) if one.kind == kind]

    def report(self) -> report.Report:
        return report.read(self.db, self.campaign.id)


def run(
    db: Database, folder: Path, starter: SimulatedStarter, settings: Settings = WITHIN_BUDGET
) -> Done:
    finished = whole.campaign(db, starter, settings, folder)
    assert campaigns.get(db, None) == finished
    return Done(db, finished, folder, starter)


class Deaf(SimulatedStarter):
    """Sees of a launch's environment what it `hears`, by suite and name."""

    def __init__(self, hears: Callable[[str, str], bool] = lambda *_: False) -> None:
        super().__init__(planted.costs())
        self._hears = hears

    def seen(self, suite: str, extra: dict[str, str]) -> dict[str, str]:
        return {name: value for name, value in extra.items() if self._hears(suite, name)}


class Dead(SimulatedStarter):
    """Launches fail, in suites that begin so."""

    def __init__(self, suites: str = "") -> None:
        super().__init__(planted.costs())
        self._suites = suites

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        return failed(run) if run.suite.startswith(self._suites) else (run, records)


Play = Callable[..., Done]


@pytest.fixture
def play(tmp_path: Path, db: Database) -> Play:
    """A campaign from its beginning to its end, in a database of its own."""

    def played(starter: SimulatedStarter | None = None, settings: Settings = WITHIN_BUDGET) -> Done:
        return run(db, tmp_path / "out", starter or SimulatedStarter(planted.costs()), settings)

    return played


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Done]:
    folder = tmp_path_factory.mktemp("whole")
    with Database.open(folder / "plumbline.db", write=True) as db:
        yield run(db, folder / "exports", SimulatedStarter(planted.costs()))


def test_finds_what_is_planted(done: Done) -> None:
    violated = done.table("before", "violated")
    assert {
        ("GL12", "MPI_Allreduce", 16384),
        ("GL12", "MPI_Allreduce", 65536),
        ("GL16", "MPI_Scan", 4096),
        ("GL1", "MPI_Gather", 4096),
        ("GL2", "MPI_Bcast", 16384),
    } <= violated
    functions = {function for _, function, _ in violated}
    assert functions == {"MPI_Allreduce", "MPI_Bcast", "MPI_Gather", "MPI_Scan"}


def test_removes_it_where_something_is_better(done: Done) -> None:
    assert done.campaign.state == "finished"
    remaining = done.table("after", "violated")
    assert {(function, size) for _, function, size in remaining} == {("MPI_Gather", 4096)}


def test_what_remains_carries_its_proof(done: Done) -> None:
    found = done.report().remaining()
    assert found
    searched = {(one.function, one.bytes): one for one in done.searches()}
    for one in found:
        search = searched[one.verdict.function, one.verdict.bytes]
        assert (search.function, search.bytes) == ("MPI_Gather", 4096)
        assert search.outcome == "nothing better"
        measured = [trial for trial in search.trials if trial.state == "measured"]
        assert len(measured) >= 5
        assert all(trial.ratio is not None and trial.ratio > 0.95 for trial in measured)
        assert one.reason == "no candidate is clearly faster than the default"
        assert one.candidates == len(search.trials) and one.trial in measured


def test_what_could_not_be_searched_says_why(done: Done) -> None:
    found = done.report()
    (plain, *_) = [one for one in found.after or [] if one.verdict == "violated"]
    odd = [
        msgspec.structs.replace(plain, lhs="gather_as_igather_plus_wait", rhs="MPI_Gather"),
        msgspec.structs.replace(plain, kind="rank", ranks=2),
    ]
    reasons = [one.reason for one in msgspec.structs.replace(found, after=odd).remaining()]
    assert "(gather_as_igather_plus_wait) is not a call that can be replaced" in reasons[0]
    assert "(on 2 ranks) is not a call that can be replaced" in reasons[1]


def test_a_guideline_without_a_cell_is_named(done: Done) -> None:
    found = done.report()
    assert found.without_cells() == [] and "not verified" not in _said(found)
    left = [one for one in found.before if one.guideline != "GL12"]
    fewer = msgspec.structs.replace(found, before=left)
    assert fewer.without_cells() == ["GL12"]
    assert "not verified: GL12; there is no cell" in _said(fewer)


def test_rank_monotony_after_a_campaign_says_what_is_tuned(done: Done) -> None:
    found = done.report()
    (plain, *_) = found.after or []
    ranks = msgspec.structs.replace(found, after=[msgspec.structs.replace(plain, kind="rank")])
    assert "calls on fewer ranks" in _said(ranks) and "calls on fewer ranks" not in _said(found)


def _said(found: report.Report) -> str:
    parts = text_tables.of(found, load_guidelines(), all_rows=False)
    return "\n".join(str(part) for part in parts if isinstance(part, (str, Text)))


def test_winners_are_the_planted_ones(done: Done) -> None:
    of: dict[str, list[Winner]] = {}
    for winner in done.winners():
        of.setdefault(winner.function, []).append(winner)
    assert of.keys() == {"MPI_Allreduce", "MPI_Bcast", "MPI_Scan", "MPI_Scatter"}
    (ours,) = [winner for winner in of["MPI_Allreduce"] if winner.variant != "default"]
    knobs = [winner for winner in of["MPI_Allreduce"] if winner.variant == "default"]
    rabenseifner = {"coll_tuned_allreduce_algorithm": "rabenseifner"}
    assert all(winner.configuration == rabenseifner for winner in knobs)
    (knob,) = [winner for winner in knobs if winner.removes]
    # Ours is better up to 16 KiB; what lies between was asked down to a factor of sqrt 2.
    assert 16384 < knob.bytes_from < 16384 * math.sqrt(2) and knob.bytes_to == 65536
    assert knob.speedup == pytest.approx(1.9 / 0.8, rel=0.15)
    assert knob.speedup_low < 1.9 / 0.8 < knob.speedup_high
    assert "GL12@65536" in knob.removes
    assert ours.variant == "allreduce_as_reduce_plus_bcast"
    assert ours.bytes_from <= 16384 <= ours.bytes_to < 65536
    assert "GL12@16384" in ours.removes
    for bcast in of["MPI_Bcast"]:
        assert bcast.configuration["coll_tuned_bcast_algorithm"] == "binomial"
        segment = bcast.configuration["coll_tuned_bcast_algorithm_segmentsize"]
        assert segment in planted.GOOD_SEGMENTS
    scan = of["MPI_Scan"]
    assert {winner.variant for winner in scan} == {"scan_as_exscan_plus_reduce_local"}
    # The default is slow from 1 KiB on.
    assert 1024 / math.sqrt(2) < min(winner.bytes_from for winner in scan) <= 1024
    (scatter,) = of["MPI_Scatter"]
    assert (scatter.bytes_from, scatter.bytes_to) == (0, UNBOUNDED_BYTES)
    assert scatter.configuration["coll_tuned_scatter_algorithm"] == "binomial"


def test_what_a_cure_opens_is_searched_in_the_same_round(done: Done) -> None:
    """Scatter ⪯ Bcast holds until Bcast is faster."""
    assert not {cell for cell in done.table("before", "violated") if cell[0] == "GL7"}
    assert not {cell for cell in done.table("round-1", "violated") if cell[0] == "GL7"}
    rounds: dict[tuple[str, int], list[int]] = {}
    for one in done.searches():
        rounds.setdefault((one.function, one.bytes), []).append(one.round)
    assert rounds["MPI_Allreduce", 65536] == rounds["MPI_Allreduce", 16384] == [1]
    assert rounds["MPI_Scatter", 16384] == [1]


def test_the_right_side_is_cured_first(done: Done) -> None:
    """At 16 KiB Allreduce ⪯ Reduce + Bcast and Bcast are violated: both race at once, and Allreduce
    again with the better Bcast in force, so that one round is enough."""
    launched = {one.suite: one for one in done.launches()}
    every = runs.suites(done.db, done.campaign.id).values()
    searched = [one for one in every if one.round == 1]
    first, then = (
        next(launched[one.name] for one in searched if (one.stage, one.step) == ("search", step))
        for step in ("", "step-2")
    )
    assert "OMPI_MCA_coll_tuned_dynamic_rules_filename" not in first.environment
    assert "OMPI_MCA_coll_tuned_dynamic_rules_filename" in then.environment
    assert "coll_tuned_bcast_algorithm=" in first.plan
    assert "coll_tuned_allreduce_algorithm=" in first.plan
    assert "coll_tuned_allreduce_algorithm=" in then.plan
    assert "coll_tuned_bcast_algorithm=" not in then.plan
    assert not [one for one in every if one.step == "in-force"]


def test_what_is_wrong_for_some_programs_is_never_tried(done: Done) -> None:
    plans = "".join(launch.plan for launch in done.launches())
    assert "coll_tuned_allreduce_algorithm=rabenseifner" in plans
    assert "coll_tuned_allreduce_algorithm=ring" not in plans


def test_unsafe_is_tried_when_it_is_asked_for(play: Play) -> None:
    found = play(settings=FEW.but(unsafe=True)).winners()
    assert found
    for one in found:
        assert one.configuration == {"coll_tuned_allreduce_algorithm": "ring"}
        assert one.restrictions == ["commutative"]


def test_every_winner_was_proven_to_be_in_force(done: Done) -> None:
    said = [one.said for one in done.events("in force")]
    for function, file in (
        ("MPI_Allreduce", ompi_rules.RULES_FILE_NAME),
        ("MPI_Scatter", ompi_rules.RULES_FILE_NAME),
        ("MPI_Scan", profile.FILE_NAME),
    ):
        assert any(function in one and f"{file} decides" in one for one in said), function
    assert len(said) == len(set(said))


@pytest.fixture
def files(tmp_path: Path, db: Database) -> ExportedFiles:
    """Those of a campaign that has begun."""
    settings = planted.settings()
    started = identity.begin(db, toolchain(), settings, new=False)
    store = LaunchStore(db, started.id, SimulatedStarter(planted.costs()))
    return loop.CampaignLoop(store, toolchain(), started, settings, tmp_path / "out")._files


def test_what_files_cannot_hold_together_loses_its_place(files: ExportedFiles) -> None:
    """First come, first served: a campaign does not end because two winners want one variable."""
    wanted = [
        msgspec.structs.replace(
            tuned(name, "1"), configuration={"coll_tuned_bcast_algorithm_knomial_radix": text}
        )
        for name, text in (("MPI_Bcast", "4"), ("MPI_Gather", "8"), ("MPI_Scatter", "4"))
    ]
    assert files.together(wanted[::2]) == (wanted[::2], [])
    kept, ((refused, why),) = files.together(wanted)
    assert (kept, refused) == (wanted[::2], wanted[1])
    assert (
        why.startswith("not exported beside the others")
        and "wants coll_tuned_bcast_algorithm_knomial_radix=8" in why
    )


def test_what_no_file_can_hold_loses_its_place(files: ExportedFiles) -> None:
    """Be it the only winner: a campaign goes on with the others."""
    fine, wrong = tuned("MPI_Bcast", "1"), tuned("MPI_Scatter", "1", 0, 1024)
    for wanted, kept in (([fine, wrong], [fine]), ([wrong], [])):
        found, ((refused, why),) = files.together(wanted)
        assert (found, refused) == (kept, wrong)
        assert why.startswith("not exportable: ") and "one algorithm must serve all sizes" in why


def test_what_is_in_force_stays_so_while_others_are_tried(
    files: ExportedFiles, tmp_path: Path
) -> None:
    """The table goes on with the files in place after launches with a part of the winners."""
    both = [tuned("MPI_Bcast", "1"), tuned("MPI_Scatter", "1")]
    in_place = files.put_in_force(both)
    of_one = files.with_winners(both[:1])
    in_others = files.with_winners(both[1:])
    rules = [
        Path(value["OMPI_MCA_coll_tuned_dynamic_rules_filename"]).read_text("utf-8")
        for value in (in_place, of_one, in_others)
    ]
    named = [[name for name in ("MPI_Bcast", "MPI_Scatter") if name in text] for text in rules]
    assert named == [["MPI_Bcast", "MPI_Scatter"], ["MPI_Bcast"], ["MPI_Scatter"]]
    assert files.with_winners(both[:1]) == of_one
    files.finish(files._campaign, both)
    assert not [path for path in (tmp_path / "out").iterdir() if path.is_dir()]


def test_what_nothing_shows_is_said(play: Play, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that ignores what it does not take: its winners stay, and results say so."""

    def silent(_: OpenMpi, environment: dict[str, str], folder: Path) -> list[DeliberateError]:
        del folder
        return [DeliberateError("a variable", environment, fails="nothing")]

    monkeypatch.setattr(OpenMpi, "canaries", silent)
    done = play(settings=FEW)
    assert {one.function for one in done.winners()} == {"MPI_Allreduce"}
    found = done.report()
    assert not [one for one in found.events if one.kind == "in force"]
    (said,) = found.not_proven()
    assert said.startswith("MPI_Allreduce: nothing shows")
    assert report.document(found)["not_proven"] == [said]
    assert f"not proven: {said}" in _said(found)


def test_what_is_wrong_where_nobody_measured_is_not_exported(play: Play) -> None:
    starter = SimulatedStarter(
        planted.costs(), corrupt=lambda case: "wrong" if case.calls else "ok"
    )
    done = play(starter, FEW)
    assert done.winners() == []
    assert done.table("after", "violated") == done.table("before", "violated") != set()
    found = done.report()
    assert found.wrong
    assert {(one.function, one.variant) for one in found.wrong} == {("MPI_Allreduce", "default")}
    assert report.document(found)["wrong"][0]["detail"] == "simulated"
    dropped = [one.text for one in found.events if one.kind == "winner dropped"]
    assert any("wrong result (MPI_FLOAT/MPI_SUM): simulated" in text for text in dropped)
    tables = text_tables.of(found, load_guidelines(), all_rows=False)
    assert "Wrong results" in [str(one.title) for one in tables if isinstance(one, Table)]


def test_results_are_checked_before_anything_is_exported(done: Done) -> None:
    said = [one.text for one in done.report().events]
    assert any("all results are right" in text for text in said)


def test_exported_files_are_those_of_the_last_confirmation(done: Done) -> None:
    listed = campaigns.exports(done.db, done.campaign.id)
    assert {Path(one.path) for one in listed} == set(done.folder.iterdir())
    sourced = [one.environment for one in done.launches() if one.suite == "confirm-1"][-1]
    rules = Path(sourced["OMPI_MCA_coll_tuned_dynamic_rules_filename"])
    assert rules.parent == done.folder.absolute()
    stored = report.document(report.read(done.db, None))["winners"]
    written = msgspec.json.decode((done.folder / "plumbline.json").read_bytes())["winners"]
    assert [one["speedup"] for one in written] == [one["speedup"] for one in stored]


def test_confirmation_alternates_with_the_library_as_it_is(done: Done) -> None:
    suites = [
        one.suite for one in done.launches() if one.suite in ("confirm-1", "confirm-1-default")
    ]
    assert suites == ["confirm-1", "confirm-1-default"] * 12
    by_suite = {one.suite: one.environment for one in done.launches()}
    assert by_suite["confirm-1-default"] == {}
    assert "OMPI_MCA_coll_tuned_dynamic_rules_filename" in by_suite["confirm-1"]


def test_run_again_launches_nothing(done: Done) -> None:
    again = SimulatedStarter(planted.costs(), stop_after=0)
    before = done.launches()
    repeated = run(done.db, done.folder, again)
    assert repeated.winners() == done.winners()
    assert repeated.launches() == before


@pytest.mark.parametrize(
    "moments", [(0, 1, 30, 80), pytest.param((13, 55), marks=pytest.mark.alone)]
)
def test_interrupted_anywhere_it_goes_on(
    done: Done, tmp_path: Path, moments: tuple[int, ...]
) -> None:
    """And once more: the same launches, each once; the same tables, searches and winners."""
    assert moments[-1] < len(done.launches())
    launched: list[tuple[str, int]] = []
    for launches in moments:
        with Database.open(tmp_path / "plumbline.db", write=True) as db:
            first = SimulatedStarter(planted.costs(), stop_after=launches - len(launched))
            with pytest.raises(Interrupted):
                run(db, tmp_path / "exports", first)
            launched += first.launches
    with Database.open(tmp_path / "plumbline.db", write=True) as db:
        second = SimulatedStarter(planted.costs())
        found = run(db, tmp_path / "exports", second)
        assert launched + second.launches == done.starter.launches
        assert found.winners() == done.winners()
        for stage in ("before", "round-1", "after"):
            assert found.verdicts(stage) == done.verdicts(stage)
        assert findings.all_searches(db, found.campaign.id) == findings.all_searches(
            done.db, done.campaign.id
        )
        assert len(campaigns.events(db, found.campaign.id)) == len(
            campaigns.events(done.db, done.campaign.id)
        )


def test_a_library_without_faults_needs_no_search(play: Play) -> None:
    finished = play(SimulatedStarter(Costs()))
    assert not finished.table("before", "violated")
    assert finished.winners() == []
    assert finished.verdicts("after") == [
        msgspec.structs.replace(one, stage="after") for one in finished.verdicts("before")
    ]
    assert all(one.suite.startswith("before") for one in finished.launches())


def test_no_rounds_verify_only(play: Play, db: Database) -> None:
    finished = play(settings=planted.settings(rounds=0))
    assert findings.stages(db, finished.campaign.id) == ["before"]
    found = finished.report()
    assert found.after == found.before
    assert finished.table("before", "violated")
    assert not finished.searches()


def test_after_the_budget_no_search_is_opened(play: Play) -> None:
    """The first look costs 12 launches of half a second; the table is finished all the same."""
    finished = play(settings=planted.settings(budget_seconds=5.0))
    assert all(one.suite.startswith("before") for one in finished.launches())
    assert finished.table("after", "violated")
    assert not finished.searches()


def test_a_crashing_candidate_is_a_trial_and_no_end(play: Play, db: Database) -> None:
    knob = {"coll_tuned_allreduce_algorithm": "rabenseifner"}
    starter = SimulatedStarter(
        planted.costs(),
        crashes=lambda case, knobs: knobs == knob and case.bytes == 16384,
        corrupt=lambda case: "wrong" if "plus_bcast" in case.variant else "ok",
    )
    few = planted.settings(guidelines=["GL12", "GL13"], sizes=[4096, 16384])
    finished = play(starter, few)
    (search,) = (one for one in finished.searches() if one.bytes == 16384)
    states = {(one.variant, tuple(one.knobs.values())): one.state for one in search.trials}
    assert states["default", ("rabenseifner",)] == "failed"
    assert states["allreduce_as_reduce_plus_bcast", ()] == "wrong"
    failed = [one for one in finished.launches() if not one.finished]
    assert len(failed) == 2  # one may be chance
    assert all("rabenseifner at 16384 B under way" in one.reason for one in failed)
    told = {one.run for one in campaigns.events(db, finished.campaign.id)}
    assert told >= {launch.id for launch in failed}


def test_a_library_that_cannot_start_ends_it_with_a_reason(play: Play) -> None:
    with pytest.raises(PlumblineError, match=r"three launches of before failed.*exit status 1"):
        play(Dead())


def test_files_that_are_ignored_are_never_taken_for_confirmed(play: Play) -> None:
    """A library that does not read the rules file: its canary goes unnoticed."""
    finished = play(Deaf(lambda _, name: "dynamic_rules_f" not in name))
    assert all(one.variant != "default" for one in finished.winners())
    said = [one.text for one in finished.events("not in force")]
    assert said and all("canary goes unnoticed" in one for one in said)


def test_a_campaign_whose_files_are_all_ignored_ends_without_winners(play: Play) -> None:
    """Each is named, nothing is exported as a finding, and another run has nothing to repeat."""
    finished = play(Deaf(lambda suite, _: not suite.startswith("proof-")), FEW)
    assert finished.campaign.state == "finished" and not finished.winners()
    assert finished.table("after", "violated") == finished.table("before", "violated")
    said = [one.said for one in finished.events("not in force")]
    assert len(said) == 2  # the second choice was none either
    assert all("canary goes unnoticed" in one for one in said)
    shown = _said(finished.report())
    assert all(f"not in force: {one}" in shown for one in said)


def test_files_under_which_no_launch_goes_well_end_the_campaign(play: Play) -> None:
    """No winner is to blame: launches of the proof fail before any case."""
    with pytest.raises(PlumblineError, match=r"not in force: the canary launch failed: exit"):
        play(Dead("proof-"))


def test_no_winner_claims_what_the_last_look_denies(
    play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first look of the confirmation does not see the violation that a later one sees."""
    decide = tables.ViolationTable.decide

    def sharp(table: tables.ViolationTable, *has_time: Callable[[], bool]) -> list[Verdict]:
        return [
            msgspec.structs.replace(one, verdict="violated")
            if one.stage == "round-1" and (one.guideline, one.bytes) == ("GL12", 16384)
            else one
            for one in decide(table, *has_time)
        ]

    monkeypatch.setattr(tables.ViolationTable, "decide", sharp)
    few = planted.settings(guidelines=["GL12"], sizes=[4096, 16384, 65536], rounds=1)
    finished = play(settings=few)
    assert ("GL12", "MPI_Allreduce", 16384) in finished.table("after", "violated")
    claims = {name for one in finished.winners() for name in one.removes}
    assert "GL12@65536" in claims and "GL12@16384" not in claims
    written = msgspec.json.decode((finished.folder / "plumbline.json").read_bytes())["winners"]
    assert {name for one in written for name in one["removes"]} == claims


def test_messages_in_pieces_are_no_candidates_where_a_barrier_pays_for_them() -> None:
    """The names are those of the guideline, whatever they look like."""
    rules = load_guidelines()
    split = [Variant("bcast_as_split", "MPI_Bcast", "mockup", [], "")]
    other = [
        Variant("bcast_as_split_too", "MPI_Bcast", "mockup", [], ""),
        Variant("alltoallv_as_split", "MPI_Alltoallv", "mockup", [], ""),
    ]
    listed = msgspec.structs.replace(toolchain().catalogue, variants=split + other)
    there = msgspec.structs.replace(toolchain(), guidelines=rules, catalogue=listed)
    barrier, window = planted.settings(), planted.settings(sync="window")
    assert variants_tried(there, barrier, oversubscribed=True) == other
    assert variants_tried(there, barrier, oversubscribed=False) == split + other
    assert variants_tried(there, window, oversubscribed=True) == split + other


def test_a_default_that_ends_launches_costs_two_and_all_else_is_searched(play: Play) -> None:
    """Whatever calls it dies as well: what is compared with it, and what is made of it."""

    def crashes(case: CaseRecord, _: Mapping[str, str]) -> bool:
        made_of = PARTS.get(case.variant, ())
        return case.bytes == 4096 and "MPI_Bcast" in (case.function, *made_of)

    starter = SimulatedStarter(planted.costs(), crashes=crashes)
    finished = play(starter)
    failed = [one for one in finished.launches() if not one.finished]
    tried = [one for one in failed if "-aside-bcast-" in one.suite]
    assert len(failed) - len(tried) == 2
    assert {one.function for one in finished.searches()} >= {
        *("MPI_Allreduce", "MPI_Bcast", "MPI_Gather", "MPI_Scan")
    }
    left = {function for _, function, _ in finished.table("after", "violated")}
    assert left == {"MPI_Gather"}  # which nothing helps
    (first, second) = [one for one in finished.report().notes() if "put aside" in one]
    assert first.startswith("put aside: MPI_Bcast at 4096 B ends launches (SIGSEGV")
    assert "none works there" in second
