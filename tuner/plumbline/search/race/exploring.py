"""Parameters of the candidates near the front of a race: a study proposes what the next look
measures, until a batch of them gains too little. A cell has a study of its own; cold candidates of
a function have one together, as a launch has one value for all of its sizes.

A study is one over the algorithms that are still in the race. What lies on a line with the best
comes first, until the space is used up. Measures nothing."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.search.space.candidates import DEFAULT, Candidate, CandidateSpace

from .judging import Decision, Judge

# The most that one step of one parameter may gain, as a logarithm. It only sets the order in which
# the space is searched.
_STEP = 0.15


class _Point(msgspec.Struct, frozen=True, order=True):
    """A place in the space: a survivor, and the place of each of its values among the choices."""

    survivor: int
    places: tuple[int, ...]

    def apart(self, other: _Point) -> int:
        """Return in how many parameters two points of a survivor differ."""
        return sum(a != b for a, b in zip(self.places, other.places, strict=True))

    def steps(self, other: _Point) -> int:
        return sum(abs(a - b) for a, b in zip(self.places, other.places, strict=True))


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
        """Return whether a study proposes for it."""
        return any(
            under_study is decision for studied in self._studies for under_study in studied.of
        )

    def proposals(self) -> Iterator[tuple[Target, list[Candidate]]]:
        """Return what the next look measures, by cell."""
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
            cold = [entry for entry in front if self._candidate_space.is_cold(function, entry)]
            hot = [survivor for survivor in front if survivor not in cold]
            if hot:
                groups.append(([decision], hot))
            if cold:
                members, survivors = together.setdefault(function, ([], []))
                members.append(decision)
                survivors.extend(survivor for survivor in cold if survivor not in survivors)
        for members, survivors in [*groups, *together.values()]:
            studied = _Studied(members, self._study(members, survivors))
            if self._goes_on(studied):
                self._studies.append(studied)

    def _study(self, members: Sequence[Decision], survivors: Sequence[Candidate]) -> Study:
        cells = [member.cells[0] for member in members]
        largest = max(cells)
        measured_candidates = dict.fromkeys(
            candidate for cell in cells for candidate in self._evidence.candidates(cell)
        )
        ratios = {
            candidate: ratio
            for candidate in measured_candidates
            if (ratio := self._over(members, candidate)) is not None
        }
        self._seed += 1
        return Study(
            self._candidate_space,
            {
                survivor: self._candidate_space.choices(largest.function, survivor, largest.bytes)
                for survivor in survivors
            },
            ratios,
            self._seed,
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
        bests: dict[Candidate, Candidate] = {}  # of each algorithm the best
        for candidate in near:
            if self._candidate_space.choices(cell.function, candidate, cell.bytes):
                bests.setdefault(self._candidate_space.base(cell.function, candidate), candidate)
        return list(bests.values())[: self._effort.front]

    def _measured(self, of: Decision) -> list[Candidate]:
        return self._measured_at(of.cells[0])

    def _best(self, of: Decision) -> float:
        """The least ratio to the default."""
        leader = self._judge.leader(of, self._measured(of))
        lead = None if leader == DEFAULT else self._judge.lead(of, leader)
        return 1.0 if lead is None else math.exp(lead.log)

    def _over(self, of: Sequence[Decision], candidate: Candidate) -> float | None:
        """The mean ratio of a candidate over the cells that know it."""
        leads = [self._judge.lead(decision, candidate) for decision in of]
        logs = [lead.log for lead in leads if lead is not None]
        return math.exp(sum(logs) / len(logs)) if logs else None


class Study:
    """Proposes parameter values for `survivors`: candidates with the choices of their parameters.

    `known_ratios` are ratios to the default that were measured before, and are not proposed again.
    The study is deterministic for a given seed and history."""

    def __init__(
        self,
        candidate_space: CandidateSpace,
        survivors: Mapping[Candidate, Mapping[str, Sequence[int]]],
        known_ratios: Mapping[Candidate, float],
        seed: int,
    ) -> None:
        self._candidate_space = candidate_space
        self._choices = dict(enumerate(survivors.values()))
        self._survivors = list(survivors)
        self._seen = set(known_ratios)
        points = [
            _Point(index, places)
            for index, choice in self._choices.items()
            for places in itertools.product(*(range(len(values)) for values in choice.values()))
        ]
        random.Random(seed).shuffle(points)  # noqa: S311 - an order, not a secret
        self._unseen = points
        self._values: dict[_Point, float] = {}
        self._first: list[_Point] = []
        for candidate, ratio in known_ratios.items():
            self._remember(candidate, ratio)

    def hint(self, candidates: Sequence[Candidate]) -> None:
        """Take as a hint what won elsewhere, to be proposed next, where it lies in the space."""
        hints = [point for candidate in candidates if (point := self._place(candidate)) is not None]
        self._first = list(dict.fromkeys([*hints, *self._first]))

    def ask(self, count: int) -> list[Candidate]:
        """Return at most `count` candidates that nobody has measured; fewer when the space is used
        up."""
        proposals: list[Candidate] = []
        assumed = dict(self._values)
        while len(proposals) < count and self._unseen:
            candidate = self._candidate(self._next(assumed))
            if candidate not in self._seen:
                self._seen.add(candidate)
                proposals.append(candidate)
        return proposals

    def is_settled(self) -> bool:
        """Return whether every point is known that differs from the best in one parameter alone."""
        return not any(map(self._is_beside_best, self._unseen))

    def _is_beside_best(self, point: _Point) -> bool:
        best = min(self._values, key=lambda point: (self._values[point], point), default=None)
        return best is not None and best.survivor == point.survivor and point.apart(best) <= 1

    def tell(self, candidate: Candidate, ratio: float | None) -> None:
        """The measured ratio to the default, or None when the candidate failed."""
        point = self._place(candidate)
        if ratio is not None and point is not None:
            self._values[point] = math.log(ratio)

    def _next(self, assumed: dict[_Point, float]) -> _Point:
        """Return a hint, or what lies on a line with the best (one parameter differs), or any
        point; of these the one that promises most."""
        if self._first:
            point = self._first.pop(0)
        else:
            beside = [point for point in self._unseen if self._is_beside_best(point)]
            point = min(beside or self._unseen, key=lambda free: self._promise(free, assumed))
        if point in self._unseen:
            self._unseen.remove(point)
        # Points under way are assumed to be as good as the best, so that a batch is spread out.
        alike = (value for taken, value in assumed.items() if taken.survivor == point.survivor)
        assumed[point] = min(alike, default=0.0)
        return point

    def _promise(self, point: _Point, values: Mapping[_Point, float]) -> float:
        """The least that a point can come to, if no step gains more than _STEP."""
        near = (
            value - _STEP * point.steps(valued_point)
            for valued_point, value in values.items()
            if valued_point.survivor == point.survivor
        )
        return max(near, default=-math.inf)

    def _nearest(self, index: int) -> _Point:
        """Return where a survivor stands in its own space; a value that is none of the choices is
        taken for the one beside it."""
        settings = self._candidate_space.settings(self._survivors[index])
        places = []
        for knob, values in self._choices[index].items():
            text = settings.get(knob, "")
            number = int(text) if text.lstrip("-").isdigit() else values[len(values) // 2]
            places.append(min(range(len(values)), key=lambda at: abs(values[at] - number)))
        return _Point(index, tuple(places))

    def _candidate(self, point: _Point) -> Candidate:
        choices = self._choices[point.survivor].items()
        values = {
            knob: values[place] for (knob, values), place in zip(choices, point.places, strict=True)
        }
        return self._candidate_space.with_parameters(self._survivors[point.survivor], values)

    def _place(self, candidate: Candidate) -> _Point | None:
        """None for what does not lie in the space, or not on one of its choices."""
        settings = self._candidate_space.settings(candidate)
        for index, survivor in enumerate(self._survivors):
            choices = self._choices[index]
            others = {
                k: v
                for k, v in self._candidate_space.settings(survivor).items()
                if k not in choices
            }
            if {k: v for k, v in settings.items() if k not in choices} != others:
                continue
            try:
                places = [values.index(int(settings[knob])) for knob, values in choices.items()]
            except (KeyError, ValueError):
                return None  # the library's default value is not among those we search
            return _Point(index, tuple(places))
        return None

    def _remember(self, candidate: Candidate, ratio: float) -> None:
        """A measurement made before the study began, if it lies in the study's space."""
        point = self._place(candidate)
        if point is None:
            if candidate in self._survivors:
                # The value is not one of the choices, but it shows where the space is good.
                near = self._nearest(self._survivors.index(candidate))
                self._values.setdefault(near, math.log(ratio))
            return
        self._values[point] = math.log(ratio)
        if point in self._unseen:
            self._unseen.remove(point)
