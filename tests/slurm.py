"""A cluster under a real Slurm on this machine: munged, slurmctld and a slurmd for each node, all
started and stopped here, with their files in one folder.

The three nodes of `slurm` are this machine; the first has its host name, so that mpirun starts
ranks there itself. The two nodes of `slurm_apart` are hosts in network namespaces
(tests/hosts.py)."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import hosts as namespaces
from tests.hosts import Hosts, NotAllowed

CONFIGURATION = """\
ClusterName=plumb
SlurmctldHost={host}({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=10000
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
KillWait=2
MinJobAge=300
SlurmdTimeout=300
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
NODE = "NodeName={} NodeHostname={} NodeAddr={} Port={} CPUs=4 Feature={}"
AGENT = "agent.sh"
PATIENCE_SECONDS = 60
OTHERS = ("second", "third")


@dataclass
class Cluster:
    """`apart`: the hosts in namespaces that are the nodes; None: all nodes are this machine."""

    folder: Path
    nodes: tuple[str, ...]
    apart: Hosts | None = None
    _daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def on(self, node: str, *words: str) -> list[str]:
        """Return the words that run a command on a node."""
        if self.apart is None:
            return list(words)
        address = self.apart.addresses[self.nodes.index(node)]
        return [str(self.folder / AGENT), address, f"exec {shlex.join(words)}"]

    def ask(self, *words: str) -> str:
        command = self.on(self.nodes[0], *words)
        done = subprocess.run(
            command, env=os.environ | self.environment, capture_output=True, text=True, timeout=60
        )
        return done.stdout if done.returncode == 0 else ""

    def jobs(self, states: str = "all") -> list[tuple[str, str, str]]:
        """Number, name and state of each."""
        form = ("--noheader", "--array", f"--states={states}", "--format=%i|%j|%T")
        lines = self.ask("squeue", *form).splitlines()
        return [(one[0], one[1], one[2]) for one in (line.split("|") for line in lines)]

    def until(self, what: str, states: str = "all") -> list[tuple[str, str, str]]:
        """The jobs in state `what`, once there is one."""
        for _ in _patience(f"no job is {what}: {self.jobs()}"):
            found = [one for one in self.jobs(states) if one[2] == what]
            if found:
                return found
        raise AssertionError

    def close(self, closed: str) -> None:
        """No job starts on the node `closed` from now on; on the other ones jobs do."""
        for node in self.nodes:
            state = ("DRAIN", "Reason=test") if node == closed else ("RESUME",)
            self.ask("scontrol", "update", f"NodeName={node}", f"State={state[0]}", *state[1:])

    def start(self) -> None:
        self._start(
            *("munged", "--foreground", "--force", "--num-threads=1"),
            *(f"--key-file={self.folder}/munge.key", f"--socket={self.folder}/munge.socket"),
            *(f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log"),
            f"--seed-file={self.folder}/munge.seed",
        )
        for _ in _patience("munged does not listen"):
            if (self.folder / "munge.socket").exists():
                break
        self._start("slurmctld", "-D", "-i")
        for node in self.nodes:
            self._start("slurmd", "-D", "-N", node, key=f"slurmd-{node}", node=node)
        self._until_idle()

    def stop(self) -> None:
        self.ask("scancel", "--user=root")
        with contextlib.suppress(AssertionError):
            for _ in _patience("jobs do not end", 20):
                if not self.jobs("pending,running,completing"):
                    break
        for name in reversed(list(self._daemons)):
            self._stop(name)

    def _until_idle(self) -> None:
        for _ in _patience(f"nodes are not idle; see {self.folder}"):
            states = self.ask("sinfo", "--noheader", "--Node", "--format=%t").split()
            if len(states) == len(self.nodes) and set(states) == {"idle"}:
                return
            for name, daemon in self._daemons.items():
                if daemon.poll() is not None:
                    raise NotAllowed(f"{name} ends with status {daemon.returncode}")

    def _start(self, *words: str, key: str = "", node: str = "") -> None:
        program = shutil.which(words[0], path=os.environ["PATH"] + ":/usr/sbin:/sbin")
        if program is None:
            raise NotAllowed(f"there is no {words[0]} (Debian: slurm-wlm, munge)")
        signal_name = "TERM" if self.apart is None else "KILL"  # unshare ignores SIGTERM
        setpriv = ["setpriv", "--pdeathsig", signal_name, "--"]
        if shutil.which("setpriv") is None:
            setpriv = []
        with (self.folder / f"{key or words[0]}.out").open("ab") as out:
            self._daemons[key or words[0]] = subprocess.Popen(
                [*setpriv, *self.on(node or self.nodes[0], program, *words[1:])],
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def _stop(self, name: str) -> None:
        daemon = self._daemons.pop(name)
        if self.apart is not None:
            daemon.kill()
        daemon.terminate()
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def _patience(complaint: str, seconds: float = PATIENCE_SECONDS) -> Iterator[None]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield
        time.sleep(0.1)
    raise AssertionError(complaint)


def _free_ports(count: int) -> Sequence[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextlib.contextmanager
def cluster(folder: Path, apart: Hosts | None = None) -> Iterator[Cluster]:
    """A cluster for as long as the context lasts. Raises NotAllowed with the reason where it cannot
    be had."""
    if os.geteuid() != 0:
        raise NotAllowed("its daemons need root")
    if apart is None:
        host = socket.gethostname().partition(".")[0]  # as Slurm names nodes
        names, address = (host, *OTHERS), "127.0.0.1"
        port, *ports = _free_ports(4)
        features = ("real", "twin", "twin")
        columns = zip(names, [host] * 3, [address] * 3, ports, features, strict=True)
    else:
        names, address, port = apart.names, apart.addresses[0], 6817
        hosts = zip(names, apart.addresses, strict=True)
        columns = [(name, name, own_address, 6818, "apart") for name, own_address in hosts]
        # slurmd does not start without /sys/fs/cgroup, which `ip netns exec` hides.
        entering = ("ip netns exec ", "nsenter --net=/run/netns/")
        (folder / AGENT).write_text(apart.agent.read_text().replace(*entering))
        (folder / AGENT).chmod(0o755)
    nodes = "\n".join(NODE.format(*row) for row in columns)
    for name in ("state", *(f"spool-{node}" for node in names)):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    made = Cluster(folder, names, apart)
    text = CONFIGURATION.format(
        folder=folder, host=names[0], address=address, port=port, nodes=nodes
    )
    (folder / "slurm.conf").write_text(text)
    try:
        made.start()
        yield made
    except AssertionError as error:
        raise NotAllowed(str(error)) from error
    finally:
        made.stop()


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """For one file of tests. Skips, with the reason, where Slurm cannot be started."""
    try:
        with cluster(tmp_path_factory.mktemp("slurm")) as made:
            yield made
    except NotAllowed as error:
        pytest.skip(f"no Slurm: {error}")


@pytest.fixture(scope="module")
def slurm_apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes that are hosts in namespaces, for one file of tests. Skips, with the reason, where
    they cannot be had."""
    try:
        with (
            namespaces.hosts(tmp_path_factory.mktemp("hosts")) as made,
            cluster(tmp_path_factory.mktemp("slurm"), made) as apart,
        ):
            yield apart
    except NotAllowed as error:
        pytest.skip(f"no Slurm on hosts in namespaces: {error}")
