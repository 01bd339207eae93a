"""Proof that exported files are in force: what libraries ignore in silence is found out here.

By canary. In a copy of the preload profile every rule names a variant that only refuses; what a
family puts into its own files and variables is its matter (an algorithm that does not exist, in a
copy of a rules file). If they are in force, the tuned cells fail; a cell that works was never
reached."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline import process
from plumbline.canary import Canary, in_copy
from plumbline.libraries import Family
from plumbline.plan import Plan, PlanCase
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner

PROFILE = "PLUMBLINE_PROFILE"
RANK_ENVIRONMENT = "OMPI_MCA_mca_base_env_list"
# Set for the ranks' sake; hydra reads the name of the preload library from a file.
PRELOADING = frozenset({"LD_PRELOAD", PROFILE, "HYDRA_CONFIG_FILE"})
REFUSING_VARIANT = "canary"

# Check outcomes by (function, bytes); in their place a sentence when the launch failed.
Outcomes = dict[tuple[str, int], str]
TryOut = Callable[[str, Plan, Mapping[str, str]], Outcomes | str]


class Proof(msgspec.Struct, frozen=True):
    """`statements` say how it is known; `problems` what is not in force (empty: all of it is);
    `missed` are the cells that no file decides, `tried` all that were asked about."""

    statements: list[str] = []
    problems: list[str] = []
    missed: list[PlanCase] = []
    tried: list[PlanCase] = []


def environment_of(script: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """What sourcing an exported sh file adds to `environment`: sh does it, as for a user."""
    command = ["/bin/sh", "-c", '. "$1" && exec env -0', "sh", str(script)]
    done = process.run(command, timeout_seconds=20, environment=environment)
    if done.status != 0:
        raise PlumblineError(
            f"sourcing {script} failed with status {done.status}: {done.stderr.strip()}"
        )
    after = dict(word.split("=", 1) for word in done.stdout.split("\0") if "=" in word)
    shell_own = {"_", "PWD", "SHLVL", "OLDPWD"}
    return {
        name: value
        for name, value in after.items()
        if environment.get(name) != value and name not in shell_own
    }


def prove(
    family: Family,
    try_out: TryOut,
    plan: Plan,
    environment: Mapping[str, str],
    winners: Sequence[Winner],
    sizes: Mapping[str, Sequence[int]],
    within: Path | None = None,
) -> Proof:
    """A short launch for each canary of the family, and one with a canary in the profile; each over
    one cell of every winner that it concerns. `sizes` are the measured sizes by function; spoilt
    copies of files lie `within` a folder that all ranks see (None: this machine's own)."""
    proof = Proof()
    short = msgspec.structs.replace(plan, blocks=1, reps=1, warmup=0, rewarm=0)
    by_library = [winner for winner in winners if winner.variant == "default"]
    by_profile = [winner for winner in winners if winner.variant != "default"]
    with tempfile.TemporaryDirectory(prefix="plumbline-", dir=within) as made:
        scratch = Path(made)
        if by_library:
            # Without the preload library: a call that it replaces would never reach the library.
            without_preload = {
                name: value
                for name, value in environment.items()
                if name not in PRELOADING and not name.startswith(RANK_ENVIRONMENT)
            }
            canaries = family.canaries(without_preload, scratch)
            if not canaries:
                proof.problems.append("the exported files set no parameter of the library")
            else:
                _without_canary(canaries, by_library, sizes, proof)
            for number, canary in enumerate(canaries):
                if canary.fails == "nothing":
                    proof.statements.append(
                        f"{canary.name} is set, but nothing shows that the library reads it: it is "
                        "silent about what it does not take"
                    )
                    continue
                cells = _cells([one for one in by_library if canary.concerns(one)], sizes)
                one = msgspec.structs.replace(short, cases=cells)
                _check(try_out, f"library-{number}", one, canary, proof)
        if by_profile:
            original = _value(environment, PROFILE)
            if original is None:
                proof.problems.append(f"{PROFILE} is not set by the exported files")
            else:
                spoilt = in_copy(environment, original, profile_canary, scratch)
                one = msgspec.structs.replace(short, cases=_cells(by_profile, sizes))
                canary = Canary(name=Path(original).name, environment=spoilt)
                _check(try_out, "profile", one, canary, proof)
    return proof


def _without_canary(
    canaries: Sequence[Canary],
    winners: Sequence[Winner],
    sizes: Mapping[str, Sequence[int]],
    proof: Proof,
) -> None:
    """Winners for which nothing is set that could be spoilt are not in force."""
    left = [one for one in winners if not any(canary.concerns(one) for canary in canaries)]
    for cell in _cells(left, sizes):
        proof.tried.append(cell)
        proof.missed.append(cell)
        proof.problems.append(f"{cell.function} at {cell.bytes} B: no exported setting decides it")


def profile_canary(text: str) -> str:
    """A preload profile in which every rule names the variant that refuses."""
    lines = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["rule"]:
            words = [w for w in words if not w.startswith("variant=")]
            line = " ".join([*words, f"variant={REFUSING_VARIANT}"])
        lines.append(line)
    return "\n".join(lines) + "\n"


def _check(try_out: TryOut, name: str, plan: Plan, canary: Canary, proof: Proof) -> None:
    outcomes = try_out(name, plan, canary.environment)
    cells = {(cell.function, cell.bytes) for cell in plan.cases}
    if isinstance(outcomes, str):
        if canary.fails == "cells":
            proof.problems.append(f"the canary launch failed: {outcomes}")
            return
        refusing = cells
    elif canary.fails == "launch":
        refusing = set()
    else:
        refusing = {cell for cell in cells if outcomes.get(cell) == "error"}
    proof.tried.extend(plan.cases)
    refused: list[str] = []
    for cell in plan.cases:
        what = f"{cell.function} at {cell.bytes} B"
        if (cell.function, cell.bytes) in refusing:
            refused.append(what)
        else:
            proof.missed.append(cell)
            proof.problems.append(
                f"{what}: {canary.name} does not decide (its canary goes unnoticed)"
            )
    if refused:
        where = ", ".join(refused)
        proof.statements.append(
            f"{canary.name} decides (a canary in its place is refused): {where}"
        )


def for_ranks(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables that mpirun sets for its ranks alone, from the list in `environment` (`;` between).
    What starts ranks without mpirun must do so too."""
    words = [
        word
        for holder, listed in environment.items()
        if holder.startswith(RANK_ENVIRONMENT)
        for word in listed.split(";")
    ]
    return dict(word.split("=", 1) for word in reversed(words) if "=" in word)


def _value(environment: Mapping[str, str], variable: str) -> str | None:
    """A variable of the ranks: set directly, or handed to them by mpirun's list."""
    return environment.get(variable, for_ranks(environment).get(variable))


def _cells(winners: Sequence[Winner], sizes: Mapping[str, Sequence[int]]) -> tuple[PlanCase, ...]:
    return tuple(dict.fromkeys(cell_of(winner, sizes) for winner in winners))


def cell_of(winner: Winner, sizes: Mapping[str, Sequence[int]]) -> PlanCase:
    """The cell by which a winner is proven to be in force: its smallest measured size."""
    inside = [n for n in sizes[winner.function] if winner.bytes_from <= n <= winner.bytes_to]
    return PlanCase(winner.function, inside[0])
