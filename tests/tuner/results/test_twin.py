"""A machine fitted to ping-pongs: exact where the machine is a simulated one."""

from __future__ import annotations

import msgspec
import pytest

from plumbline.launch.simulation import Simulation
from plumbline.results import twin
from plumbline.settings.campaign_file import load
from plumbline_db.errors import UsageError
from tests import simgrid

SIZES = [1, 64, 1024, 8192, 65536, 1048576]
START = Simulation(library="ompi")


def respond(machine: Simulation) -> dict[int, float]:
    """As SimGrid does: numbers times factors that jump with the size."""
    latency = 2 * machine.latency_seconds + machine.switch_latency_seconds
    own = machine.send_seconds + machine.receive_seconds
    return {
        size: (2.0 if size < 1000 else 3.5) * latency
        + size / machine.bandwidth_bytes_per_second / (0.6 if size < 9000 else 0.9)
        + own * (size < 65536)
        for size in [0, *SIZES]
    }


def test_a_machine_is_found_again() -> None:
    truth = msgspec.structs.replace(
        START,
        latency_seconds=3e-6,
        switch_latency_seconds=0.0,
        bandwidth_bytes_per_second=5e9,
        send_seconds=1e-6,
        receive_seconds=1e-6,
    )
    found = twin.fit(respond(truth), respond, START, near=False)
    assert found.simulation == truth
    assert found.error < 1e-9 and [one.bytes for one in found.sizes] == SIZES


def test_one_size_that_was_disturbed_turns_nothing() -> None:
    measured = respond(START)
    disturbed = measured | {1024: 10 * measured[1024]}
    found = twin.fit(disturbed, respond, START, near=False)
    (off,) = [one for one in found.sizes if abs(one.error) > 0.01]
    assert (off.bytes, off.error) == (1024, pytest.approx(-0.9, abs=0.01))
    assert found.error == pytest.approx(0.9 / len(SIZES), abs=0.01)


def test_too_few_sizes() -> None:
    with pytest.raises(UsageError, match="2 sizes are too few"):
        twin.fit({0: 1e-6, 1: 1e-6, 8: 1e-6}, respond, START, near=False)


def test_the_table_is_one_of_a_campaign_file(tmp_path: object) -> None:
    machine = msgspec.structs.replace(START, near_latency_seconds=1e-7, send_seconds=0.0)
    import tomllib

    values = tomllib.loads(twin.table(machine))
    assert msgspec.convert(values["simulate"], Simulation) == machine
    assert load(None, {"simulate": "ompi"}).ranks.simulate == START


@pytest.mark.mpi
@pytest.mark.slow
@pytest.mark.parametrize("near", [False, True])
def test_simgrid_answers_as_it_was_asked(near: bool) -> None:
    """Ping-pongs of a simulated machine lead back to it."""
    truth = Simulation(
        library="ompi",
        latency_seconds=2e-6,
        switch_latency_seconds=0.0,
        bandwidth_bytes_per_second=3e9,
        near_latency_seconds=3e-7,
        near_bandwidth_bytes_per_second=8e9,
        send_seconds=7e-7,
        receive_seconds=7e-7,
    )

    def ask(machine: Simulation) -> twin.Times:
        return twin.half_trips(machine, SIZES, near=near)

    with simgrid.there():
        measured = ask(truth)
    found = twin.fit(measured, ask, START, near=near)
    assert found.error < 0.01
    assert found.simulation.send_seconds == pytest.approx(truth.send_seconds, rel=0.02)
    name = "near_latency_seconds" if near else "latency_seconds"
    assert getattr(found.simulation, name) == pytest.approx(getattr(truth, name), rel=0.02)
