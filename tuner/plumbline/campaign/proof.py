"""Proof that exported files are in force: what libraries ignore in silence is found out here.

By canary. In a copy of the preload profile every rule names a variant that only refuses; what a
family puts into its own files and variables is its matter (an algorithm that does not exist, in a
copy of a rules file). If they are in force, the tuned cells fail; a cell that works was never
reached.

Where it is the launch that must fail, it must be by the error: the same cells work without it, and
the library names it, or a launch fails twice in the same way."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from plumbline.core.configuration import Configuration
from plumbline.core.plan import Plan, PlanCase
from plumbline.libraries import DeliberateError, Family, in_copy, into_ranks
from plumbline.libraries.into_ranks import for_ranks, rank_lists
from plumbline.search import outcome
from plumbline.settings.toolchain import Toolchain
from plumbline.system import process
from plumbline_db import runs, scratch
from plumbline_db.errors import PlumblineError
from plumbline_db.records import EVERY_FUNCTION, Failure, Suite, Winner

if TYPE_CHECKING:
    from plumbline.measure.launches import LaunchStore

# Winners of a campaign that are proven to be in force (proof.py), before each confirmation. Its
# launches are kept like any other, what they show is kept as events.


class Proven:
    """`sizes` are the measured sizes by function."""

    def __init__(
        self,
        store: LaunchStore,
        toolchain: Toolchain,
        plan: Plan,
        sizes: Mapping[str, Sequence[int]],
    ) -> None:
        self._store = store
        self._toolchain = toolchain
        self._plan = plan
        self._sizes = sizes
        self._read_back: list[tuple[dict[str, str], dict[str, str]]] = []  # values, environment

    def missed(
        self, turn: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[Winner]:
        """Winners that are not in force where `environment` puts them. Raises PlumblineError when
        that is no single winner's doing."""
        store, suite = self._store, Suite("confirm", turn).name
        proofs = Suite("proof", turn)
        with store.starter.folder(f"{store.campaign}/{proofs.name}") as folder:
            evidence = prove(
                self._toolchain.family,
                partial(self._try, proofs),
                self._plan,
                environment,
                winners,
                self._sizes,
                folder,
            )
        unseen = self._not_started_with(turn, winners, environment)
        if unseen:
            return unseen
        if evidence.problems:
            # Winners may not apply (the library knows why), be it the only one; where no winner is
            # to blame, nothing works.
            if not evidence.missed:
                raise PlumblineError(
                    "the exported files are not in force: " + "; ".join(evidence.problems)
                )
            for problem in evidence.problems:
                store.tell("not in force", problem, suite)
            return [
                winner
                for winner in winners
                if winner.function != EVERY_FUNCTION
                and cell_of(winner, self._sizes) in evidence.missed
            ]
        for statement in evidence.statements:
            store.tell("in force", statement, suite)
        for function, text in evidence.unproven:
            store.tell("not proven", text, suite, function)
        return []

    def _not_started_with(
        self, turn: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[Winner]:
        """Winners for the whole process that the library does not know of."""
        missed: list[Winner] = []
        store, suite = self._store, Suite("confirm", turn).name
        for winner in winners:
            if winner.function != EVERY_FUNCTION:
                continue
            what = outcome.label(winner.variant, winner.configuration)
            if self._toolchain.space.hot is None:
                text = f"{what}: the library does not say"
                store.tell("not proven", text, suite, winner.function)
                continue
            shown = dict(winner.configuration), dict(environment)
            if shown in self._read_back:
                continue
            try_out = partial(self._try, Suite("proof", turn))
            reason = started_with(try_out, self._plan, environment, winner, self._sizes)
            if reason:
                store.tell("not in force", f"{what}: {reason}", suite)
                missed.append(winner)
            else:
                store.tell("in force", f"{what}: read back", suite)
                self._read_back.append(shown)
        return missed

    def _try(
        self, suite: Suite, name: str, number: int, plan: Plan, environment: Mapping[str, str]
    ) -> Outcomes | Failed:
        """One launch for a proof, kept like any other."""
        own = suite.part(name)
        named = msgspec.structs.replace(plan, name=own.name)
        done = self._store.launch(own, number, named, environment)
        if done.run.failure is not None:
            return Failed(done.run.failure, done.run.stderr, done.stored)
        checks = runs.checks(self._store.db, self._store.campaign, own.name, number)
        return {(case.function, case.bytes): check.outcome for case, check in checks}


PROFILE = "PLUMBLINE_PROFILE"
# Set for the ranks' sake; hydra reads the name of the preload library from a file.
PRELOADING = frozenset({"LD_PRELOAD", PROFILE, "HYDRA_CONFIG_FILE", into_ranks.SRUN_LIST})
REFUSING_VARIANT = "canary"
SAY = "PLUMBLINE_SAY"  # for a user: no launch of ours has to say what was replaced
CHECKED = "PLUMBLINE_CHECKED"  # exported files then ask no library for its version

# So many launches may fail for no known reason before nothing is said of what they try.
_ATTEMPTS = 3


class Failed(msgspec.Struct, frozen=True):
    """A launch that failed: why, and what it wrote to standard error. `stored`: it was made by an
    earlier run of the campaign, and may go well now."""

    failure: Failure
    said: str = ""
    stored: bool = False


# Check outcomes by (function, bytes).
Outcomes = dict[tuple[str, int], str]
# One launch: a name, its number among those of this name, the plan, and the environment.
TryOut = Callable[[str, int, Plan, Mapping[str, str]], Outcomes | Failed]


class Unproven(NamedTuple):
    """A thing of which nothing can be seen: `function`, where it is one, and a sentence."""

    function: str
    text: str


class Proof(msgspec.Struct, frozen=True):
    """`statements` say how it is known; `problems` what is not in force (empty: all of it is);
    `unproven` what cannot be known. `missed` are the cells that no file decides, `tried` all that
    were asked about."""

    statements: list[str] = []
    problems: list[str] = []
    unproven: list[Unproven] = []
    missed: list[PlanCase] = []
    tried: list[PlanCase] = []

    @property
    def told(self) -> list[str]:
        """Return what is known and what cannot be, as sentences."""
        return self.statements + [unproven.text for unproven in self.unproven]


def environment_of(script: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return what sourcing an exported sh file adds to `environment`: sh does it, as for a user.
    Whether the library is the one that the file was made for, the caller has found out."""
    command = ["/bin/sh", "-c", '. "$1" && exec env -0', "sh", str(script)]
    checked = dict(environment) | {CHECKED: "1"}
    done = process.run(command, timeout_seconds=20, environment=checked)
    if done.status != 0:
        raise PlumblineError(
            f"sourcing {script} failed with status {done.status}: {done.stderr.strip()}"
        )
    after = dict(word.split("=", 1) for word in done.stdout.split("\0") if "=" in word)
    shell_own = {"_", "PWD", "SHLVL", "OLDPWD", CHECKED, SAY}
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
    one cell of every winner that it concerns. `sizes` are the measured sizes by function; corrupted
    copies of files lie `within` a folder that all ranks see (None: this machine's own). What holds
    for the whole process is not asked about: `started_with` does."""
    proof = Proof()
    winners = [winner for winner in winners if winner.function != EVERY_FUNCTION]
    short = plan.once()
    by_library = [winner for winner in winners if winner.variant == "default"]
    by_profile = [winner for winner in winners if winner.variant != "default"]
    with scratch.folder(within) as copies:
        if by_library:
            # Without the preload library: a call that it replaces would never reach the library.
            without_preload = {
                name: value
                for name, value in environment.items()
                if name not in PRELOADING and not name.startswith(rank_lists())
            }
            canaries = family.canaries(without_preload, copies)
            if not canaries:
                proof.problems.append("the exported files set no parameter of the library")
            else:
                _without_canary(canaries, by_library, sizes, proof)
            controls = _Controls(try_out, short, without_preload, proof)
            concerned = [_concerned(canary, by_library, sizes) for canary in canaries]
            for canary, cells in zip(canaries, concerned, strict=True):
                if canary.fails == "launch":
                    controls.enter(canary, cells)
            for number, (canary, cells) in enumerate(zip(canaries, concerned, strict=True)):
                if canary.fails == "nothing":
                    continue
                if canary.fails == "launch":
                    cells = controls.working(canary, cells)
                if cells:
                    plan = msgspec.structs.replace(short, cases=cells)
                    own = _cells(
                        [winner for winner in by_library if canary.concerns(winner)], sizes
                    )
                    _check(try_out, f"library-{number}", plan, canary, proof, own)
                elif canary.one_of:
                    text = f"{canary.name}: no measured size is in its range"
                    proof.unproven.append(Unproven("", text))
            _unproven(canaries, by_library, proof)
        if by_profile:
            original = _value(environment, PROFILE)
            if original is None:
                proof.problems.append(f"{PROFILE} is not set by the exported files")
            else:
                corrupted = in_copy(environment, original, profile_canary, copies)
                plan = msgspec.structs.replace(short, cases=_cells(by_profile, sizes))
                canary = DeliberateError(name=Path(original).name, environment=corrupted)
                _check(try_out, "profile", plan, canary, proof, plan.cases)
    return proof


def started_with(
    try_out: TryOut,
    plan: Plan,
    environment: Mapping[str, str],
    winner: Winner,
    sizes: Mapping[str, Sequence[int]],
) -> str:
    """Return why a winner for the whole process is not in force, by what the library says of its
    variables (MPI_T) in a short launch; empty: it is."""
    function, measured = next(iter(sizes.items()))
    case = PlanCase(function, measured[0], configuration=Configuration.of(winner.configuration))
    short = msgspec.structs.replace(plan.once(), cases=(case,), knobs="start")
    outcomes = try_out("process", 0, short, environment)
    if isinstance(outcomes, Failed):
        return outcomes.failure.text
    outcome = outcomes.get((case.function, case.bytes), "not_in_force")
    return "" if outcome == "ok" else outcome.replace("_", " ")


def _without_canary(
    canaries: Sequence[DeliberateError],
    winners: Sequence[Winner],
    sizes: Mapping[str, Sequence[int]],
    proof: Proof,
) -> None:
    """Winners for which nothing is set that could be corrupted are not in force."""
    without_canary = [
        winner for winner in winners if not any(canary.concerns(winner) for canary in canaries)
    ]
    for cell in _cells(without_canary, sizes):
        proof.tried.append(cell)
        proof.missed.append(cell)
        proof.problems.append(f"{cell.function} at {cell.bytes} B: no exported setting decides it")


def _unproven(canaries: Sequence[DeliberateError], winners: Sequence[Winner], proof: Proof) -> None:
    """Says of which functions nothing can be seen."""
    silent: dict[str, None] = {}
    for winner in winners:
        fails = [canary.fails for canary in canaries if canary.concerns(winner)]
        if fails and set(fails) == {"nothing"}:
            silent[winner.function] = None
    proof.unproven.extend(
        Unproven(
            function,
            f"{function}: nothing shows that the library reads what is set for it; it is silent "
            "about what it does not take",
        )
        for function in silent
    )


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


class _Controls:
    """Launches without the error of any canary, one for those that have the same control."""

    def __init__(
        self, try_out: TryOut, short: Plan, exported: Mapping[str, str], proof: Proof
    ) -> None:
        self._try_out = try_out
        self._short = short
        self._exported = exported
        self._proof = proof
        self._cells: dict[Configuration, dict[PlanCase, None]] = {}
        self._work: dict[Configuration, set[PlanCase]] = {}

    def enter(self, canary: DeliberateError, cells: Sequence[PlanCase]) -> None:
        self._cells.setdefault(self._key(canary), {}).update(dict.fromkeys(cells))

    def working(self, canary: DeliberateError, cells: Sequence[PlanCase]) -> tuple[PlanCase, ...]:
        """Return the `cells` that still work without the error; the other cells are missed."""
        key = self._key(canary)
        if key not in self._work:
            name = f"control-{len(self._work)}"
            self._work[key] = self._launches(name, list(self._cells[key]), key.as_dict())
        return tuple(cell for cell in cells if cell in self._work[key])

    def _key(self, canary: DeliberateError) -> Configuration:
        control = self._exported if canary.control is None else canary.control
        return Configuration.of(control)

    def _launches(
        self, name: str, left: list[PlanCase], environment: Mapping[str, str]
    ) -> set[PlanCase]:
        """A case under which a launch fails twice is left out of the next one."""
        blamed: Counter[PlanCase] = Counter()
        blameless = 0
        reason = ""
        for number in itertools.count():
            plan = msgspec.structs.replace(self._short, cases=tuple(left))
            outcomes = self._try_out(name, number, plan, environment) if left else {}
            if not isinstance(outcomes, Failed):
                return set(left)
            reason = outcomes.failure.text
            if outcomes.failure.case is None:
                blameless += not outcomes.stored
                if blameless == _ATTEMPTS:
                    break
                continue
            cell = left[outcomes.failure.case]
            blamed[cell] += 1
            if blamed[cell] == 2:
                left.remove(cell)
                self._proof.tried.append(cell)
                self._proof.missed.append(cell)
                self._proof.problems.append(
                    f"{cell.function} at {cell.bytes} B: launches fail without a canary too: "
                    f"{reason}"
                )
        self._proof.problems.append(f"launches fail without a canary too: {reason}")
        return set()


def _check(
    try_out: TryOut,
    name: str,
    plan: Plan,
    canary: DeliberateError,
    proof: Proof,
    own: tuple[PlanCase, ...],
) -> None:
    """`own`: the cells by which winners are known that it concerns."""
    attempts = _attempts(try_out, name, plan, canary)
    cells = {(cell.function, cell.bytes) for cell in plan.cases}
    if isinstance(attempts, str):
        proof.problems.append(attempts)
        return
    refusal = ("error", "wrong") if canary.one_of else ("error",)
    refusing = {cell for cell in cells if attempts.get(cell) in refusal}
    proof.tried.extend(plan.cases)
    refused: dict[str, list[int]] = {}
    enough = canary.one_of and bool(refusing)
    for cell in plan.cases:
        what = f"{cell.function} at {cell.bytes} B"
        if (cell.function, cell.bytes) in refusing:
            refused.setdefault(cell.function, []).append(cell.bytes)
        elif not enough:
            proof.missed.extend(own if canary.one_of else (cell,))
            proof.problems.append(
                f"{what}: {canary.name} does not decide (its canary goes unnoticed)"
            )
    if refused:
        where = "; ".join(
            f"{function} at {', '.join(map(str, sorted(sizes)))} B"
            for function, sizes in sorted(refused.items())
        )
        proof.statements.append(
            f"{canary.name} decides (a canary in its place is refused): {where}"
        )


def _attempts(try_out: TryOut, name: str, plan: Plan, canary: DeliberateError) -> Outcomes | str:
    """Return what comes of the cells under a canary; a sentence when no launch tells. A launch that
    fails by the error of a canary has failed in every cell."""
    counts: Counter[str] = Counter()
    fresh = 0
    reason = ""
    for number in itertools.count():
        outcomes = try_out(name, number, plan, canary.environment)
        if not isinstance(outcomes, Failed):
            # Where it is the launch that must fail, a refusal inside it is another thing.
            return outcomes if canary.fails == "cells" else {}
        reason = outcomes.failure.text
        counts[reason] += not outcomes.failure.timed_out
        by_error = bool(re.search(canary.says, outcomes.said)) if canary.says else False
        again = not canary.says and counts[reason] == 2
        if canary.fails == "launch" and (by_error or again):
            return {(cell.function, cell.bytes): "error" for cell in plan.cases}
        fresh += not outcomes.stored
        if fresh == _ATTEMPTS:
            break
    why = " for another reason" if canary.fails == "launch" else ""
    return f"the canary launch failed{why}: {reason}"


def _value(environment: Mapping[str, str], variable: str) -> str | None:
    """A variable of the ranks: set directly, or handed to them by mpirun's list."""
    return environment.get(variable, for_ranks(environment).get(variable))


def _concerned(
    canary: DeliberateError, winners: Sequence[Winner], sizes: Mapping[str, Sequence[int]]
) -> tuple[PlanCase, ...]:
    """A cell of each winner that it concerns; where one of several is enough, all in its range."""
    mine = [winner for winner in winners if canary.concerns(winner)]
    if not canary.one_of:
        return _cells(mine, sizes)
    cells = [
        PlanCase(winner.function, size)
        for winner in mine
        for size in sizes[winner.function]
        if max(winner.bytes_from, canary.bytes_from)
        <= size
        <= min(winner.bytes_to, canary.bytes_to)
    ]
    return tuple(dict.fromkeys(cells))


def _cells(winners: Sequence[Winner], sizes: Mapping[str, Sequence[int]]) -> tuple[PlanCase, ...]:
    return tuple(dict.fromkeys(cell_of(winner, sizes) for winner in winners))


def cell_of(winner: Winner, sizes: Mapping[str, Sequence[int]]) -> PlanCase:
    """The cell by which a winner is proven to be in force: its smallest measured size."""
    inside = [n for n in sizes[winner.function] if winner.bytes_from <= n <= winner.bytes_to]
    return PlanCase(winner.function, inside[0])
