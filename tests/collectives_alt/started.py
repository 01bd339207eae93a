"""Programs under the preload library, and the rules that force a variant."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.collectives_alt.programs import Build, mpirun


def rule(function: str, variant: str, more: str = "nprocs=1-inf bytes=0-inf") -> str:
    return f"rule function={function} {more} variant={variant}"


def forced(chosen: Mapping[str, str]) -> str:
    """Rules that force a variant of each function upon all calls."""
    return "\n".join(rule(function, variant) for function, variant in chosen.items())


def catalogue(build: Build, *options: str) -> list[list[str]]:
    """Return the fields that the program `catalogue` prints of each variant. Without the option
    `all` these are the variants of functions that the probe measures."""
    listing = subprocess.run(
        [build.program("catalogue"), *options],
        check=True,
        capture_output=True,
        text=True,
        timeout=20,
    ).stdout
    return [line.split() for line in listing.splitlines()]


@functools.cache
def variants(build: Build, *options: str) -> dict[str, list[str]]:
    """Return by function the variants that a rule for all calls may name, in the order of the
    catalogue, which takes the options. A process is started for each variant, so that the answer is
    kept: callers do not change it."""
    found: dict[str, list[str]] = {}
    for name, function, *_ in catalogue(build, *options):
        if accepted(build, rule(function, name)):
            found.setdefault(function, []).append(name)
    return found


def accepted(build: Build, *lines: str) -> bool:
    text = "\n".join(["plumbline-profile 1", *lines])
    done = subprocess.run([build.program("profiles")], input=text.encode(), capture_output=True)
    return done.returncode == 0


def turns(build: Build, *options: str) -> list[dict[str, str]]:
    """Return a variant of every function at a time, until each variant had its turn."""
    found = variants(build, *options)
    return [
        {function: names[turn % len(names)] for function, names in found.items()}
        for turn in range(max(map(len, found.values())))
    ]


def profile_text(rules: str) -> str:
    return f"plumbline-profile 1\n{rules}"


def read_report(path: Path) -> dict[str, Any]:
    """What the preload library wrote at the end; nothing where it did not come to it."""
    found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    return found


class Started:
    """One run of a program under the preload library, with everything it left behind."""

    def __init__(
        self,
        build: Build,
        folder: Path,
        profile: str | Path | None,
        *arguments: str,
        program: str = "application",
        nprocs: int = 4,
        env: dict[str, str] | None = None,
        preload: Sequence[Path] = (),
        timeout: float = 100,
    ) -> None:
        self.path = folder / "site.profile"
        if isinstance(profile, str):
            self.path.write_text(profile_text(profile))
        elif profile is not None:
            self.path = profile
        self.env = {
            **(env or {}),
            "LD_PRELOAD": ":".join(map(str, (build.preload, *preload))),
            "PLUMBLINE_REPORT": str(folder / "report.json"),
        }
        if profile is not None:
            self.env["PLUMBLINE_PROFILE"] = str(self.path)
        command = (build.program(program), *arguments)
        self.done = mpirun(nprocs, *command, env=self.env, timeout=timeout, cwd=folder)
        self.report: dict[str, Any] = json.loads((folder / "report.json").read_text())
        assert [p.name for p in folder.glob("*.part")] == []

    def function(self, name: str) -> dict[str, Any]:
        return next(f for f in self.report["functions"] if f["function"] == name)

    def replaced(self) -> dict[int, int]:
        """Calls that rank 0 replaced, by line of the profile."""
        return {rule["line"]: rule["replaced"] for rule in self.report["rules"]}
