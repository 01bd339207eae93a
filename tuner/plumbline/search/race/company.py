"""Who may share a cold launch with whom: the one place that says so. A candidate is in force for
all of its launch, so that whatever a case calls underneath (the harness between two calls, the
functions that its algorithm is made of, theirs) must be nobody's candidate there, but for the cell
that the candidate is for.

What the search space says of that (`calls`) is checked by times: of a sample of candidates alone,
and of defaults in launches that are about other functions. A function that is found to take another
time in company has its candidates measured alone from then on (`apart`). Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping, Sequence

from plumbline.core.cell import Target
from plumbline.search.space.candidates import Candidate, CandidateSpace

# A case may take this share more or less time in company; on a real machine, errors are added.
AGREE = 0.02
# For so many shared launches one candidate is measured alone too.
_SAMPLE = 10
# If launches differ, a case counts as changed beyond that share plus so many standard errors.
_DEVIATIONS = 3.0

Chosen = Mapping[str, Candidate]


class Company:
    """`harness`: the functions that the harness calls around a timed call. `apart`: functions whose
    candidates stand alone, with what was seen."""

    def __init__(self, candidate_space: CandidateSpace, harness: Collection[str] = ()) -> None:
        self.apart: dict[str, str] = {}
        self._candidate_space = candidate_space
        self._harness = harness
        self._seen: dict[tuple[str, str], list[float]] = {}
        self._sampled: list[tuple[str, Candidate]] = []

    def agree(self, chosen: Chosen) -> bool:
        """Return whether candidates of these functions may be in force in one launch."""
        return len(chosen) < 2 or all(
            name not in self.apart and not self._meets(name, chosen) for name in chosen
        )

    def unchanged(self, function: str, chosen: Chosen) -> bool:
        """Return whether its default takes what it takes without `chosen`."""
        return not (function in chosen or self._meets(function, chosen))

    def called(self, function: str, chosen: Chosen) -> set[str]:
        """The other functions that one of its cases calls, on whatever way, with `chosen` in force;
        those of the harness too."""
        return self._candidate_space.called([function, *self._harness], chosen) - {function}

    def _meets(self, function: str, chosen: Chosen) -> bool:
        return not chosen.keys().isdisjoint(self.called(function, chosen))

    def sample(
        self,
        shared: Sequence[Chosen],
        logs_by_cell: Mapping[Target, Mapping[Candidate, Sequence[float]]],
    ) -> dict[Target, list[Candidate]]:
        """Return the candidates of `shared` launches that are measured alone too, in the cells of
        `logs_by_cell` (log(candidate / default)): the same as before while they race, then the
        fastest of functions that had none yet, since winners are among them."""
        gains = {
            (target.function, candidate): min(
                statistics.median(of[candidate])
                for at, of in logs_by_cell.items()
                if at.function == target.function and candidate in of
            )
            for target, racing in logs_by_cell.items()
            for candidate in racing
            if any(chosen.get(target.function) == candidate for chosen in shared)
        }
        before = [sample for sample in self._sampled if sample in gains]
        had = {function for function, _ in self._sampled}
        ranked = sorted(
            gains,
            key=lambda function_and_candidate: (
                function_and_candidate[0] in had,
                gains[function_and_candidate],
            ),
        )
        fresh = {
            name: (name, candidate)
            for name, candidate in reversed(ranked)
            if (name, candidate) not in before
        }
        more = sorted(fresh.values(), key=ranked.index)
        chosen = [*before, *more][: math.ceil(len(shared) / _SAMPLE)]
        self._sampled += [sample for sample in chosen if sample not in before]
        return {
            target: chosen_candidates
            for target, racing in logs_by_cell.items()
            if (
                chosen_candidates := [
                    candidate for candidate in racing if (target.function, candidate) in chosen
                ]
            )
        }

    def learn(self, function: str, what: str, logs: Sequence[float], error: float = 0.0) -> bool:
        """Return whether a function was found to be touched just now. `logs`: of what `what` of it
        took in company over what it took else, a cell each; `error`: of one of them between
        launches."""
        medians = self._seen.setdefault((function, what), [])
        medians.append(statistics.median(logs))
        worst = max(logs, key=abs)
        sides = [(worst, 1), (statistics.median(medians), len(medians))] if error else [(worst, 1)]
        for log, launches in sides:
            within = math.log1p(AGREE) + _DEVIATIONS * error / math.sqrt(launches)
            if function not in self.apart and abs(log) > within:
                times = f"{math.exp(log):.2f} times as long in company"
                self.apart[function] = f"{what} took {times}"
                return True
        return False
