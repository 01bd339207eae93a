"""Warnings about the conditions of a measurement: when there are some, and what to do; the machine
and where its ranks are."""

from __future__ import annotations

import re

import msgspec
import pytest

from plumbline.measure import conditions
from plumbline.measure.settling import FirstBlockTimes
from plumbline_db.probe_records import Factor, Footer, Header, HostLoad, Load
from plumbline_db.runs import Surroundings
from tests.db import build


def header(**changes: object) -> Header:
    """Nothing to complain about: four bound ranks on four processors."""
    plain = msgspec.structs.replace(
        build.header(build.run(), 5),
        processing_units=4,
        oversubscribed=False,
        binding=["0", "1", "2", "3"],
        factors=[
            Factor("governor", ["performance"]),
            Factor("turbo", ["off"]),
            Factor("numa_balancing", ["0"]),
            Factor("cgroup_cpu", ["no limit"]),
            Factor("clocksource", ["tsc"]),
        ],
    )
    return msgspec.structs.replace(plain, **changes)


def test_good_conditions_need_no_words() -> None:
    assert conditions.of_header(header()) == []
    unknown = [Factor(one.name, [], "not here") for one in header().factors]
    assert conditions.of_header(header(factors=unknown)) == []
    assert conditions.of_header(header(factors=[])) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"oversubscribed": True, "processing_units": 2}, "4 ranks on 2 processing units"),
        ({"binding": ["0-3", "1", "0-3", "3"]}, "2 of 4 ranks are not bound.*--bind-to core"),
        ({"factors": [Factor("governor", ["ondemand", "performance"])]}, "ondemand.*cpupower"),
        ({"factors": [Factor("turbo", ["off", "on"])]}, "turbo is on.*no_turbo"),
        ({"factors": [Factor("numa_balancing", ["1"])]}, "kernel.numa_balancing=0"),
        ({"factors": [Factor("cgroup_cpu", ["1.5 processors"])]}, "1.5 processors.*without"),
        ({"factors": [Factor("clocksource", ["hpet"])]}, "hpet: each reading"),
    ],
)
def test_each_weakness_is_said_with_its_remedy(changes: dict[str, object], words: str) -> None:
    (found,) = conditions.of_header(header(**changes))
    assert re.search(words, found.text), found


def test_oversubscribed_ranks_share_cores_and_are_not_called_unbound() -> None:
    crowded = header(oversubscribed=True, processing_units=2, binding=["0-1"] * 4)
    assert len(conditions.of_header(crowded)) == 1


def launch(number: int, busy: float, own: float, stolen: float = 0.0) -> Surroundings:
    load = Load([HostLoad("node1", 0.5, 0.6, busy, own, stolen), HostLoad("n2", 0, 0, 1, 1, 0)])
    started = "2025-03-01T10:00:01+00:00"
    name = f"c/before-{number:03}"
    return Surroundings(number, name, "before", header(), load, 2.0, started, 2.5)


def test_launches_beside_other_work_are_counted() -> None:
    quiet = [launch(i, 4.0, 3.95) for i in range(10)]
    assert conditions.of_launches(quiet) == []
    (found,) = conditions.of_launches([*quiet, launch(11, 4.0, 2.0), launch(12, 4.0, 1.0)])
    assert found.text.startswith("2 of 12 launches ran beside other work: 1.2 processors on")
    assert "wait until" in found.text
    (found,) = conditions.of_launches([*quiet, launch(11, 4.0, 4.0, stolen=0.5)])
    assert "1 of 11" in found.text and "0.25 were taken by the hypervisor" in found.text


def test_short_launches_show_load_together() -> None:
    """Ticks are 10 ms long: a launch of 60 ms cannot show a quarter of a processor, twenty can."""
    short = Load([HostLoad("node1", 0.5, 0.6, 0.10, 0.06, 0.0)])
    one = launch(0, 0, 0)._replace(load=short, wall_seconds=0.06)
    assert not conditions.foreign(short, 0.06).high
    assert conditions.of_launches([one]) == []
    (found,) = conditions.of_launches([one] * 20)
    assert found.text.startswith("all 20 launches together ran beside other work: 0.7 processors")


def test_kernels_that_do_not_say() -> None:
    silent = Load([HostLoad("node1", None, None, None, 1.0, None)])
    found = conditions.foreign(silent, 1.0)
    assert found == conditions.Foreign(None, None, 1.0, False)
    assert conditions.of_launches([]) == []


def test_records_of_launches_that_are_not_stored() -> None:
    records = build.records(build.run(), [build.Timed()])[1:-1]
    load = Load([HostLoad("node1", 0.5, 0.6, 3.0, 1.0, 0.0)])
    every = [[header(), *records, load, Footer(1, 1, 2_000_000_000)]] * 3
    (found,) = conditions.of_records(every)
    assert found.text.startswith("3 of 3 launches ran beside other work: 1.0 processors")
    assert conditions.of_records([]) == []


def test_a_debug_build_is_said() -> None:
    assert conditions.of_build({"debug": "no", "memory_debug": "no"}) == []
    assert conditions.of_build({}) == []
    (found,) = conditions.of_build({"debug": "yes"})
    assert "debugging" in found.text


def test_summary_of_a_result() -> None:
    first = launch(0, 4.0, 4.0)
    booted = [*header().factors, Factor("boot", ["1"]), Factor("papi", [], "built without")]
    again = [*header().factors, Factor("boot", ["2"])]
    launches = [
        first._replace(header=header(factors=booted)),
        first._replace(run="c/search-000", header=header(factors=again, sync="none")),
    ]
    found = conditions.summary(launches, {"debug": "yes"})
    assert found.factors["governor"] == "performance" and found.factors["nprocs"] == "4"
    assert found.missing == {"papi": "built without"}
    assert "papi" not in found.factors and found.varied == [
        "boot: 1 (c/before-000), 2 (c/search-000)"
    ]
    assert [one.name for one in found.warnings] == ["debug"]
    assert conditions.summary([], {}) == conditions.Conditions({}, {}, [], [])


def start(label: str, first: int, ns: int, **more: object) -> FirstBlockTimes:
    return FirstBlockTimes(label, [first, ns], [ns], **({"settled": True} | more))  # type: ignore[arg-type]


def test_what_has_settled_needs_no_words() -> None:
    same = [start("MPI_Bcast default at 8 B", 1000, 1001)]
    for simulated in (False, True):
        assert conditions.of_starts(same, simulated=simulated) == []
    assert conditions.of_starts([start("a", 129_600, 122_800)], simulated=False) == []


def test_first_calls_of_a_simulated_machine() -> None:
    many = [start(f"case {number}", 1050 + number, 1000) for number in range(8)]
    steady = start("steady", 1000, 1000)
    (found,) = conditions.of_starts([*many, steady], simulated=True)
    assert found.name == "first_calls"
    assert found.text.startswith("the first call of 8 cases of 9 takes another time")
    assert "case 7 1.057 µs, then 1, case 6" in found.text and "and 3 more" in found.text


def test_what_did_not_settle_is_said() -> None:
    never = [start("MPI_Reduce default at 8 B", 9, 9, settled=False)] * 2
    (found,) = conditions.of_starts(never, simulated=False)
    assert found.name == "unsettled" and "at 8 B (2 launches)" in found.text
    (found,) = conditions.of_starts(never, simulated=True)
    assert "1 case found no cycle in 10 repetitions" in found.text


def test_what_gave_no_result_is_said_with_a_reason() -> None:
    assert conditions.of_refusals([]) == []
    late = "no repetition was valid: 3 were late, 0 overran; choose …"
    (found,) = conditions.of_refusals([("MPI_Bcast default at 8 B", late)] * 2 + [("b", late)])
    assert found.name == "refused"
    assert found.text.startswith("2 cases gave no result: MPI_Bcast default at 8 B (2 launches), b")
    assert found.text.endswith(f"of b, at last: {late}")


def test_blocks_that_are_left_out() -> None:
    label = "MPI_Reduce default at 8 B"
    late = [start(label, 9, 9, transit=blocks, launches=3) for blocks in (4, 5, 0)]
    (found,) = conditions.of_starts(late, simulated=False)
    assert found.name == "transit"
    assert "at 8 B (up to 5 blocks of 2 of 3 launches)" in found.text
    chance = [start(label, 9, 9, transit=blocks, launches=4) for blocks in (4, 5, 0, 0)]
    assert conditions.of_starts([*chance, start("one", 9, 9, transit=1)], simulated=False) == []
