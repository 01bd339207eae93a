"""Factors: what is compared before launches are joined, and what that says."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from plumbline.core.plan import Plan, PlanCase
from plumbline.measure import factors
from plumbline.measure.launches import LaunchStore, Series
from plumbline.system.placement import Placement
from plumbline_db import runs
from plumbline_db.connection import Database
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import Cache, Clock, Factor, Header, ProbeRecord
from plumbline_db.records import Run, Suite
from tests.db import build
from tests.tuner.simulated import Costs, SimulatedStarter

ROOT = Path(__file__).resolve().parents[3]
KERNEL = Factor("kernel", ["Linux 6.1"])


def header(**changes: object) -> Header:
    plain = build.header(build.run(), 5)
    plain = msgspec.structs.replace(
        plain,
        factors=[KERNEL, Factor("governor", ["performance"]), Factor("turbo", [], "no cpufreq")],
        environment={"OMPI_MCA_btl": "self,vader"},
    )
    return msgspec.structs.replace(plain, **changes)


def changed(name: str, values: list[str], missing: str = "") -> Header:
    others = [one for one in header().factors if one.name != name]
    return header(factors=[*others, Factor(name, values, missing)])


def test_every_factor_of_the_probe_and_of_the_header_has_its_rule() -> None:
    table = (ROOT / "probes/system/factors.def").read_text()
    of_probe = set(re.findall(r"^PL_FACTOR\((\w+)\)", table, re.MULTILINE))
    of_header = set(factors.facts(header(factors=[], environment={})))
    known = set(factors.rules())
    assert known - {"environment LD_LIBRARY_PATH"} == of_probe | of_header | {"environment"}
    for name, rule in factors.rules().items():
        assert bool(rule.remedy) == (rule.join == "equal"), name


def test_equal_launches_do_not_differ() -> None:
    assert factors.require_joinable([("a", header()), ("b", header()), ("c", header())]) == []
    assert factors.require_joinable([("a", header())]) == []
    assert factors.require_joinable([]) == []


@pytest.mark.parametrize(
    ("other", "factor", "value"),
    [
        (changed("kernel", ["Linux 6.2"]), "kernel", "Linux 6.2"),
        (changed("governor", ["performance", "powersave"]), "governor", "performance | powersave"),
        (changed("turbo", ["on"]), "turbo", "on"),
        (header(binding=["0", "1", "0", "1"]), "binding", "0; 1; 0; 1"),
        (header(cache=Cache("cycle", 4096)), "cache", "cycle, 4096 B"),
        (header(clock=Clock("tsc", 1, 9)), "clock", "tsc"),
        (header(sync="window"), "sync", "window"),
        (header(runtime="global"), "runtime", "global"),
        (header(oversubscribed=False), "oversubscribed", "no"),
        (header(hosts=["node2"]), "hosts", "node2"),
        (header(environment={}), "environment OMPI_MCA_btl", "not set"),
        (header(environment={"OMPI_MCA_btl": "^tcp"}), "environment OMPI_MCA_btl", "^tcp"),
    ],
)
def test_what_must_be_equal_is_refused(other: Header, factor: str, value: str) -> None:
    launches = [("c/before-000", header()), ("c/before-001", header()), ("c/before-002", other)]
    with pytest.raises(PlumblineError) as caught:
        factors.require_joinable(launches)
    text = str(caught.value)
    first = factors.facts(header())[factor]
    assert f"{factor}: {first} (c/before-000 and 1 more), {value} (c/before-002): " in text
    assert factors.rule_of(factor).remedy in text and "--new" in text


@pytest.mark.parametrize(
    "other",
    [
        header(hosts=["node1"], seed=99, run="other", blocks=1),
        header(clock=Clock("monotonic_raw", 40, 25)),
        changed("turbo", [], "another reason"),
        changed("frequency_now", ["2000 to 3000 MHz"]),
        header(
            environment={
                "OMPI_MCA_btl": "self,vader",
                "OMPI_MCA_orte_hnp_uri": "1.0;tcp://192.0.2.1:1",
                "OMPI_MCA_ess_base_jobid": "7",
                "PLUMBLINE_DB": "state/a.db",
                "PLUMBLINE_PREFIX": "/opt/plumbline",
                "PLUMBLINE_PYTHON": "/usr/bin/python3",
                "PLUMBLINE_REPORT": "/tmp/report",
            }
        ),
    ],
)
def test_what_moves_all_the_time_is_not_a_difference(other: Header) -> None:
    assert factors.require_joinable([("a", header()), ("b", other)]) == []


def test_what_may_vary_is_noted() -> None:
    two = header(hosts=["n1", "n2"])
    turned = msgspec.structs.replace(
        two, hosts=["n2", "n1"], factors=[*two.factors, Factor("boot", ["2"])]
    )
    first = msgspec.structs.replace(two, factors=[*two.factors, Factor("boot", ["1"])])
    noted = factors.require_joinable([("a", first), ("b", turned), ("c", turned)])
    assert [one.text() for one in noted] == [
        "host_order: n1, n2 (a), n2, n1 (b and 1 more)",
        "boot: 1 (a), 2 (b and 1 more)",
    ]


def test_launches_of_an_earlier_probe_recorded_less() -> None:
    assert factors.require_joinable([("old", header(factors=[])), ("new", header())]) == []


def test_a_factor_without_a_rule_must_be_equal() -> None:
    assert factors.rule_of("gravity").join == "equal"
    assert factors.rule_of("environment UCX_TLS").remedy == factors.rules()["environment"].remedy


def test_suites_may_be_asked_for_different_things() -> None:
    other = header(sync="none", environment={"PLUMBLINE_PROFILE": "x"}, binding=["0"] * 4)
    assert factors.require_joinable([("a", header()), ("b", other)], across_suites=True) == []
    with pytest.raises(PlumblineError, match="kernel"):
        factors.require_joinable(
            [("a", header()), ("b", changed("kernel", ["Linux 6.2"]))], across_suites=True
        )


def test_suites_that_are_started_alike_are_bound_alike() -> None:
    launches = [("a", header()), ("b", header(binding=["0"] * 4, sync="none"))]
    assert factors.require_joinable(launches, across_suites=True) == []
    with pytest.raises(PlumblineError, match=r"binding: 0-1; 0-1.* \(a\), 0; 0; 0; 0 \(b\)"):
        factors.require_joinable(launches, across_suites=True, started_alike=True)


class Machine(SimulatedStarter):
    """`now` is what the headers of its launches say."""

    def __init__(self) -> None:
        super().__init__(Costs())
        self.placement = CROWDED
        self.now = header()

    def answered(self, run: Run, records: list[ProbeRecord]) -> tuple[Run, list[ProbeRecord]]:
        return run, [msgspec.structs.replace(self.now, run=run.id), *records[1:]]


CROWDED = Placement(nodes=1, ppn=4, oversubscribed=True)
BOUND = header(binding=["0", "1", "0", "1"])
PLAN = Plan("before", 1, (PlanCase("MPI_Allreduce", 16384),))


def test_a_launch_under_other_conditions_is_not_stored(db: Database) -> None:
    """It stops the campaign; once the factor is put back, the campaign goes on."""
    campaign = build.started(db)
    machine = Machine()
    store = LaunchStore(db, campaign.id, machine)
    store.launch(Suite("before"), 0, PLAN, {})
    machine.now = changed("governor", ["powersave"])
    for suite in (Suite("before"), Suite("confirm", 1)):
        with pytest.raises(PlumblineError, match=r"governor: performance.*powersave.*cpupower"):
            store.launch(suite, 1, PLAN, {})
    assert len(runs.listing(db, campaign.id)) == 1
    machine.now = header()
    store.launch(Suite("before"), 1, PLAN, {})
    # Another suite has another environment, and keeps it.
    machine.now = header(environment={"PLUMBLINE_PROFILE": "a"})
    store.launch(Suite("confirm", 1), 0, PLAN, {})
    with pytest.raises(PlumblineError, match="environment PLUMBLINE_PROFILE"):
        store.launch(Suite("before"), 2, PLAN, {})
    assert len(runs.listing(db, campaign.id)) == 3


def test_suites_may_be_placed_differently_and_each_only_in_one_way(db: Database) -> None:
    """A suite that is started as a user does joins a campaign whose launches are bound; within it,
    and among those that are started alike, the binding stays."""
    campaign = build.started(db)
    machine = Machine()
    store = LaunchStore(db, campaign.id, machine)
    plain = CROWDED.plain()
    machine.now = BOUND
    store.launch(Suite("before"), 0, PLAN, {})
    store.launch(Suite("confirm", 1), 0, PLAN, {"A": "tuned"})
    machine.now = header()
    Series(store, Suite("confirm", 1, "plain"), PLAN, {"A": "tuned"}, plain).advance(2)
    Series(store, Suite("confirm", 1, "plain").beside(), PLAN, {}, plain).advance(2)
    refused = pytest.raises(PlumblineError, match=r"binding: .*bind the ranks to the same")
    with refused:  # a further look at what was bound
        store.launch(Suite("before", look=2), 0, PLAN, {})
    machine.now = BOUND
    for turn, number in ((1, 2), (2, 0)):
        with refused:
            store.launch(Suite("confirm", turn, "plain"), number, PLAN, {"A": "tuned"}, plain)
    store.launch(Suite("before", look=2), 0, PLAN, {})
    assert len(runs.listing(db, campaign.id)) == 7


def test_what_intel_mpi_makes_anew_for_each_launch_is_not_compared() -> None:
    own = {
        "HYDRA_BSTRAP_UPSTREAM_FD": "7",
        "I_MPI_HYDRA_UUID": "3a520000-5ce9-3fb4-cd60-0600ead7c44f",
        "I_MPI_INFO_CACHE_SIZE": "0,0,0",
        "I_MPI_PIN_MAPPING": "2:0 0,1 1",
        "FI_PSM3_UUID": "3a520000-5ce9-3fb4-cd60-0600ead7c44f",
    }
    other = dict.fromkeys(own, "x")
    theirs = {"I_MPI_FABRICS": "shm", "I_MPI_HYDRA_BOOTSTRAP": "slurm", "FI_PROVIDER": "tcp"}
    launches = [("a", header(environment=own | theirs)), ("b", header(environment=other | theirs))]
    assert factors.differences(launches) == []
    launches[1] = ("b", header(environment=other | theirs | {"I_MPI_FABRICS": "ofi"}))
    assert [one.factor for one in factors.differences(launches)] == ["environment I_MPI_FABRICS"]
