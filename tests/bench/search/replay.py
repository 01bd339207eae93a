"""A Starter that answers each plan's launch from a recorded sweep, so that the product's own loop
runs unchanged. What a launch would have taken is its seconds."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec
import numpy as np

from plumbline.core.configuration import Configuration
from plumbline.core.plan import PlanCase
from plumbline.launch.starter import Starter, ended, under_way, with_case
from plumbline.libraries.simgrid import NO_SUCH_ALGORITHM
from plumbline.system.placement import Placement
from plumbline_db import runs
from plumbline_db.probe_records import (
    Begin,
    Check,
    ConfigRecord,
    Footer,
    KnobReading,
    Order,
    ProbeRecord,
    Samples,
)
from plumbline_db.records import Run
from tests.db import build
from tests.tuner.simulated import Ends, parse

from .answers import Answer, Answers
from .around import in_force
from .sweeps import Here

_CHECK_CALLS = 2  # the library's own call, and the case
_STARTED = "2026-01-01T00:00:00.000+00:00"


class Replay(Starter):
    """`seed`: of what a launch is drawn from. It is one of the recorded launches; each of its
    blocks is one of theirs, the same for all cases; samples are drawn from that block. All of it
    with replacement, and from the name of the launch: an interrupted campaign meets the same."""

    def __init__(self, starter: Starter, here: Here, answers: Answers, seed: int) -> None:
        self.family, self.placement = starter.family, starter.placement
        self._launcher = starter._launcher
        self._inner = starter
        self._here = here
        self._answers = answers
        self._draw = seed

    def clean_environment(self) -> dict[str, str]:
        return self._inner.clean_environment()

    def start_by_choice(self) -> None:
        """What a launch takes is recorded."""

    def refusal(self, text: str) -> str | None:
        del text
        return None

    def start(
        self,
        campaign: str,
        suite: str,
        sequence: int,
        text: str,
        extra: dict[str, str],
        placement: Placement | None = None,
    ) -> tuple[Run, Sequence[ProbeRecord]]:
        del placement
        settings, configs, cases = parse(text)
        around = in_force(self._here, extra)
        planned = [
            PlanCase(
                one.function,
                one.bytes,
                one.variant,
                Configuration.of(configs.get(one.config, {})),
                plain_duplicate=one.config == "plain",
                ranks=one.ranks,
            )
            for one in cases
        ]
        chance = random.Random(f"{self._draw} {suite} {sequence} {settings['seed']}")
        number = chance.randrange(self._answers.launches)
        blocks = int(settings["blocks"])
        header = msgspec.structs.replace(
            self._answers.header,
            run=settings["run"],
            sync=settings["sync"],
            seed=int(settings["seed"]),
            blocks=blocks,
            warmup=int(settings["warmup"]),
            rewarm=int(settings["rewarm"]),
            environment=dict(extra),
        )
        records: list[ProbeRecord] = [header]
        for id, knobs in configs.items():
            readings = {name: KnobReading(value, value) for name, value in knobs.items()}
            records.append(ConfigRecord(id, True, "", readings))
        records += cases
        answers = [] if around.corrupted else self._answers.of(planned, around)
        seconds = timed = 0.0
        failed = around.corrupted
        for case, answer in zip(cases, answers, strict=False):
            records.append(Begin(case.case))
            if answer.outcome == "failed":
                failed = True
                break
            records.append(Check(case.case, answer.outcome, answer.detail))  # type: ignore[arg-type]
            if answer.outcome == "ok":
                once = float(np.median(answer.ns[number])) / 1e9
                seconds += _CHECK_CALLS * once * self._answers.call_factor
        if not failed:
            reps = [one.reps for one in cases]
            sampled = self._blocks(chance, number, blocks, answers, reps, Ends(settings))
            records += sampled
            taken = {one.case: len(one.blocks) for one in sampled if isinstance(one, Samples)}
            for case, answer in zip(cases, answers, strict=True):
                if answer.outcome == "ok":
                    own = taken[case.case]
                    calls = int(settings["warmup"]) + (own - 1) * int(settings["rewarm"])
                    calls += own * case.reps
                    once = float(np.median(answer.ns[number])) / 1e9
                    timed += calls * once
                    seconds += calls * once * self._answers.call_factor
            records.append(Footer(len(cases), round(timed * 1e9), round(seconds * 1e9)))
        failure = with_case(ended(134), text, under_way(records)) if failed else None
        run = Run(
            id=runs.run_id(campaign, suite, sequence),
            campaign=campaign,
            suite=suite,
            sequence=sequence,
            failure=failure,
            argv=["replay", self._here.sweep.name],
            environment=extra,
            plan=text,
            stderr=f"has no algorithm '{NO_SUCH_ALGORITHM}'" if around.corrupted else "",
            started=_STARTED,
            seconds=self._answers.overhead_seconds + seconds,
            timed_seconds=timed,
        )
        return run, records

    def _blocks(
        self,
        chance: random.Random,
        number: int,
        blocks: int,
        answers: Sequence[Answer],
        reps: Sequence[int],
        ends: Ends,
    ) -> list[ProbeRecord]:
        running = [case for case, one in enumerate(answers) if one.outcome == "ok"]
        draw = np.random.default_rng(chance.getrandbits(64))
        found: list[ProbeRecord] = []
        taken: list[Samples] = []
        for block in range(blocks):
            running = [case for case in running if case not in ends.ended]
            if not running:
                break
            found.append(Order(block, chance.sample(running, len(running))))
            place = draw.random()
            for case in running:
                recorded = answers[case].ns[number]
                those = recorded[int(place * len(recorded))]
                ns = draw.choice(those, reps[case])
                taken.append(build.of_a_block(case, block, [], [round(one) for one in ns]))
                if ended := ends.after(case, taken[-1].ns):
                    found += [*build.together(one for one in taken if one.case == case), *ended]
                    taken = [one for one in taken if one.case != case]
        return [*found, *build.together(taken)]
