"""The knowledge of databases about one place: a library, a processor and a layout of ranks. It
reads which cells of an application were measured there, and puts the winners of several campaigns
together. Measures nothing."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline.campaign.in_force import ActiveFiles
from plumbline.core.application import Application, Calls, nearest
from plumbline.core.plan import measurable
from plumbline.core.winner import exported_as, without_sizes
from plumbline.libraries import gate
from plumbline.measure import tables
from plumbline.measure.exclusions import NO_TIME, NOT_ASKED
from plumbline.settings import Settings, identity
from plumbline.settings.identity import Identity
from plumbline.settings.ranks import Ranks
from plumbline.settings.toolchain import Toolchain
from plumbline_db import campaigns, findings, machines, started
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.layout import JOB
from plumbline_db.records import EVERY_FUNCTION, Campaign, Machine, Winner
from plumbline_exporters import plumbline_sh
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.registry import exporters, is_written, texts, write

STALE = datetime.timedelta(days=180)
# A call is worth measuring from this share of the application's time on that may be saved.
_WORTH = 0.001
# The share of a call's time that a winner is expected to save, where no winner of the function is
# known.
_USUAL_GAIN = 0.25

Sizes = Mapping[str, Sequence[int]]


class KnownPlace(msgspec.Struct, frozen=True):
    """A library, a processor and a layout of ranks. `site_rules`: the text of the site's rules file
    that is in force; empty where there is none. `is_part`: the ranks are those of a communicator
    within a larger job, whose other calls its rules must not change."""

    toolchain: Toolchain
    settings: Settings
    site_rules: str = ""
    is_part: bool = False

    def is_of(self, db: Database, row: Campaign, ranks: Ranks) -> bool:
        """Return whether a row of a database was measured with this library and processor, nodes
        and ranks per node. The host may be another one of the same kind."""
        library = machines.library(db, row.library_fingerprint)
        there = _processor(machines.machine(db, row.machine))
        return (library.fingerprint, there, row.nodes, row.ppn) == (
            self.toolchain.installation.library.fingerprint,
            _processor(self.toolchain.machine),
            ranks.node_count,
            ranks.ppn,
        )


def _processor(machine: Machine) -> tuple[object, ...]:
    return machine.cpu_model, machine.processing_units, machine.numa_nodes


class KnownCampaign(msgspec.Struct, frozen=True):
    """A finished campaign of the place, its winners, and how it started ranks. `sizes`: those that
    it measured and searched, by function; `is_fresh`: it ended lately."""

    campaign: Campaign
    winners: list[Winner]
    started: list[str]
    sizes: dict[str, list[int]]
    is_fresh: bool


class SlowRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of an application's files that was slower than the library in the application itself,
    and when (ISO 8601, UTC); `nprocs_from`, `nprocs_to`: of communicators of so many ranks."""

    function: str
    bytes_from: int
    bytes_to: int
    time: str
    nprocs_from: int = 0
    nprocs_to: int = 2**31 - 1

    def __post_init__(self) -> None:
        _time(self.time)


class JobRules(msgspec.Struct, frozen=True):
    """The settings of a job's row in the database: the rules that the job switched off."""

    slower: list[SlowRule]
    application: str
    command: str = JOB


class Knowledge(msgspec.Struct, frozen=True):
    """The knowledge about a `place`. `sources`: the newest first. `gains`: the share of time that
    winners of a function save, in the middle, by function; of all places. `slower`: the rules that
    jobs of the place switched off."""

    place: KnownPlace
    sources: list[KnownCampaign] = []
    gains: dict[str, float] = {}
    slower: Sequence[SlowRule] = ()

    def lacking(self, profile: Application) -> list[Calls]:
        """Return the calls that are worth measuring and were not searched, or too long ago; those
        that may save most first."""
        sizes: dict[str, list[int]] = {}
        for source in self.sources:
            for function, its_sizes in source.sizes.items() if source.is_fresh else ():
                sizes.setdefault(function, []).extend(its_sizes)
        ranks = self.place.settings.ranks
        unknown = [
            calls
            for calls in profile.on(ranks.nprocs, ranks.node_count)
            if _is_measurable(self.place, calls)
            and nearest(calls.bytes or 0, sizes.get(calls.function, ())) is None
            and self.saving(calls) >= _WORTH * profile.seconds
        ]
        return sorted(unknown, key=lambda calls: -self.saving(calls))

    def saving(self, calls: Calls) -> float:
        """Return the seconds that tuning these calls may save, on the average over ranks."""
        return calls.work_seconds * self.gains.get(calls.function, _USUAL_GAIN)


def active_files(
    known: Sequence[Knowledge], folder: Path, slower: Sequence[SlowRule] = ()
) -> ActiveFiles | None:
    """Write the files of all winners into a folder in `folder` that is named after their content;
    None where there are no winners. `known`: of the place of all ranks, then of its parts. Sizes of
    rules that were slower after a campaign finished are left out of its winners; `slower` adds
    rules to the known ones. Raises PlumblineError where files cannot be written."""
    toolchain, settings = known[0].place.toolchain, known[0].place.settings
    chosen: list[KnownCampaign] = []
    for each in known:
        own = each.place.settings
        for source in _without_overlaps(each.sources, own, [*each.slower, *slower]):
            if _fit_together(toolchain, [*chosen, source], folder):
                chosen.append(source)
    if not chosen:
        return None
    every = [winner for source in chosen for winner in source.winners]
    facts = [toolchain.installation.library.fingerprint, str(toolchain.preload)]
    facts += [source.campaign.key for source in chosen]
    facts += [repr(exported_as(winner)) for winner in every]
    name = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    bundle = _bundle(toolchain, chosen, folder / name)
    formats = list(exporters(toolchain.family.name))
    if not is_written(bundle, formats):
        write(bundle, formats)
    return ActiveFiles(
        campaign=bundle.campaign,
        settings=settings.but(profile=None, sizes=_proof_sizes(every, settings)),
        winners=every,
        script=bundle.directory / plumbline_sh.FILE_NAME,
        toolchain=toolchain,
        placed=bundle.started,
    )


def read(databases: Sequence[Path], place: KnownPlace, now: datetime.datetime) -> Knowledge:
    """Read what the databases contain about a place. Raises PlumblineError where a database cannot
    be read."""
    sources: list[KnownCampaign] = []
    speedups: dict[str, list[float]] = {}
    slower: list[SlowRule] = []
    for path in databases:
        with Database.open(path) as db, db.snapshot():
            for campaign in campaigns.all_campaigns(db):
                chosen = findings.get_winners(db, campaign.id)
                for winner in chosen:
                    speedups.setdefault(winner.function, []).append(max(1.0, winner.speedup))
                sizes = _searched_sizes(db, place, campaign)
                if sizes:
                    lines = started.lines(db, campaign.id)
                    is_fresh = now - _time(campaign.finished) < STALE
                    sources.append(KnownCampaign(campaign, chosen, lines, sizes, is_fresh))
            for job in campaigns.of_jobs(db):
                slower += _switched_off(db, place, job)
    sources.reverse()  # of equal times the last that was read is the newest
    sources.sort(key=lambda source: _time(source.campaign.finished), reverse=True)
    gains = {
        function: 1.0 - 1.0 / statistics.median(values) for function, values in speedups.items()
    }
    return Knowledge(place, sources, gains, slower)


def _time(text: str) -> datetime.datetime:
    time = datetime.datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=datetime.UTC)


def _searched_sizes(db: Database, place: KnownPlace, campaign: Campaign) -> dict[str, list[int]]:
    """Return the sizes by function that a campaign measured and, as far as they were worth it,
    searched; nothing for a campaign of another place, or of other circumstances."""
    own = place.settings.ranks
    if campaign.state != "finished" or not place.is_of(db, campaign, own):
        return {}
    try:
        asked = identity.settings_of(campaign.settings)
        sizes = tables.sizes_of(identity.chosen(place.toolchain, asked), asked)
    except PlumblineError:
        return {}
    circumstances = (asked.fixed.environment, asked.fixed.preload, asked.ranks.simulate)
    if (
        asked.search.verifies_only
        or (place.is_part and asked.search.limited_to is None)
        or circumstances != ({}, [], None)
        or (asked.ranks.bind, asked.ranks.map_by) != (own.bind, own.map_by)
        or (campaign.site_rules or "") != place.site_rules
    ):
        return {}
    if any(event.kind in (NO_TIME, NOT_ASKED) for event in campaigns.events(db, campaign.id)):
        searched = {(each.function, each.bytes) for each in findings.all_searches(db, campaign.id)}
        sizes = {
            function: [size for size in its_sizes if (function, size) in searched]
            for function, its_sizes in sizes.items()
        }
    return sizes


def _switched_off(db: Database, place: KnownPlace, job: Campaign) -> list[SlowRule]:
    """Return the rules that a job of this place, or of the ranks that it is a part of, switched
    off; none where they cannot be read."""
    ranks = place.settings.ranks
    with contextlib.suppress(ValueError):
        if place.is_of(db, job, ranks.whole or ranks):
            return msgspec.json.decode(job.settings, type=JobRules).slower
    return []


def store_slower(
    path: Path, place: KnownPlace, application: str, slower: Sequence[SlowRule]
) -> str:
    """Store in the database at `path` that a job of an application switched off these rules; return
    the name of the row. Raises PlumblineError where the database cannot be written."""
    settings = msgspec.json.encode(JobRules(list(slower), application)).decode()
    placement = place.settings.ranks.placement(place.toolchain.launcher.processing_units())
    with Database.open(path, write=True) as db:
        row = identity.enter(db, place.toolchain, Identity(settings, placement, "r"), new=True)
        identity.finish(db, row)
    return row.id


def _is_measurable(place: KnownPlace, calls: Calls) -> bool:
    """Return whether a campaign has a cell that stands for these calls."""
    if not calls.bytes or calls.function not in place.toolchain.catalogue.names:
        return False
    settings = place.settings
    data, nprocs = settings.cases.data, settings.ranks.nprocs
    return nearest(calls.bytes, measurable(calls.function, [calls.bytes], nprocs, data)) is not None


def _without_overlaps(
    sources: Sequence[KnownCampaign], settings: Settings, slower: Sequence[SlowRule]
) -> Iterator[KnownCampaign]:
    """Yield the sources with what is left of their winners beside the sizes that a newer source, or
    a slower rule, has decided upon. Settings of the process come from the newest source alone,
    because the others were measured without them."""
    decided: dict[str, list[tuple[int, int]]] = {}
    nprocs = settings.ranks.nprocs
    own = (rule for rule in slower if rule.nprocs_from <= nprocs <= rule.nprocs_to)
    waiting = sorted(own, key=lambda rule: _time(rule.time))
    for number, source in enumerate(sources):
        while waiting and _time(waiting[-1].time) > _time(source.campaign.finished):
            rule = waiting.pop()
            decided.setdefault(rule.function, []).append((rule.bytes_from, rule.bytes_to))
        kept = [
            part
            for winner in source.winners
            for part in _left_of(winner, source, decided, newest=number == 0)
            if part.function == EVERY_FUNCTION or _proof_size(part, settings) is not None
        ]
        for function, its_sizes in source.sizes.items():
            decided.setdefault(function, []).extend((size, size) for size in its_sizes)
        for winner in kept:
            ranges = decided.setdefault(winner.function, [])
            ranges.append((winner.bytes_from, winner.bytes_to))
        if kept:
            yield msgspec.structs.replace(source, winners=kept)


def _left_of(
    winner: Winner,
    source: KnownCampaign,
    decided: Mapping[str, Sequence[tuple[int, int]]],
    *,
    newest: bool,
) -> Iterator[Winner]:
    """Yield the parts of a winner that contain a size at which its own campaign measured it."""
    if winner.function == EVERY_FUNCTION:
        yield from [winner] if newest else []
        return
    parts = [winner]
    for first, last in decided.get(winner.function, ()):
        parts = [rest for part in parts for rest in without_sizes(part, first, last)]
    for part in parts:
        inside = [size for size in source.sizes.get(winner.function, ()) if _holds_at(part, size)]
        if part == winner:
            yield part
        elif inside:
            measured = {"measured_from": min(inside), "measured_to": max(inside)}
            yield msgspec.structs.replace(part, **measured)


def _holds_at(winner: Winner, size: int) -> bool:
    return winner.bytes_from <= size <= winner.bytes_to


def _fit_together(toolchain: Toolchain, sources: Sequence[KnownCampaign], folder: Path) -> bool:
    """Return whether files can contain all their winners, and the search space allows each."""
    try:
        texts(_bundle(toolchain, sources, folder), list(exporters(toolchain.family.name)))
    except PlumblineError:
        return False
    return True


def _bundle(toolchain: Toolchain, sources: Sequence[KnownCampaign], folder: Path) -> Bundle:
    rules = sources[0].campaign
    return Bundle(
        campaign=sources[0].campaign,
        machine=toolchain.machine,
        library=toolchain.installation.library,
        winners=[winner for source in sources for winner in source.winners],
        created=sources[0].campaign.finished,
        directory=folder.absolute(),
        refusal=gate.of_space(toolchain.space),
        preload_library=toolchain.preload,
        others=[source.campaign for source in sources[1:]],
        site_rules=rules.site_rules or "",
        started=list(dict.fromkeys(line for source in sources for line in source.started)),
    )


def _proof_sizes(every: Collection[Winner], settings: Settings) -> dict[str, list[int]]:
    """Return a size for each winner at which it is proven to be in force."""
    sizes: dict[str, set[int]] = {}
    for winner in every:
        size = _proof_size(winner, settings)
        if size is not None and winner.function != EVERY_FUNCTION:
            sizes.setdefault(winner.function, set()).add(size)
    return {function: sorted(its_sizes) for function, its_sizes in sizes.items()}


def _proof_size(winner: Winner, settings: Settings) -> int | None:
    """Return None where no size that can be measured lies in the winner's range."""
    size = max(winner.measured_from, winner.bytes_from, 1)
    data, nprocs = settings.cases.data, settings.ranks.nprocs
    rounded = measurable(winner.function, [size], nprocs, data)
    return rounded[0] if rounded and _holds_at(winner, rounded[0]) else None
