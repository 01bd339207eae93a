"""Environments: files of POSIX shells, csh and fish, module files, Dockerfiles, job scripts and
NAME=VALUE lists. Variables of every library that is known may stand in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from plumbline_exporters import families
from plumbline_exporters.families import Context, Linting
from plumbline_exporters.finding import (
    WANTING,
    Assignment,
    FileKind,
    Finding,
    LintTarget,
    NamedFile,
    named,
)
from plumbline_exporters.lint import scripts
from plumbline_exporters.lint.scripts import Scene, Script

SUMMARY = "environment: shell file, module file, Dockerfile, job script, or NAME=VALUE lines"
_PRELOAD = "LD_PRELOAD"
_INTERCEPTS = re.compile(r"mpi|plumbline", re.IGNORECASE)
_PARAMETER_FILE = FileKind(("fails", "mpirun ends with an error"), ("mca-params",))


def recognises(name: str, text: str) -> bool:
    if text.startswith(("#!", "#%Module")) or "dockerfile" in name.lower():
        return True
    if name.endswith((".sh", ".csh", ".fish", ".lua", ".tcl", ".env", ".sbatch", ".slurm")):
        return True
    script = scripts.read(text)
    settings = [*script.bare, *(setting for scene in script.scenes for setting in scene)]
    return any(_is_ours(setting.name) or setting.name == _PRELOAD for setting in settings)


def _is_ours(name: str) -> bool:
    return name.startswith(families.prefixes()) and name not in families.prefixes()


def _is_certain(name: str) -> bool:
    """Return whether a name is a library's for certain: scripts call many things MPICH_…"""
    return _is_ours(name) and not name.startswith(families.aliases())


def refers(text: str) -> list[NamedFile]:
    script = scripts.read(text)
    settings = {setting: None for scene in script.scenes for setting in scene}
    files = named(settings, families.files())
    files += [
        NamedFile(line, str(file) if file.fixed else "", _PARAMETER_FILE)
        for line, file in script.files
    ]
    return files


def findings(text: str, context: Context) -> Iterator[Finding]:
    script = scripts.read(text)
    yield from _of_shells(script)
    yield from _of_line_ends(text, script)
    for family, lint in families.speaking(context.library.partition("-")[0]):
        for finding in _of_scenes(script.scenes, lint, context.target(family)):
            if not (script.reads_others and finding.trap in WANTING):
                yield finding


def _of_scenes(scenes: Sequence[Scene], lint: Linting, target: LintTarget) -> Iterator[Finding]:
    """A finding counts where it holds in every program that its line reaches: another may have what
    is missing in one, and the script need not say which one is run."""
    pattern = re.compile(lint.variables)
    of_family = {
        tuple(setting for setting in scene if pattern.match(setting.name)) for scene in scenes
    }
    reached: Counter[int] = Counter()
    seen: Counter[Finding] = Counter()
    for scene in of_family:
        reached.update({setting.line for setting in scene})
        seen.update(set(lint.findings(scene, target)))
    for finding, count in seen.items():
        if count >= reached[finding.line]:
            yield finding


def _of_shells(script: Script) -> Iterator[Finding]:
    for line, name in script.spaced:
        if _is_certain(name):
            yield Finding(
                line, "ignored", "blank-at-equals",
                f"{name}: with a blank beside the = a shell sets nothing",
                f"write {name}=… without blanks",
            )  # fmt: skip
    for setting in script.bare:
        if _is_certain(setting.name):
            yield Finding(
                setting.line, "ignored", "not-exported",
                f"{setting.name} is a variable of the shell alone: programs do not get it",
                f"write export {setting.name}=…",
            )  # fmt: skip
    for setting in {setting for scene in script.scenes for setting in scene}:
        if setting.name == _PRELOAD and not setting.depends and _intercepts(setting):
            yield Finding(
                setting.line, "reaches", "preload-everywhere",
                f"{_PRELOAD} is loaded into every program that is started from here, the shell's "
                "own and mpirun too, and not into the ranks alone",
                "let the launcher set it for the ranks (mpirun -x, -genv, I_MPI_GTOOL)",
            )  # fmt: skip


def _intercepts(setting: Assignment) -> bool:
    return _INTERCEPTS.search((setting.value or "").rpartition("/")[2]) is not None


def _of_line_ends(text: str, script: Script) -> Iterator[Finding]:
    lines = text.split("\n")
    settings = [*script.bare, *(setting for scene in script.scenes for setting in scene)]
    numbers = sorted({setting.line for setting in settings if _is_ours(setting.name)})
    first = next((number for number in numbers if lines[number - 1].endswith("\r")), 0)
    if first:
        yield Finding(
            first, "misread", "carriage-return",
            "lines end with a carriage return, as on Windows: a shell makes it a part of the value",
            "write the file with plain line ends (dos2unix)",
        )  # fmt: skip
