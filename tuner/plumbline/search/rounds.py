"""Rounds of search: which cells race, in which surroundings, and how what they win joins what was
won before.

A cell is searched once with the library as it is (hot knobs and our variants), and, if a pattern
is still violated there under the exported files, once more among our variants with these files in
force: the right side may have become faster by a winner of its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from plumbline.measure import Laboratory
from plumbline.plan import Plan
from plumbline.settings import Settings
from plumbline.words import counted
from plumbline_db import runs, searches
from plumbline_db.records import Verdict, Winner

from . import neighbours, outcome
from .bound import bounds
from .candidates import Menu
from .evidence import Evidence, spread_of
from .heat import Past
from .race import ONE_LAUNCH, Effort, Race, Target
from .select import winners as select

# A guideline whose left side takes this much of its right side may be violated in the next round.
_NEAR = 0.5


class Rounds:
    """Opens searches for one campaign. `sizes` are the measured sizes by function; `event` keeps
    what is worth remembering (kind, text)."""

    def __init__(
        self,
        lab: Laboratory,
        menu: Menu,
        plan: Plan,
        settings: Settings,
        sizes: Mapping[str, Sequence[int]],
        event: Callable[[str, str], None],
    ) -> None:
        self._lab = lab
        self._event = event
        self._menu = menu
        self._plan = plan
        self._settings = settings
        self._sizes = sizes
        self._searched: set[Target] = set()
        self._again: set[Target] = set()
        self._past: Past | None = None

    def fresh(self, verdicts: Iterable[Verdict]) -> list[Target]:
        """Cells with a violation that no round has searched; where all are to be tuned, all."""
        found = set(_targets(verdicts))
        if self._settings.tunes_all:
            found |= {Target(name, size) for name, those in self._sizes.items() for size in those}
        return sorted(found - self._searched)

    def stuck(self, verdicts: Iterable[Verdict]) -> list[Target]:
        """Cells with a violated pattern that were searched once, with the library as it is."""
        violated = _targets(one for one in verdicts if one.kind == "pattern")
        return [one for one in violated if one in self._searched and one not in self._again]

    def first(
        self,
        number: int,
        verdicts: Sequence[Verdict],
        environment: Mapping[str, str],
        *,
        refine: bool,
    ) -> list[Winner]:
        """Races the fresh cells; where one choice must hold for all sizes, all sizes race."""
        targets = self.fresh(verdicts)
        entered = dict.fromkeys(targets)
        for target in targets:
            if self._menu.one_for_all_sizes(target.function):
                entered |= dict.fromkeys(
                    Target(target.function, size) for size in self._sizes[target.function]
                )
        self._searched |= entered.keys()
        race = self._race(self._menu, f"search-{number}", environment)
        self._lab.progress.step(f"searching {counted(len(targets), 'cell')}, round {number}")
        return self._run(race, self._menu, number, targets, list(entered), verdicts, refine=refine)

    def second(
        self,
        number: int,
        verdicts: Sequence[Verdict],
        environment: Mapping[str, str],
        standing: Sequence[Winner],
    ) -> list[Winner]:
        """Races our variants against the stuck cells' present state, which `environment` puts in
        force; returns the winners with `standing` ones cut back where a new one takes over."""
        targets = self.stuck(verdicts)
        self._again |= set(targets)
        menu = self._menu.without_knobs()
        race = self._race(menu, f"search-{number}-in-force", environment)
        self._lab.progress.step(
            f"searching {counted(len(targets), 'cell')} with the files in force"
        )
        new = self._run(race, menu, number, targets, targets, verdicts, refine=True)
        return cut_back(standing, new) + new

    def _along(self, entered: Collection[Target], verdicts: Iterable[Verdict]) -> list[Target]:
        """Cells that are likely to be searched in the next round, when right-hand sides are faster:
        where launches are dear and repeat each other, they are measured at once."""
        near = {
            one.function
            for one in verdicts
            if one.kind == "pattern" and one.replaceable and (one.ratio or 0) > _NEAR
        }
        every = [Target(name, size) for name in near for size in self._sizes[name]]
        return sorted(one for one in every if one not in self._searched and one not in entered)

    def _compare_duplicate(self, race: Race) -> None:
        found = race.duplicate()
        if found is None or found.low is None or found.high is None:
            return
        within = 1 + self._settings.tolerance
        if found.low > within or found.high < 1 / within:
            text = (
                f"{race.suites[-1]}: the default takes {found.ratio:.2f} [{found.low:.2f}, "
                f"{found.high:.2f}] times as long on a duplicate as on MPI_COMM_WORLD; ratios of "
                "knobs in this search carry that factor"
            )
            self._event("communicators differ", text)

    def _race(self, menu: Menu, suite: str, environment: Mapping[str, str]) -> Race:
        settings, lab = self._settings, self._lab
        past = None
        if settings.simulation is None:
            # How far launches lie apart here is seen in the table.
            effort = Effort(spread=spread_of(runs.medians(lab.db, lab.campaign, ["before"])))
        else:
            effort = ONE_LAUNCH
            past = None if environment else self._known()
        effort = msgspec.structs.replace(
            effort,
            alpha=settings.alpha,
            tolerance=settings.tolerance,
            until_seconds=settings.budget_seconds,
        )
        earlier = neighbours.earlier(lab.db, lab.campaign)
        return Race(lab, menu, self._plan, environment, effort, suite, past=past, earlier=earlier)

    def _known(self) -> Past:
        """Of a simulated machine with the library as it is, from the table on."""
        if self._past is None:
            self._past = Past(Evidence(exact=True))
            found = runs.launch_samples(self._lab.db, self._lab.campaign, ["before"])
            self._past.evidence.add(found, self._plan.blocks)
        return self._past

    def _run(
        self,
        race: Race,
        menu: Menu,
        number: int,
        targets: Sequence[Target],
        entered: Sequence[Target],
        verdicts: Sequence[Verdict],
        *,
        refine: bool,
    ) -> list[Winner]:
        opened_by: dict[Target, list[str]] = {target: [] for target in targets}
        for verdict in verdicts:
            target = Target(verdict.function, verdict.bytes)
            if verdict.verdict == "violated" and verdict.replaceable and target in opened_by:
                opened_by[target].append(f"{verdict.guideline}@{verdict.bytes}")
        bound = bounds(verdicts)
        trials = race.run(
            entered,
            refine=refine,
            without=idle(menu, targets, entered, verdicts),
            bounds=bound,
            beside=[one for one in entered if one not in targets],
            along=self._along(entered, verdicts) if race.knows_more else (),
        )
        reasons = race.reasons
        self._compare_duplicate(race)
        nprocs = self._settings.nprocs
        found = select(
            menu,
            trials,
            self._sizes,
            opened_by,
            nprocs=nprocs,
            ppn=self._settings.ppn,
            tolerance=self._settings.tolerance,
        )
        for target in entered:
            record = outcome.record(
                number,
                target,
                opened_by.get(target, []),
                trials[target],
                found,
                race.suites,
                nprocs,
                self._settings.ppn,
                bound=bound[target].name if target in bound else "",
                bound_ratio=race.bound_ratio(target),
                stopped=reasons.get(target, ""),
            )
            searches.put(self._lab.db, self._lab.campaign, record)
        return found


def idle(
    menu: Menu,
    targets: Collection[Target],
    entered: Iterable[Target],
    verdicts: Iterable[Verdict],
) -> dict[Target, set[str]]:
    """Variants that do not race: mock-ups, but for those whose guideline was verified in the cell
    and does not hold (the table has measured them); and all of ours in cells that are there only
    because one choice of the library must hold for all sizes."""
    faster: dict[Target, set[str]] = {}
    for one in verdicts:
        if one.replaceable and one.verdict != "holds":
            names = faster.setdefault(Target(one.function, one.bytes), set())
            names.add(one.rhs.partition(":")[0])
    return {
        target: menu.mockups(target.function) - faster.get(target, set())
        if target in targets
        else {one.variant for one in menu.first(target.function) if not one.is_knobs}
        for target in entered
    }


def cut_back(standing: Iterable[Winner], new: Sequence[Winner]) -> list[Winner]:
    """`standing` without the sizes that `new` variants take. A standing knob keeps its whole range:
    the preload library decides before the library's own rules do."""
    kept: list[Winner] = []
    for winner in standing:
        pieces = [winner]
        if winner.variant != "default":
            for other in new:
                if other.function == winner.function:
                    pieces = [part for piece in pieces for part in _without(piece, other)]
        kept += pieces
    return kept


def _without(winner: Winner, other: Winner) -> list[Winner]:
    parts = []
    if winner.bytes_from < other.bytes_from:
        end = min(winner.bytes_to, other.bytes_from - 1)
        parts.append(msgspec.structs.replace(winner, bytes_to=end))
    if winner.bytes_to > other.bytes_to:
        start = max(winner.bytes_from, other.bytes_to + 1)
        parts.append(msgspec.structs.replace(winner, bytes_from=start))
    return parts


def _targets(verdicts: Iterable[Verdict]) -> list[Target]:
    """The cells whose left side is too slow, each once. Where that is not the library's call on all
    ranks, nothing that stands in for this call makes it faster."""
    violated = (one for one in verdicts if one.verdict == "violated" and one.replaceable)
    return sorted({Target(one.function, one.bytes) for one in violated})
