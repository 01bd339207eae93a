"""plumbline doctor"""

from __future__ import annotations

from pathlib import Path

import click

from . import common

_MARKS = {"fine": "ok  ", "notes": "note", "warns": "warn", "fails": "FAIL"}


@click.command("doctor", context_settings={"help_option_names": ["-h", "--help"]})
@common.mpi_option
@common.db_option
@common.json_option
def command(mpi_prefix: Path | None, db_path: Path | None, as_json: bool) -> int:
    """What works here, what does not, and what to do about it.

    Exit code 1 if something fails that a campaign needs.

    \b
    Example:
      plumbline doctor --mpi /opt/openmpi-5.0.9
    """
    import msgspec

    from plumbline.results import doctor

    findings = []
    for finding in doctor.examine(mpi_prefix, common.database(db_path)):
        findings.append(finding)
        if not as_json:
            click.echo(f"{_MARKS[finding.state]}  {finding.subject:13} {finding.text}")
    if as_json:
        common.print_json([msgspec.to_builtins(finding) for finding in findings])
    return 1 if any(finding.state == "fails" for finding in findings) else 0
