"""Proof that exported files are in force: what libraries ignore in silence is found out here.

By canary. In a copy of the rules file every tuned function gets an algorithm that does not exist;
in a copy of the preload profile every rule names a variant that only refuses. If the files are in
force, exactly the tuned cells fail; a cell that works was never reached by the file."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from plumbline import process
from plumbline.plan import Plan, PlanCase
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner

RULES = "OMPI_MCA_coll_tuned_dynamic_rules_filename"
PROFILE = "PLUMBLINE_PROFILE"
RANK_ENVIRONMENT = "OMPI_MCA_mca_base_env_list"
NO_SUCH_ALGORITHM = "99"
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
    try_out: TryOut,
    plan: Plan,
    environment: Mapping[str, str],
    winners: Sequence[Winner],
    sizes: Mapping[str, Sequence[int]],
) -> Proof:
    """One short launch with a canary in the rules file, one with a canary in the profile; each over
    one cell of every winner that the file holds. `sizes` are the measured sizes by function."""
    proof = Proof()
    short = msgspec.structs.replace(plan, blocks=1, reps=1, warmup=0, rewarm=0)
    by_rules = [winner for winner in winners if winner.variant == "default"]
    by_profile = [winner for winner in winners if winner.variant != "default"]
    if by_rules:
        # Without the preload library: a call that it replaces would never reach the rules.
        without_preload = {
            name: value
            for name, value in environment.items()
            if name not in {"LD_PRELOAD", PROFILE} and not name.startswith(RANK_ENVIRONMENT)
        }
        one = msgspec.structs.replace(short, cases=_cells(by_rules, sizes))
        _check(try_out, "rules", one, without_preload, RULES, rules_canary, proof)
    if by_profile:
        one = msgspec.structs.replace(short, cases=_cells(by_profile, sizes))
        _check(try_out, "profile", one, environment, PROFILE, profile_canary, proof)
    return proof


def rules_canary(text: str) -> str:
    """A rules file in which every algorithm but 0 (the library's own decision) does not exist."""
    lines = []
    for line in text.splitlines():
        body, mark, comment = line.partition("#")
        words = body.split()
        if len(words) in (4, 5) and words[1] != "0":
            words[1] = NO_SUCH_ALGORITHM
            body = " ".join(words) + " "
        lines.append(body + mark + comment)
    return "\n".join(lines) + "\n"


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


def _check(
    try_out: TryOut,
    name: str,
    plan: Plan,
    environment: Mapping[str, str],
    variable: str,
    spoil: Callable[[str], str],
    proof: Proof,
) -> None:
    original = _value(environment, variable)
    if original is None:
        proof.problems.append(f"{variable} is not set by the exported files")
        return
    with tempfile.TemporaryDirectory(prefix="plumbline-") as folder:
        copy = Path(folder, "canary")
        copy.write_text(spoil(Path(original).read_text()))
        changed = {key: value.replace(original, str(copy)) for key, value in environment.items()}
        outcomes = try_out(name, plan, changed)
    if isinstance(outcomes, str):
        proof.problems.append(f"the canary launch failed: {outcomes}")
        return
    proof.tried.extend(plan.cases)
    file = Path(original).name
    refused: list[str] = []
    for cell in plan.cases:
        what = f"{cell.function} at {cell.bytes} B"
        if outcomes.get((cell.function, cell.bytes)) == "error":
            refused.append(what)
        else:
            proof.missed.append(cell)
            proof.problems.append(f"{what}: {file} does not decide (its canary goes unnoticed)")
    if refused:
        where = ", ".join(refused)
        proof.statements.append(f"{file} decides (a canary in its place is refused): {where}")


def _value(environment: Mapping[str, str], variable: str) -> str | None:
    """A variable of the ranks: set directly, or handed to them by mpirun's list (`;` between)."""
    if variable in environment:
        return environment[variable]
    for holder, listed in environment.items():
        if holder.startswith(RANK_ENVIRONMENT):
            for word in listed.split(";"):
                name, _, value = word.partition("=")
                if name == variable:
                    return value
    return None


def _cells(winners: Sequence[Winner], sizes: Mapping[str, Sequence[int]]) -> tuple[PlanCase, ...]:
    return tuple(dict.fromkeys(cell_of(winner, sizes) for winner in winners))


def cell_of(winner: Winner, sizes: Mapping[str, Sequence[int]]) -> PlanCase:
    """The cell by which a winner is proven to be in force: its smallest measured size."""
    inside = [n for n in sizes[winner.function] if winner.bytes_from <= n <= winner.bytes_to]
    return PlanCase(winner.function, inside[0])
