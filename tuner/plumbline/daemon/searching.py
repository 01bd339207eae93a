"""The search that a confirmed change opens: a campaign of the cells concerned and no others, and
its winners together with those that were in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from plumbline.campaign import exported, loop
from plumbline.core.cell import Target
from plumbline.core.guidelines import LEFT_OUT
from plumbline.core.winner import deciding, of_measured_sizes, without_sizes
from plumbline.daemon.cells import CanaryCell
from plumbline.daemon.recheck import of_alarm
from plumbline.daemon.work import Work
from plumbline.libraries import gate
from plumbline.libraries.space import Space
from plumbline.measure.launches import LaunchStore
from plumbline.settings import Settings, identity
from plumbline.settings.identity import settings_of, text_of
from plumbline.settings.toolchain import OUT, Toolchain, set_by_site
from plumbline_db import campaigns, findings, watching
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Campaign, Winner
from plumbline_db.watching import CellAlarm, Retuning
from plumbline_exporters import registry
from plumbline_exporters.bundle import load_bundle

_Range = tuple[int, int]  # of sizes, both ends included
_Sizes = Mapping[str, Sequence[int]]


class HopelessError(PlumblineError):
    """Whoever searches again comes to the same end."""


def under_way(work: Work) -> tuple[int, Retuning] | None:
    """The search that was opened and has not ended, or what it has applied and nobody confirmed."""
    every = watching.retunings(work.db, work.campaign.id)
    return next(((number, retuning) for number, retuning in every if not retuning.ended), None)


def open_search(work: Work) -> tuple[int, Retuning]:
    """Open a search for all alarms that are confirmed, together. Where files of ours are not what
    was written, they are the reason, and nothing is to be searched: `settings` are empty then."""
    db, id = work.db, work.campaign.id
    confirmed = [
        (n, alarm) for n, alarm in watching.still_open(db, id) if alarm.state == "confirmed"
    ]
    because, settings = said(confirmed), ""
    if work.in_force.changed:
        because += f"; changed since they were written: {', '.join(work.in_force.changed)}"
    else:
        cells = [of_alarm(alarm) for _, alarm in confirmed]
        sizes, budget = work.here.sizes(work.settings), work.configuration.search.budget_seconds
        settings = text_of(limited(work.settings, cells, sizes, work.here.toolchain, budget))
    row = Retuning(
        campaign=id,
        opened=work.now(),
        because=because,
        settings=settings,
        previous=work.in_force.generation,
    )
    with db.transaction():
        number = watching.opened(db, row)
        for at, alarm in confirmed:
            searching = msgspec.structs.replace(alarm, state="searching", retuning=number)
            watching.renew_alarms(db, at, searching)
    return number, row


def said(confirmed: Sequence[tuple[int, CellAlarm]]) -> str:
    """`MPI_Allreduce at 16384 B takes 1.84 times as long as it did; …`"""
    return "; ".join(
        f"{of_alarm(alarm).named} takes {alarm.ratio:.2f} times as long as was learnt"
        for _, alarm in confirmed
    )


def limited(
    settings: Settings,
    cells: Sequence[CanaryCell],
    sizes: dict[str, list[int]],
    toolchain: Toolchain,
    budget_seconds: float,
) -> Settings:
    """Return the settings of a campaign that searches these cells, whether or not a guideline is
    violated there. A function whose algorithm must be one for all sizes is searched at all of them;
    a campaign has two sizes at least."""
    functions = sorted({cell.function for cell in cells})
    sizes_wanted = {cell.bytes for cell in cells}
    every = sorted(
        {size for function in functions for size in sizes.get(function, [])} | sizes_wanted
    )
    if any(_is_one_for_all(toolchain.space, function) for function in functions):
        sizes_wanted |= set(every)
    nearest = sorted(
        every, key=lambda size: min(abs(size - size_wanted) for size_wanted in sizes_wanted)
    )
    for size in nearest:
        if len(sizes_wanted) < 2:
            sizes_wanted.add(size)
    if len(sizes_wanted) < 2:
        sizes_wanted.add(2 * max(sizes_wanted))
    rules = identity.chosen(toolchain, settings)
    ids = [pattern.id for pattern in rules.patterns if pattern.lhs in functions]
    return settings.but(
        functions=functions,
        sizes=sorted(sizes_wanted),
        guidelines=[rules.monotony.id, *ids, *(f"{LEFT_OUT}{id}" for id in rules.left_out)],
        profile=None,
        rounds=settings.search.rounds or None,  # 0: it was only verified
        all=True,
        settings=False,
        budget_seconds=budget_seconds,
    )


def _is_one_for_all(space: Space, function: str) -> bool:
    entry = space.of(function)
    return entry is not None and entry.sizes != "each"


def run_campaign(work: Work, campaign: Campaign, settings: Settings) -> Campaign:
    """To its end, or on from where it stood. Raises PlumblineError."""
    toolchain = work.here.toolchain
    if site := set_by_site(toolchain):
        raise HopelessError(f"{'; '.join(site)}: {OUT}")
    starter = work.here.starter
    where = exported.claim_folder(work.db, work.db.path, campaign)
    store = LaunchStore(work.db, campaign.id, starter, work.progress)
    done = loop.CampaignLoop(store, toolchain, campaign, settings, where).run()
    exported.release_folder(where)
    return done


class Found(msgspec.Struct, frozen=True):
    """`winners`: all that are to be in force then; `better` than what is."""

    winners: list[Winner]
    better: bool


def finish(work: Work, number: int, row: Retuning) -> tuple[Retuning, Found]:
    """The search to its end."""
    db = work.db
    settings = settings_of(row.settings)
    if row.search is None:
        begun = identity.begin(db, work.here.toolchain, settings, new=True)
        row = msgspec.structs.replace(row, search=begun.id)
        watching.renew_retuning(db, number, row)
    else:
        begun = campaigns.get(db, row.search)
    if begun.state != "finished":
        begun = run_campaign(work, begun, settings)
    opened_by = [of_alarm(alarm) for _, alarm in watching.of_retuning(db, number)]
    there = {
        (one_search.function, one_search.bytes)
        for one_search in findings.all_searches(db, begun.id)
    }
    if there.isdisjoint((cell.function, cell.bytes) for cell in opened_by):
        raise HopelessError(
            f"{begun.id}: search.budget_seconds ({settings.budget:g}) was used up before these "
            "cells were searched: raise it"
        )
    return row, _together(work, begun, settings, opened_by)


def _together(
    work: Work, search: Campaign, settings: Settings, opened_by: Sequence[CanaryCell]
) -> Found:
    """The winners of the search with those that were in force, which its exported files then hold:
    whoever exports or applies them loses nothing. What else was searched decides nothing. Where
    the library as it is has won against a winner of ours, that one goes."""
    db = work.db
    new = findings.get_winners(db, search.id)
    source = work.in_force.source(work.campaign)
    standing = findings.get_winners(db, work.campaign.id) if source is None else source.winners
    all_sizes, every = work.here.sizes(work.settings), work.here.sizes(settings)
    space = work.here.toolchain.space
    searched = {
        function: every[function]
        if _is_one_for_all(space, function)
        else sorted({cell.bytes for cell in opened_by if cell.function == function})
        for function in settings.cases.functions
    }
    beneath = search.site_rules is not None
    together = merged_winners(standing, new, searched, all_sizes, beneath=beneath)
    if together != new:
        findings.put_winners(db, search.id, together)
        _export(db, search, work.here.toolchain)
    return Found(together, not are_same(standing, together, searched))


def _export(db: Database, search: Campaign, toolchain: Toolchain) -> None:
    """Export into the folder of the search's own files; where it has none, in one that is made."""
    written = campaigns.exports(db, search.id)
    folder = Path(written[0].path).parent if written else exported.claim_folder(db, db.path, search)
    bundle = load_bundle(
        db,
        search.id,
        folder,
        lambda _: gate.of_space(toolchain.space),
        created=search.finished,
        preload_library=toolchain.preload,
    )
    for export in registry.write(bundle, list(registry.exporters(bundle.library.family))):
        campaigns.put_export(db, search.id, export)


def merged_winners(
    standing: Sequence[Winner],
    new: Sequence[Winner],
    searched: _Sizes,
    sizes: _Sizes,
    *,
    beneath: bool,
) -> list[Winner]:
    """`searched` sizes of functions are decided by `new`, all else by `standing`. `sizes`: those
    that were measured for the latter. `beneath`: the rules in force were part of the library that
    was searched, so that they stay where nothing better was found."""
    kept: list[Winner] = []
    for winner in standing:
        better = [new_winner for new_winner in new if new_winner.function == winner.function]
        stays = beneath and winner.variant == "default"
        decided = [
            size_range
            for size_range in _ranges(winner.function, searched, sizes)
            if not stays or any(_meets(better_winner, size_range) for better_winner in better)
        ]
        kept += _without(winner, decided)
    for winner in new:
        if winner.function == EVERY_FUNCTION:
            kept.append(winner)
        kept += [
            _within(winner, size_range)
            for size_range in _joined(_ranges(winner.function, searched, sizes))
            if _meets(winner, size_range)
        ]
    return of_measured_sizes(kept, _both(searched, sizes))


def are_same(standing: Sequence[Winner], new: Sequence[Winner], searched: _Sizes) -> bool:
    """Return whether the searched cells get the same from both."""
    cells = [Target(function, size) for function, sizes in searched.items() for size in sizes]
    return all(_choice(standing, cell) == _choice(new, cell) for cell in cells)


def _choice(winners: Sequence[Winner], cell: Target) -> tuple[str, dict[str, str]]:
    winner = deciding(winners, cell)
    return ("default", {}) if winner is None else (winner.variant, winner.configuration)


def _ranges(function: str, searched: _Sizes, sizes: _Sizes) -> list[_Range]:
    """Return what each searched size decides: from it to below the next one, the smallest from
    0."""
    every = sorted({*sizes.get(function, ()), *searched.get(function, ())})
    if not every:
        return []
    ends = [0, *every[1:], UNBOUNDED_BYTES + 1]
    by_size = {
        size: (low, high - 1) for size, (low, high) in zip(every, pairwise(ends), strict=True)
    }
    return [by_size[size] for size in sorted(searched.get(function, ()))]


def _joined(ranges: Iterable[_Range]) -> list[_Range]:
    joined: list[_Range] = []
    for low, high in ranges:
        if joined and joined[-1][1] + 1 == low:
            joined[-1] = joined[-1][0], high
        else:
            joined.append((low, high))
    return joined


def _meets(winner: Winner, where: _Range) -> bool:
    return winner.bytes_from <= where[1] and where[0] <= winner.bytes_to


def _within(winner: Winner, where: _Range) -> Winner:
    return msgspec.structs.replace(
        winner, bytes_from=max(winner.bytes_from, where[0]), bytes_to=min(winner.bytes_to, where[1])
    )


def _without(winner: Winner, taken: Iterable[_Range]) -> list[Winner]:
    pieces = [winner]
    for low, high in taken:
        pieces = [part for piece in pieces for part in without_sizes(piece, low, high)]
    return pieces


def _both(searched: _Sizes, sizes: _Sizes) -> dict[str, list[int]]:
    return {
        function: sorted({*sizes.get(function, ()), *searched.get(function, ())})
        for function in {**sizes, **searched}
    }
