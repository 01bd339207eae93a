"""plumbline doctor"""

from __future__ import annotations

import click

from . import base, common
from .base import Program

_MARKS = {"fine": "ok  ", "notes": "note", "warns": "warn", "fails": "FAIL"}


@base.command("doctor", takes="mpi db json")
def command(program: Program) -> int:
    """What works here, what does not, and what to do about it.

    Exit code 1 if something fails that a campaign needs.

    \b
    Example:
      plumbline doctor --mpi /opt/openmpi-5.0.9
    """
    import msgspec

    from plumbline.results import doctor

    findings = []
    for finding in doctor.examine(program.mpi, program.database):
        findings.append(finding)
        if not program.json:
            click.echo(f"{_MARKS[finding.state]}  {finding.subject:13} {finding.text}")
    if program.json:
        common.print_json([msgspec.to_builtins(finding) for finding in findings])
    return 1 if any(finding.state == "fails" for finding in findings) else 0
