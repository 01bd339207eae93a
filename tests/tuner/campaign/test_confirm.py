"""Which winners are kept when their cells have been measured cold."""

from __future__ import annotations

import math
import random

import msgspec
import pytest

from plumbline.campaign.confirm import ColdEvidence, reaching, speed
from plumbline.campaign.pairs import cold_ratios
from plumbline.core.cell import Target
from plumbline.measure.comparison import REFERENCE_CELLS, claim_of
from plumbline.search.space.candidates import DEFAULT
from plumbline.settings import Settings
from plumbline.settings.campaign_file import load
from plumbline.verify.decision import slower
from plumbline.verify.significance.comparison import Comparison
from plumbline_db.records import UNBOUNDED_BYTES, Tried, Verdict, Winner
from tests.db import build

SETTINGS: Settings = load(None, {"nprocs": 4})
PAIRS = 12
BUILT_ON = {"MPI_Allgather": {"MPI_Gather", "MPI_Bcast"}}


def winner(function: str = "MPI_Allreduce", **changes: object) -> Winner:
    values = {"function": function, "bytes_from": 8193, "bytes_to": 65536, "removes": []}
    return build.winner(**(values | changes))


def ratios(of: dict[tuple[str, int], float], noise: float = 0.02) -> dict[Target, list[float]]:
    chance = random.Random(str(sorted(of)))
    return {
        Target(*cell): [math.log(ratio) + chance.gauss(0, noise) for _ in range(PAIRS)]
        for cell, ratio in of.items()
    }


def violated(function: str, guideline: str, size: int) -> Verdict:
    return build.verdict("round-1", function=function, guideline=guideline, bytes=size)


def judged(winners: list[Winner], of: dict[tuple[str, int], float], *remaining: Verdict):  # type: ignore[no-untyped-def]
    measured = ratios(of)
    speeds = [speed(one, winners, measured, {}) for one in winners]
    harm = slower(measured, claim_of(SETTINGS))
    return evidence(
        winners, speeds, slower=harm, verdicts=list(remaining), least_gain=1.05
    ).judged()


def evidence(
    winners: list[Winner], speeds: list[Comparison | None], **known: object
) -> ColdEvidence:
    nothing = {"slower": {}, "verdicts": [], "built_on": BUILT_ON}
    return ColdEvidence(winners=winners, speeds=speeds, **(nothing | known))


def test_a_gain_is_kept_with_its_cold_speedup() -> None:
    one = winner(removes=["GL12@16384"])
    (kept,), dropped = judged([one], {("MPI_Allreduce", 16384): 0.5, ("MPI_Allreduce", 65536): 0.5})
    assert dropped == []
    assert kept.speedup == pytest.approx(2.0, rel=0.03)
    assert kept.speedup_low < 2.0 < kept.speedup_high
    assert kept.removes == ["GL12@16384"]
    assert kept.search_speedup == one.search_speedup
    assert msgspec.structs.replace(kept, speedup=2, speedup_low=2, speedup_high=2) == (
        msgspec.structs.replace(one, speedup=2, speedup_low=2, speedup_high=2)
    )


def test_speedup_is_over_the_cells_of_the_winner_alone() -> None:
    (kept,), _ = judged(
        [winner()],
        {
            ("MPI_Allreduce", 4096): 0.1,
            ("MPI_Allreduce", 16384): 0.4,
            ("MPI_Allreduce", 65536): 0.9,
            ("MPI_Bcast", 16384): 0.1,
        },
    )
    assert kept.speedup == pytest.approx(1 / math.sqrt(0.4 * 0.9), rel=0.03)


def test_slower_at_one_size_is_dropped() -> None:
    kept, dropped = judged(
        [winner(removes=["GL12@16384"])],
        {("MPI_Allreduce", 16384): 0.5, ("MPI_Allreduce", 65536): 1.2},
    )
    assert kept == []
    ((_, reason),) = dropped
    assert reason.startswith("slower at 65536 B: 1.")


def test_slower_within_the_tolerance_is_no_harm() -> None:
    kept, _ = judged([winner()], {("MPI_Allreduce", 16384): 0.5, ("MPI_Allreduce", 65536): 1.03})
    assert len(kept) == 1


def test_no_gain_and_nothing_removed_is_dropped() -> None:
    still = violated("MPI_Allreduce", "GL12", 16384)
    for one, remaining in ((winner(), []), (winner(removes=["GL12@16384"]), [still])):
        kept, dropped = judged([one], {("MPI_Allreduce", 16384): 1.0}, *remaining)
        assert kept == []
        assert dropped[0][0] is one
        assert dropped[0][1].startswith("no gain is left cold: ")


@pytest.mark.parametrize(
    ("ratio", "verdict", "kept"),
    [
        (0.97, "holds", True),
        (0.97, "undecided", False),
        (0.995, "holds", False),
        (0.93, "undecided", True),
    ],
)
def test_a_winner_is_a_gain_and_removes_a_violation_or_gains_much(
    ratio: float, verdict: str, kept: bool
) -> None:
    """The interval of its gain must be above 1; what was chosen for a violation is no exception."""
    cell = msgspec.structs.replace(
        violated("MPI_Allreduce", "GL1", 16384),
        verdict=verdict,  # type: ignore[arg-type]
    )
    found, dropped = judged(
        [winner(removes=["GL1@16384"])], {("MPI_Allreduce", 16384): ratio}, cell
    )
    assert bool(found) == kept == (not dropped)


def tried(speedup: float, low: float) -> Tried:
    return Tried(
        use="synchronised",
        type="MPI_BYTE",
        op="MPI_BOR",
        binding="core",
        cells=1,
        speedup=speedup,
        speedup_low=low,
        worst_low=low,
    )


@pytest.mark.parametrize(
    ("variant", "cold", "kept"),
    [
        ("allreduce_ring", 1.0, True),  # the cold launches do not say that it is slower
        ("default", 0.995, True),
        ("default", 1.01, False),  # a knob must not even seem slower
        ("allreduce_ring", 1.04, False),  # surely slower
    ],
)
def test_a_gain_that_acceptance_has_shown_need_not_be_shown_again(
    variant: str, cold: float, kept: bool
) -> None:
    """It is exported with the gain that was shown, and not with an interval that contains 1."""
    one = winner(variant=variant, tried=[tried(1.2, 1.1)])
    cells = ratios({("MPI_Allreduce", 16384): cold}, noise=0.01)
    speeds = [speed(one, [one], cells, {})]
    found, _ = evidence([one], speeds, faster=[one], least_gain=1.05).judged()
    assert [(1.2, 1.1, pytest.approx(1.2**2 / 1.1))] * kept == [
        (winner.speedup, winner.speedup_low, winner.speedup_high) for winner in found
    ]


def test_what_gives_no_result_in_force_is_dropped() -> None:
    one, cells = winner(), ratios({("MPI_Allreduce", 16384): 0.5})
    crash = [Target("MPI_Allreduce", 65536)]
    speeds = [speed(one, [one], cells, {})]
    kept, dropped = evidence([one], speeds, lost=crash).judged()
    assert kept == []
    assert "no right result with it in force: MPI_Allreduce at 65536 B" in dropped[0][1]


def test_a_violation_of_another_function_is_another_violation() -> None:
    """Monotony and split-robustness have one id for all functions."""
    one = winner(removes=["GL1@16384"])
    other = violated("MPI_Bcast", "GL1", 16384)
    (kept,), _ = judged([one], {("MPI_Allreduce", 16384): 0.5}, other)
    assert kept.removes == ["GL1@16384"]
    own = violated("MPI_Allreduce", "GL1", 16384)
    (kept,), _ = judged([one], {("MPI_Allreduce", 16384): 0.5}, own)
    assert kept.removes == []


def test_nothing_measured_is_no_proof() -> None:
    kept, dropped = judged([winner()], {("MPI_Bcast", 16384): 1.0})
    assert kept == []
    assert "has its cells" in dropped[0][1]


def test_a_cell_is_judged_for_the_winner_that_answers_it() -> None:
    """A variant of ours stands before the library's rules: its slow cell is not the knob's."""
    knob = winner(bytes_from=0, bytes_to=UNBOUNDED_BYTES)
    ours = winner(
        variant="allreduce_as_reduce_plus_bcast", configuration={}, bytes_from=32769, bytes_to=65536
    )
    cells = {("MPI_Allreduce", 16384): 0.5, ("MPI_Allreduce", 65536): 1.5}
    kept, dropped = judged([knob, ours], cells)
    assert [one.variant for one in kept] == ["default"]
    assert kept[0].speedup == pytest.approx(2.0, rel=0.03)
    assert [one.variant for one, _ in dropped] == [ours.variant]


def test_what_becomes_slower_elsewhere_is_the_knobs_doing() -> None:
    """The library builds functions on others; a variant of ours reaches nothing but its own."""
    knob = winner("MPI_Bcast", configuration={"coll_tuned_bcast_algorithm": "chain"})
    small = winner("MPI_Bcast", bytes_from=1, bytes_to=2000)
    ours = winner(variant="allreduce_as_reduce_plus_bcast", configuration={})
    cells = {
        ("MPI_Bcast", 1024): 0.5,
        ("MPI_Bcast", 16384): 0.5,
        ("MPI_Allreduce", 16384): 0.5,
        ("MPI_Allgather", 16384): 1.4,
    }
    kept, dropped = judged([knob, small, ours], cells)
    assert [one.function for one in kept] == ["MPI_Bcast", "MPI_Allreduce"]
    assert kept[0].bytes_to == 2000
    ((who, why),) = dropped
    assert who.configuration == knob.configuration
    assert why.startswith("MPI_Allgather at 16384 B became slower: 1.4")


def test_a_knob_that_makes_other_sizes_of_its_function_slower_is_dropped() -> None:
    """Setting a variable of Intel MPI turns off its faster way for small messages."""
    knob = winner("MPI_Allreduce", configuration={"I_MPI_ADJUST_ALLREDUCE": "8"})
    ours = winner("MPI_Allreduce", variant="allreduce_ring", configuration={})
    cells = {("MPI_Allreduce", 16384): 0.5, ("MPI_Allreduce", 32): 3.0}
    kept, dropped = judged([knob], cells)
    assert kept == [] and dropped[0][1].startswith("MPI_Allreduce at 32 B became slower: 3.0")
    small = Target("MPI_Allreduce", 32)
    assert reaching([knob, ours], small, BUILT_ON) == [knob]


def test_chance_alone_drops_few_winners() -> None:
    """Cells that do not differ: with the correction, hardly ever is one called slower."""
    wrongly = 0
    for seed in range(200):
        chance = random.Random(seed)
        cells = {
            Target("MPI_Allreduce", size): [chance.gauss(-0.3, 0.3) for _ in range(15)]
            for size in range(8200, 8240)
        }
        one = winner(removes=["GL12@8200"])
        harm = slower(cells, claim_of(SETTINGS))
        speeds = [speed(one, [one], cells, {})]
        kept, _ = evidence([one], speeds, slower=harm).judged()
        wrongly += not kept
    assert wrongly <= 20


# --- the factor that a whole launch shares ------------------------------------------------------


def shared(count: int) -> dict[Target, list[float]]:
    chance = random.Random(5)
    factors = [chance.gauss(0, 0.4) for _ in range(PAIRS)]
    cells = {("MPI_Allreduce", 16384): 0.5} | {("MPI_Bcast", 64 + n): 1.0 for n in range(count)}
    return {
        target: [log + factor for log, factor in zip(logs, factors, strict=True)]
        for target, logs in ratios(cells, noise=0.01).items()
    }


def almost(logs: dict[Target, list[float]]) -> dict[Target, object]:
    return {cell: pytest.approx(own) for cell, own in logs.items()}


def less_shared(
    logs: dict[Target, list[float]], winners: list[Winner]
) -> dict[Target, list[float]]:
    """Of launches whose log ratios are these."""
    tuned, plain = (
        {
            (cell, DEFAULT): {run: math.exp(share * log) for run, log in enumerate(own)}
            for cell, own in logs.items()
        }
        for share in (1, 0)
    )
    found, lost = cold_ratios(tuned, plain, list(logs), winners)
    assert lost == []
    return found


def test_the_launch_factor_is_taken_off() -> None:
    found = less_shared(shared(REFERENCE_CELLS), [winner()])
    for log in found[Target("MPI_Allreduce", 16384)]:
        assert math.exp(log) == pytest.approx(0.5, rel=0.05)


def test_too_few_untouched_cells_say_nothing_about_it() -> None:
    before = shared(REFERENCE_CELLS - 1)
    assert less_shared(before, [winner()]) == almost(before)
    touched = shared(REFERENCE_CELLS)
    assert less_shared(touched, [winner(), winner("MPI_Bcast")]) == almost(touched)


def test_a_setting_of_the_whole_process_touches_the_anchors_too() -> None:
    """All messages take 20 % longer under it: that is its effect, and no factor of the launch."""
    longer = {cell: [0.2 for _ in logs] for cell, logs in shared(REFERENCE_CELLS).items()}
    assert less_shared(longer, [winner("*", bytes_from=0)]) == almost(longer)


def test_a_setting_about_long_messages_leaves_the_anchors() -> None:
    found = less_shared(shared(REFERENCE_CELLS), [winner("*")])
    for log in found[Target("MPI_Allreduce", 16384)]:
        assert math.exp(log) == pytest.approx(0.5, rel=0.05)
