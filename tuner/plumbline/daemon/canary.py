"""A canary: launches of the cells that matter beside reference cases, handed to the detector. The
first launches have all its cells, those after them the noisy ones alone, beside all references; a
part of them is a look of the canary's suite.

Its row is begun before the first launch, and ended in the transaction that stores the detector's
states: a daemon that is killed between the two takes the launches that are there and goes on."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from plumbline.daemon import cells
from plumbline.daemon.cells import CanaryCell, CellRoles, cell_of, state_of, with_state
from plumbline.daemon.step import CellTimes, Work
from plumbline.daemon.windows import iso, moment_of
from plumbline.measure.comparison import REFERENCE_CELLS, of_round
from plumbline.system.words import counted
from plumbline.watch.canary import Watched, observe
from plumbline.watch.chart import CellState, DetectorDesign, launches_of
from plumbline_db import findings, watching
from plumbline_db.errors import PlumblineError
from plumbline_db.records import CANARY, Suite
from plumbline_db.watching import Canary, CellAlarm, WatchDay, WatchedCampaign, WatchedCell

# If canaries give no result for so long, the machine has changed since the cells were learnt.
BUSY_FOR = timedelta(days=1)
_LEAST_BUSY = 8


def begin_watching(work: Work, fingerprint: dict[str, str]) -> WatchedCampaign:
    """The campaign's row, made where there is none."""
    watched = watching.campaign(work.db, work.campaign.id)
    if watched is not None:
        return watched
    made = WatchedCampaign(
        work.campaign.id,
        work.now(),
        _design_text(work.configuration.design),
        fingerprint,
        work.in_force.generation,
    )
    watching.put_campaign(work.db, made)
    return made


def chosen(work: Work) -> CellRoles:
    """The cells that matter now."""
    db, id = work.db, work.campaign.id
    stages = findings.stages(db, id)
    table = findings.get_verdicts(db, id, stages[-1]) if stages else []
    sizes = work.here.sizes(work.settings)
    source = work.in_force.source(work.campaign)
    return cells.choose(
        findings.get_winners(db, id) if source is None else source.winners,
        table,
        work.settings.weights(sizes) or {},
        sizes,
        work.here.toolchain.catalogue.variants,
        work.configuration.canary,
    )


def take(work: Work, due: datetime) -> Canary:
    """One canary, or the rest of one that was begun; `due`: the moment that it stands for. Raises
    PlumblineError where launches fail: then its row says so."""
    number, canary = _begun(work, due)
    choice = chosen(work)
    launches = _launches(work, choice)
    try:
        measured = launched(work, canary, choice, launches)
    except PlumblineError as error:
        partial = spent(work, canary, choice, launches)
        failed = ended(work, canary, partial, outcome="failed", detail=str(error))
        watching.renew(work.db, number, failed)
        raise
    return _judged(work, number, canary, choice, measured)


def _launches(work: Work, choice: CellRoles) -> dict[CanaryCell, int]:
    """Return in how many launches of a canary each cell takes part, by its noise."""
    design, watched_cells = work.configuration.design, watching.cells(work.db, work.campaign.id)
    states = {cell_of(cell): state_of(cell) for cell in watched_cells}
    return {cell: launches_of(design, states.get(cell, CellState())) for cell in choice.roles}


class Part(msgspec.Struct, frozen=True):
    """`before`: launches of the parts before it; `launches`: those it adds."""

    suite: Suite
    cells: list[CanaryCell]
    before: int
    launches: int


def parts(canary: Canary, choice: CellRoles, launches: Mapping[CanaryCell, int]) -> Iterator[Part]:
    """`launches`: in how many each cell takes part; references are in all."""
    before, suite = 0, Suite(CANARY, canary.round)
    for number, count in enumerate(sorted(set(launches.values())), 1):
        cells = [
            cell
            for cell, role in choice.roles.items()
            if role == "reference" or launches[cell] >= count
        ]
        yield Part(suite.at(number), cells, before, count - before)
        before = count


def launched(
    work: Work, canary: Canary, choice: CellRoles, launches: Mapping[CanaryCell, int]
) -> CellTimes:
    """Return the launches; those that are stored are taken from there. Raises PlumblineError where
    they fail."""
    measured: dict[Suite, CellTimes] = {}
    for part in parts(canary, choice, launches):
        plan = work.plan([cell.case() for cell in part.cells])
        plan = of_round(plan, canary.round, part.before)
        measured[part.suite] = work.measure(part.suite, plan, part.launches)
    every = max(launches.values())
    whole = together(list(measured.values()))
    complete = {
        cell: seconds
        for cell, seconds in whole.times.items()
        if len(seconds) == (every if cell in choice.references else launches[cell])
    }
    return msgspec.structs.replace(whole, times=complete)


def spent(
    work: Work, canary: Canary, choice: CellRoles, launches: Mapping[CanaryCell, int]
) -> CellTimes:
    """Return what there is of them, where they have failed."""
    measured_parts = [work.measured(part.suite) for part in parts(canary, choice, launches)]
    return together(measured_parts)


def together(measured_parts: list[CellTimes]) -> CellTimes:
    """Return the times of parts that follow each other."""
    times: dict[CanaryCell, list[float]] = {}
    for part in measured_parts:
        for cell, seconds in part.times.items():
            times.setdefault(cell, []).extend(seconds)
    return CellTimes(
        times,
        sum(part.launches for part in measured_parts),
        sum(part.seconds for part in measured_parts),
    )


def _begun(work: Work, due: datetime) -> tuple[int, Canary]:
    db, id = work.db, work.campaign.id
    unfinished = watching.under_way(db, id)
    if unfinished is not None:
        return unfinished
    watched = watching.campaign(db, id)
    assert watched is not None  # noqa: S101 - begin_watching has stored it
    canary = Canary(id, watched.canaries + 1, CANARY, iso(due), work.now())
    with db.transaction():
        number = watching.begin(db, canary)
        watching.counted(db, id, canary.round)
    return number, canary


def ended(work: Work, canary: Canary, measured: CellTimes, **more: str) -> Canary:
    """Return the canary with `more` of its columns."""
    return msgspec.structs.replace(
        canary,
        finished=work.now(),
        seconds=measured.seconds,
        node_seconds=measured.seconds * work.campaign.nodes,
        launches=measured.launches,
        cells=len(measured.times),
        **more,
    )


def _judged(
    work: Work, number: int, canary: Canary, choice: CellRoles, measured: CellTimes
) -> Canary:
    db, id = work.db, work.campaign.id
    watched_cells = {cell_of(stored): stored for stored in watching.cells(db, id)}
    over = {
        cell: watched_cells[cell].seconds if cell in watched_cells else statistics.median(times)
        for cell, times in measured.times.items()
    }
    logs = {
        cell: [math.log(seconds / over[cell]) for seconds in times]
        for cell, times in measured.times.items()
    }
    references = [cell for cell in choice.references if cell in logs]
    design, states = _design(work, watched_cells)
    observed = observe(design, states, logs, references)
    judged = _said(ended(work, canary, measured), observed, len(references))
    now, day = work.now(), WatchDay(work.now()[:10], **_counts(observed))
    # The distance of each cell from its learnt middle, as the detector uses it.
    offs = {
        cell: log - middle_of(observed.states.get(cell, CellState()))
        for cell, log in observed.own.items()
    }
    with db.transaction():
        if observed.counts:
            _keep(work, choice, observed, watched_cells, over, offs)
            for cell, alarm in observed.alarms.items():
                # Cells are compared with references: a change of one is reported, not searched.
                watching.raised(
                    db,
                    CellAlarm(
                        campaign=id,
                        function=cell.function,
                        variant=cell.variant,
                        bytes=cell.bytes,
                        direction=alarm.direction,
                        found=now,
                        canary=number,
                        canaries=alarm.canaries,
                        ratio=alarm.ratio,
                        largest=alarm.ratio,
                        seen=now,
                    ),
                )
        elif judged.outcome == "busy" and _busy_for_long(work, number, now):
            watching.forget_cells(db, id, list(watched_cells.values()))
            judged = msgspec.structs.replace(
                judged, detail=f"{judged.detail}; so for a day: all cells are learnt anew"
            )
        watching.renew(db, number, judged)
        watching.add(db, day)
    return judged


def _counts(observed: Watched[CanaryCell]) -> dict[str, int]:
    if observed.disturbance is None:
        return {"errors": 1}
    return {"canaries": 1} if observed.counts else {"busy": 1}


def _said(ended: Canary, observed: Watched[CanaryCell], references: int) -> Canary:
    if observed.disturbance is None:
        detail = f"{counted(references, 'reference case')}, at least {REFERENCE_CELLS} are needed"
    elif observed.counts:
        learning = sum(state.baseline is None for state in observed.states.values())
        detail = f"{counted(learning, 'cell')} still learning" if learning else ""
    else:
        detail = (
            f"reference cases vary {observed.disturbance:.1f} times as much as on a quiet machine"
        )
    busy: Literal["busy", "failed"] = "busy" if observed.disturbance is not None else "failed"
    return msgspec.structs.replace(
        ended,
        outcome="judged" if observed.counts else busy,
        reference_cells=references,
        disturbance=observed.disturbance,
        alarms=len(observed.alarms),
        detail=detail,
    )


def _design(
    work: Work, watched_cells: Mapping[CanaryCell, WatchedCell]
) -> tuple[DetectorDesign, dict[CanaryCell, CellState]]:
    """Return the detector's design and the state of each cell. With another design what was learnt
    stays, and sums begin anew."""
    design = work.configuration.design
    states = {cell: state_of(stored) for cell, stored in watched_cells.items()}
    watched = watching.campaign(work.db, work.campaign.id)
    text = _design_text(design)
    if watched is not None and watched.design != text:
        states = {cell: state.rested() for cell, state in states.items()}
        watching.put_campaign(work.db, msgspec.structs.replace(watched, design=text))
    return design, states


def _keep(
    work: Work,
    choice: CellRoles,
    observed: Watched[CanaryCell],
    watched_cells: Mapping[CanaryCell, WatchedCell],
    over: Mapping[CanaryCell, float],
    offs: Mapping[CanaryCell, float],
) -> None:
    now, id = work.now(), work.campaign.id
    no_longer_chosen = [
        stored for cell, stored in watched_cells.items() if cell not in choice.roles
    ]
    watching.forget_cells(work.db, id, no_longer_chosen)
    watching.put_cells(
        work.db,
        [
            WatchedCell(
                campaign=id,
                function=cell.function,
                variant=cell.variant,
                bytes=cell.bytes,
                role=role,
                seconds=over[cell],
                state=msgspec.json.encode(observed.states[cell]).decode(),
                ratio=math.exp(offs[cell]),
                measured=now,
            )
            for cell, role in choice.roles.items()
            if cell in offs and cell in observed.states
        ],
    )


def end_learning(work: Work) -> None:
    """End learning: what users have is another one from now on. Cells that are known by now are
    watched by what they were before; the others learn anew."""
    stored = [
        cell for cell in watching.cells(work.db, work.campaign.id) if cell.role != "reference"
    ]
    ended = [with_state(cell, state_of(cell).learnt_so_far()) for cell in stored]
    with work.db.transaction():
        watching.put_cells(work.db, ended)


def middle_of(state: CellState) -> float:
    """Return the middle of a cell's baseline, as far as the baseline is known."""
    baseline = state.known()
    if baseline is not None:
        return baseline.middle
    return statistics.median(state.learning) if state.learning else 0.0


def _busy_for_long(work: Work, number: int, now: str) -> bool:
    """All canaries since a day ago have said nothing, this one too."""
    last = [
        one_canary
        for at, one_canary in watching.canaries(work.db, work.campaign.id, last=200)
        if one_canary.stage == CANARY and at != number
    ]
    quiet = [one_canary for one_canary in last if one_canary.outcome == "judged"]
    busy = [one_canary for one_canary in last if one_canary.outcome == "busy"]
    since = [one_canary for one_canary in busy if not quiet or one_canary.round > quiet[-1].round]
    at, begun = moment_of(now), moment_of(since[0].started) if since else None
    enough = len(since) + 1 >= _LEAST_BUSY
    return at is not None and begun is not None and enough and at - begun >= BUSY_FOR


def _design_text(design: DetectorDesign) -> str:
    return msgspec.json.encode(design).decode()
