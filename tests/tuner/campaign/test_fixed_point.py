"""The loop comes to an end, and no cell is slower then: on random guidelines, with a simulated
library in which cures break other guidelines, and what wins a race may be slow when it is exported.

What is true is computed from the costs, not from what a campaign has measured."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from plumbline.campaign.proof import environment_of
from plumbline.campaign.vetting import Vetting
from plumbline.core.cell import Target
from plumbline.core.guidelines import Guidelines, Pattern, prefix_of
from plumbline.measure import tables
from plumbline.search.budget import Budget
from plumbline.search.race.race import Race
from plumbline.search.rounds import Around, Rounds
from plumbline.settings import Settings
from plumbline.settings.campaign_file import load
from plumbline_db import campaigns, findings, runs
from plumbline_db.connection import Database
from plumbline_db.probe_records import CaseRecord
from plumbline_db.records import Winner
from plumbline_exporters import plumbline_sh
from tests.exporters.bundles import variant
from tests.tuner import whole
from tests.tuner.simulated import (
    GUIDELINES,
    LATENCY,
    SPACE,
    Costs,
    Interrupted,
    Rules,
    SimulatedStarter,
    toolchain,
)

SIZES = [64, 512, 4096, 32768]
FUNCTIONS = [name for name in LATENCY if SPACE.of(name)]
QUIET = {"launch_noise": 0.0, "case_noise": 0.0, "sample_noise": 0.0}
TOLERANCE = 0.05


def exact(**changes: object) -> Settings:
    """One launch decides, as where SimGrid simulates; what is violated is searched."""
    values = {"simulate": "ompi", "nprocs": 4, "sizes": SIZES, "budget_seconds": 1e6, "all": False}
    return load(None, values | changes)


def chosen(*ids: str) -> Guidelines:
    return GUIDELINES.selected(ids)


class Done:
    """A finished campaign; `slower` are the cells that take longer with its files than without."""

    def __init__(
        self,
        db: Database,
        folder: Path,
        costs: Costs,
        guidelines: Guidelines,
        settings: Settings,
        *,
        stop_after: int | None = None,
        kind: type[SimulatedStarter] = SimulatedStarter,
        **noise: float,
    ) -> None:
        parts = {one.variant: one.uses for one in guidelines.patterns}
        self.starter = kind(
            costs,
            parts=parts,
            stop_after=stop_after,
            **(noise or QUIET),  # type: ignore[arg-type]
        )
        there = toolchain(guidelines)
        self.campaign = whole.campaign(db, self.starter, settings, folder, there)
        self._db, self._folder = db, folder
        self._cells = [
            (function, size)
            for function, sizes in tables.sizes_of(guidelines, settings).items()
            for size in sizes
        ]

    def counts(self) -> list[int]:
        """Violations of the rounds, in order, from before to after."""
        found = findings.stages(self._db, self.campaign.id)
        rounds = sorted(
            (one for one in found if one.startswith("round-")), key=lambda one: int(one[6:])
        )
        return [len(self.violated(stage)) for stage in ("before", *rounds, "after")]

    def violated(self, stage: str) -> set[tuple[str, str, int]]:
        table = findings.get_verdicts(self._db, self.campaign.id, stage)
        return {
            (one.guideline, one.function, one.bytes) for one in table if one.verdict == "violated"
        }

    def events(self, kind: str) -> list[str]:
        return [
            one.text for one in campaigns.events(self._db, self.campaign.id) if one.kind == kind
        ]

    def turns(self) -> int:
        suites = {suite for suite, _ in self.starter.launches}
        return len([one for one in suites if re.fullmatch("confirm-[0-9]+", one)])

    def cost(self, function: str, size: int, environment: dict[str, str]) -> float:
        case = CaseRecord(
            0, function, "default", "default", size, size, "MPI_BYTE", "MPI_BOR", 0, 1
        )
        cost, outcome = self.starter._answer(case, {}, Rules(environment))
        assert outcome == "ok"
        return cost

    def slower(self) -> dict[tuple[str, int], float]:
        script = self._folder / plumbline_sh.FILE_NAME
        files = environment_of(script, {"PATH": "/usr/bin:/bin"}) if script.is_file() else {}
        ratios = {cell: self.cost(*cell, files) / self.cost(*cell, {}) for cell in self._cells}
        return {cell: ratio for cell, ratio in ratios.items() if ratio > 1 + TOLERANCE}


def pattern(number: int, lhs: str, *uses: str) -> Pattern:
    return Pattern(
        id=f"R{number}",
        name=f"{lhs} ⪯ {' + '.join(uses)}",
        lhs=lhs,
        variant=f"{prefix_of(lhs)}as_r{number}",
        uses=list(uses),
    )


def factor_at(found: Mapping[int, float], size: int) -> float:
    """Between the measured sizes that of the smaller one."""
    return found[max(one for one in SIZES if one <= size)]


def world(
    chance: random.Random,
    patterns: list[Pattern],
    defaults: Mapping[str, Mapping[int, float]],
    algorithms: Mapping[tuple[str, str], Mapping[int, float]],
) -> tuple[Guidelines, Costs]:
    """Some algorithms are slower when they are exported than they were in the race."""
    costs = Costs(
        default={name: partial(factor_at, found) for name, found in defaults.items()},
        algorithm={
            which: lambda size, _, found=found: factor_at(found, size)  # type: ignore[misc]
            for which, found in algorithms.items()
        },
        in_force={which: chance.choice([1.0, 1.0, 1.0, 2.0, 4.0]) for which in algorithms},
    )
    return msgspec.structs.replace(GUIDELINES, patterns=patterns), costs


ALGORITHMS = [
    (entry.name, one.name)
    for entry in SPACE.function
    if entry.name in LATENCY
    for one in entry.algorithms
]


def any_world(seed: int) -> tuple[Guidelines, Costs]:
    """Some patterns between any functions, and times that have nothing to do with them."""
    chance = random.Random(seed)
    patterns = [
        pattern(number, *chance.sample(FUNCTIONS, chance.randint(2, 3)))
        for number in range(chance.randint(2, 8))
    ]

    def factors(low: float, high: float) -> dict[int, float]:
        return {size: chance.uniform(low, high) for size in SIZES}

    defaults = {name: factors(0.6, 2.5) for name in FUNCTIONS}
    return world(chance, patterns, defaults, {one: factors(0.3, 2.0) for one in ALGORITHMS})


def fragile_world(seed: int) -> tuple[Guidelines, Costs]:
    """All functions take nearly the same time, and none may be slower than one of them, which is
    too slow somewhere: its cure breaks guidelines of all the others. Some of these have a cure."""
    chance = random.Random(seed)
    middle, other, *rest = chance.sample(FUNCTIONS, 5)
    patterns = [pattern(0, middle, other)]
    patterns += [pattern(number, name, middle) for number, name in enumerate(rest, 1)]
    defaults = {
        name: dict.fromkeys(SIZES, chance.uniform(0.95, 1.0) * 4 / LATENCY[name])
        for name in FUNCTIONS
    }
    defaults[middle] |= dict.fromkeys(chance.sample(SIZES, 2), 1.4 * 4 / LATENCY[middle])
    algorithms = {}
    for function, name in ALGORITHMS:
        likely = 0.8 if function == middle else 0.1
        factor = chance.uniform(0.2, 0.6) if chance.random() < likely else 2.0
        algorithms[function, name] = dict.fromkeys(SIZES, factor * 4 / LATENCY[function])
    return world(chance, patterns, defaults, algorithms)


@pytest.mark.parametrize(
    "seed", [pytest.param(n, marks=[pytest.mark.alone] * (n % 12 >= 6)) for n in range(24)]
)
def test_any_guidelines_come_to_an_end(tmp_path: Path, db: Database, seed: int) -> None:
    guidelines, costs = (fragile_world if seed < 12 else any_world)(seed)
    ours = {} if seed % 2 else {"variants": []}
    done = Done(db, tmp_path / "out", costs, guidelines, exact(**ours))
    assert done.slower() == {}
    # Without variants of ours no mock-up reaches what a faster function opens.
    assert "variants" in ours or done.counts()[-1] <= done.counts()[0]
    # Each turn but the last searches cells for the first or second time, or drops a winner.
    cells = len(done._cells)
    assert done.turns() <= 4 * cells


@pytest.mark.parametrize("seed", [2, *(pytest.param(n, marks=pytest.mark.alone) for n in (8, 11))])
def test_an_interrupted_campaign_takes_the_same_turns(tmp_path: Path, seed: int) -> None:
    """Through rounds that have more violations than the one before."""
    guidelines, costs = fragile_world(seed)
    settings = exact(**({} if seed % 2 else {"variants": []}))

    def run(folder: Path, stop_after: int | None = None) -> Done:
        with Database.open(folder / "plumbline.db", write=True) as db:
            return Done(db, folder / "out", costs, guidelines, settings, stop_after=stop_after)

    def left_by(folder: Path, done: Done) -> tuple[object, ...]:
        with Database.open(folder / "plumbline.db") as db:
            id = done.campaign.id
            tables_ = [findings.get_verdicts(db, id, stage) for stage in findings.stages(db, id)]
            said = [(one.kind, one.text) for one in campaigns.events(db, id)]
            return findings.get_winners(db, id), tables_, said

    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    whole = run(tmp_path / "whole")
    launches = whole.starter.launches
    for number in range(0, len(launches), 11):
        with pytest.raises(Interrupted):
            run(tmp_path / "parts", stop_after=min(11, len(launches) - number - 1))
    parts = run(tmp_path / "parts")
    assert left_by(tmp_path / "parts", parts) == left_by(tmp_path / "whole", whole)


def incurable(limit: float = 0.3) -> Costs:
    """Bcast is slow at one size; its cure makes three guidelines fail there that nothing cures."""
    return Costs(
        default={"MPI_Bcast": lambda size: 4.0 if size == 4096 else 1.0},
        algorithm={("MPI_Bcast", "binomial"): lambda size, _: limit if size == 4096 else 1.2},
    )


def test_a_gain_stays_whatever_violations_it_opens(tmp_path: Path, db: Database) -> None:
    """Nothing cures what the faster Bcast makes violated; without variants of ours it remains, and
    no call is slower."""
    rules = chosen("GL7", "GL10", "GL11", "GL12")
    done = Done(db, tmp_path / "out", incurable(), rules, exact(variants=[]))
    before, after = done.violated("before"), done.violated("after")
    assert {function for _, function, _ in before} == {"MPI_Bcast"}
    assert len(after) > len(before) and before.isdisjoint(after)
    assert [one.function for one in winners_of(db, done)] == ["MPI_Bcast"]
    assert done.slower() == {} and not done.events("winner dropped")


def test_what_a_gain_opens_is_reached_by_mock_ups_that_call_it(
    tmp_path: Path, db: Database
) -> None:
    """With variants of ours each function gets the mock-up that calls the faster Bcast."""
    rules = chosen("GL7", "GL10", "GL11", "GL12")
    done = Done(db, tmp_path / "out", incurable(), rules, exact())
    assert {name for name, *_ in done.violated("before")} == {"GL10", "GL2"}
    # What takes 0.3 at 4096 B is faster than smaller ones, and than a part of a larger one.
    assert {name for name, *_ in done.violated("after")} == {"GL1", "GL2"}
    assert "scatter_as_bcast" in {one.variant for one in winners_of(db, done)}


def test_mock_ups_are_made_of_winners_of_ours(tmp_path: Path, db: Database) -> None:
    """Allreduce is best as Reduce and Bcast, which is so as Reduce is best as a ring of ours: no
    other way leads there, as the library's own Reduce is slow."""
    costs = Costs(
        default={
            "MPI_Reduce": lambda _: 6.0,
            "MPI_Allreduce": lambda _: 3.0,
            "MPI_Reduce_scatter": lambda _: 9.0,
            "MPI_Reduce_scatter_block": lambda _: 9.0,
        },
        algorithm={which: lambda *_: 9.0 for which in ALGORITHMS if which[0] != "MPI_Bcast"},
        own={"reduce_ring": 0.5},
    )
    rules = chosen("GL8", "GL12")
    done = Done(db, tmp_path / "out", costs, rules, exact())
    assert done.violated("before") and not done.violated("after")
    assert {(one.function, one.variant) for one in winners_of(db, done)} == {
        ("MPI_Reduce", "reduce_ring"),
        ("MPI_Allreduce", "allreduce_as_reduce_plus_bcast"),
    }


@pytest.mark.parametrize("refused", [[], [variant("MPI_Gather", "gather_linear", 64, 64)]])
def test_files_that_would_be_the_same_are_not_measured_again(
    tmp_path: Path, db: Database, refused: list[Winner], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cell that its winner leaves violated races once more: the same winner comes of it, for
    another violation, and what is `refused` before anything is exported."""
    asked: list[str] = []

    def stuck(*_: object) -> list[Target]:
        asked.append("stuck")
        return [Target("MPI_Bcast", 4096)] if len(asked) == 1 else []

    def won(rounds: Rounds, race: Race, *args: Any, **more: Any) -> list[Winner]:
        if len(asked) == 1:
            again = [msgspec.structs.replace(one, removes=["GL1@64"]) for one in race.in_force]
            return [*again, *refused]
        return first(rounds, race, *args, **more)

    def accepted(_: object, found: list[Winner]) -> list[Winner]:
        assert all(one.removes != ["GL1@64"] for one in found)  # it is what was accepted before
        return [winner for winner in found if winner not in refused]

    first = Rounds._run
    monkeypatch.setattr(Rounds, "stuck", stuck)
    monkeypatch.setattr(Rounds, "_run", won)
    monkeypatch.setattr(Vetting, "_accepted", accepted)
    costs = Costs(
        default={"MPI_Bcast": lambda _: 4.0}, algorithm={("MPI_Bcast", "binomial"): lambda *_: 0.3}
    )
    done = Done(db, tmp_path / "out", costs, chosen("GL10"), exact(variants=[]))
    assert len(asked) > 1 and done.turns() == 1
    assert findings.get_winners(db, done.campaign.id) and done.violated("after") == set()


def test_what_a_winner_breaks_at_another_size_needs_no_turn_of_its_own(
    tmp_path: Path, db: Database
) -> None:
    """512 B is slow; with its cure two calls of it are faster than one of 1024 B, which has a cure
    as well."""
    costs = Costs(
        default={"MPI_Bcast": lambda size: 2.0 if size == 512 else 1.15},
        algorithm={
            ("MPI_Bcast", "binomial"): lambda size, _: 0.6 if size == 512 else 1.4,
            ("MPI_Bcast", "chain"): lambda size, _: 2.1 if size == 512 else 0.9,
        },
    )
    keys = {"nprocs": 4, "sizes": [512, 1024], "launches": 12, "blocks": 1, "reps": 2}
    settings = load(None, keys | {"variants": [], "settings": [], "budget_seconds": 1e6})
    noise = {"launch_noise": 0.01, "case_noise": 0.01, "sample_noise": 0.01}
    done = Done(db, tmp_path / "out", costs, chosen("GL1", "GL2", "GL10"), settings, **noise)
    assert {cell[1:] for cell in done.violated("before")} == {("MPI_Bcast", 512)}
    assert done.violated("after") == set() and done.turns() == 1


def test_settings_of_the_process_are_searched_beside_what_has_won(
    tmp_path: Path, db: Database
) -> None:
    rules = chosen("GL7", "GL10", "GL11", "GL12")
    settings = exact(variants=[], settings=["btl_vader_eager_limit"])
    done = Done(db, tmp_path / "out", incurable(), rules, settings)
    tried = [
        one.environment
        for one in runs.listing(db, done.campaign.id)
        if one.suite.startswith("process-1")
    ]
    assert len(tried) > 1
    assert all("OMPI_MCA_coll_tuned_dynamic_rules_filename" in one for one in tried)


def test_a_cell_gets_its_second_choice(tmp_path: Path, db: Database) -> None:
    """What wins the race is slow when it is exported; another algorithm is not."""
    costs = Costs(
        default={"MPI_Allreduce": lambda _: 2.0},
        algorithm={
            ("MPI_Allreduce", "rabenseifner"): lambda *_: 0.5,
            ("MPI_Allreduce", "recursive_doubling"): lambda *_: 0.8,
        },
        in_force={("MPI_Allreduce", "rabenseifner"): 8.0},
    )
    done = Done(db, tmp_path / "out", costs, chosen("GL12"), exact(variants=[]))
    assert done.violated("before") and not done.violated("after")
    dropped = done.events("winner dropped")
    assert dropped and all("rabenseifner: slower" in one for one in dropped)
    knobs = {one.configuration["coll_tuned_allreduce_algorithm"] for one in winners_of(db, done)}
    assert knobs == {"recursive_doubling"}
    # One race for both choices.
    assert {suite for suite, _ in done.starter.launches if suite.startswith("search-2")} == set()


def test_ours_at_single_sizes_take_the_place_of_an_option_for_all_sizes(
    tmp_path: Path, db: Database
) -> None:
    """Every option of Gather that is fast at the measured sizes is slower at far ones."""
    slow_far = lambda size, _: 0.5 if size < 1 << 19 else 2.5  # noqa: E731
    names = ("linear_sync", "basic_linear", "binomial")
    costs = Costs(
        default={"MPI_Gather": lambda _: 2.0},
        algorithm={("MPI_Gather", name): slow_far for name in names},
        own={"gather_binomial": 0.5},
    )
    done = Done(db, tmp_path / "out", costs, chosen("GL3"), exact())
    assert done.violated("before") and not done.violated("after")
    assert {one.variant for one in winners_of(db, done)} == {"gather_binomial"}
    (dropped,) = done.events("winner dropped")
    assert "MPI_Gather all sizes" in dropped and done.turns() == 2


class Preloaded(SimulatedStarter):
    """Every Gather is slower where a preload library stands before it."""

    def _answer(
        self, case: CaseRecord, knobs: Mapping[str, str], rules: Rules
    ) -> tuple[float, str]:
        cost, outcome = super()._answer(case, knobs, rules)
        slow = bool(rules._profile) and (case.function, case.variant) == ("MPI_Gather", "default")
        return cost * (1.3 if slow else 1.0), outcome


def test_what_no_winner_can_be_blamed_for_costs_the_preload_library_its_place(
    tmp_path: Path, db: Database
) -> None:
    """A variant of ours is best for Scan, knobs help both; knobs are what is left."""
    costs = Costs(
        default={"MPI_Scan": lambda _: 2.0, "MPI_Allreduce": lambda _: 2.0},
        algorithm={("MPI_Allreduce", "rabenseifner"): lambda *_: 0.5},
    )
    rules = chosen("GL3", "GL12", "GL16")
    done = Done(db, tmp_path / "out", costs, rules, exact(), kind=Preloaded)
    assert {function for _, function, _ in done.violated("before")} == {"MPI_Scan", "MPI_Allreduce"}
    assert {(one.function, one.variant) for one in winners_of(db, done)} == {
        ("MPI_Allreduce", "default"),
        ("MPI_Scan", "default"),
    }
    assert done.slower() == {}
    said = [one for one in done.events("winner dropped") if "scan_as_exscan" in one]
    assert said and all("MPI_Gather at" in one and "alone" in one for one in said)
    suites = {suite for suite, _ in done.starter.launches}
    assert {"confirm-1-again", "confirm-1-once-more"} <= suites


def winners_of(db: Database, done: Done) -> list[Winner]:
    return findings.get_winners(db, done.campaign.id)


def test_right_sides_are_searched_first_and_in_force(tmp_path: Path, db: Database) -> None:
    """Bcast and Allreduce ⪯ Reduce + Bcast are violated: the race of Allreduce has the better Bcast
    in its mock-up."""
    costs = Costs(
        default={"MPI_Bcast": lambda _: 4.0, "MPI_Allreduce": lambda _: 3.0},
        algorithm={("MPI_Bcast", "binomial"): lambda *_: 0.5},
    )
    done = Done(db, tmp_path / "out", costs, chosen("GL10", "GL12"), exact())
    suites = {suite for suite, _ in done.starter.launches}
    assert any(one.startswith("search-1-step-2") for one in suites)
    assert done.violated("before") and not done.violated("after")
    assert {one.variant for one in winners_of(db, done) if one.function == "MPI_Allreduce"} == {
        "allreduce_as_reduce_plus_bcast"
    }
    # The mock-up with the better Bcast is what was raced: no second search was needed.
    assert not any("in-force" in one for one in suites)


def test_stuck_cells_are_searched_where_other_cells_have_no_time_left(
    tmp_path: Path, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The half of the limit that cells without a violated guideline may use is spent."""
    costs = Costs(
        default={"MPI_Bcast": lambda _: 4.0, "MPI_Allreduce": lambda _: 3.0},
        algorithm={("MPI_Bcast", "binomial"): lambda *_: 0.5},
    )
    cell = Target("MPI_Allreduce", 64)
    searched: list[Target] = []

    def second(
        _: Rounds, around: Around, targets: list[Target], verdicts: object
    ) -> Sequence[Winner]:
        searched.extend(targets)
        return around.standing

    monkeypatch.setattr(Rounds, "stuck", lambda *_: [] if searched else [cell])
    monkeypatch.setattr(Rounds, "second", second)
    monkeypatch.setattr(Budget, "has_room_for_others", lambda *_: False)
    quick = {"launches": 12, "blocks": 1, "reps": 2, "budget_seconds": 1e6}
    settings = load(None, {"nprocs": 4, "sizes": SIZES, **quick})
    rules = chosen("GL3", "GL10", "GL12")
    done = Done(db, tmp_path / "out", costs, rules, settings, **dict[str, Any](QUIET))
    assert searched == [cell]
    functions = {search.function for search in findings.all_searches(db, done.campaign.id)}
    assert functions == {"*", "MPI_Bcast", "MPI_Allreduce"}


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.alone) for n in (1, 2))])
def test_no_cell_is_slower_in_three_campaigns_in_a_row(
    tmp_path: Path, db: Database, seed: int
) -> None:
    """With noise, by the statistics of a real machine."""
    guidelines, costs = any_world(100 + seed)
    settings = load(
        None,
        {"nprocs": 4, "sizes": SIZES, "launches": 12, "blocks": 1, "reps": 2, "seed": 1 + seed}
        | {"budget_seconds": 1e6},
    )
    noise = {"launch_noise": 0.25, "case_noise": 0.01, "sample_noise": 0.02}
    done = Done(db, tmp_path / "out", costs, guidelines, settings, **noise)
    counts = done.counts()
    assert counts[-1] < counts[0]
    assert done.slower() == {}
