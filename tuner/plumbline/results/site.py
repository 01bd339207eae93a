"""Answers of the exported files of a site for a call: which algorithm or variant, which winner of
which campaign that is, and on what evidence. The campaigns of a site have the same library and
machine, and differ in the number of ranks and their layout.

Reads files and the database; measures nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from plumbline.applied import standing
from plumbline.applied.generations import Store
from plumbline.core.cell import Target
from plumbline.core.winner import deciding
from plumbline.search.outcome import label
from plumbline_db import campaigns, findings, machines, user_files
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.layout import asked, is_simulated
from plumbline_db.records import Campaign, Library, Machine, Search, Verdict, Winner
from plumbline_exporters import families, plumbline_sh, profile, registry
from plumbline_exporters.bundle import FileDecision, MpiCall

SIMULATED = "SimGrid"  # the system of machines that are not there
_WHOLE = "site"  # `command` of the row whose winners are those of the merged files of a site
Difference = Literal["ranks", "placement", "bytes"]


class SiteCampaign(msgspec.Struct, frozen=True):
    """A finished campaign with its first and last table, its searches and winners, and the folder
    of its exported files (None: it has exported none)."""

    campaign: Campaign
    before: list[Verdict]
    after: list[Verdict]
    searches: list[Search]
    winners: list[Winner]
    folder: Path | None

    @property
    def layout(self) -> tuple[int, int, int]:
        return self.campaign.nprocs, self.campaign.nodes, self.campaign.ppn


class SiteCampaigns(msgspec.Struct, frozen=True):
    """The newest campaign of each layout, by layout. `whole`: the row of `plumbline campaign
    --site`, with the winners of its merged files (None: there is none, or a campaign is newer).
    `applied`: the folder of the generation of `plumbline apply` for this library (None: nothing is
    applied)."""

    library: Library
    campaigns: list[SiteCampaign]
    whole: SiteCampaign | None
    applied: Path | None

    def sizes(self, function: str) -> list[int]:
        """The message sizes (bytes) at which any of its campaigns has measured a function."""
        every = (verdict for member in self.campaigns for verdict in member.before)
        return sorted({verdict.bytes for verdict in every if verdict.function == function})


class CellEvidence(msgspec.Struct, frozen=True):
    """The measurements of a campaign that an answer comes from. `bytes`: its measured size next to
    the one that was asked for; `launches`: of its last table there; `removes`: violations that the
    winner removes, `violated_before` and `violated_after`: guidelines that are violated at `bytes`.
    `speedup`: default over winner, with the ends of its interval (None: there is no winner).
    `candidates`: how many were tried in the searches for `bytes`, `why` how the last one ended.
    `carried_from`, `checked_on`: layouts (`2x8`) that a rule of a whole site comes from, and was
    measured on; its speed-up is then of that check."""

    campaign: str
    nprocs: int
    nodes: int
    ppn: int
    bytes: int
    launches: int
    violated_before: list[str]
    violated_after: list[str]
    speedup: float | None = None
    speedup_low: float | None = None
    speedup_high: float | None = None
    removes: list[str] = []
    candidates: int = 0
    why: str = ""
    carried_from: list[str] = []
    checked_on: str = ""


class SiteAnswer(msgspec.Struct, frozen=True):
    """The choice for a call. `state`: *measured*, *carried over* (`differs` says from what: other
    ranks, another placement, other sizes), or *the library decides*. `configuration` is `default`
    where the library decides. `file`: the path of the file that says so (empty: none does).
    `evidence` is None where no campaign has measured anything of the like."""

    call: MpiCall
    state: Literal["measured", "carried over", "the library decides"]
    configuration: str
    file: str
    conditions: list[str]
    differs: list[Difference]
    evidence: CellEvidence | None


def read(db: Database, campaign: Campaign, *, alone: bool) -> SiteCampaigns:
    """The site of a campaign; `alone`: this campaign and nothing else. Raises PlumblineError where
    it is not finished."""
    library = machines.library(db, campaign.library_fingerprint)
    whole = campaign if asked(campaign).command == _WHOLE else None
    chosen = [campaign] if alone and whole is None else _newest(db, campaign)
    members = [_read(db, each) for each in chosen if each.state == "finished"]
    if not members:
        raise PlumblineError(
            f"campaign {campaign.id} is not finished, so that no files are exported yet; "
            f"{campaigns.how_to_continue(db, campaign)}"
        )
    if whole is None and not alone:
        whole = _whole(db, campaign, members)
    applied = None if alone or is_simulated(campaign) else _applied(library)
    return SiteCampaigns(
        library,
        sorted(members, key=lambda member: member.layout),
        None if whole is None else _read(db, whole),
        applied,
    )


def _read(db: Database, campaign: Campaign) -> SiteCampaign:
    return SiteCampaign(
        campaign,
        findings.get_verdicts(db, campaign.id, "before"),
        findings.get_verdicts(db, campaign.id, "after"),
        findings.all_searches(db, campaign.id),
        findings.get_winners(db, campaign.id),
        _folder(db, campaign),
    )


def _whole(db: Database, campaign: Campaign, members: Sequence[SiteCampaign]) -> Campaign | None:
    """The newest row of a whole site of this library and machine, unless a campaign is newer."""
    names = {machine.id: machine_of(machine)[0] for machine in machines.all_machines(db)}
    rows = [
        each
        for each in campaigns.every(db)
        if each.state == "finished"
        and asked(each).command == _WHOLE
        and not each.imported_from
        and each.library_fingerprint == campaign.library_fingerprint
        and names[each.machine] == names[campaign.machine]
    ]
    newest = max(rows, key=lambda each: each.finished, default=None)
    last = max(member.campaign.finished for member in members)
    return newest if newest is not None and newest.finished >= last else None


def machine_of(machine: Machine) -> tuple[str, str]:
    """The id and the name of a machine, with which simulated clusters that differ in their number
    of nodes alone are one machine."""
    if machine.system == SIMULATED:
        return machine.cpu_model, "simulated cluster"
    return machine.id, machine.host


def _newest(db: Database, campaign: Campaign) -> list[Campaign]:
    """The campaign of each layout that finished last, of those with winners where there are any."""
    names = {machine.id: machine_of(machine)[0] for machine in machines.all_machines(db)}
    with_winners = {each.id for each in campaigns.with_winners(db)}
    own = [
        each
        for each in campaigns.own(db)
        if each.state == "finished"
        and each.library_fingerprint == campaign.library_fingerprint
        and names[each.machine] == names[campaign.machine]
    ]
    own.sort(key=lambda each: (each.id in with_winners, each.finished))
    return list({(each.nprocs, each.nodes, each.ppn): each for each in own}.values())


def _folder(db: Database, campaign: Campaign) -> Path | None:
    exported = campaigns.exports(db, campaign.id)
    return Path(exported[0].path).parent if exported else None


def _applied(library: Library) -> Path | None:
    for state in standing.standing(None):
        generation = state.applied
        if generation.library.fingerprint == library.fingerprint:
            return Store(state.root, generation.name, shared=False).path(generation.number)
    return None


# --- what the files decide ------------------------------------------------------------------------


def calls(
    site: SiteCampaigns, function: str, sizes: Sequence[int], nprocs: int | None
) -> list[MpiCall]:
    """The calls that a question is about, by ranks, placement and size. `nprocs` None: all numbers
    of ranks that were measured. Placements are those of the campaigns with as many ranks; without
    one, those of the others as far as `nprocs` ranks fill them."""
    layouts = {member.layout for member in site.campaigns if nprocs in (None, member.layout[0])}
    if nprocs is not None and not layouts:
        ppns = {
            min(ppn, nprocs) for _, nodes, ppn in (m.layout for m in site.campaigns) if nodes > 1
        }
        layouts = {(nprocs, -(-nprocs // ppn), ppn) for ppn in ppns | {nprocs}}
    return [
        MpiCall(function, size, ranks, nodes, ppn)
        for ranks, nodes, ppn in sorted(layouts)
        for size in sizes
    ]


def answer(site: SiteCampaigns, call: MpiCall) -> SiteAnswer:
    """Return the choice for a call, by the files that are applied, else by those of the campaign
    whose layout is next to that of the call."""
    near = sorted(site.campaigns, key=lambda member: _distance(member, call))
    merged = site.whole.folder if site.whole else None
    folders = [each.folder for each in near if each.folder]
    if in_force := site.applied or merged:
        folders = [in_force]
    for folder in folders:
        texts = _texts(folder, site.library)
        for decision in _decisions(texts, call, site.library):
            return _answered(near, call, decision, folder, site.whole)
    for member in near:
        if member.layout == (call.nprocs, call.nodes, call.ppn) and not in_force:
            whole = _of_process(member, call, site.library)
            if whole is not None:
                return _answered([member], call, whole, member.folder)
    nearest = near[0]
    exact = nearest.layout == (call.nprocs, call.nodes, call.ppn)
    evidence = _evidence(nearest, call, None) if exact else None
    return SiteAnswer(call, "the library decides", "default", "", [], [], evidence)


def _distance(member: SiteCampaign, call: MpiCall) -> tuple[float, bool, float]:
    """Return how far the layout of a campaign is from that of a call: in ranks, then placement."""
    nprocs, nodes, _ = member.layout
    spread = _spread(nprocs, nodes) != _spread(call.nprocs, call.nodes)
    return abs(math.log(nprocs / call.nprocs)), spread, abs(math.log(nodes / call.nodes))


def _spread(nprocs: int, nodes: int) -> str:
    return "one node" if nodes == 1 else "one per node" if nodes == nprocs else "several"


def _texts(folder: Path, library: Library) -> dict[str, str]:
    """The texts of the files with rules in a folder, by name; without those that do not exist.
    Raises PlumblineError where one of them is not as Plumbline wrote it."""
    rules = families.of(library).rules
    texts = {}
    for name in (profile.FILE_NAME, *(rules.names if rules else ())):
        path = folder / name
        if not path.is_file():
            continue
        if not registry.is_ours(path):
            raise PlumblineError(
                f"{path} was edited since Plumbline wrote it, so that it may decide otherwise: "
                "write it again with `plumbline export --force`, or use another folder"
            )
        texts[name] = user_files.text(path)
    return texts


def _decisions(texts: dict[str, str], call: MpiCall, library: Library) -> Iterator[FileDecision]:
    """The preload library decides first, then the rules of the library."""
    if profile.FILE_NAME in texts:
        yield from profile.decisions(texts[profile.FILE_NAME], call)
    rules = families.of(library).rules
    decided = rules.decision(texts, call, library) if rules else None
    if decided is not None:
        yield decided


def _of_process(member: SiteCampaign, call: MpiCall, library: Library) -> FileDecision | None:
    """The winner that a whole process, or a table of another family, has for a call: one that no
    file which was read could say."""
    rules = families.of(library).rules
    others = [
        winner
        for winner in member.winners
        if winner.variant == "default" and not (rules and rules.holds(winner))
    ]
    winner = deciding(others, Target(call.function, call.bytes))
    if winner is None:
        return None
    return FileDecision(plumbline_sh.FILE_NAME, winner.variant, winner.configuration)


# --- on what evidence -----------------------------------------------------------------------------


def _answered(
    near: Sequence[SiteCampaign],
    call: MpiCall,
    decision: FileDecision,
    folder: Path | None,
    whole: SiteCampaign | None = None,
) -> SiteAnswer:
    """`near`: the campaigns, the one next to the call first."""
    source, winner = _source(near, call, decision)
    evidence = _evidence(source, call, winner) if source else None
    if evidence is not None and whole is not None:
        evidence = _with_check(evidence, call, decision, whole.winners)
    differs = list(_differences(evidence, call)) if evidence else []
    variant, knobs = decision.variant, decision.configuration
    if winner is not None:
        variant, knobs = winner.variant, winner.configuration
    return SiteAnswer(
        call,
        "carried over" if differs or evidence is None else "measured",
        label(variant, knobs),
        str(folder / decision.file) if folder else "",
        decision.conditions,
        differs,
        evidence,
    )


def _source(
    near: Sequence[SiteCampaign], call: MpiCall, decision: FileDecision
) -> tuple[SiteCampaign | None, Winner | None]:
    """The nearest campaign with a winner that says the same for the size, else for another one."""
    target = Target(call.function, call.bytes)
    for inside in (True, False):
        for member in near:
            for winner in member.winners:
                if winner.function in (call.function, "*") and _is_same(winner, decision):
                    holds = winner.bytes_from <= target.bytes <= winner.bytes_to
                    if holds or not inside:
                        return member, winner
    return None, None


def _with_check(
    evidence: CellEvidence, call: MpiCall, decision: FileDecision, winners: Sequence[Winner]
) -> CellEvidence:
    """The evidence with what a whole site says of its rule for the call."""
    for winner in winners:
        words = dict(word.split("=", 1) for word in winner.restrictions if "=" in word)
        first, _, last = words.get("nprocs", str(winner.nprocs)).partition("-")
        is_for = winner.function == call.function and _is_same(winner, decision)
        sizes = winner.bytes_from <= call.bytes <= winner.bytes_to
        if is_for and sizes and int(first) <= call.nprocs <= int(last or first):
            checked = words.get("checked", "")
            return msgspec.structs.replace(
                evidence,
                speedup=winner.speedup if checked else evidence.speedup,
                speedup_low=winner.speedup_low if checked else evidence.speedup_low,
                speedup_high=winner.speedup_high if checked else evidence.speedup_high,
                carried_from=[name for name in words.get("carried", "").split(",") if name],
                checked_on=checked,
            )
    return evidence


def _is_same(winner: Winner, decision: FileDecision) -> bool:
    """Return whether a file says of a winner what `decision` is. Of a rule its algorithm counts,
    and the parameters that the winner names."""
    if winner.variant != decision.variant:
        return False
    decided = decision.configuration
    return decision.variant != "default" or all(
        decided.get(name, value) == value for name, value in winner.configuration.items()
    )


def _differences(evidence: CellEvidence, call: MpiCall) -> Iterator[Difference]:
    if evidence.nprocs != call.nprocs:
        yield "ranks"
        apart = _spread(evidence.nprocs, evidence.nodes) != _spread(call.nprocs, call.nodes)
    else:
        apart = (evidence.nodes, evidence.ppn) != (call.nodes, call.ppn)
    if apart:
        yield "placement"
    if evidence.bytes != call.bytes:
        yield "bytes"


def _evidence(member: SiteCampaign, call: MpiCall, winner: Winner | None) -> CellEvidence | None:
    """None where the campaign has not measured the function."""
    before, after = (
        [each for each in table if each.function == call.function]
        for table in (member.before, member.after)
    )
    sizes = {each.bytes for each in before}
    if winner is not None:
        inside = [s for s in sizes if winner.bytes_from <= s <= winner.bytes_to]
        sizes = set(inside) or sizes
    if not sizes:
        return None
    size = min(sizes, key=lambda each: abs(math.log(max(each, 1) / max(call.bytes, 1))))
    last = after or before
    tried = [
        search
        for search in member.searches
        if (search.function, search.bytes) == (call.function, size)
    ]
    return CellEvidence(
        member.campaign.id,
        *member.layout,
        size,
        launches=max((each.launches for each in last if each.bytes == size), default=0),
        violated_before=_violated(before, size),
        violated_after=_violated(after, size),
        speedup=winner.speedup if winner else None,
        speedup_low=winner.speedup_low if winner else None,
        speedup_high=winner.speedup_high if winner else None,
        removes=winner.removes if winner else [],
        candidates=len(_distinct(tried)),
        why=tried[-1].reason if tried else "",
    )


def _violated(table: Iterable[Verdict], size: int) -> list[str]:
    named = (v.guideline for v in table if v.bytes == size and v.violated_everywhere)
    return list(dict.fromkeys(named))


def _distinct(tried: Iterable[Search]) -> set[str]:
    return {label(trial.variant, trial.knobs) for search in tried for trial in search.trials}


def document(answers: Sequence[SiteAnswer]) -> list[dict[str, Any]]:
    """The answers as JSON has them: the fields of the call beside the others."""
    return [
        msgspec.to_builtins(answered.call)
        | {name: value for name, value in msgspec.to_builtins(answered).items() if name != "call"}
        for answered in answers
    ]
