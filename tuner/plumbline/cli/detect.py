"""plumbline detect"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from plumbline_db.errors import PlumblineError

from . import base, common, options, progress
from .base import ProgramOptions

if TYPE_CHECKING:
    from plumbline.detect.findings import HandMade
    from plumbline.detect.recording import Recording
    from plumbline.detect.savings import Winners
    from plumbline.settings.toolchain import Toolchain


@base.command("detect", takes="mpi db json")
@click.argument("recording", type=click.Path(path_type=Path, exists=True, file_okay=False))
@options.option("--output", type=options.NewFolder(), help="Folder for sketches of replacements.")
@options.option(
    "--replay",
    is_flag=True,
    help="Play the messages again, beside MPI's own collective, in eight launches.",
)
def command(program: ProgramOptions, recording: Path, output: Path | None, replay: bool) -> int:
    """Find collectives that an application makes by hand of sends and receives.

    Reads what `plumbline record` has written, and looks at who had which content when, whatever
    way messages took. Says where in the source, among which ranks, how often, how long it took,
    what MPI's own collective would save, and what to mind before it takes the place. Also names
    collectives that are called where another one, or none, would do.

    What would be saved is known from campaigns, or measured with --replay. The database keeps what
    was found, for the pages of `plumbline serve`.

    \b
    Example:
      plumbline record --output my-recording -- mpirun -np 4 ./application
      plumbline detect my-recording --replay
    """
    from plumbline.detect import analysis, findings, read, record, words

    recorded = record.resolved(read.read(recording))
    common.remark(_unfinished(recorded, recording))
    analysed = analysis.analysed(recorded)
    hand_made = _predicted(program, recorded, analysed.found)
    failures: list[str] = []
    if replay:
        hand_made, failures = _replayed(program, recorded, hand_made)
    hand_made = analysis.lowered(analysed, hand_made)
    hand_made = findings.ordered(hand_made)
    if output is not None:
        _write(output, hand_made)
    failures += _keep(program, recorded, recording, hand_made, replayed=replay)
    common.remark(*failures)
    if program.json:
        common.print_json(hand_made)
        return 0
    for line in words.lines(hand_made):
        click.echo(line)
    unknown = [
        finding
        for finding in hand_made
        if finding.category == "collective" and finding.saving is None
    ]
    if unknown and not replay:
        click.echo("\nno campaign shows what MPI's own collective would save: --replay measures it")
    return 0


def _unfinished(recorded: Recording, folder: Path) -> str:
    """Return a sentence about ranks that did not end as they should. Raises PlumblineError where
    nothing was recorded because of that."""
    ended_early = sum(not rank.finished for rank in recorded.ranks)
    if not ended_early:
        return ""
    text = f"{folder}: {ended_early} of {recorded.nprocs} ranks did not reach MPI_Finalize"
    if not len(recorded.events):
        raise PlumblineError(
            f"{text}, and no message was recorded before: nothing can be detected; let the program "
            "run to its end and record it again"
        )
    return f"{text}; messages after that are not recorded"


def _predicted(
    program: ProgramOptions, recording: Recording, hand_made: Sequence[HandMade]
) -> list[HandMade]:
    """Return the findings with what campaigns know, where there are any."""
    from plumbline.detect import savings

    if not program.database.exists():
        return list(hand_made)
    with program.open() as db, db.snapshot():
        return savings.predicted(db, recording, hand_made)


def _keep(
    program: ProgramOptions,
    recorded: Recording,
    folder: Path,
    hand_made: Sequence[HandMade],
    *,
    replayed: bool,
) -> list[str]:
    """Keep the findings for the pages of `plumbline serve`; what was replayed before says more than
    what was not. Returns why it is not kept, where it cannot be: nothing else needs it."""
    from plumbline.detect import findings
    from plumbline_db.findings import get_detection, put_detection

    try:
        with program.open(write=True) as db:
            detection = findings.kept(recorded, folder, hand_made, replayed=replayed)
            stored = get_detection(db, detection.id)
            if replayed or stored is None or not stored.replayed:
                put_detection(db, detection)
    except PlumblineError as error:
        return [f"not kept for the pages: {error}"]
    return []


def _replayed(
    program: ProgramOptions, recording: Recording, hand_made: Sequence[HandMade]
) -> tuple[list[HandMade], list[str]]:
    from plumbline.detect import savings
    from plumbline.measure import side_by_side
    from plumbline.settings import campaign_file, starting
    from plumbline.settings.toolchain import find_toolchain

    # Ranks are placed as the application's: a campaign would bind ranks that share cores.
    settings = campaign_file.load(None, {"nprocs": recording.nprocs, "bind": recording.bind})
    toolchain = find_toolchain(program.mpi, settings=settings)
    settings = settings.on(toolchain.launcher.processing_units())
    starter = starting.starter(toolchain, settings)
    with (
        progress.Bar(in_all=savings.LAUNCHES) as bar,
        side_by_side.unkept_store(toolchain, starter, "detect", bar) as store,
    ):
        store.progress.step("replaying")
        chosen = _winners(program, recording, hand_made, toolchain)
        answer = savings.replayed(store, hand_made, chosen, toolchain.space)
    return answer.findings, answer.failures


def _winners(
    program: ProgramOptions,
    recording: Recording,
    hand_made: Sequence[HandMade],
    toolchain: Toolchain,
) -> Winners:
    """Return what a campaign has chosen, and can be put in force in the launches of a replay."""
    from plumbline.detect import savings

    if not program.database.exists():
        return {}
    with program.open() as db, db.snapshot():
        return savings.chosen(db, recording, hand_made, toolchain.space.is_hot)


def _write(folder: Path, hand_made: Sequence[HandMade]) -> None:
    """Write `finding-01.c` or `.f90`, numbered in the order in which findings are printed."""
    from plumbline.detect import words

    folder.mkdir(parents=True, exist_ok=True)
    for number, finding in enumerate(hand_made, 1):
        name = f"finding-{number:02d}"
        sketch = words.patch_sketch(finding)
        if sketch:
            ending = "f90" if words.is_fortran(finding) else "c"
            common.write(folder / f"{name}.{ending}", sketch)
