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
from plumbline.daemon.cells import Cell, Chosen, cell_of, state_of, with_state
from plumbline.daemon.moments import iso, moment_of
from plumbline.daemon.work import Measured, Work
from plumbline.measure.comparison import REFERENCE_CELLS
from plumbline.measure.experiment import of_round
from plumbline.system.words import counted
from plumbline.watch.canary import Watched, observe
from plumbline.watch.design import Design
from plumbline.watch.sizing import launches_of
from plumbline.watch.state import CellState
from plumbline_db import alarms, verdicts, watching, winners
from plumbline_db.errors import PlumblineError
from plumbline_db.records import CANARY, Suite
from plumbline_db.watch_records import Canary, CellAlarm, WatchDay, WatchedCampaign, WatchedCell

# Canaries that say nothing for so long have learnt another machine than there is now.
BUSY_FOR = timedelta(days=1)
_LEAST_BUSY = 8


def begin_watching(work: Work, fingerprint: dict[str, str]) -> WatchedCampaign:
    """The campaign's row, made where there is none."""
    known = watching.campaign(work.db, work.campaign.id)
    if known is not None:
        return known
    made = WatchedCampaign(
        work.campaign.id,
        work.now(),
        _design_text(work.configuration.design),
        fingerprint,
        work.in_force.generation,
    )
    watching.put_campaign(work.db, made)
    return made


def chosen(work: Work) -> Chosen:
    """The cells that matter now."""
    db, id = work.db, work.campaign.id
    stages = verdicts.stages(db, id)
    table = verdicts.get(db, id, stages[-1]) if stages else []
    sizes = work.here.sizes(work.settings)
    source = work.in_force.source(work.campaign)
    return cells.choose(
        winners.get(db, id) if source is None else source.winners,
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
        there = spent(work, canary, choice, launches)
        failed = ended(work, canary, there, outcome="failed", detail=str(error))
        watching.renew(work.db, number, failed)
        raise
    return _judged(work, number, canary, choice, measured)


def _launches(work: Work, choice: Chosen) -> dict[Cell, int]:
    """Return in how many launches of a canary each cell takes part, by its noise."""
    design, known = work.configuration.design, watching.cells(work.db, work.campaign.id)
    states = {cell_of(cell): state_of(cell) for cell in known}
    return {cell: launches_of(design, states.get(cell, CellState())) for cell in choice.roles}


class Part(msgspec.Struct, frozen=True):
    """`before`: launches of the parts before it; `launches`: those it adds."""

    suite: Suite
    cells: list[Cell]
    before: int
    launches: int


def parts(canary: Canary, choice: Chosen, launches: Mapping[Cell, int]) -> Iterator[Part]:
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


def launched(work: Work, canary: Canary, choice: Chosen, launches: Mapping[Cell, int]) -> Measured:
    """Return the launches; those that are stored are taken from there. Raises PlumblineError where
    they fail."""
    measured: dict[Suite, Measured] = {}
    for part in parts(canary, choice, launches):
        plan = work.plan([cell.case() for cell in part.cells])
        plan = of_round(plan, canary.round, part.before)
        measured[part.suite] = work.measure(part.suite, plan, part.launches)
    every = max(launches.values())
    whole = together(list(measured.values()))
    there = {
        cell: seconds
        for cell, seconds in whole.times.items()
        if len(seconds) == (every if cell in choice.references else launches[cell])
    }
    return msgspec.structs.replace(whole, times=there)


def spent(work: Work, canary: Canary, choice: Chosen, launches: Mapping[Cell, int]) -> Measured:
    """Return what there is of them, where they have failed."""
    found = [work.measured(part.suite) for part in parts(canary, choice, launches)]
    return together(found)


def together(found: list[Measured]) -> Measured:
    """Return that of parts that follow each other."""
    times: dict[Cell, list[float]] = {}
    for part in found:
        for cell, seconds in part.times.items():
            times.setdefault(cell, []).extend(seconds)
    return Measured(
        times, sum(part.launches for part in found), sum(part.seconds for part in found)
    )


def _begun(work: Work, due: datetime) -> tuple[int, Canary]:
    db, id = work.db, work.campaign.id
    there = watching.under_way(db, id)
    if there is not None:
        return there
    watched = watching.campaign(db, id)
    assert watched is not None  # noqa: S101 - begin_watching has stored it
    canary = Canary(id, watched.canaries + 1, CANARY, iso(due), work.now())
    with db.transaction():
        number = watching.begin(db, canary)
        watching.counted(db, id, canary.round)
    return number, canary


def ended(work: Work, canary: Canary, measured: Measured, **more: str) -> Canary:
    """Return it with `more` of its columns."""
    return msgspec.structs.replace(
        canary,
        finished=work.now(),
        seconds=measured.seconds,
        node_seconds=measured.seconds * work.campaign.nodes,
        launches=measured.launches,
        cells=len(measured.times),
        **more,
    )


def _judged(work: Work, number: int, canary: Canary, choice: Chosen, measured: Measured) -> Canary:
    db, id = work.db, work.campaign.id
    known = {cell_of(stored): stored for stored in watching.cells(db, id)}
    over = {
        cell: known[cell].seconds if cell in known else statistics.median(times)
        for cell, times in measured.times.items()
    }
    logs = {
        cell: [math.log(seconds / over[cell]) for seconds in times]
        for cell, times in measured.times.items()
    }
    references = [cell for cell in choice.references if cell in logs]
    design, states = _design(work, known)
    seen = observe(design, states, logs, references)
    told = _said(ended(work, canary, measured), seen, len(references))
    now, day = work.now(), WatchDay(work.now()[:10], **_counts(seen))
    # How far each cell lies off what was learnt of it, as the detector sees it.
    offs = {
        cell: log - middle_of(seen.states.get(cell, CellState())) for cell, log in seen.own.items()
    }
    with db.transaction():
        if seen.counts:
            _keep(work, choice, seen, known, over, offs)
            for cell, alarm in seen.alarms.items():
                # What a reference does, all cells are measured by: it is told, and not searched.
                alarms.raised(
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
        elif told.outcome == "busy" and _busy_for_long(work, number, now):
            watching.forget_cells(db, id, list(known.values()))
            told = msgspec.structs.replace(
                told, detail=f"{told.detail}; so for a day: all cells are learnt anew"
            )
        watching.renew(db, number, told)
        watching.add(db, day)
    return told


def _counts(seen: Watched[Cell]) -> dict[str, int]:
    if seen.disturbance is None:
        return {"errors": 1}
    return {"canaries": 1} if seen.counts else {"busy": 1}


def _said(ended: Canary, seen: Watched[Cell], references: int) -> Canary:
    if seen.disturbance is None:
        detail = f"{counted(references, 'reference case')}, {REFERENCE_CELLS} at least are needed"
    elif seen.counts:
        learning = sum(state.baseline is None for state in seen.states.values())
        detail = f"{counted(learning, 'cell')} still learning" if learning else ""
    else:
        detail = f"reference cases lie {seen.disturbance:.1f} times as wide as they do when quiet"
    busy: Literal["busy", "failed"] = "busy" if seen.disturbance is not None else "failed"
    return msgspec.structs.replace(
        ended,
        outcome="judged" if seen.counts else busy,
        reference_cells=references,
        disturbance=seen.disturbance,
        alarms=len(seen.alarms),
        detail=detail,
    )


def _design(work: Work, known: Mapping[Cell, WatchedCell]) -> tuple[Design, dict[Cell, CellState]]:
    """Return it with another design states are not the same: what was learnt stays, and sums begin
    anew."""
    design = work.configuration.design
    states = {cell: state_of(stored) for cell, stored in known.items()}
    watched = watching.campaign(work.db, work.campaign.id)
    text = _design_text(design)
    if watched is not None and watched.design != text:
        states = {cell: state.rested() for cell, state in states.items()}
        watching.put_campaign(work.db, msgspec.structs.replace(watched, design=text))
    return design, states


def _keep(
    work: Work,
    choice: Chosen,
    seen: Watched[Cell],
    known: Mapping[Cell, WatchedCell],
    over: Mapping[Cell, float],
    offs: Mapping[Cell, float],
) -> None:
    now, id = work.now(), work.campaign.id
    gone = [stored for cell, stored in known.items() if cell not in choice.roles]
    watching.forget_cells(work.db, id, gone)
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
                state=msgspec.json.encode(seen.states[cell]).decode(),
                ratio=math.exp(offs[cell]),
                measured=now,
            )
            for cell, role in choice.roles.items()
            if cell in offs and cell in seen.states
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
    """Return it as far as it is known."""
    known = state.known()
    if known is not None:
        return known.middle
    return statistics.median(state.learning) if state.learning else 0.0


def _busy_for_long(work: Work, number: int, now: str) -> bool:
    """All canaries since a day ago have said nothing, this one too."""
    last = [
        each
        for at, each in watching.canaries(work.db, work.campaign.id, last=200)
        if each.stage == CANARY and at != number
    ]
    quiet = [each for each in last if each.outcome == "judged"]
    busy = [each for each in last if each.outcome == "busy"]
    since = [each for each in busy if not quiet or each.round > quiet[-1].round]
    at, begun = moment_of(now), moment_of(since[0].started) if since else None
    enough = len(since) + 1 >= _LEAST_BUSY
    return at is not None and begun is not None and enough and at - begun >= BUSY_FOR


def _design_text(design: Design) -> str:
    return msgspec.json.encode(design).decode()
