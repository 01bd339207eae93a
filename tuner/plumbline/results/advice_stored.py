"""The knowledge of a database about one call: of each library on each machine the newest campaign
that measured it, and the winners that are in use there. Reads; decides nothing (advice.py does)."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import msgspec

from plumbline.core.cell import Target
from plumbline.core.plan import REDUCTIONS
from plumbline.core.winner import deciding
from plumbline.results import advice, putting_in_use
from plumbline.results.advice import Answer, MeasuredCall, compared, named
from plumbline.results.putting_in_use import Use
from plumbline.search.outcome import first_of, label
from plumbline.settings import identity
from plumbline.system.words import counted
from plumbline_db import (
    campaigns,
    coverage,
    findings,
    layout,
    machines,
    points,
    runs,
    table_samples,
)
from plumbline_db.connection import Database
from plumbline_db.records import BESIDE, Campaign, Library, Machine, Medians, Verdict, Winner

_TABLE = "before"
_OLDER = 5  # campaigns of a place that are asked, the newest first
_UNFIT = ("wrong", "failed", "slower", "unsupported", "not_exportable")


class AdviceQuestion(msgspec.Struct, frozen=True):
    """A call of `bytes` (as the tables have them) on so many ranks."""

    function: str
    bytes: int
    nprocs: int


def days_since(text: str, now: datetime.datetime) -> float | None:
    """Return the days since a moment (ISO 8601, UTC where it names no zone); None: it is none."""
    try:
        then = datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=datetime.UTC)
    return (now - then).total_seconds() / 86400


class Advice(msgspec.Struct, frozen=True):
    """An answer with what it rests on. `sizes`: at which the library's own call was measured;
    `measured_from`, `measured_to`: when (ISO 8601); `winners_from`: the campaign whose winners are
    in use ('': none); `winner`: the one for this call; `use_of_winner`: how a
    user gets it."""

    answer: Answer
    campaign: Campaign
    machine: Machine
    library: Library
    sizes: list[int]
    measured_from: str
    measured_to: str
    winners_from: str
    winner: Winner | None
    type: str
    op: str
    use: str
    use_of_winner: Use | None

    def age_days(self, now: datetime.datetime) -> float | None:
        """Since the last of its launches; None: the time is not known."""
        days = days_since(self.measured_to, now)
        return None if days is None else max(0.0, days)

    def age(self, now: datetime.datetime) -> str:
        days = self.age_days(now)
        if days is None:
            return "its age is not known"
        return "measured today" if days < 1 else f"measured {counted(int(days), 'day')} ago"


class Advised(msgspec.Struct, frozen=True):
    """The advice of each library on each machine, that of the preferred host first, then the
    newest; `ranks` and `functions`: what there is beside what was asked for."""

    question: AdviceQuestion
    known: list[Advice]
    ranks: list[int]
    functions: list[str]

    @property
    def best(self) -> Advice | None:
        """Return the first advice that has an answer, or the first one if none has."""
        answers = [place for place in self.known if place.answer.way is not None]
        return next(iter(answers + self.known), None)

    @property
    def silence(self) -> str:
        """Return why nothing is known."""
        on_ranks = counted(self.question.nprocs, "rank")
        if self.ranks:
            listed = ", ".join(map(str, self.ranks))
            return (
                f"it was not measured on {on_ranks}, but on {listed}; nothing is concluded from "
                "other numbers of ranks"
            )
        if self.functions:
            return f"this function was not measured; these were: {', '.join(self.functions)}"
        return f"no measurement on {on_ranks} answers this question"


def read(db: Database, question: AdviceQuestion, campaign: str = "", host: str = "") -> Advised:
    """Read only this `campaign` if it is named; advice for the machine `host` comes first."""
    newest_first = [
        stored_campaign
        for stored_campaign in reversed(campaigns.all_campaigns(db))
        if campaign in ("", stored_campaign.id)
    ]
    places: dict[tuple[str, str, int], list[Campaign]] = {}
    for stored_campaign in newest_first:
        if stored_campaign.nprocs == question.nprocs:
            place = (
                stored_campaign.machine,
                stored_campaign.library_fingerprint,
                stored_campaign.ppn,
            )
            places.setdefault(place, []).append(stored_campaign)
    by_place = [_of_place(db, question, of_place[:_OLDER]) for of_place in places.values()]
    answers = [answer for answer in by_place if answer is not None]
    answers.sort(key=lambda answer: answer.measured_to, reverse=True)
    answers.sort(key=lambda answer: answer.machine.host != host)
    functions, ranks = ([], []) if answers else _instead(db, question, newest_first)
    return Advised(question, answers, ranks, functions)


def _instead(
    db: Database, question: AdviceQuestion, newest_first: Sequence[Campaign]
) -> tuple[list[str], list[int]]:
    """Functions of the newest campaign on so many ranks; other numbers of ranks on which the
    newest campaign has the function."""
    newest = {older.nprocs: older for older in reversed(newest_first)}
    functions = {
        nprocs: {
            sweep.function
            for sweep in points.sweeps(db, newest_campaign.id, _suites(db, newest_campaign))
        }
        for nprocs, newest_campaign in newest.items()
    }
    ranks = [
        nprocs
        for nprocs, measured_functions in functions.items()
        if question.function in measured_functions
    ]
    return sorted(functions.get(question.nprocs, ())), sorted(ranks)


def _suites(db: Database, campaign: Campaign) -> list[str]:
    return table_samples.suites(findings.get_verdicts(db, campaign.id, _TABLE))


def _of_place(
    db: Database, question: AdviceQuestion, newest_first: Sequence[Campaign]
) -> Advice | None:
    """Return the advice by the newest of these campaigns that answers, else by the newest that has
    the function."""
    silent = None
    for campaign in newest_first:
        sizes = points.sizes(db, campaign.id, question.function, _suites(db, campaign))
        if not sizes:
            continue
        answered = _advice(db, question, campaign, sizes)
        if answered.answer.way is not None:
            return answered
        silent = silent or answered
    return silent


def _advice(db: Database, question: AdviceQuestion, campaign: Campaign, sizes: list[int]) -> Advice:
    table = findings.get_verdicts(db, campaign.id, _TABLE)
    used = _winners(db, campaign)
    cells = _Cells(db, question.function, campaign, table, used)
    answer = _answer(cells, question.bytes, sizes)
    first, last = runs.span(db, campaign.id) or (campaign.started, campaign.finished)
    data = identity.settings_of(campaign.settings).cases.data.of(question.function)
    winner = deciding(used[1], Target(question.function, question.bytes))
    use = None
    if winner is not None:
        use = putting_in_use.use(db, campaigns.get(db, used[0]), [winner])
    return Advice(
        answer=answer,
        campaign=campaign,
        machine=machines.machine(db, campaign.machine),
        library=machines.library(db, campaign.library_fingerprint),
        sizes=sizes,
        measured_from=first,
        measured_to=last,
        winners_from=used[0],
        winner=winner,
        type=data.type,
        op=data.op if question.function in REDUCTIONS else "",
        use=layout.use(campaign),
        use_of_winner=use,
    )


def _answer(cells: _Cells, size: int, sizes: Sequence[int]) -> Answer:
    if size in sizes:
        return cells.decided(size)
    low = max((smaller for smaller in sizes if smaller < size), default=None)
    high = min((larger for larger in sizes if larger > size), default=None)
    if low is None or high is None:
        edge = "smaller" if low is None else "larger"
        why = f"nothing {edge} than {sizes[0] if low is None else sizes[-1]} B was measured"
        return Answer(None, why, [])
    return advice.interpolate(size, low, cells.decided(low), high, cells.decided(high))


def _winners(db: Database, campaign: Campaign) -> tuple[str, list[Winner]]:
    """Return the id of the campaign whose winners are in use at this place ('': none), and those
    winners."""
    for covered in coverage.of_campaigns(db):
        at = covered.place
        place_covered = (at.machine, at.fingerprint, at.nprocs, at.ppn)
        own_place = (campaign.machine, campaign.library_fingerprint, campaign.nprocs, campaign.ppn)
        if place_covered == own_place and covered.in_force:
            return covered.in_force, findings.get_winners(db, covered.in_force)
    return "", []


class _Cells:
    """The cells of a function in a campaign."""

    def __init__(
        self,
        db: Database,
        function: str,
        campaign: Campaign,
        table: Sequence[Verdict],
        used: tuple[str, list[Winner]],
    ) -> None:
        self._db, self._function, self._campaign, self._table = db, function, campaign, table
        self._used, self._winners = used
        self._searches = [
            search
            for search in findings.all_searches(db, campaign.id)
            if search.function == function
        ]
        self._suites = runs.suites(db, campaign.id)

    def decided(self, size: int) -> Answer:
        target = Target(self._function, size)
        winner = deciding(self._winners, target)
        variants = compared(self._medians(target))
        if not variants or variants[0].name != "default":
            return Answer(None, f"the library's own call has no time at {size} B", [])
        unfit = {
            label(trial.variant, trial.knobs)
            for search in self._searches
            for trial in search.trials
            if search.bytes == size and trial.state in _UNFIT
        }
        settings = identity.settings_of(self._campaign.settings)
        measured_call = MeasuredCall(
            bytes=size,
            own=variants[0],
            variants=variants[1:],
            winner=winner,
            tuned_seconds=self._tuned_seconds(size),
            unfit=frozenset(unfit),
            exact=settings.ranks.simulate is not None,
        )
        return advice.decide(
            measured_call, "" if winner is None else label(winner.variant, winner.configuration)
        )

    def _medians(self, target: Target) -> list[Medians]:
        """Return the medians of the first table and of the cell's first search: there the default
        is the library as it is."""
        db, id = self._db, self._campaign.id
        sizes, functions = [target.bytes], [target.function]
        search = first_of(self._searches).get(target)
        names = [
            name
            for name in (search.suites if search else [])
            if name in self._suites and self._suites[name].arm in ("", BESIDE)
        ]
        every = [
            *table_samples.medians(db, id, self._table, sizes, functions),
            *runs.medians(db, id, names, sizes=sizes, functions=functions),
        ]
        joined: dict[str, Medians] = {}
        for medians in every:
            together = joined.setdefault(named(medians.case), Medians(medians.case, [], []))
            if medians.runs:
                together.runs.extend(medians.runs)
                together.seconds.extend(medians.seconds)
        return [medians for medians in joined.values() if medians.runs]

    def _tuned_seconds(self, size: int) -> list[float]:
        """Launches with the files in force, of the last table."""
        if not self._used:
            return []
        table = findings.get_verdicts(self._db, self._used, "after")
        in_force_medians = table_samples.medians(
            self._db, self._used, table, [size], [self._function]
        )
        own = [medians for medians in in_force_medians if named(medians.case) == "default"]
        return list(own[0].seconds) if own else []
