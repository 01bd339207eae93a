"""Settings of the library that are in force in every launch of an overlap suite."""

from __future__ import annotations

from collections.abc import Sequence

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.launch.starter import Starter
from plumbline.search.process import Settable
from plumbline.settings import Settings
from plumbline.settings.toolchain import Toolchain
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.probe_records import ConfigRecord


def given(toolchain: Toolchain, words: Sequence[str], where: Settings) -> Configuration:
    """Return that of `NAME=VALUE`, with what the library wants beside them. Raises UsageError for
    what it does not know, and for threads that want cores which are not there."""
    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise UsageError(f"--knob takes NAME=VALUE, not {word!r}")
        if toolchain.knobs and name not in toolchain.knobs:
            raise UsageError(f"{toolchain.installation.library.id} reports no parameter {name}")
        for knob, need in toolchain.space.with_needs(name, value).items():
            if values.setdefault(knob, need) != need:
                raise UsageError(f"--knob: {knob} cannot be {values[knob]} and {need}")
    Settable.of(toolchain, where).require_core(values)
    return Configuration.of(values)


def require_in_force(starter: Starter, chosen: Configuration) -> None:
    """A short launch with these settings, which reads them back where the library shows them.
    Raises UsageError for one that is not in force, PlumblineError where the launch fails."""
    if not chosen:
        return
    case = PlanCase("MPI_Allreduce", 64, configuration=chosen)
    plan = Plan("settings", 1, (case,), blocks=1, reps=1, warmup=1, knobs="start")
    environment = starter.family.in_environment(chosen.as_dict())
    run, records = starter.start("settings", "settings", 0, plan.text(), environment)
    if not run.finished:
        names = str(chosen).replace(" ", ", ")
        raise PlumblineError(
            f"a launch with {names} fails; leave the setting out, or correct it: {run.reason}\n"
            f"{run.stderr[-1500:]}"
        )
    for record in records:
        if isinstance(record, ConfigRecord) and not record.in_force:
            raise UsageError(f"--knob is not in force: {record.reason}")
