"""Faults that come between a scenario, in a process that was started with failing.so preloaded:

    LD_PRELOAD=failing.so python -m tests.faults FOLDER {making,campaign,day} FAULT … [--most N]

Prints a line for each fault, and what went wrong; the exit status is 1 then."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

from tests.faults.campaign import Campaign
from tests.faults.day import Day, finished
from tests.faults.failing import Fault, Faults
from tests.faults.making import Making
from tests.faults.trials import Begin, Trials

HEAD = ("fault", "calls", "tried", "absorbed", "stopped", "wrong")
NAMES = [fault.name.lower() for fault in Fault if fault is not Fault.NONE]


def main() -> None:
    parser = argparse.ArgumentParser(description="What faults do to a scenario.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("scenario", choices=("making", "campaign", "day"))
    parser.add_argument("faults", nargs="+", choices=NAMES)
    parser.add_argument("--most", type=int, default=sys.maxsize, help="calls of a fault at most")
    asked = parser.parse_args()
    faults = Faults()
    folder = asked.folder / asked.scenario
    folder.mkdir(parents=True)
    begins: dict[str, Begin] = {"making": Making, "campaign": Campaign}
    if asked.scenario == "day":
        begins["day"] = partial(Day, finished=finished(asked.folder / "finished"))
    trials = Trials(faults, folder, begins[asked.scenario])
    print(f"{HEAD[0]:10}" + "".join(f"{word:>10}" for word in HEAD[1:]), flush=True)
    wrong = 0
    for name in asked.faults:
        tally = trials.tally(Fault[name.upper()], asked.most)
        print(tally.line(), *tally.wrong, sep="\n", flush=True)
        wrong += len(tally.wrong)
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
