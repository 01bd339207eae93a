"""What simulated ranks cost: seconds and memory of the simulator, by number of ranks.

Prints one line a number of ranks, as in docs/simulated.md. Asserts nothing: other programs take
the same cores."""

from __future__ import annotations

import argparse
import resource
import time

from plumbline.core.plan import Data, Plan, PlanCase
from plumbline.settings import starting
from plumbline.settings.campaign_file import load
from plumbline.settings.toolchain import find_toolchain
from plumbline_db.probe_records import Samples

RANKS = (32, 64, 128, 256, 512, 1024)
PPN = 16


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", default=",".join(map(str, RANKS)))
    parser.add_argument("--function", default="MPI_Allreduce")
    parser.add_argument("--bytes", type=int, default=1024)
    parser.add_argument("--simulate", default="ompi")
    parser.add_argument("--knob", default="", metavar="NAME=VALUE", help="in force in all of them")
    options = parser.parse_args()
    case = PlanCase(options.function, options.bytes)
    plan = Plan("scale", 1, (case,), Data(), blocks=1, reps=1, warmup=0)
    print("ranks  wall s  CPU s  GiB at most  simulated µs")
    for nprocs in map(int, options.ranks.split(",")):
        settings = load(
            None, {"simulate": options.simulate, "nprocs": nprocs, "nodes": -(-nprocs // PPN)}
        )
        toolchain = find_toolchain(settings=settings)
        starter = starting.starter(toolchain, settings)
        name, _, value = options.knob.partition("=")
        around = toolchain.family.in_environment({name: value} if name else {})
        before, started = _seconds(), time.monotonic()
        run, records = starter.start("bench", "scale", 0, plan.text(), around)
        wall, processor = time.monotonic() - started, _seconds() - before
        if not run.finished:
            print(f"{nprocs:5}  {run.reason}", flush=True)
            continue
        (ns,) = [one.ns[0] for one in records if isinstance(one, Samples)]
        # The largest of all processes so far: numbers of ranks ascend.
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        print(
            f"{nprocs:5}  {wall:6.1f}  {processor:5.1f}  {memory:11.2f}  {ns / 1000:.2f}",
            flush=True,
        )


def _seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
