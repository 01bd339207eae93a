"""A gain that is not clear, and a cell that may be slower, get more pairs of launches; harm is
measured again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from plumbline.campaign.confirm import Confirmation, ConfirmTurn, confirm
from plumbline.campaign.pairs import ConfirmContext
from plumbline.campaign.proof import environment_of
from plumbline.measure.comparison import claim_of
from plumbline.measure.tables import ViolationTable
from plumbline.settings import Settings
from plumbline.settings.campaign_file import load
from plumbline_db.records import Suite, Winner
from plumbline_exporters import plumbline_sh
from plumbline_exporters.registry import write
from tests.exporters.bundles import bundle, tuned
from tests.tuner.lab import Lab
from tests.tuner.simulated import GUIDELINES, Costs, SimulatedStarter

SIZES = [16, 64, 256, 1024, 4096, 16384]
SETTINGS = load(None, {"nprocs": 4, "sizes": SIZES, "blocks": 1, "reps": 2})
DESIGN = claim_of(SETTINGS).design
FEW = msgspec.structs.replace(
    GUIDELINES, patterns=[one for one in GUIDELINES.patterns if one.id in ("GL7", "GL10", "GL12")]
)
CHOSEN = tuned("MPI_Scatter", "binomial")


def starter(rule: float, noise: float = 0.02, **more: float) -> SimulatedStarter:
    """The chosen rule takes `rule` times the default's time."""
    costs = Costs(algorithm={("MPI_Scatter", "binomial"): lambda *_: rule})
    return SimulatedStarter(costs, case_noise=noise, **more)  # type: ignore[arg-type]


def confirmed(
    lab: Lab,
    folder: Path,
    of: SimulatedStarter,
    settings: Settings = SETTINGS,
    turn: int = 1,
    earlier: Confirmation | None = None,
    chosen: Winner = CHOSEN,
) -> tuple[Confirmation, dict[str, list[str]]]:
    """The confirmation, and the plans of each suite of pairs."""
    write(bundle(chosen, directory=str(folder)), ["env"])
    environment = environment_of(folder / plumbline_sh.FILE_NAME, of.clean_environment())
    store = lab.store(of)
    suite = Suite("confirm", turn)
    table = ViolationTable(store, f"round-{turn}", FEW, settings, suite, environment)

    def in_force(winners: Sequence[Winner]) -> dict[str, str]:
        write(bundle(*winners, directory=str(folder)), ["env"])
        return environment_of(folder / plumbline_sh.FILE_NAME, of.clean_environment())

    done = confirm(
        ConfirmContext(store, settings, FEW, in_force),
        ConfirmTurn(suite, table, [chosen], environment, earlier),
    )
    plans: dict[str, list[str]] = {}
    for run in lab.runs():
        plans.setdefault(run.suite, []).append(run.plan)
    return done, plans


def test_a_clear_gain_needs_no_more_pairs(lab: Lab, tmp_path: Path) -> None:
    done, plans = confirmed(lab, tmp_path, starter(0.7), SETTINGS.but(launches=9))
    assert list(plans) == ["confirm-1", "confirm-1-default"]
    (kept,) = done.winners
    assert kept.speedup == pytest.approx(1 / 0.7, rel=0.05)


@pytest.mark.parametrize("far", [0.7, 1.0, 1.055, 1.2])
def test_a_winner_for_all_sizes_must_do_no_harm_far_above(
    lab: Lab, tmp_path: Path, far: float
) -> None:
    """What was not accepted in launches that have both sides is compared here. 1.055 times as
    long is little harm, but not shown to be none."""
    costs = Costs(
        algorithm={("MPI_Scatter", "binomial"): lambda size, _: 0.7 if size < 1 << 20 else far}
    )
    done, _ = confirmed(lab, tmp_path, SimulatedStarter(costs, case_noise=0.02))
    if far <= 1:
        (kept,) = done.winners
        assert kept.speedup == pytest.approx(1 / 0.7, rel=0.05)
    else:
        assert done.winners == [] and "4194304 B" in done.dropped[0][1]


@pytest.mark.parametrize("seed", range(1, 7))
def test_a_small_gain_is_not_left_to_luck(lab: Lab, tmp_path: Path, seed: int) -> None:
    """8 % in noise of 8 %: sooner or later it is seen, whatever the launches were."""
    settings = SETTINGS.but(seed=1000 * seed)
    done, _ = confirmed(lab, tmp_path, starter(0.92, 0.08), settings)
    (kept,) = done.winners
    assert kept.speedup_low > 1
    assert kept.speedup == pytest.approx(1 / 0.92, rel=0.06)


def test_pairs_are_added_for_what_is_unclear_alone(lab: Lab, tmp_path: Path) -> None:
    done, plans = confirmed(lab, tmp_path, starter(1.0))
    assert done.winners == []
    ((_, why),) = done.dropped
    assert why.startswith("no gain is left cold")
    looks = [f"confirm-1-look-{look + 1:02d}" for look in range(1, DESIGN.looks)]
    assert [suite for suite in plans if "look" in suite] == [
        name for look in looks for name in (look, f"{look}-default")
    ]
    for look, suite in enumerate(looks, start=1):
        for name in (suite, f"{suite}-default"):
            assert len(plans[name]) == DESIGN.new_launches(look)
    first = _cases(plans["confirm-1-default"][0])
    later = _cases(plans["confirm-1-look-02-default"][0])
    # The winner's cells, and those of functions that it does not touch: launches differ as a whole.
    assert {case for case in first if "MPI_Scatter " in case} <= later <= first


def test_what_the_table_has_not_decided_rides_along(lab: Lab, tmp_path: Path) -> None:
    """In the launches with the files in force; the other side of a pair does not need it."""
    _, plans = confirmed(lab, tmp_path, starter(1.0, 0.1), SETTINGS.but(launches=9))
    ours, theirs = (_cases(plans[f"confirm-1-look-02{side}"][0]) for side in ("", "-default"))
    more = {case for case in ours - theirs if "variant=library" not in case}
    assert more and theirs <= ours


def test_a_cell_that_was_not_slower_is_not_asked_about_again(lab: Lab, tmp_path: Path) -> None:
    """Where no winner has changed that reaches it: here none has, so that no pairs are added though
    cells seem slower in the noise."""
    first, plans = confirmed(lab, tmp_path, starter(0.7, 0.2))
    assert "confirm-1-look-02-default" in plans
    same, plans = confirmed(lab, tmp_path, starter(0.7, 0.2), turn=2, earlier=first)
    assert [suite for suite in plans if suite.startswith("confirm-2")] == [
        *("confirm-2", "confirm-2-default")
    ]
    assert (len(same.winners), same.dropped) == (1, [])


def test_what_may_be_slower_is_measured_until_it_is_known(lab: Lab, tmp_path: Path) -> None:
    """A choice that is worse at every size, by 12 % in noise of 6 %: nine pairs cannot tell."""
    done, plans = confirmed(lab, tmp_path, starter(1.12, 0.06))
    assert "confirm-1-look-02" in plans
    assert done.winners == []


def test_the_same_launches_give_the_same_confirmation(lab: Lab, tmp_path: Path) -> None:
    done, plans = confirmed(lab, tmp_path, starter(0.99))
    assert "confirm-1-look-02" in plans
    again, same = confirmed(lab, tmp_path, starter(0.99, stop_after=0))
    assert (again, same) == (done, plans)


def _cases(plan: str) -> set[str]:
    """The cases of a plan without their numbers, and without how often they are called."""
    lines = [line for line in plan.splitlines() if line.startswith("case ")]
    words = [line.split()[2:] for line in lines]
    return {" ".join(word for word in those if not word.startswith("reps=")) for those in words}
