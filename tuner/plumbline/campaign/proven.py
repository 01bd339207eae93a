"""Winners of a campaign that are proven to be in force (proof.py), before each confirmation. Its
launches are kept like any other, what they show is kept as events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from plumbline.campaign import proof
from plumbline.core.plan import Plan
from plumbline.measure.launches import LaunchStore
from plumbline.search import outcome
from plumbline.settings.toolchain import Toolchain
from plumbline_db import runs
from plumbline_db.errors import PlumblineError
from plumbline_db.records import EVERY_FUNCTION, Suite, Winner


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

    def missed(
        self, turn: int, winners: Sequence[Winner], environment: Mapping[str, str]
    ) -> list[Winner]:
        """Winners that are not in force where `environment` puts them. Raises PlumblineError when
        that is no single winner's doing."""
        store, suite = self._store, Suite("confirm", turn).name
        proofs = Suite("proof", turn)
        with store.starter.folder(f"{store.campaign}/{proofs.name}") as folder:
            evidence = proof.prove(
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
                and proof.cell_of(winner, self._sizes) in evidence.missed
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
            try_out = partial(self._try, Suite("proof", turn))
            reason = proof.started_with(try_out, self._plan, environment, winner, self._sizes)
            if reason:
                store.tell("not in force", f"{what}: {reason}", suite)
                missed.append(winner)
            else:
                store.tell("in force", f"{what}: read back", suite)
        return missed

    def _try(
        self, suite: Suite, name: str, number: int, plan: Plan, environment: Mapping[str, str]
    ) -> proof.Outcomes | proof.Failed:
        """One launch for a proof, kept like any other."""
        own = suite.part(name)
        named = msgspec.structs.replace(plan, name=own.name)
        done = self._store.launch(own, number, named, environment)
        if done.run.failure is not None:
            return proof.Failed(done.run.failure, done.run.stderr, done.stored)
        checks = runs.checks(self._store.db, self._store.campaign, own.name, number)
        return {(case.function, case.bytes): check.outcome for case, check in checks}
