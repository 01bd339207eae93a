"""What a study of parameters proposes: each set once, what lies beside the best before others."""

from __future__ import annotations

import math

import pytest

from plumbline.search.race.exploring import Study
from plumbline.search.space.candidates import Candidate, CandidateSpace
from tests.tuner.search.test_candidates import candidate_space, ours

SEGMENT = "coll_tuned_bcast_algorithm_segmentsize"
FANOUT = "coll_tuned_bcast_algorithm_chain_fanout"
SIZE = 2**22


def survivors(*names: str) -> list[Candidate]:
    of = {
        one.configuration.get("coll_tuned_bcast_algorithm"): one
        for one in candidate_space().first("MPI_Bcast")
    }
    return [of[name] for name in names]


def everything(offered: CandidateSpace, candidates: list[Candidate]) -> set[Candidate]:
    found = set()
    for one in candidates:
        choices = offered.choices("MPI_Bcast", one, SIZE)
        for segment in choices.get(SEGMENT, []):
            for fanout in choices.get(FANOUT, [None]):
                values = {SEGMENT: segment} | ({} if fanout is None else {FANOUT: fanout})
                found.add(offered.with_parameters(one, values))
    return found


def choices(
    offered: CandidateSpace, *candidates: Candidate
) -> dict[Candidate, dict[str, list[int]]]:
    return {one: offered.choices("MPI_Bcast", one, SIZE) for one in candidates}


def study(candidates: list[Candidate], known: dict[Candidate, float], seed: int = 1) -> Study:
    return Study(candidate_space(), choices(candidate_space(), *candidates), known, seed)


@pytest.mark.parametrize("names", [("binomial",), ("chain",), ("chain", "binomial")])
def test_a_space_is_walked_through_once(names: tuple[str, ...]) -> None:
    chosen = survivors(*names)
    space = everything(candidate_space(), chosen)
    known = {one: 1.0 for one in chosen}
    one = study(chosen, known)
    seen: list[Candidate] = []
    while proposals := one.ask(6):
        seen += proposals
        for candidate in proposals:
            one.tell(candidate, 0.9)
    assert len(seen) == len(set(seen))
    assert set(seen) == space - known.keys()
    assert one.ask(6) == []


def test_what_was_measured_is_not_proposed_again() -> None:
    chosen = survivors("chain", "pipeline", "binary_tree", "binomial")
    space = sorted(everything(candidate_space(), chosen))
    known = {one: 1.0 for one in space[::2]}
    one = study(chosen, known)
    seen: set[Candidate] = set()
    for _ in range(5):
        proposals = one.ask(6)
        assert len(proposals) <= 6
        assert not set(proposals) & (seen | known.keys())
        assert set(proposals) <= set(space)
        seen |= set(proposals)
        for candidate in proposals:
            one.tell(candidate, 1.0)


def test_failures_are_told_too() -> None:
    chosen = survivors("binomial")
    one = study(chosen, {})
    for candidate in one.ask(4):
        one.tell(candidate, None)
    assert one.ask(4)


def test_the_same_history_gives_the_same_proposals() -> None:
    """A campaign that is replayed must ask for the same launches."""
    chosen = survivors("chain", "pipeline", "binary_tree", "binomial")

    def history(seed: int) -> list[Candidate]:
        one = study(chosen, {chosen[0]: 0.8}, seed)
        found = []
        for _ in range(3):
            proposals = one.ask(6)
            found += proposals
            for candidate in proposals:
                one.tell(candidate, cost(candidate))
        return found

    assert history(3) == history(3)
    assert history(3) != history(4)


def cost(candidate: Candidate) -> float:
    """Best at 64 KiB segments; each factor of two away costs a tenth."""
    values = candidate.configuration.as_dict()
    segment = int(values[SEGMENT]) or SIZE
    return 0.5 + 0.1 * abs(math.log2(segment / 65536))


def test_the_best_of_several_lines_is_soon_found() -> None:
    chosen = survivors("chain", "pipeline", "binary_tree", "binomial")
    space = everything(candidate_space(), chosen)
    one = study(chosen, {chosen[0]: cost(chosen[0])})
    asked: list[Candidate] = []
    while min(map(cost, [chosen[0], *asked])) > min(map(cost, space)):
        proposals = one.ask(5)
        asked += proposals
        for candidate in proposals:
            one.tell(candidate, cost(candidate))
    assert len(asked) <= 10 < len(space) / 2


def test_parameters_of_a_variant_are_walked_through_as_well() -> None:
    offered = ours()
    tree, chosen = Candidate("bcast_tree"), []
    one = Study(offered, choices(offered, tree), {tree: 0.9}, 1)
    while proposals := one.ask(2):
        chosen += proposals
        for candidate in proposals:
            one.tell(candidate, 0.8)
    every = {
        offered.with_parameters(tree, {"segment_bytes": segment, "radix": radix})
        for segment in (1024, 8192, 65536)
        for radix in (2, 4)
    }
    assert set(chosen) == every - {tree} and len(chosen) == len(every) - 1


def test_hints_come_first_where_they_lie_in_the_space() -> None:
    offered = candidate_space()
    (chosen,) = survivors("chain")
    hint = offered.with_parameters(chosen, {SEGMENT: 65536, FANOUT: 8})
    alien = survivors("binomial")[0]
    known = {offered.with_parameters(chosen, {SEGMENT: 4096, FANOUT: 2}): 0.9}
    one = Study(offered, choices(offered, chosen), known, 1)
    one.hint([alien, hint])
    assert one.ask(3)[0] == hint


def test_a_study_is_settled_when_all_beside_the_best_is_known() -> None:
    chosen = survivors("chain")
    best = candidate_space().with_parameters(chosen[0], {SEGMENT: 4096, FANOUT: 8})
    one = study(chosen, {best: 0.8})
    assert not one.is_settled()
    asked = 0
    while not one.is_settled():
        for candidate in one.ask(3):
            one.tell(candidate, 0.9)
            asked += 1
    # One line of segments and one of fanouts, not the whole space.
    assert asked < len(everything(candidate_space(), chosen)) / 2
