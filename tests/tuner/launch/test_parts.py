"""A plan in parts is the plan; what is known is not measured again, unless what is in force
differs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from plumbline.core.plan import Data, Plan, PlanCase
from plumbline.launch import Job, parts, simulated
from plumbline.launch.simulated import Known, known_keys, rules_of
from plumbline.launch.simulation import Simulation
from plumbline.launch.starter import under_way
from plumbline.libraries import Installation
from plumbline.libraries.simgrid import SimGrid
from plumbline.settings import starting
from plumbline.settings.campaign_file import load
from plumbline.system.placement import Placement
from plumbline_db import ndjson
from plumbline_db.probe_records import Begin, Check, Order, Samples, UnderWay
from tests import simgrid
from tests.db import build
from tests.tuner import fake_probe, jobs

CASES = tuple(
    PlanCase(function, size, variant)
    for size in (256, 1024)
    for function, variant in [
        ("MPI_Gather", "default"),
        ("MPI_Gather", "gather_as_reduce"),
        ("MPI_Reduce", "default"),
        ("MPI_Allreduce", "allreduce_as_reduce_plus_bcast"),
    ]
)
PLAN = Plan("t", 1, CASES, Data(), blocks=1, reps=1, warmup=0)


def test_parts_have_all_cases_between_them() -> None:
    text = PLAN.text()
    found = [parts.case_lines(one) for one in parts.split(text)]
    assert [len(one) for one in found] == [4, 2, 2]
    joined = {number: line for one in found for number, line in one.items()}
    assert joined == parts.case_lines(text)
    (rest,) = parts.split(text, without=range(7))
    assert list(parts.case_lines(rest)) == [7]
    assert parts.split(text, without=range(8)) == []


def test_sizes_rise_and_the_library_s_own_call_comes_first() -> None:
    for one in parts.split(PLAN.text()):
        cases = [parts.words_of(line) for line in parts.case_lines(one).values()]
        places = [(int(case["bytes"]), case["variant"] != "default") for case in cases]
        assert places == sorted(places)
        assert len({case["function"] for case in cases}) == 1


def test_what_is_given_up_with_a_case() -> None:
    text = PLAN.text()
    of = {
        (case["function"], case["variant"], int(case["bytes"])): number
        for number, case in (
            (number, parts.words_of(line)) for number, line in parts.case_lines(text).items()
        )
    }
    variant = of["MPI_Gather", "gather_as_reduce", 256]
    assert parts.too_much(text, variant) == {variant, of["MPI_Gather", "gather_as_reduce", 1024]}
    large = of["MPI_Gather", "gather_as_reduce", 1024]
    assert parts.too_much(text, large) == {large}
    default = of["MPI_Gather", "default", 256]
    assert parts.too_much(text, default) == {n for key, n in of.items() if key[0] == "MPI_Gather"}


def record(kind: str, **more: object) -> parts.Record:
    return {"record": kind, **more}


def samples(case: int, blocks: int = 1) -> parts.Record:
    numbers = {"blocks": list(range(blocks)), "warmups": [0] * blocks, "samples": [1] * blocks}
    return record("samples", case=case, **numbers, warmup_ns=[], ns=[case] * blocks)


def part(*cases: int, footer: bool = True) -> list[parts.Record]:
    found = [record("header", seed=1), *(record("case", case=one) for one in cases)]
    for one in cases:
        found += [record("begin", case=one), record("check", case=one, outcome="ok")]
    found.append(record("order", block=0, cases=list(cases)))
    found += [samples(one) for one in cases]
    if footer:
        found += [
            record("load"),
            record(
                "footer",
                cases=len(cases),
                timed_ns=5,
                wall_ns=len(cases),
                start_ns=1,
                checks_ns=len(cases) - 1,
                warmup_ns=0,
            ),
        ]
    return found


def test_records_of_parts_are_those_of_one_launch() -> None:
    joined = parts.join([part(0, 2, 4), part(1, 3)])
    kinds = [one["record"] for one in joined]
    assert kinds == (
        ["header", *["case"] * 5, *["begin"] * 0]
        + ["begin", "check"] * 5
        + ["order", *["samples"] * 5, "load", "footer"]
    )
    assert [one["case"] for one in joined if one["record"] == "case"] == [0, 1, 2, 3, 4]
    order = next(one for one in joined if one["record"] == "order")
    assert sorted(order["cases"]) == [0, 1, 2, 3, 4]
    assert [one["case"] for one in joined if one["record"] == "samples"] == order["cases"]
    assert (joined[-1]["cases"], joined[-1]["timed_ns"], joined[-1]["wall_ns"]) == (5, 10, 3)
    assert (joined[-1]["start_ns"], joined[-1]["checks_ns"]) == (1, 2)  # of the longest part


def test_a_part_that_ends_early_leaves_its_case_under_way() -> None:
    """Whichever part it is, and whether a check or a call was its last."""
    checking = part(1, 3, footer=False)[:4]
    timing = [*part(1, 3, footer=False)[:-1], record("under_way", block=0, case=3)]
    for broken, culprit in ((checking, 1), (timing, 3)):
        joined = [one for one in parts.join([part(0, 2)], [broken]) if one["record"] in _KNOWN]
        assert joined[-1]["record"] != "footer"
        records = msgspec.convert(_complete(joined), list[_Record])
        assert under_way(records) == culprit == parts.under_way(broken)


def test_a_part_that_ends_in_an_earlier_block_than_others() -> None:
    head = [one for one in part(0, 2)[:-2] if one["record"] != "samples"]
    order = record("order", block=1, cases=[0, 2])
    ahead = [*head, order, samples(0, 2), samples(2, 2), *part(0, 2)[-2:]]
    late = [*part(1, 3, footer=False)[:-1], record("under_way", block=0, case=3)]
    joined = [one for one in parts.join([ahead], [late]) if one["record"] in _KNOWN]
    records = msgspec.convert(_complete(joined), list[_Record])
    assert under_way(records) == 3


SILENT = """#!/bin/bash
for out; do :; done
echo '{"record":"header"}' >"$out.part"
touch -d '100 seconds ago' "$out.part"
exec sleep 60
"""


def job(folder: Path, mpirun: str) -> tuple[Installation, Job, Path]:
    """PLAN on 64 ranks, by a script in place of smpirun; where the records belong."""
    script, records = folder / "smpirun", folder / "records.ndjson"
    script.write_text(mpirun)
    script.chmod(0o755)
    (folder / "plan").write_text(PLAN.text())
    library = msgspec.structs.replace(build.LIBRARY, build={"selector": "ompi"})
    program = ["/probe", "--plan", str(folder / "plan"), "--out", str(records)]
    one = jobs.job(folder, program, Placement(nodes=64, ppn=1), seconds=20)
    return Installation(library, script, None), one, records


def test_parts_that_hang_are_as_old_as_their_last_words(tmp_path: Path) -> None:
    """By which a launch that hangs is told from one that is slow."""
    installation, one, records = job(tmp_path, SILENT)
    short = msgspec.structs.replace(one, timeout_seconds=2)
    done = simulated.Simulated(Simulation(library="ompi")).run(SimGrid(), installation, short)
    assert done.timed_out
    assert time.time() - Path(f"{records}.part").stat().st_mtime > 90


SPOILT = f"""#!/bin/bash
out="${{@: -1}}"
{fake_probe.COMMAND} "${{@: -3:1}}" "$out.good"
sed 's/@/@/' "$out.good" > "$out"
"""


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ('"ns": .1003/"ns": ?1003', "malformed"),
        ('"ns": .1003/"ns": [-1003', ">= 0"),
        ('"ns": .1003/"ns": [1, 1003', "case 3 has not as many times"),
    ],
)
def test_a_part_whose_records_are_bad(tmp_path: Path, change: str, what: str) -> None:
    """The launch ends with them, in the case that was under way, and nothing of it is learnt."""
    installation, one, records = job(tmp_path, SPOILT.replace("@/@", change))
    launcher = simulated.Simulated(Simulation(library="ompi"))
    assert launcher.run(SimGrid(), installation, one).status == 0
    assert not records.exists() and launcher._known._records == {}
    part = Path(f"{records}.part")
    with pytest.raises(ndjson.BadRecordsError, match=what) as caught:
        ndjson.decode(part, partial=True, plan=PLAN.text())
    assert caught.value.case == 3
    good = tmp_path / "good"
    good.mkdir()
    installation, one, records = job(good, SPOILT)
    assert launcher.run(SimGrid(), installation, one).status == 0
    assert len(ndjson.decode(records, plan=PLAN.text())) == 35
    assert len(launcher._known._records) == 8


_Record = Begin | Check | Order | Samples | UnderWay
_KNOWN = ("begin", "check", "order", "samples", "under_way")


def _complete(records: list[parts.Record]) -> list[parts.Record]:
    return [one | ({"detail": ""} if one["record"] == "check" else {}) for one in records]


RULES = """plumbline-profile 1
rule function=MPI_Bcast nprocs=4-4 bytes=1-9 variant=bcast_chain
rule function=MPI_Reduce nprocs=4-4 bytes=1-9 variant=reduce_as_allreduce
rule function=MPI_Allreduce nprocs=4-4 bytes=1-9 variant=allreduce_ring
"""


@pytest.mark.parametrize(
    ("function", "variant", "meets"),
    [
        ("MPI_Bcast", "default", ["MPI_Bcast"]),
        ("MPI_Gather", "default", []),
        ("MPI_Bcast", "bcast_chain", []),
        ("MPI_Bcast", "bcast_as_split:pieces=2", ["MPI_Bcast"]),
        ("MPI_Bcast", "library", []),
        ("MPI_Gather", "gather_as_reduce", ["MPI_Reduce", "MPI_Allreduce"]),
        ("MPI_Gather", "gather_as_nobody_knows_what", ["MPI_Bcast", "MPI_Reduce", "MPI_Allreduce"]),
    ],
)
def test_rules_that_a_case_meets(function: str, variant: str, meets: list[str]) -> None:
    """Also those that a rule's own variant meets in turn."""
    found = rules_of(RULES, function, variant)
    assert [line.split()[1].removeprefix("function=") for line in found] == meets


def test_what_is_known_is_found_again_under_another_number() -> None:
    known, words = Known(), ["--cfg=smpi/coll-selector:ompi"]
    two = Plan("a", 1, CASES[:2], Data(), blocks=1, reps=1, warmup=0)
    known.learn(known_keys(two.text(), words, ""), part(0, 1))
    other = Plan("b", 9, CASES[1:3], Data(), blocks=1, reps=1, warmup=0).text()
    found = known.look_up(known_keys(other, words, ""))
    assert list(found) == [0] and {one["case"] for one in found[0]} == {0}
    assert next(one for one in found[0] if one["record"] == "samples")["ns"] == [1]
    assert known.look_up(known_keys(other, ["--cfg=smpi/coll-selector:mpich"], "")) == {}
    assert known.look_up(known_keys(other, words, RULES)) == {}  # gather_as_reduce meets a rule
    assert known.look_up(known_keys(other.replace("reps=1", "reps=2"), words, "")) == {}


@pytest.mark.mpi
@pytest.mark.slow
def test_64_ranks_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same nanoseconds, but for the last digits, in one process, in two, and from memory."""
    settings = load(None, {"simulate": "ompi", "nprocs": 64, "nodes": 16})
    ranks = starting.starter(simgrid.toolchain(settings), settings)

    def times() -> tuple[dict[int, int], Mapping[int, str]]:
        run, records = ranks.start("c", "s", 0, PLAN.text(), {})
        assert run.finished, run.reason + run.stderr
        (ns,) = zip(*(one.ns for one in records if isinstance(one, Samples)), strict=True)
        order = [one.case for one in records if isinstance(one, Samples)]
        checks = {one.case: one.outcome for one in records if isinstance(one, Check)}
        return dict(zip(order, ns, strict=True)), checks

    monkeypatch.setattr("plumbline.system.machine.processing_units", lambda: 2)
    in_two, checks = times()
    assert set(checks.values()) == {"ok"} and set(checks) == set(in_two) == set(range(len(CASES)))
    again, _ = times()
    monkeypatch.setattr(simulated, "MANY", 1000)
    whole, _ = times()
    assert in_two == pytest.approx(whole, rel=1e-4) and again == pytest.approx(in_two, rel=1e-4)
