"""Settings of the whole process: which values are tried, and which one is kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from plumbline.campaign.proof import Proven
from plumbline.core.cell import Target
from plumbline.core.configuration import Configuration
from plumbline.core.winner import deciding
from plumbline.libraries.mpich import Mpich
from plumbline.libraries.openmpi import RULES, OpenMpi
from plumbline.libraries.simgrid import OPTIONS, SimGrid
from plumbline.measure import tables
from plumbline.search import process, settings_race
from plumbline.search.process import ProcessWide, Settable
from plumbline.search.settings_race import STAGES
from plumbline.settings import Settings
from plumbline.settings.campaign_file import load
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from plumbline_db.errors import UsageError
from plumbline_db.probe_records import CaseRecord, Check, ProbeRecord
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Campaign, Failure, Run, Winner
from tests.db import build
from tests.tuner import planted, simulated, whole
from tests.tuner.lab import Lab
from tests.tuner.simulated import SPACE, Costs, Rules, SimulatedStarter, failed, installed_knobs

EAGER = "btl_vader_eager_limit"
VARIABLE = f"OMPI_MCA_{EAGER}"
SETTABLE = Settable(SPACE, installed_knobs())
FUNCTIONS = ("MPI_Bcast", "MPI_Gather")
CELLS = dict.fromkeys((Target(name, size) for name in FUNCTIONS for size in (64, 4096)), 1.0)
SETTINGS = load(None, {"nprocs": 4, "blocks": 1, "reps": 2, "settings": [EAGER]})
USUAL = load(None, {"nprocs": 4, "blocks": 1, "reps": 2})

Effect = Callable[[str, int, str], float]


class Machine(SimulatedStarter):
    """What `effect(function, bytes, value of the eager limit)` multiplies; `dies` under a value."""

    def __init__(self, effect: Effect, costs: Costs | None = None, **more: Any) -> None:
        self._dies: str | None = more.pop("dies", None)
        self._unread: str | None = more.pop("unread", None)
        super().__init__(costs or Costs(), **more)
        self._effect = effect

    @property
    def _value(self) -> str:
        return self.extra.get(VARIABLE, "")

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        if self._value and self._value == self._dies:
            return failed(run, Failure("ended", "exit status 134"))
        if self._value and self._value == self._unread:
            unread = "not_in_force", "reads back 4096"
            records = [
                Check(one.case, *unread) if isinstance(one, Check) else one for one in records
            ]
        return run, records

    def _answer(
        self, case: CaseRecord, knobs: Mapping[str, str], rules: Rules
    ) -> tuple[float, str]:
        """What it was started with changes no communicator."""
        own = {name: value for name, value in knobs.items() if name.startswith("coll_")}
        return super()._answer(case, own, rules)

    def _library(
        self, function: str, size: int, knobs: Mapping[str, str], rules: Rules
    ) -> tuple[float, str]:
        seconds, said = super()._library(function, size, knobs, rules)
        return seconds * (self._effect(function, size, self._value) if self._value else 1), said


def value(text: str) -> Configuration:
    return Configuration.of({EAGER: text})


def search(
    lab: Lab,
    starter: SimulatedStarter,
    *tried: str,
    settings: Settings = SETTINGS,
    seconds: float = math.inf,
    cells: Mapping[Target, float] = CELLS,
) -> list[Winner]:
    store = lab.store(starter)
    found = ProcessWide(store, settings, cells, SETTABLE, lambda: store.spent_seconds < seconds)
    return found.search([value(one) for one in tried], {})


# --- what is tried ------------------------------------------------------------------------------


def tried(**more: Any) -> dict[str, list[str]]:
    functions = more.pop("functions", ["MPI_Bcast"])
    found: dict[str, list[str]] = {}
    here = {name: more.pop(name) for name in ("fixed", "spare_cores") if name in more}
    settable = Settable(SPACE, installed_knobs(), **here)
    for one in process.values(settable, functions, **more):
        for knob, text in one.values:
            found.setdefault(knob, []).append(text)
    return found


def test_other_values_than_the_library_s_own_are_tried() -> None:
    found = tried()
    setting = SPACE.setting_of(EAGER)
    assert setting is not None and setting.default is not None
    assert found[EAGER] == [str(one) for one in setting.values if str(one) != setting.default]


def test_the_usual_values_are_few_and_no_parameters() -> None:
    used = build.winner(
        function="MPI_Bcast", configuration={"coll_tuned_bcast_algorithm": "knomial"}
    )
    assert tried(usual=True, standing=[used]) == {EAGER: ["16384", "32768"], "pml": ["ob1", "ob1"]}


def test_what_the_library_does_not_read_is_tried_only_by_name() -> None:
    """han's segments are looked at only where han answers."""
    knob, gate = "coll_han_bcast_segsize", "coll_han_priority"
    assert knob not in tried()
    found = tried(named=[knob])
    assert set(found) == {knob, gate} and set(found[gate]) == {"35"}


def test_what_changes_no_function_of_the_table_is_not_tried() -> None:
    assert "coll_adapt_priority" in tried()
    assert "coll_adapt_priority" not in tried(functions=["MPI_Scan"])
    assert tried(functions=["MPI_Scan"], named=["coll_adapt_priority"]) == {}


def test_what_the_user_has_fixed_is_not_tried() -> None:
    assert EAGER not in tried(fixed=[EAGER])


def test_a_parameter_of_an_algorithm_is_tried_where_a_winner_uses_it() -> None:
    knob = "coll_tuned_bcast_algorithm_knomial_radix"
    used = build.winner(
        function="MPI_Bcast", configuration={"coll_tuned_bcast_algorithm": "knomial"}
    )
    assert knob not in tried() and knob in tried(standing=[used])


def test_a_name_that_no_setting_has_is_an_error() -> None:
    with pytest.raises(UsageError, match="eager: not in the search space"):
        tried(named=["eager"])


@pytest.mark.parametrize(
    ("family", "before", "one", "expected"),
    [
        (OpenMpi(), {VARIABLE: "1", "A": "2"}, value("8192"), {VARIABLE: "8192", "A": "2"}),
        (
            SimGrid(),
            {OPTIONS: "--cfg=smpi/bcast:ompi"},
            Configuration.of({"smpi/async-small-thresh": "65536"}),
            {OPTIONS: "--cfg=smpi/bcast:ompi --cfg=smpi/async-small-thresh:65536"},
        ),
        # A parameter of an algorithm, which the exported rules choose.
        (
            OpenMpi(),
            {RULES: "/home/u/ompi-rules.conf"},
            Configuration.of({"coll_tuned_bcast_algorithm_knomial_radix": "8"}),
            {
                RULES: "/home/u/ompi-rules.conf",
                "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
                "OMPI_MCA_coll_tuned_bcast_algorithm_knomial_radix": "8",
            },
        ),
        (
            Mpich(),
            {"MPIR_CVAR_COLLECTIVE_FALLBACK": "print"},
            Configuration.of({"MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE": "8192"}),
            {
                "MPIR_CVAR_COLLECTIVE_FALLBACK": "error",
                "MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE": "8192",
            },
        ),
    ],
)
def test_beside_what_is_in_force(
    family: Any, before: dict[str, str], one: Configuration, expected: dict[str, str]
) -> None:
    assert settings_race.in_force_beside(before, family, one) == expected


# --- what is kept -------------------------------------------------------------------------------


def helps(function: str, size: int, text: str) -> float:
    return {"1024": 0.9, "8192": 0.6, "32768": 0.8}[text] if size == 4096 else 1.0


def test_the_value_that_saves_most_is_kept(lab: Lab) -> None:
    (found,) = search(lab, Machine(helps, launch_noise=0.02), "1024", "8192", "32768")
    assert found.configuration == {EAGER: "8192"}
    assert (found.function, found.variant) == (EVERY_FUNCTION, "default")
    assert (found.bytes_from, found.bytes_to) == (0, UNBOUNDED_BYTES)
    assert found.search_speedup == pytest.approx(1 / 0.6, rel=0.05)  # of the cells that gain
    (record,) = lab.searches()
    assert (record.function, record.outcome) == (EVERY_FUNCTION, "winner")
    assert len(record.trials) == 3 and f"{EAGER}=8192 is kept" in record.reason


def test_what_makes_one_cell_slower_is_not_kept(lab: Lab) -> None:
    """Though it would save the most over the table as a whole."""

    def mixed(function: str, size: int, text: str) -> float:
        if (function, size, text) == ("MPI_Gather", 64, "8192"):
            return 1.2
        return helps(function, size, text)

    starter = Machine(mixed, launch_noise=0.02)
    (found,) = search(lab, starter, "8192", "32768")
    assert found.configuration == {EAGER: "32768"}
    (record,) = lab.searches()
    assert "slower: MPI_Gather at 64 B" in [one.detail for one in record.trials]


def test_where_every_value_makes_a_cell_slower_there_is_none(lab: Lab) -> None:
    starter = Machine(lambda _, size, __: 1.3 if size == 64 else 0.4, launch_noise=0.02)
    assert search(lab, starter, "1024", "8192") == []
    (record,) = lab.searches()
    assert record.outcome == "nothing better"


def test_the_best_is_the_best_where_it_counts(lab: Lab) -> None:
    def either(_: str, size: int, text: str) -> float:
        return 0.8 if size == {"1024": 64, "8192": 4096}[text] else 1.0

    cells = {cell: 9.0 if cell.bytes == 64 else 1.0 for cell in CELLS}
    starter = Machine(either, launch_noise=0.02)
    (found,) = search(lab, starter, "1024", "8192", cells=cells)
    assert found.configuration == {EAGER: "1024"}


def test_what_saves_nothing_falls_out_early(lab: Lab) -> None:
    starter = Machine(lambda *_: 1.4, launch_noise=0.02)
    assert search(lab, starter, "1024", "2048", "8192", "16384") == []
    assert len(starter.launches) == STAGES[0][0] * 5


def test_few_values_get_all_their_launches_at_once(lab: Lab) -> None:
    starter = Machine(lambda *_: 1.4, launch_noise=0.02)
    assert search(lab, starter, "1024", "8192") == []
    assert len(starter.launches) == 10 * 3


def test_launches_that_are_slow_as_a_whole_hide_no_usual_value(lab: Lab) -> None:
    """Half of a table of long messages gains a third, where launches lie apart by more than two."""
    sizes = (8, 16, 32, 64, 128, 256, 4096, 16384)
    cells = dict.fromkeys((Target(name, size) for name in FUNCTIONS for size in sizes), 1.0)
    machine = Machine(lambda _, size, __: 0.67 if size == 16384 else 1.0, launch_noise=0.8)
    (found,) = search(lab, machine, "16384", "32768", settings=USUAL, cells=cells)
    assert found.search_speedup == pytest.approx(1 / 0.67, rel=0.05)
    # No message of a call of four ranks is as long as half of the limit below that.
    assert (found.bytes_from, found.bytes_to) == (4096 // 8, UNBOUNDED_BYTES)


@pytest.mark.parametrize("fault", ["dies", "unread"])
def test_a_value_under_which_nothing_is_measured_is_out(lab: Lab, fault: str) -> None:
    starter = Machine(helps, launch_noise=0.02, **{fault: "8192"})
    (found,) = search(lab, starter, "1024", "8192")
    assert found.configuration == {EAGER: "1024"}
    (record,) = lab.searches()
    (out,) = [one for one in record.trials if one.state == "failed"]
    assert out.knobs == {EAGER: "8192"}
    assert ("launches fail" if fault == "dies" else "not in force") in out.detail


def test_when_the_time_is_spent_no_value_is_begun(lab: Lab) -> None:
    """Each launch takes a second; what is begun is brought to its end."""
    starter = Machine(helps, launch_noise=0.02, seconds=1.0)
    (found,) = search(lab, starter, "1024", "32768", "8192", seconds=2.5)
    assert found.configuration == {EAGER: "32768"}
    (record,) = lab.searches()
    assert len(record.trials) == 2 and "3 values, 2 of them" in record.reason


def test_asked_again_it_takes_the_stored_launches(lab: Lab) -> None:
    first = search(lab, Machine(helps, dies="1024"), "1024", "8192", "32768")
    again = Machine(helps)
    assert search(lab, again, "1024", "8192", "32768") == first
    assert again.launches == []


# --- several settings together --------------------------------------------------------------------

CROSSOVER = "coll_basic_crossover"
ADAPT = "coll_adapt_priority"


class Joint(Machine):
    """A machine on which a second setting multiplies the times of long messages."""

    def __init__(self, beside: Mapping[str, float], **more: Any) -> None:
        super().__init__(helps, launch_noise=0.02, **more)
        self._beside = {f"OMPI_MCA_{knob}": factor for knob, factor in beside.items()}

    def _library(
        self, function: str, size: int, knobs: Mapping[str, str], rules: Rules
    ) -> tuple[float, str]:
        seconds, said = super()._library(function, size, knobs, rules)
        factors = [factor for name, factor in self._beside.items() if name in self.extra]
        return seconds * (math.prod(factors) if size == 4096 else 1), said


TRIED = [
    *map(value, ("1024", "8192", "32768")),
    Configuration.of({CROSSOVER: "2"}),
    Configuration.of({ADAPT: "36"}),
]


def search_jointly(lab: Lab, starter: SimulatedStarter) -> list[Winner]:
    return ProcessWide(lab.store(starter), SETTINGS, CELLS, SETTABLE).search(TRIED, {})


def test_a_value_that_saves_more_beside_the_best_joins_it(lab: Lab) -> None:
    (winner,) = search_jointly(lab, Joint({CROSSOVER: 0.7, ADAPT: 1.2}))
    assert winner.configuration == {EAGER: "8192", CROSSOVER: "2"}
    # The speed-up is that over the library as it is, not over the first value.
    assert winner.search_speedup == pytest.approx(1 / (0.6 * 0.7), rel=0.05)
    first, second, third = lab.searches()
    assert (first.round, second.round, third.round) == (1, 2, 3)
    assert f"{EAGER}=8192 is kept" in first.reason
    together = [trial.knobs for trial in second.trials]
    assert together[0] == {EAGER: "8192"}
    assert {EAGER: "8192", CROSSOVER: "2"} in together
    assert all(knobs[EAGER] == "8192" for knobs in together)
    assert [len(trial.knobs) for trial in third.trials] == [2, 3]


def test_a_value_that_adds_nothing_is_left_out(lab: Lab) -> None:
    (winner,) = search_jointly(lab, Joint({}))
    assert winner.configuration == {EAGER: "8192"}
    first, second = lab.searches()
    assert f"{EAGER}=8192 is kept" in first.reason
    assert len(second.trials) == 3


def test_a_joint_search_that_is_asked_again_takes_the_stored_launches(lab: Lab) -> None:
    beside = {CROSSOVER: 0.7}
    winners_found = search_jointly(lab, Joint(beside))
    again = Joint(beside)
    assert search_jointly(lab, again) == winners_found and again.launches == []


# --- in a campaign ------------------------------------------------------------------------------


def done_by_usual_settings(db: Database, folder: Path, **asked: bool) -> Campaign:
    """Run a campaign on a machine where a usual setting makes one large cell twice as fast."""
    starter = Machine(
        lambda name, size, _: 0.5 if (name, size) == ("MPI_Allreduce", 16384) else 1.0,
        planted.costs(),
        launch_noise=0.3,
    )
    sizes = [8, 16, 32, 64, 128, 256, 16384]
    settings = planted.settings(settings=None, guidelines=["GL12"], sizes=sizes, **asked)
    return whole.campaign(db, starter, settings, folder)


def test_the_usual_settings_come_first_and_stay_in_force(db: Database, tmp_path: Path) -> None:
    """No cell is searched whose violation they remove."""
    done = done_by_usual_settings(db, tmp_path / "exports")
    (process_wide,) = findings.get_winners(db, done.id)
    assert process_wide.function == EVERY_FUNCTION and process_wide.removes == ["GL12@16384"]
    assert [search.function for search in findings.all_searches(db, done.id)] == [EVERY_FUNCTION]


def test_the_table_waits_for_a_search_of_all_cells(db: Database, tmp_path: Path) -> None:
    """Winners of that search change it; until then only what the settings may slow down counts."""
    done = done_by_usual_settings(db, tmp_path / "exports", all=True)
    assert EVERY_FUNCTION in {winner.function for winner in findings.get_winners(db, done.id)}
    assert sorted(findings.stages(db, done.id)) == ["after", "before", "round-2"]
    variants = {
        suite: {median.case.variant for median in runs.medians(db, done.id, [suite])}
        for suite in ("confirm-1", "confirm-2")
    }
    assert variants["confirm-1"] == {"default"} < variants["confirm-2"]


def done_by(db: Database, folder: Path, starter: SimulatedStarter) -> Campaign:
    settings = planted.settings(settings=[EAGER], guidelines=["GL12"], sizes=[64, 16384])
    return whole.campaign(db, starter, settings, folder)


def test_a_campaign_exports_it_beside_its_rules_and_confirms_both(
    db: Database, tmp_path: Path
) -> None:
    starter = Machine(lambda *_: 0.5, planted.costs(), launch_noise=0.02)
    done = done_by(db, tmp_path / "exports", starter)
    rule, *more, process_wide = findings.get_winners(db, done.id)
    assert process_wide.function == EVERY_FUNCTION and process_wide.speedup > 1.5
    assert rule.function == "MPI_Allreduce" and not more
    script = (tmp_path / "exports" / "plumbline.sh").read_text()
    assert f"export {VARIABLE}=" in script and "dynamic_rules_filename" in script
    said = [one.text for one in campaigns.events(db, done.id) if one.kind == "in force"]
    assert any(EAGER in text and "read back" in text for text in said)
    assert deciding([process_wide, rule], Target("MPI_Allreduce", 16384)) == rule
    assert deciding([process_wide, rule], Target("MPI_Bcast", 64)) == process_wide


def test_a_value_that_was_read_back_is_asked_again_only_where_what_is_set_has_changed(
    lab: Lab,
) -> None:
    (found,) = search(lab, Machine(helps, launch_noise=0.02), "8192")
    starter = Machine(helps)
    sizes = {"MPI_Bcast": [64]}
    plan = tables.plan(SETTINGS, [])
    proven = Proven(lab.store(starter), simulated.toolchain(), plan, sizes)
    environment = {VARIABLE: "8192"}
    launches = []
    for turn, more in enumerate(({}, {}, {"OMPI_MCA_pml": "ob1"}), 1):
        assert proven.missed(turn, [found], environment | more) == []
        launches.append(len(starter.launches))
    assert launches == [1, 1, 2]


def test_a_campaign_without_gain_from_it_exports_none(db: Database, tmp_path: Path) -> None:
    starter = Machine(lambda *_: 1.2, planted.costs(), launch_noise=0.02)
    done = done_by(db, tmp_path / "exports", starter)
    assert [one.function for one in findings.get_winners(db, done.id)] == ["MPI_Allreduce"]
    assert VARIABLE not in (tmp_path / "exports" / "plumbline.sh").read_text()
