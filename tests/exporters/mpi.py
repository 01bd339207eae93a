"""Starts programs under the real mpirun of the installed Open MPI, for tests marked `mpi`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Set
from pathlib import Path

from tests import own_core

ROOT_IS_ALLOWED = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


def environment(**changes: str) -> dict[str, str]:
    """The caller's, without MCA parameters of its own."""
    kept = {name: value for name, value in os.environ.items() if "_MCA_" not in name}
    return kept | ROOT_IS_ALLOWED | changes


def version() -> str:
    text = subprocess.run(
        ["mpirun", "--version"], env=environment(), capture_output=True, text=True, check=True
    ).stdout
    match = re.search(r"Open MPI\) (\d+\.\d+\.\d+)", text)
    assert match is not None, text
    return match[1]


def build(
    source: Path,
    program: Path,
    *flags: str,
    mpicc: str = "mpicc",
    env: dict[str, str] | None = None,
) -> Path:
    flags = ("-std=c11", "-O1", "-Wall", "-Wextra", "-Wshadow", "-Wstrict-prototypes", *flags)
    subprocess.run(
        [mpicc, *flags, str(source), "-o", str(program)], check=True, timeout=120, env=env
    )
    return program


def empty(library: Path) -> Path:
    """A shared library with nothing in it, to be preloaded."""
    source = library.with_suffix(".c")
    source.write_text("typedef int nothing;\n")
    return build(source, library, "-shared", "-fPIC", mpicc="cc")


def shell(script: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A POSIX shell script in which `mpirun` may be called."""
    return subprocess.run(
        ["sh", "-c", script], env=env, capture_output=True, text=True, timeout=120, check=False
    )


SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]


def sourced(
    script: Path, env: dict[str, str], leave: Set[str], before: str = "", times: int = 1
) -> tuple[dict[str, str], str]:
    """Variables after sourcing in every shell there is, which must agree, but for those that are
    left out; and standard error."""
    seen = []
    for name in SHELLS:
        source = f"set -eu\n{before}\n" + f". {script}\n" * times
        done = shell(f"exec {name} -c '{source} env -0'", env)
        assert done.returncode == 0, done.stderr
        pairs = [pair.split("=", 1) for pair in done.stdout.split("\0") if pair]
        kept = {variable: value for variable, value in pairs if variable not in leave}
        seen.append((kept, done.stderr))
    assert all(found == seen[0] for found in seen)
    return seen[0]


def answers(
    program: Path, calls: list[tuple[str, int]], nprocs: int, env: dict[str, str]
) -> dict[tuple[str, int], str]:
    """What tests/exporters/canary.c says about each call."""
    mpirun = [*own_core.words(), "mpirun", "-n", str(nprocs), "--oversubscribe"]
    return answers_of([*mpirun, str(program)], calls, env)


def answers_of(
    command: list[str], calls: list[tuple[str, int]], env: dict[str, str]
) -> dict[tuple[str, int], str]:
    """The same, by the command that starts the program."""
    done = subprocess.run(
        [*command, *(f"{function}:{size}" for function, size in calls)],
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {}
    for line in done.stdout.splitlines():
        function, size, answer = line.split(" ", 2)
        found[function, int(size)] = answer
    assert list(found) == calls, done.stderr
    return found


def canary(rules: str) -> str:
    """The rules file with every algorithm replaced by one that does not exist, so that each call
    a rule serves is refused."""
    lines = []
    for line in rules.splitlines():
        words = line.split()
        if not line.startswith("#") and len(words) in (4, 5) and "#" not in words:
            words[1] = "0" if words[1] == "0" else "99"
            line = " ".join(words)
        lines.append(line)
    return "\n".join(lines) + "\n"
