"""Which winners of a campaign are proven to be in force (proof.py), before each confirmation. Its
launches are kept like any other, what they show is kept as events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import msgspec

from plumbline import proof
from plumbline.measure import Laboratory
from plumbline.plan import Plan
from plumbline.search import outcome
from plumbline.workbench import Workbench
from plumbline_db import runs
from plumbline_db.errors import PlumblineError
from plumbline_db.records import EVERY_FUNCTION, Winner


class Proven:
    """`sizes` are the measured sizes by function; `event` keeps what is shown (kind, text)."""

    def __init__(
        self,
        lab: Laboratory,
        bench: Workbench,
        plan: Plan,
        sizes: Mapping[str, Sequence[int]],
        event: Callable[[str, str], None],
    ) -> None:
        self._lab = lab
        self._bench = bench
        self._plan = plan
        self._sizes = sizes
        self._event = event

    def missed(
        self, turn: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[Winner]:
        """Winners that are not in force where `environment` puts them. Raises PlumblineError when
        that is no single winner's doing."""
        lab, suite = self._lab, f"confirm-{turn}"
        with lab.starter.folder(f"{lab.campaign}/proof-{turn}") as folder:
            evidence = proof.prove(
                self._bench.family,
                partial(self._try, f"proof-{turn}"),
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
                self._event("not in force", f"{suite}: {problem}")
            return [
                one
                for one in winners
                if one.function != EVERY_FUNCTION
                and proof.cell_of(one, self._sizes) in evidence.missed
            ]
        for statement in evidence.statements:
            self._event("in force", f"{suite}: {statement}")
        for sentence in evidence.unproven:
            self._event("not proven", f"{suite}: {sentence}")
        return []

    def _not_started_with(
        self, turn: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[Winner]:
        """Winners for the whole process that the library does not know of."""
        found = []
        for winner in winners:
            if winner.function != EVERY_FUNCTION:
                continue
            what = outcome.label(winner.variant, winner.configuration)
            if self._bench.space.hot is None:
                self._event("not proven", f"confirm-{turn}: {what}: the library does not say")
                continue
            try_out = partial(self._try, f"proof-{turn}")
            reason = proof.started_with(try_out, self._plan, environment, winner, self._sizes)
            if reason:
                self._event("not in force", f"confirm-{turn}: {what}: {reason}")
                found.append(winner)
            else:
                self._event("in force", f"confirm-{turn}: {what}: read back")
        return found

    def _try(
        self, suite: str, name: str, number: int, plan: Plan, environment: Mapping[str, str]
    ) -> proof.Outcomes | proof.Failed:
        """One launch for a proof, kept like any other."""
        full = f"{suite}-{name}"
        named = msgspec.structs.replace(plan, name=full)
        done = self._lab.launch(full, number, named, environment)
        run = done.run
        if run.outcome == "failed":
            return proof.Failed(run.reason, run.stderr, done.culprit, done.stored)
        checks = runs.checks(self._lab.db, self._lab.campaign, full, number)
        return {(case.function, case.bytes): check.outcome for case, check in checks}
