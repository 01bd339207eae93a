"""Factors, counters and load: what the probe says, against what Python sees of the machine."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from plumbline_db.probe_records import Factor
from tests.probes.launch import ROOT, Launch, Probe

pytestmark = pytest.mark.mpi

PLAN = (
    "set blocks=2 warmup=2\ncase id=0 function=MPI_Allreduce bytes=64 reps=40\n"
    "case id=1 function=MPI_Bcast bytes=8 reps=40\n"
)


@pytest.fixture
def launch(probe: Probe) -> Launch:
    done = probe.run(PLAN)
    assert (done.code, done.stderr) == (0, "")
    return done


def factors_of(launch: Launch) -> dict[str, Factor]:
    return {factor.name: factor for factor in launch.header.factors}


def test_every_factor_has_a_value_or_a_reason(launch: Launch) -> None:
    table = (ROOT / "probes/system/factors.def").read_text()
    names = re.findall(r"^PL_FACTOR\((\w+)\)", table, re.MULTILINE)
    assert [factor.name for factor in launch.header.factors] == names
    for factor in launch.header.factors:
        assert bool(factor.values) != bool(factor.missing), factor
        assert all(value.strip() == value != "" for value in factor.values), factor


def test_values_are_those_of_the_machine(launch: Launch) -> None:
    found = {name: factor.values for name, factor in factors_of(launch).items()}
    system = os.uname()
    kernel = f"{system.sysname} {system.release} {system.version} {system.machine}"
    assert found["kernel"] == [kernel]
    assert found["page_bytes"] == [str(os.sysconf("SC_PAGE_SIZE"))]
    assert found["libc"] == [" ".join(platform.libc_ver())]
    assert found["boot"] == [_read("/proc/sys/kernel/random/boot_id")]
    cpuinfo = Path("/proc/cpuinfo").read_text()
    for name, key in (("cpu_model", "model name"), ("microcode", "microcode")):
        values = set(re.findall(rf"^{key}\s*: (.*)$", cpuinfo, re.MULTILINE))
        if values:
            assert found[name] == [", ".join(sorted(values))]
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    limit = "no limit" if soft == resource.RLIM_INFINITY else f"{soft} bytes"
    assert found["locked_memory"] == [limit]
    hypervisor = " hypervisor " in cpuinfo
    if platform.machine() == "x86_64":
        assert (found["hypervisor"] != ["none"]) == hypervisor


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("clocksource", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ("huge_pages", "/proc/sys/vm/nr_hugepages"),
        ("numa_balancing", "/proc/sys/kernel/numa_balancing"),
        ("smt", "/sys/devices/system/cpu/smt/control"),
        ("governor", "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor"),
    ],
)
def test_files_of_the_kernel(launch: Launch, name: str, path: str) -> None:
    factor = factors_of(launch)[name]
    if Path(path).exists():
        assert _read(path) in factor.values[0]
    else:
        assert "No such file" in factor.missing


def test_settings_of_the_process_reach_the_factors(probe: Probe) -> None:
    """Started with less memory to lock, another priority, and addresses that stay."""
    plan, out = probe.write(PLAN), probe.folder / "limited.ndjson"
    words = [*probe.command(2, {}), *("setarch", "-R", "nice", "-n", "5", str(probe.binary))]
    argv = [*words, "--plan", str(plan), "--out", str(out)]
    shell = 'ulimit -S -l 64 && exec "$@"'
    done = probe.start(["bash", "-c", shell, "bash", *argv], out)
    assert done.code == 0, done.stderr
    found = factors_of(done)
    assert found["locked_memory"].values == [f"{64 * 1024} bytes"]
    niceness = min(19, os.nice(0) + 5)
    assert found["scheduling"].values == [f"other, nice {niceness}"]
    assert found["address_randomisation"].values == ["0 (for this process)"]


def test_build_of_the_probe(launch: Launch) -> None:
    found = factors_of(launch)
    version = subprocess.run(["mpicc", "--version"], capture_output=True, text=True, check=True)
    number = found["compiler"].values[0].split()[1]
    assert found["compiler"].values[0].startswith("gcc ") and number in version.stdout
    assert found["compiler_flags"].values == [os.environ.get("CFLAGS", "-O2 -g")]


def test_counts_are_there_where_a_factor_names_their_source(launch: Launch) -> None:
    found = factors_of(launch)
    expected = {"voluntary_switches", "involuntary_switches"}
    if found["migration_counter"].values:
        expected.add("migrations")
    for names in found["hardware_counters"].values:
        expected.update(names.split(", "))
    for samples in launch.samples:
        assert set(samples.counts) == expected
        assert min(samples.counts.values()) >= 0


def test_switches_of_crowded_ranks_are_counted(probe: Probe) -> None:
    """On one core two ranks cannot meet without a switch; each repetition takes one at least."""
    core = min(os.sched_getaffinity(0))
    plan, out = (
        probe.write("set blocks=1 warmup=0\ncase id=0 function=MPI_Barrier bytes=0 reps=50"),
        (probe.folder / "crowded.ndjson"),
    )
    words = ["mpirun", "--oversubscribe", "--bind-to", "none", "-np", "2"]
    pinned = ["taskset", "-c", str(core), str(probe.binary), "--plan", str(plan), "--out", str(out)]
    done = probe.start([*words, *pinned], out)
    assert done.code == 0, done.stderr
    assert done.header.binding == [str(core)] * 2
    counts = done.samples[0].counts
    assert counts["voluntary_switches"] + counts["involuntary_switches"] >= 50
    assert counts.get("migrations", 0) == 0


def test_load_of_the_host(launch: Launch) -> None:
    (host,) = launch.load.hosts
    assert [host.host] == launch.header.hosts
    assert host.own_seconds is not None and host.own_seconds > 0
    assert host.load_start is not None and host.load_start >= 0
    assert host.busy_seconds is not None and host.busy_seconds >= 0
    assert host.stolen_seconds is not None and host.stolen_seconds >= 0


def test_round_trips_before_and_after(launch: Launch, probe: Probe) -> None:
    """They take less than the whole launch, and one rank makes none."""
    first, last = launch.load.trips_ns
    assert 0 < first < launch.footer.wall_ns and 0 < last < launch.footer.wall_ns
    assert probe.run(PLAN, 1).load.trips_ns == []


def test_load_counts_what_others_do(probe: Probe) -> None:
    """A program beside the launch keeps the host busy, and does not count as the launch's own."""
    lines = "set blocks=1 warmup=0\ncase id=0 function=MPI_Reduce_local bytes=8 reps=150\n"
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        done = probe.run(lines, 1, probe.slow(0))
    finally:
        burner.kill()
        burner.wait()
    assert done.code == 0, done.stderr
    (host,) = done.load.hosts
    assert host.busy_seconds is not None and host.own_seconds is not None
    # Rank 0 sleeps 3 ms in each of the 150 calls, while the other program runs on.
    others = host.busy_seconds + (host.stolen_seconds or 0) - host.own_seconds
    assert others > 0.1


def test_several_hosts(probe: Probe) -> None:
    environment = {"LD_PRELOAD": str(probe.faulty), "PLUMBLINE_TEST_HOSTS": "3"}
    done = probe.good(PLAN, 5, environment)
    assert done.header.hosts == ["node0", "node1", "node2"] and done.header.ppn == 2
    assert [host.host for host in done.load.hosts] == done.header.hosts
    assert all(host.own_seconds and host.own_seconds > 0 for host in done.load.hosts)
    found = factors_of(done)
    assert len(found["kernel"].values) == 1 and not found["kernel"].missing
    alone = factors_of(probe.run(PLAN, 1))
    moving = {"frequency_now"}
    for name in found.keys() - moving:
        assert found[name] == alone[name]


def test_system_says_the_factors(probe: Probe) -> None:
    done = probe.start([*probe.command(2, {}), str(probe.binary), "system"])
    assert (done.code, done.stderr) == (0, "")
    said = msgspec.convert(json.loads(done.stdout)["factors"], list[Factor])
    run = {factor.name: factor for factor in probe.run(PLAN).header.factors}
    assert {factor.name for factor in said} == set(run)
    assert all(factor == run[factor.name] for factor in said if factor.name != "frequency_now")


def test_flags_are_those_the_objects_were_built_with(tmp_path: Path) -> None:
    """A build with other flags compiles everything again and says so."""
    command = ["make", "-s", "-C", str(ROOT / "probes"), f"BUILD={tmp_path}", f"{tmp_path}/flags"]
    for flags in ("-O1", "-O2 -g"):
        subprocess.run([*command, f"CFLAGS={flags}"], check=True, timeout=60)
        assert (tmp_path / "flags").read_text() == f"mpicc {flags}\n"
    stamp = (tmp_path / "flags").stat().st_mtime_ns
    subprocess.run([*command, "CFLAGS=-O2 -g"], check=True, timeout=60)
    assert (tmp_path / "flags").stat().st_mtime_ns == stamp
    words = [*command[:-1], "-n", 'CFLAGS=-O1 -DA="b"', "all"]
    planned = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert """-DPL_BUILD_FLAGS='"-O1 -DA=\\"b\\""'""" in planned.stdout


def _read(path: str) -> str:
    return Path(path).read_text().strip()
