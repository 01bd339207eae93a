"""Several "hosts" on one machine: network namespaces on a bridge, each with its own host name,
/dev/shm, IPC and temporary folder, so that MPI takes them for different nodes and talks TCP. The
bridge has a namespace of its own, because on a machine where such a bridge is up Open MPI 4.1 fails
in a collective after a refused one.

Their clocks are one clock: every process reads the same CLOCK_MONOTONIC_RAW, shifted by the offset
of its time namespace where a host has one. So what a clock synchronisation should have found is
known exactly."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

AGENT = """#!/bin/sh
# Called by mpirun as `agent ADDRESS WORD…`, and by the tests to start mpirun on the first host.
address=$1; shift
number=${address##*.}
case " @SHIFTED@ " in
*" $number "*) clock="--time --monotonic @SHIFT@" ;;
*) clock= ;;
esac
folder=@FOLDER@/host-$number
mkdir -p "$folder"
export TMPDIR="$folder"
exec ip netns exec @NAME@-$number unshare --uts --ipc --mount $clock --fork --kill-child \\
    sh -c 'hostname @NAME@-$0 && mount -t tmpfs tmpfs /dev/shm && eval "$1"' "$number" "$*"
"""


class NotAllowed(Exception):
    """Namespaces cannot be made here, and why."""


@dataclass(frozen=True)
class Hosts:
    """`addresses[i]` is host i, whose host name is `names[i]`; its monotonic clocks are
    `shift_seconds[i]` ahead of the machine's."""

    addresses: tuple[str, ...]
    names: tuple[str, ...]
    shift_seconds: tuple[int, ...]
    network: str
    agent: Path

    def command(
        self,
        ranks_per_host: int,
        words: Sequence[str],
        environment: dict[str, str] | None = None,
        openmpi_5: Path | None = None,
    ) -> list[str]:
        """The command line that runs `words` with `ranks_per_host` ranks on every host, by the
        mpirun of PATH (Open MPI 4.1) or of the prefix `openmpi_5`."""
        where = ",".join(f"{address}:{ranks_per_host}" for address in self.addresses)
        parameters = {
            "plm_rsh_agent": str(self.agent),
            "btl": "self,vader,tcp",
            "pml": "ob1",
            "btl_tcp_if_include": self.network,
            "oob_tcp_if_include": self.network,
            "mpi_yield_when_idle": "1",
            "hwloc_base_binding_policy": "none",
        }
        mpirun = ["mpirun", "--oversubscribe", "--map-by", "slot"]
        if openmpi_5 is not None:
            # Daemons, mapping and binding are PRRTE's.
            for name in ("plm_rsh_agent", "oob_tcp_if_include", "hwloc_base_binding_policy"):
                del parameters[name]
            parameters["btl"] = "self,sm,tcp"
            mpirun = [str(openmpi_5 / "bin" / "mpirun")]
            mpirun += ["--prtemca", "plm_ssh_agent", str(self.agent)]
            mpirun += ["--prtemca", "prte_if_include", self.network]
            mpirun += ["--map-by", "slot:OVERSUBSCRIBE", "--bind-to", "none"]
        mpirun += ["--host", where, "-np", str(ranks_per_host * len(self.addresses))]
        for name, value in parameters.items():
            mpirun += ["--mca", name, value]
        for name, value in (environment or {}).items():
            mpirun += ["-x", f"{name}={value}"]
        return [str(self.agent), self.addresses[0], *mpirun, *words]


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=20)
    if done.returncode != 0:
        raise NotAllowed(f"{' '.join(words)}: {done.stderr.strip()}")


def _left_behind() -> Iterator[str]:
    """Namespaces of test runs that were killed."""
    found = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=False)
    for line in found.stdout.splitlines():
        word = line.split()[0] if line.split() else ""
        parts = word.split("-")
        ours = len(parts) == 3 and parts[0] == "plumb" and parts[1].isdigit()
        if ours and not Path("/proc", parts[1]).exists():
            yield word


def shifts_are_possible() -> bool:
    """The kernel has time namespaces, and this user may make one."""
    probe = ["unshare", "--time", "--monotonic", "100", "--fork", "cat", "/proc/uptime"]
    return subprocess.run(probe, capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def hosts(folder: Path, count: int = 2, shift_seconds: int = 0, rate: str = "") -> Iterator[Hosts]:
    """`count` hosts for as long as the context lasts; all but the first have their monotonic clocks
    `shift_seconds` ahead. `rate`: of the link of each, as tc writes it (50mbit; empty: as fast as
    it can). Raises NotAllowed with the reason where they cannot be had."""
    for tool in ("ip", "unshare", "mount", "hostname", *(["tc"] if rate else [])):
        if shutil.which(tool) is None:
            raise NotAllowed(f"there is no {tool}")
    if os.geteuid() != 0:
        raise NotAllowed("namespaces need root")
    name, third = f"plumb-{os.getpid()}", os.getpid() % 250
    hub = f"{name}-hub"
    agent = folder / "agent.sh"
    agent.write_text(
        AGENT.replace("@NAME@", name)
        .replace("@FOLDER@", str(folder))
        .replace(
            "@SHIFTED@", " ".join(str(i + 1) for i in range(1, count)) if shift_seconds else ""
        )
        .replace("@SHIFT@", str(shift_seconds))
    )
    agent.chmod(0o755)
    for old in _left_behind():
        subprocess.run(["ip", "netns", "del", old], check=False, capture_output=True)
    try:
        _run("ip", "netns", "add", hub)
        _run("ip", "-n", hub, "link", "add", "bridge", "type", "bridge")
        _run("ip", "-n", hub, "link", "set", "bridge", "up")
        for number in range(1, count + 1):
            space, port = f"{name}-{number}", f"port{number}"
            _run("ip", "netns", "add", space)
            peer = ("type", "veth", "peer", "eth0", "netns", space)
            _run("ip", "-n", hub, "link", "add", port, *peer)
            _run("ip", "-n", hub, "link", "set", port, "master", "bridge", "up")
            address = f"10.213.{third}.{number}/24"
            _run("ip", "-n", space, "address", "add", address, "dev", "eth0")
            _run("ip", "-n", space, "link", "set", "eth0", "up")
            _run("ip", "-n", space, "link", "set", "lo", "up")
            if rate:
                words = ["tbf", "rate", rate, "burst", "32kb", "latency", "300ms"]
                _run("tc", "-n", space, "qdisc", "add", "dev", "eth0", "root", *words)
        _run(str(agent), f"10.213.{third}.{count}", "true")
        yield Hosts(
            addresses=tuple(f"10.213.{third}.{i}" for i in range(1, count + 1)),
            names=tuple(f"{name}-{i}" for i in range(1, count + 1)),
            shift_seconds=tuple(shift_seconds if i else 0 for i in range(count)),
            network=f"10.213.{third}.0/24",
            agent=agent,
        )
    finally:
        for space in (*(f"{name}-{number}" for number in range(1, count + 1)), hub):
            subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """The second host's clocks are 1000 s ahead where the kernel can do that. Skips, with the
    reason, where hosts cannot be had."""
    shift_seconds = 1000 if shifts_are_possible() else 0
    try:
        with hosts(tmp_path_factory.mktemp("hosts"), 2, shift_seconds) as made:
            yield made
    except NotAllowed as error:
        pytest.skip(f"no hosts in namespaces: {error}")
