"""The bundle that an exporter gets: the winners of one campaign and where they come from; and what
an exported file decides for a call."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_db.layout import fixed, layout
from plumbline_db.records import EVERY_FUNCTION, UNBOUNDED_BYTES, Campaign, Library, Machine, Winner
from plumbline_exporters import quoting

if TYPE_CHECKING:
    from plumbline_db.connection import Database

# The placeholder of the checksum in the head of every file (registry.texts).
SUM = "sum"
NO_SUM = "0" * 16


Refusal = Callable[[Winner], str]
"""A function that says why a winner may not leave in a file; an empty text lets it through. Whoever
makes a bundle must bring one (plumbline.libraries.gate asks the search space): a database may have
been edited, or be a stranger's."""


class Bundle(msgspec.Struct, frozen=True):
    """`refusal` has let each of the winners through. `directory` is the absolute, final folder of
    the files, since they refer to each other. `created` is the time of the export (ISO 8601).
    `preload_library` is libplumbline.so, needed when a winner is a variant. `unsafe` lets through
    what is wrong for some legal programs.
    `others` are campaigns whose winners are here too: of other numbers of ranks. `site_rules`: the
    text of the site's own rules file, whose place an exported one takes. `started`: how ranks were
    started when winners were measured and confirmed, a sentence each (plumbline_db.started)."""

    campaign: Campaign
    machine: Machine
    library: Library
    winners: list[Winner]
    created: str
    directory: Path
    refusal: Refusal
    preload_library: Path | None = None
    unsafe: bool = False
    others: list[Campaign] = []
    site_rules: str = ""
    started: list[str] = []

    def __post_init__(self) -> None:
        for winner in self.winners:
            if why := self.refusal(winner):
                raise PlumblineError(
                    f"campaign {self.campaign.named}: the winner for {winner.function!r:.100}, "
                    f"{winner.nprocs} ranks, {sizes(winner)}, {why}. Nothing is written: the "
                    "database was edited or comes from elsewhere; run a campaign of your own"
                )

    @property
    def variants(self) -> list[Winner]:
        return [winner for winner in self.winners if is_profile(winner)]


def load_bundle(
    db: Database,
    campaign_id: str | None,
    directory: Path,
    refusal_of: Callable[[Library], Refusal],
    *,
    created: str,
    preload_library: Path | None = None,
) -> Bundle:
    """Return the winners of a campaign (None: the one started last) as they are in the database,
    each of them let through by `refusal_of` the campaign's library."""
    from plumbline_db import campaigns, findings, machines, started

    with db.snapshot():
        campaign = campaigns.get(db, campaign_id)
        machine = machines.machine(db, campaign.machine)
        library = machines.library(db, campaign.library_fingerprint)
        chosen = findings.get_winners(db, campaign.id)
        ways = started.lines(db, campaign.id)
    return Bundle(
        campaign=campaign,
        machine=machine,
        library=library,
        winners=chosen,
        created=created,
        directory=directory.absolute(),
        refusal=refusal_of(library),
        preload_library=None if preload_library is None else preload_library.absolute(),
        # The rules of another site do not apply here.
        site_rules="" if campaign.imported_from else campaign.site_rules or "",
        started=ways,
    )


def groups(chosen: list[Winner]) -> dict[tuple[str, int], list[Winner]]:
    """Winners by (function, nprocs), in order of size. Files know neither nodes nor placement, and
    one size has one answer: two winners that claim the same call are an error."""
    grouped: dict[tuple[str, int], list[Winner]] = {}
    for winner in sorted(chosen, key=lambda w: (w.function, w.nprocs, w.bytes_from)):
        grouped.setdefault((winner.function, winner.nprocs), []).append(winner)
    for (function, nprocs), group in grouped.items():
        if len({winner.ppn for winner in group}) > 1:
            raise PlumblineError(
                f"{function}, {nprocs} ranks: winners for different numbers of ranks per node; "
                "the file formats cannot tell these apart, so export one campaign at a time"
            )
        for lower, upper in pairwise(group):
            if lower.bytes_to >= upper.bytes_from:
                raise PlumblineError(
                    f"{function}, {nprocs} ranks: the winners for {sizes(lower)} and "
                    f"{sizes(upper)} overlap"
                )
    return grouped


def sizes(winner: Winner, unit: str = " bytes") -> str:
    """`8192-65536 bytes`, `1024 bytes`, `all sizes (measured: 8-4194304 bytes)`"""
    if winner.bytes_to == UNBOUNDED_BYTES:
        every = f"{winner.bytes_from}{unit} and more" if winner.bytes_from else "all sizes"
        measured = f"{winner.measured_from}-{winner.measured_to}{unit}"
        return f"{every} (measured: {measured})" if winner.measured_to else every
    if winner.bytes_from == winner.bytes_to:
        return f"{winner.bytes_from}{unit}"
    return f"{winner.bytes_from}-{winner.bytes_to}{unit}"


def last_volume(winner: Winner) -> int:
    """Return the largest volume of a winner of a function with equal blocks. Blocks are padded to
    whole elements when they are measured; elements of a reduction have up to eight bytes."""
    if winner.bytes_to == UNBOUNDED_BYTES:
        return UNBOUNDED_BYTES
    unit = winner.nprocs * (8 if winner.function == "MPI_Reduce_scatter_block" else 1)
    return -(-winner.bytes_to // unit) * unit


def choice(winner: Winner) -> str:
    """`coll_tuned_allreduce_algorithm=3`, or `variant NAME`"""
    words = [] if winner.variant == "default" else [f"variant {winner.variant}"]
    words += [f"{name}={value}" for name, value in sorted(winner.configuration.items())]
    return " ".join(words) or "the default"


def conditions(winner: Winner) -> list[str]:
    """Keys of a profile's rule beyond ranks and sizes: `type=floating`, `counts=equal`."""
    own = (*_SPANS, *_EVIDENCE)
    words = (word for word in winner.restrictions if "=" in word)
    return [word for word in words if word.partition("=")[0] not in own]


# Winners of a whole site (plumbline.site) have further words among their restrictions: the ranges
# of ranks, nodes and ranks a node that they are for, and the layouts that are evidence for them.
_SPANS = ("nprocs", "nodes", "ppn")
_EVIDENCE = ("measured", "carried", "checked")


def span(winner: Winner, key: str) -> tuple[int, int]:
    """Return the smallest and the largest number of ranks (`nprocs`), `nodes` or ranks a node
    (`ppn`) that a winner is for."""
    nodes = -(-winner.nprocs // winner.ppn)
    usual = {"nprocs": winner.nprocs, "nodes": nodes, "ppn": winner.ppn}[key]
    text = _word(winner, key) or f"{usual}-{usual}"
    first, _, last = text.partition("-")
    return int(first), int(last)


def of_layout(winner: Winner, nprocs: int, ppn: int) -> Winner:
    """Return a winner of a whole site as a campaign of one layout would have it."""
    own = [
        word
        for word in winner.restrictions
        if word.partition("=")[0] not in (*_SPANS, *_EVIDENCE) or "=" not in word
    ]
    return msgspec.structs.replace(winner, nprocs=nprocs, ppn=ppn, restrictions=own)


def ranks(winner: Winner) -> str:
    """`8 ranks`, `9-15 ranks`"""
    first, last = span(winner, "nprocs")
    return f"{first} ranks" if first == last else f"{first}-{last} ranks"


def evidence(winner: Winner) -> str:
    """Return what a winner of a whole site rests on; empty for a winner of one campaign."""
    carried, checked = _word(winner, "carried"), _word(winner, "checked")
    if carried:
        *others, last = carried.split(",")
        over = f"carried over from {', '.join(others)} and {last}"
        return f"{over}, checked on {checked}" if checked else over
    measured = _word(winner, "measured")
    return f"measured on {measured}" if measured else ""


def _word(winner: Winner, key: str) -> str:
    values = (word.partition("=") for word in winner.restrictions)
    return next((value for name, _, value in values if name == key), "")


RankGroups = dict[tuple[str, int, int], list[Winner]]


def groups_by_ranks(chosen: list[Winner]) -> RankGroups:
    """Return winners by function and the smallest and the largest number of ranks, in order of
    size, for files that know the number of ranks alone. Raises PlumblineError where two ranges of
    ranks overlap, or as `groups` does."""
    grouped = {
        (function, *span(group[0], "nprocs")): group
        for (function, _), group in groups(chosen).items()
    }
    for (function, _, end), (following, start, _) in pairwise(grouped):
        if function == following and end >= start:
            raise PlumblineError(
                f"{function}: there are winners for up to {end} ranks, and other ones from {start} "
                "ranks on; a file that knows no placement has one answer for a number of ranks"
            )
    for (function, *_), group in grouped.items():
        if len({span(winner, "nprocs") for winner in group}) > 1:
            raise PlumblineError(
                f"{function}: winners from {group[0].nprocs} ranks on end at different numbers of "
                "ranks"
            )
    return grouped


def only(winner: Winner) -> str:
    """Return the conditions of a winner as words behind its sizes: `, only counts=equal`."""
    return "".join(f", only {word}" for word in conditions(winner))


def tried(winner: Winner) -> list[str]:
    """Return what a winner was tried for, a line a datatype and count shape: `with
    MPI_DOUBLE/MPI_SUM: loop 1.8 (1.6 at least), …`."""
    by_data: dict[str, list[str]] = {}
    for tried in winner.tried:
        data = f"{tried.type}/{tried.op}" if tried.op else tried.type
        data += "" if tried.counts == "equal" else f" counts={tried.counts}"
        binding = {"user": " bound as mpirun does by itself", "": ""}.get(
            tried.binding, f" bound to {tried.binding}"
        )
        by_data.setdefault(data + binding, []).append(
            f"{tried.use} {tried.speedup:.2f} ({tried.worst_low:.2f} at least)"
        )
    return [f"with {data}: {', '.join(uses)}" for data, uses in by_data.items()]


def heading(bundle: Bundle, what: str) -> list[str]:
    """The first lines of every exported text file, as comments: what it is, where it comes from,
    and what each winner brings."""
    campaign, machine, library = bundle.campaign, bundle.machine, bundle.library
    lines = [
        what,
        f"machine   {machine.host} ({machine.id}), {machine.cpu_model}, "
        f"{machine.processing_units} processing units",
        f"library   {library.id}, fingerprint {library.fingerprint}",
    ]
    for described in [*bundle.others, campaign]:
        lines.append(
            f"campaign  {described.named}, {described.nprocs} ranks, nodes x ranks a node: "
            f"{layout(described)}{', oversubscribed' if described.oversubscribed else ''}"
        )
        if described.finished:
            lines.append(
                f"measured from {described.started} to {described.finished}; intervals are of "
                "that time, and "
                "other hours lie further apart"
            )
    lines += [f"written   {bundle.created}", f"{SUM}       {NO_SUM}"]
    for described in [*bundle.others, campaign]:
        if fixed(described):
            lines.append(f"measured under {fixed(described)}")
    lines += bundle.started
    if bundle.started:
        lines.append(
            "Start programs so: what follows was not measured where ranks are bound otherwise."
        )
    for winner in sorted(bundle.winners, key=lambda w: (w.function, w.nprocs, w.bytes_from)):
        whole = winner.function == EVERY_FUNCTION
        function = "all functions" if whole else winner.function
        where = f"{ranks(winner)}, {sizes(winner)}{only(winner)}"
        shown = evidence(winner)
        lines.append(f"{function}, {where}: {choice(winner)}{shown and f' ({shown})'}")
        lines.append(
            f"    default takes {winner.speedup:.2f} times as long (interval "
            f"{winner.speedup_low:.2f}-{winner.speedup_high:.2f}); "
            f"removes: {', '.join(winner.removes) or 'no violation for certain; it is faster'}"
        )
        lines += [f"    {sentence}" for sentence in tried(winner)]
    return [quoting.comment(line) for line in lines]


def put(values: dict[str, str], winner: Winner, name: str, value: str) -> None:
    """Into `values`, of a whole process. Two winners that want different values are an error."""
    if values.setdefault(name, value) != value:
        raise PlumblineError(
            f"{winner.function}, {winner.nprocs} ranks: wants {name}={value}, another winner wants "
            f"{values[name]}; a process has one value: drop one of them"
        )


def is_profile(winner: Winner) -> bool:
    """A mock-up or algorithm of ours: belongs to the profile of the preload library."""
    return winner.variant != "default"


class MpiCall(msgspec.Struct, frozen=True):
    """A call of `function` with a volume of `bytes` (docs/plan-and-records.md) on a communicator of
    `nprocs` ranks on `nodes` nodes, at most `ppn` of them on each."""

    function: str
    bytes: int
    nprocs: int
    nodes: int
    ppn: int


class FileDecision(msgspec.Struct, frozen=True):
    """`file` is the name of the file. `variant` is `default` where the library's own function is
    called, with the parameters in `configuration`. The decision is only for calls that meet the
    `conditions` (`type=floating`)."""

    file: str
    variant: str = "default"
    configuration: dict[str, str] = {}
    conditions: list[str] = []
