"""Parameters of the candidates near the front of a race: a study (study.py) proposes what the next
look measures, until a batch of them gains too little. A cell has a study of its own; cold
candidates of a function have one together, as a launch has one value for all of its sizes. Measures
nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace

from .judging import Decision, Judge
from .study import Study


class _Studied(msgspec.Struct):
    """Decisions whose parameters are proposed by one study. `proposals` are under way; `best` was
    the best before them."""

    of: list[Decision]
    study: Study
    batches: int = 0
    proposals: list[Candidate] = []
    best: dict[Target, float] = {}


class Exploring:
    """The studies of one race. `decisions` are all of its decisions, as they come; `measured` are
    the candidates of a cell that have times."""

    def __init__(
        self,
        candidate_space: CandidateSpace,
        judge: Judge,
        seed: int,
        decisions: Sequence[Decision],
        measured: Callable[[Target], list[Candidate]],
    ) -> None:
        self._candidate_space = candidate_space
        self._evidence = judge.evidence
        self._judge = judge
        self._effort = judge.effort
        self._seed = seed
        self._decisions = decisions
        self._measured_at = measured
        self._pending: list[Decision] = []  # not studied yet
        self._studies: list[_Studied] = []

    def add(self, decision: Decision) -> None:
        """One of a single cell, to be studied when it has been looked at."""
        self._pending.append(decision)

    def end(self) -> None:
        """Nothing more is proposed of what has been added so far."""
        self._pending, self._studies = [], []

    def explores(self, decision: Decision) -> bool:
        """Whether a study proposes for it."""
        return any(
            under_study is decision for studied in self._studies for under_study in studied.of
        )

    def proposals(self) -> Iterator[tuple[Target, list[Candidate]]]:
        """What the next look measures, by cell."""
        for studied in self._studies:
            for decision in studied.of:
                if not decision.stopped:
                    yield decision.cells[0], studied.proposals

    def learn(self) -> None:
        """Proposals join the race of their cells, and their study is told."""
        for studied in self._studies:
            for decision in studied.of:
                decision.racing = list(dict.fromkeys([*decision.racing, *studied.proposals]))
            for candidate in studied.proposals:
                studied.study.tell(candidate, self._over(studied.of, candidate))
            studied.proposals = []

    def advance(self) -> None:
        """New proposals, new studies, and ends of others."""
        self._studies = [study for study in self._studies if self._goes_on(study)]
        self._open()

    def leaders_near(self, cell: Target) -> list[Candidate]:
        """The leaders of the neighbouring sizes."""
        sizes = sorted(
            (abs(math.log(decision.cells[0].bytes / cell.bytes)), number)
            for number, decision in enumerate(self._decisions)
            if decision.cells[0].function == cell.function and decision.cells != [cell]
            if len(decision.cells) == 1 and cell.bytes and decision.cells[0].bytes
        )
        near = [self._decisions[number] for _, number in sizes[:2]]
        leaders = [self._judge.leader(decision, self._measured(decision)) for decision in near]
        return [leader for leader in dict.fromkeys(leaders) if leader != DEFAULT]

    def _goes_on(self, studied: _Studied) -> bool:
        """Asks for the next batch, unless the last one gained too little."""
        gained = False
        if studied.batches:
            gained = any(
                self._best(decision) <= studied.best[decision.cells[0]] * (1 - self._effort.gain)
                for decision in studied.of
            )
            if studied.batches >= self._effort.batches:
                return False
        if not gained and studied.study.is_settled():
            return False
        for decision in studied.of:
            studied.study.hint(self.leaders_near(decision.cells[0]))
        studied.best = {decision.cells[0]: self._best(decision) for decision in studied.of}
        studied.proposals = studied.study.ask(self._effort.proposals)
        studied.batches += 1
        return bool(studied.proposals)

    def _open(self) -> None:
        """A study for each cell that has been looked at; one for cold candidates of a function."""
        ready = [decision for decision in self._pending if decision.looks and not decision.stopped]
        self._pending = [decision for decision in self._pending if not decision.looks]
        groups: list[tuple[list[Decision], list[Candidate]]] = []
        together: dict[str, tuple[list[Decision], list[Candidate]]] = {}
        for decision in ready:
            function = decision.cells[0].function
            front = self._front(decision)
            cold = [each for each in front if self._candidate_space.is_cold(function, each)]
            hot = [each for each in front if each not in cold]
            if hot:
                groups.append(([decision], hot))
            if cold:
                members, survivors = together.setdefault(function, ([], []))
                members.append(decision)
                survivors.extend(each for each in cold if each not in survivors)
        for members, survivors in [*groups, *together.values()]:
            studied = _Studied(members, self._study(members, survivors))
            if self._goes_on(studied):
                self._studies.append(studied)

    def _study(self, members: Sequence[Decision], survivors: Sequence[Candidate]) -> Study:
        cells = [member.cells[0] for member in members]
        largest = max(cells)
        known = dict.fromkeys(
            candidate for cell in cells for candidate in self._evidence.candidates(cell)
        )
        ratios = {
            candidate: ratio
            for candidate in known
            if (ratio := self._over(members, candidate)) is not None
        }
        limits = [
            ratio * (1 + self._effort.tolerance)
            for member in members
            for cell, bound in member.bounds.items()
            if (ratio := self._judge.bound_ratio(cell, bound)) is not None
        ]
        self._seed += 1
        return Study(
            self._candidate_space,
            {
                survivor: self._candidate_space.choices(largest.function, survivor, largest.bytes)
                for survivor in survivors
            },
            ratios,
            self._seed,
            limit=min(limits, default=None),
        )

    def _front(self, of: Decision) -> list[Candidate]:
        """Candidates near the best that have parameters, the best of each kind among them."""
        (cell, *_) = of.cells
        limit = math.log(self._best(of) * self._effort.band)
        near = [
            candidate
            for candidate in self._judge.ranked(of, self._measured(of))
            if (lead := self._judge.lead(of, candidate)) is not None and lead.log <= limit
        ]
        found: dict[Candidate, Candidate] = {}  # of each algorithm the best
        for candidate in near:
            if self._candidate_space.choices(cell.function, candidate, cell.bytes):
                found.setdefault(self._candidate_space.base(cell.function, candidate), candidate)
        return list(found.values())[: self._effort.front]

    def _measured(self, of: Decision) -> list[Candidate]:
        return self._measured_at(of.cells[0])

    def _best(self, of: Decision) -> float:
        """The least ratio to the default."""
        leader = self._judge.leader(of, self._measured(of))
        found = None if leader == DEFAULT else self._judge.lead(of, leader)
        return 1.0 if found is None else math.exp(found.log)

    def _over(self, of: Sequence[Decision], candidate: Candidate) -> float | None:
        """The mean ratio of a candidate over the cells that know it."""
        found = [self._judge.lead(decision, candidate) for decision in of]
        logs = [lead.log for lead in found if lead is not None]
        return math.exp(sum(logs) / len(logs)) if logs else None
