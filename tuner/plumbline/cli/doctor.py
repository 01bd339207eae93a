"""plumbline doctor"""

from __future__ import annotations

import click

from . import base, common
from .base import ProgramOptions

_MARKS = {"fine": "ok  ", "notes": "note", "warns": "warn", "fails": "FAIL", "inactive": "FAIL"}


@base.command("doctor", takes="mpi db json")
@click.option("--daemon", is_flag=True, help="Look at plumbline watch and its units instead.")
def command(program: ProgramOptions, daemon: bool) -> int:
    """What works here, what does not, and what to do about it.

    Exit code 1 if something fails that a campaign needs, or the daemon; else 3 if the library
    ignores what was applied.

    \b
    Example:
      plumbline doctor --mpi /opt/openmpi-5.0.9
    """
    from plumbline.results import doctor

    if daemon:
        from plumbline.daemon.windows import utc_now
        from plumbline.results import doctor

        examined = doctor.examine_daemon(program.database, utc_now)
    else:
        examined = doctor.examine(program.mpi, program.database)
    findings: list[doctor.DoctorFinding] = []
    for finding in examined:
        repeated = any(finding.text == before.text for before in findings)
        findings.append(finding)
        if not program.json:
            text = "for the same reason" if repeated else finding.text
            click.echo(f"{_MARKS[finding.state]}  {finding.subject:13} {text}")
    if program.json:
        common.print_json(findings)
    states = {finding.state for finding in findings}
    return 1 if "fails" in states else common.VIOLATIONS_FOUND if "inactive" in states else 0
