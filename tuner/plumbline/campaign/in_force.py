"""The files of a finished campaign, put in force for an application; and the proof that they are,
with the launcher, the number of ranks and the layout of its own command."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from plumbline.campaign import proof
from plumbline.core.plan import Data, Plan, PlanCase
from plumbline.launch.starter import PRELOAD, Starter
from plumbline.libraries import gate
from plumbline.libraries.into_ranks import for_ranks
from plumbline.measure import tables
from plumbline.settings import Settings, default_campaign, ranks_asked, starting
from plumbline.settings.identity import to_start
from plumbline.settings.ranks_asked import Start
from plumbline.settings.toolchain import Toolchain, find_toolchain
from plumbline.system import answers, version
from plumbline.system.words import counted
from plumbline_db import campaigns, findings, machines, started, user_files
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError, command_name, typed
from plumbline_db.probe_records import Check, Header, ProbeRecord
from plumbline_db.records import EVERY_FUNCTION, Campaign, Export, Run, Winner
from plumbline_exporters import plumbline_sh, winners_json
from plumbline_exporters.bundle import is_profile, load_bundle, ranks, span
from plumbline_exporters.registry import texts

# Options of mpirun, mpiexec and srun, and variables, that say where ranks may run.
_BINDS = re.compile(r"--?(bind-to|map-by|cpu-bind)\Z|I_MPI_PIN|MV2_ENABLE_AFFINITY\Z")


class ActiveFiles(msgspec.Struct, frozen=True):
    """`note` says which campaign was taken where others might have been meant; else empty.
    `placed`: how ranks were started (plumbline_db.started)."""

    campaign: Campaign
    settings: Settings
    winners: list[Winner]
    script: Path
    toolchain: Toolchain
    note: str = ""
    placed: list[str] = []


def files(database: Path, campaign_id: str | None, mpi_prefix: Path | None) -> ActiveFiles:
    """The exported files of a campaign, or of the one whose winners are used where none is named
    (default_campaign.py). Raises PlumblineError when the campaign is not finished, was made for
    another library, or its files are not what was confirmed."""
    with Database.open(database) as db:
        choice = default_campaign.choose(db, campaign_id, mpi_prefix)
        campaign = choice.campaign
        library = machines.library(db, campaign.library_fingerprint)
        if campaign.state != "finished":
            continued = campaigns.how_to_continue(db, campaign)
            raise PlumblineError(f"campaign {campaign.id} is not finished; {continued}")
        written = campaigns.exports(db, campaign.id)
        chosen = findings.get_winners(db, campaign.id)
        placed = started.lines(db, campaign.id)
    settings = to_start(campaign)
    real = settings.ranks.simulate is None
    toolchain = find_toolchain(
        mpi_prefix, settings=settings if real else None, beside=database.parent
    )
    here = toolchain.installation.library
    if here.fingerprint != library.fingerprint:
        raise PlumblineError(
            f"campaign {campaign.id} was made for {library.id} ({library.fingerprint}), this is "
            f"{here.id} ({here.fingerprint}): name the other one (--mpi), or run a campaign for it"
        )
    _require_confirmed(database, campaign, toolchain, written)
    paths = (Path(export.path) for export in written)
    script = next((path for path in paths if path.name == plumbline_sh.FILE_NAME), None)
    if script is None and not chosen:
        raise PlumblineError(
            f"campaign {campaign.id} has no winners, and no other one here has: there is nothing "
            f"to put in force; `{command_name()} campaign` searches"
            if campaign_id is None
            else f"campaign {campaign.id} has no winners: there is nothing to put in force"
        )
    if script is None:
        command = typed("apply", "--user", "--campaign", campaign.id)
        raise PlumblineError(
            f"campaign {campaign.named} has exported nothing to source: `{command}` puts its "
            f"winners in force, `{command_name()} export` writes them"
        )
    return ActiveFiles(campaign, settings, chosen, script, toolchain, choice.note, placed)


def environment(found: ActiveFiles) -> dict[str, str]:
    """The user's own environment with the files in force, and with the variables under which they
    were found to be of use."""
    toolchain = found.toolchain
    needed = toolchain.installation.environment | toolchain.family.environment(
        toolchain.installation
    )
    own = os.environ | needed | found.settings.fixed.environment
    preloaded = found.settings.fixed.preload
    if preloaded:
        theirs = [name for name in own.get(PRELOAD, "").split(":") if name]
        own[PRELOAD] = ":".join(dict.fromkeys([*preloaded, *theirs]))
    return own | proof.environment_of(found.script, own)


def for_program(in_force: Mapping[str, str], binary: Path) -> dict[str, str]:
    """The environment `in_force` for a program: whose ranks take all of it, or which calls MPI
    itself, has the preload library in it; and rank 0 says at the end what was replaced."""
    environment = {proof.SAY: "replaced"} | dict(in_force)
    lists = for_ranks(in_force)
    if PRELOAD in lists and ranks_asked.takes_all(binary):
        environment |= {PRELOAD: lists[PRELOAD], proof.PROFILE: lists[proof.PROFILE]}
    return environment


def elsewhere(found: ActiveFiles, application: Sequence[str]) -> str:
    """Say that the application's ranks may be bound otherwise than those that winners were measured
    with: no way of theirs has the words about binding that its command line has. Else empty."""
    given = _about_binding(application)
    if not found.placed or any(_about_binding(way.split()) == given for way in found.placed):
        return ""
    return f"its ranks may be bound otherwise than those of the winners: {'; '.join(found.placed)}"


def _about_binding(words: Sequence[str]) -> set[tuple[str, str]]:
    """The options that bind ranks, with their values: `--bind-to core`, `--cpu-bind=cores` …"""
    pairs = [*(word.partition("=")[::2] for word in words), *pairwise(words)]
    return {(name.lstrip("-"), value) for name, value in pairs if value and _BINDS.match(name)}


def _require_confirmed(
    database: Path, campaign: Campaign, toolchain: Toolchain, written: Sequence[Export]
) -> None:
    """Raises PlumblineError where a file is another one than its winners would be written as today:
    a database can name any file, with its checksum, and what is sourced runs. Of documents, which
    nothing sources and in which facts about the machine may have changed, the checksum is right."""
    contents_by_name: dict[str, set[bytes]] = {}
    formats = sorted({export.format for export in written})
    with Database.open(database) as db:
        for folder in {Path(export.path).parent for export in written}:
            bundle = load_bundle(
                db,
                campaign.id,
                folder,
                lambda _: gate.of_space(toolchain.space),
                created=campaign.finished,
                preload_library=toolchain.preload,
            )
            for unsafe in (False, True):
                asked = msgspec.structs.replace(bundle, unsafe=unsafe)
                with contextlib.suppress(PlumblineError):
                    for _, name, text in texts(asked, formats):
                        contents_by_name.setdefault(str(folder / name), set()).add(text.encode())
    for export in written:
        path = Path(export.path)
        data = user_files.read(path) if path.is_file() else b""
        if path.name == winners_json.FILE_NAME:
            confirmed = hashlib.sha256(data).hexdigest() == export.sha256
        else:
            confirmed = data in contents_by_name.get(export.path, ())
        if not confirmed:
            command = ["export", export.format, "--output", str(path.parent)]
            command += ["--force"] if path.exists() else []
            raise PlumblineError(
                f"{path} is not the file that was confirmed; write it again with "
                f"`{typed(*command, '--campaign', campaign.id)}`"
            )


# Proof that winners are in force for an application: with the launcher, the number of ranks and the
# layout of its own command, and the probe in the program's place. Where nobody can tell where the
# program begins, ranks are started as the campaign started them, and that is said.

NO_PROOF = "--no-proof starts the program without one"


class PlacedRanks(msgspec.Struct, frozen=True):
    """The places of ranks: `nodes`, and `ppn` of them on a node at most; None: nobody has
    looked."""

    nprocs: int
    nodes: int | None = None
    ppn: int | None = None

    def __str__(self) -> str:
        on = "" if self.nodes is None else f" on {counted(self.nodes, 'node')}"
        return f"{counted(self.nprocs, 'rank')}{on}"


class Shown(msgspec.Struct, frozen=True):
    """The knowledge before the application starts. `layout`: of its ranks, None where nobody knows
    it; `statements`: how it is known that winners are in force; `silent`: of those that would
    apply, the ones that are not."""

    layout: PlacedRanks | None = None
    statements: list[str] = []
    silent: list[Winner] = []


def applies(
    files: ActiveFiles, environment: Mapping[str, str], winner: Winner, layout: PlacedRanks | None
) -> bool:
    """Return whether it decides calls on MPI_COMM_WORLD of ranks that are so placed. Variables hold
    for all ranks; a rules file goes by their number alone; a profile by nodes and ranks a node
    too."""
    if layout is None or winner.function == EVERY_FUNCTION:
        return True
    knobs = winner.configuration
    variables = files.toolchain.family.in_environment(knobs)
    own = {name: value for name, value in variables.items() if value in knobs.values()}
    if own and all(environment.get(name) == value for name, value in own.items()):
        return True
    if not _is_in(layout.nprocs, span(winner, "nprocs")):
        return False
    return not is_profile(winner) or layout.ppn is None or _is_in(layout.ppn, span(winner, "ppn"))


def _is_in(number: int, span: tuple[int, int]) -> bool:
    return span[0] <= number <= span[1]


def unproven(start: Start) -> Shown:
    """Return what a command says of its ranks."""
    return Shown(None if start.ranks is None else PlacedRanks(start.ranks))


def proven(files: ActiveFiles, environment: Mapping[str, str]) -> list[str]:
    """Return how it is known that winners are in force for ranks that are started as the campaign
    started them. Raises PlumblineError when one is not."""
    ranks = starting.starter(files.toolchain, files.settings)
    evidence = _prove(ranks, files, environment, files.winners)
    if evidence.problems:
        raise _not_in_force(evidence)
    return evidence.told


def evidence(files: ActiveFiles, environment: Mapping[str, str]) -> proof.Proof:
    """Return what tamper checks of all winners of `files` show in `environment`, with ranks that
    are started as the campaign started them. Raises PlumblineError when no ranks can be started."""
    ranks = starting.starter(files.toolchain, files.settings)
    plan = _short(files, PlanCase("MPI_Bcast", 1, data=Data()))
    run, _ = _launch(ranks, "start", 0, plan, _beyond(ranks, environment))
    if run.failure is not None:
        reason = f"{run.failure.text}: {_first_words(run.stderr)}".rstrip(": ")
        raise PlumblineError(f"no ranks can be started here ({reason})")
    return _prove(ranks, files, environment, files.winners)


def shown(files: ActiveFiles, environment: Mapping[str, str], start: Start, shared: Path) -> Shown:
    """The same for ranks that the command `start` begins; `environment` is the application's own.
    Raises PlumblineError when none of the winners that apply is in force, or nothing can be
    shown."""
    layout = unproven(start).layout
    if not any(applies(files, environment, winner, layout) for winner in files.winners):
        return Shown(layout)
    notes: list[str] = []
    if files.settings.ranks.simulate is not None:
        ranks = starting.starter(files.toolchain, files.settings)
    elif start.launcher:
        ranks = starting.as_typed(files.toolchain, files.settings, start.launcher, shared)
        layout = _layout(ranks, files, environment, start)
    else:
        ranks = starting.starter(files.toolchain, files.settings)
        own = counted(files.settings.ranks.nprocs, "rank")
        notes.append(f"shown with {own}, as the campaign started them: {_why(start)}")
    winners = [each for each in files.winners if applies(files, environment, each, layout)]
    evidence = _prove(ranks, files, environment, winners)
    silent = _silent(files, winners, evidence)
    if evidence.problems and (not silent or len(silent) == len(winners)):
        raise _not_in_force(evidence)
    notes += evidence.told
    return Shown(layout, [*notes, *(f"not in force: {each}" for each in evidence.problems)], silent)


def shown_lately(
    files: ActiveFiles, environment: Mapping[str, str], start: Start, shared: Path
) -> Shown:
    """Return the same as `shown`; where answers are remembered, what an earlier job was shown with
    the same content of all files, the same command before the program, library, host and variables.
    Only what was shown without a problem is remembered. Raises PlumblineError as `shown` does."""
    toolchain, now = files.toolchain, datetime.datetime.now().astimezone()
    contents = [toolchain.probe, toolchain.preload, *sorted(files.script.parent.iterdir())]
    contents += filter(None, [Path(shutil.which(start.starter) or "")])
    question = [
        *("proof", version.PLUMBLINE, *start.launcher),
        *(toolchain.machine.id, toolchain.installation.library.fingerprint),
        *(f"{path} {answers.checksum(path)}" for path in contents),
        *answers.deciding(environment),
    ]
    first_time: list[Shown] = []

    def prove() -> str:
        first_time.append(shown(files, environment, start, shared))
        return msgspec.json.encode(_ShownAt(now.isoformat(), first_time[0])).decode()

    earlier = msgspec.json.decode(
        answers.ask(question, prove, is_kept=lambda: not first_time[0].silent), type=_ShownAt
    )
    if first_time:
        return first_time[0]
    time = datetime.datetime.fromisoformat(earlier.time)
    since = f"(shown by a job at {time:%Y-%m-%d %H:%M})"
    statements = [f"{statement} {since}" for statement in earlier.shown.statements]
    return msgspec.structs.replace(earlier.shown, statements=statements)


class _ShownAt(msgspec.Struct, frozen=True):
    """Knowledge of a job before its application started, and when (ISO 8601)."""

    time: str
    shown: Shown


def _not_in_force(evidence: proof.Proof) -> PlumblineError:
    return PlumblineError("not in force: " + "; ".join(evidence.problems))


def applying(files: ActiveFiles, environment: Mapping[str, str], seen: Shown) -> str:
    """Return how many of the winners an application meets in MPI_COMM_WORLD."""
    numbers = sorted({span(winner, "nprocs") for winner in files.winners})
    words = [str(first) if first == last else f"{first}-{last}" for first, last in numbers]
    communicators = "communicators of " + " or ".join(words) + " ranks"
    every = counted(len(files.winners), "winner")
    of_the_campaign = f"of {files.campaign.named}"
    layout, silent = seen.layout, len(seen.silent)
    met = [each for each in files.winners if applies(files, environment, each, layout)]
    in_force = len(met) - silent
    if not numbers or (in_force == len(files.winners) and layout is not None):
        return f"{every} {of_the_campaign} in force{_placed(files, layout)}"
    if layout is None and not silent:
        return f"{every} {of_the_campaign} in force, for {communicators}"
    if layout is None or len(met) == len(files.winners):
        return f"{in_force} of {every} {of_the_campaign} in force"
    why = f"they are for {communicators}"
    if any(_is_in(layout.nprocs, span(winner, "nprocs")) for winner in files.winners):
        why = f"the others are for {_layouts(files, met)}"
    less = f", {silent} of these not in force" if silent else ""
    return f"{len(met)} of {every} {of_the_campaign} apply to {layout}{less}: {why}"


def _layouts(files: ActiveFiles, met: list[Winner]) -> str:
    """Return the layouts of the winners that do not apply."""
    others = {
        f"{ranks(winner)}, {winner.ppn} a node" for winner in files.winners if winner not in met
    }
    return " or ".join(sorted(others))


def _placed(files: ActiveFiles, layout: PlacedRanks | None) -> str:
    """Say that winners hold there by the number of ranks alone: they were measured elsewhere."""
    measured = {winner.ppn for winner in files.winners if winner.function != EVERY_FUNCTION}
    if layout is None or layout.ppn is None or not measured or layout.ppn in measured:
        return ""
    numbers = " or ".join(map(str, sorted(measured)))
    return f", measured with {numbers} ranks a node: here there are {layout.ppn}"


def _why(start: Start) -> str:
    if not start.starter:
        return "the command is no mpirun, mpiexec or srun"
    return f"where the program begins is not plain behind {start.starter}"


def _layout(
    ranks: Starter, files: ActiveFiles, environment: Mapping[str, str], start: Start
) -> PlacedRanks:
    """Return where the command puts ranks: a launch that measures nothing says it. Raises
    PlumblineError where it starts no ranks of this library, or not as many as it says."""
    command = shlex.join(start.launcher)
    library = files.toolchain.installation.library.id
    # A root that is there on any number of ranks.
    plan = _short(files, PlanCase("MPI_Bcast", 1, data=Data()))
    run, records = _launch(ranks, "layout", 0, plan, _beyond(ranks, environment))
    header = next((record for record in records if isinstance(record, Header)), None)
    if run.failure is not None or header is None:
        message = _first_words(run.stderr)
        reason = run.failure.text if run.failure else "no ranks"
        raise PlumblineError(
            f"`{command}` does not start the probe in the program's place ({reason}): {message}; "
            f"{NO_PROOF}"
        )
    if start.ranks not in (None, header.nprocs):
        raise PlumblineError(
            f"`{command}` starts {counted(header.nprocs, 'rank')} of {library} at a time, not "
            f"{start.ranks}: it is the launcher of another library (--mpi names one); {NO_PROOF}"
        )
    return PlacedRanks(header.nprocs, header.nodes, header.ppn)


def _first_words(text: str) -> str:
    """Return what a launcher says first tells what is wrong; advice follows. Frames are left
    out."""
    lines = [line.strip() for line in text.splitlines()]
    return " ".join(line for line in lines if line.strip("-*= "))[:400].strip()


def _short(files: ActiveFiles, *cases: PlanCase) -> Plan:
    return tables.plan(files.settings, cases).once()


def _beyond(ranks: Starter, environment: Mapping[str, str]) -> dict[str, str]:
    """Return what an application's environment has beyond that of a launch."""
    clean = ranks.clean_environment()
    return {
        name: value
        for name, value in environment.items()
        if clean.get(name) != value and name != proof.SAY
    }


def _prove(
    ranks: Starter, files: ActiveFiles, environment: Mapping[str, str], winners: list[Winner]
) -> proof.Proof:
    sizes = tables.sizes_of(files.toolchain.guidelines, files.settings)

    def try_out(
        name: str, number: int, plan: Plan, changed: Mapping[str, str]
    ) -> proof.Outcomes | proof.Failed:
        run, records = _launch(ranks, name, number, plan, changed)
        if run.failure is not None:
            return proof.Failed(run.failure, run.stderr)
        return {
            (plan.cases[record.case].function, plan.cases[record.case].bytes): record.outcome
            for record in records
            if isinstance(record, Check)
        }

    with ranks.folder(f"{files.campaign.id}/proof") as folder:
        return proof.prove(
            files.toolchain.family,
            try_out,
            tables.plan(files.settings, []),
            _beyond(ranks, environment),
            winners,
            sizes,
            folder,
        )


def _silent(files: ActiveFiles, winners: list[Winner], evidence: proof.Proof) -> list[Winner]:
    """Return the winners whose cells no file decides."""
    sizes = tables.sizes_of(files.toolchain.guidelines, files.settings)
    return [
        winner
        for winner in winners
        if winner.function != EVERY_FUNCTION and proof.cell_of(winner, sizes) in evidence.missed
    ]


def _launch(
    ranks: Starter, name: str, number: int, plan: Plan, changed: Mapping[str, str]
) -> tuple[Run, list[ProbeRecord]]:
    named = msgspec.structs.replace(plan, name=f"proof-{name}")
    run, records = ranks.start("run", f"proof-{name}", number, named.text(), dict(changed))
    return run, list(records)
