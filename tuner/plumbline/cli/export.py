"""plumbline export"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from plumbline_db.errors import PlumblineError, UsageError

from . import base, common, options, site
from .base import ProgramOptions


class ExportFiles(NamedTuple):
    """The files that are written."""

    formats: tuple[str, ...]
    output: Path
    force: bool
    per_nodes: bool


@base.command("export", gathers={"files": ExportFiles}, takes="db json campaign")
@click.argument("formats", nargs=-1, shell_complete=options.complete_formats)
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("."),
    help="Folder of the files.",
)
@options.listing
@click.option("--force", is_flag=True, help="Replace files that are not as Plumbline wrote them.")
@click.option(
    "--per-nodes",
    is_flag=True,
    help="A modulefile for each number of nodes, from all campaigns of the library and machine.",
)
@options.unsafe
def command(
    program: ProgramOptions, files: ExportFiles, listing: bool, unsafe: bool, campaign: str | None
) -> None:
    """Write the winners of a campaign as files that users source.

    Files that the named FORMATS refer to are written too. A file of that name which is not as
    Plumbline wrote it is left alone: `plumbline apply` puts winners into files of others.

    \b
    Example:
      plumbline export env --output ~/plumbline && . ~/plumbline/plumbline.sh
      plumbline export --per-nodes --output modules && module use modules
    """
    from plumbline.libraries import gate
    from plumbline.settings import default_campaign, identity
    from plumbline.system import paths
    from plumbline_db import campaigns, machines
    from plumbline_exporters.bundle import load_bundle
    from plumbline_exporters.registry import exporters, write

    if listing and program.json:
        common.print_json(
            [
                {"format": exporter.name, "summary": exporter.summary, "family": exporter.family}
                for exporter in exporters().values()
            ]
        )
        return
    if listing:
        for exporter in exporters().values():
            whose = f" ({exporter.family})" if exporter.family else ""
            click.echo(f"{exporter.name:14} {exporter.summary}{whose}")
        return
    if files.per_nodes:
        if files.formats:
            raise UsageError("--per-nodes writes modulefiles: name no format beside it")
        site.per_nodes(program, files.output, campaign, unsafe=unsafe, force=files.force)
        return
    if not files.formats:
        raise click.UsageError(f"name a format: {', '.join(exporters())}")
    with program.open() as db:
        choice = default_campaign.choose(db, campaign)
        exported_campaign = choice.campaign
        if exported_campaign.state != "finished":
            raise PlumblineError(
                f"campaign {exported_campaign.id} is not finished, so it has no winners to export; "
                f"{campaigns.how_to_continue(db, exported_campaign)}"
            )
        library = machines.library(db, exported_campaign.library_fingerprint)
        other_library = gate.other(library)
        if other_library is not None:
            raise PlumblineError(
                f"campaign {exported_campaign.id} is not exported: {other_library}"
            )
        bundle = load_bundle(
            db,
            exported_campaign.id,
            files.output.absolute(),
            gate.of_library,
            created=exported_campaign.finished or identity.now(),
            preload_library=paths.layout().preload(paths.build_id(library)),
        )
        bundle = msgspec.structs.replace(bundle, unsafe=unsafe)
    common.remark(choice.note)
    if not bundle.winners:
        common.remark(f"campaign {exported_campaign.id} has no winners to put in force")
    written = write(bundle, files.formats, force=files.force)
    if program.json:
        common.print_json(written)
        return
    for file in written:
        click.echo(file.path)
    if not written:
        common.remark("no winner can be expressed in this format")
