"""The table hosts: what it takes, and what mpirun is told."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from plumbline.core.reach import Hosts, Reach, named
from plumbline.libraries import hydra
from plumbline.libraries.openmpi import OpenMpi
from plumbline.settings import Settings
from plumbline.settings.campaign_file import load, tasks
from plumbline.system.placement import Placement
from plumbline_db.errors import UsageError

TWO = '[hosts]\nnames = ["a", "b"]\n'


def settings(folder: Path, text: str) -> Settings:
    file = folder / "campaign.toml"
    file.write_text(text)
    return load(file, {})


def test_the_hosts_of_a_file(tmp_path: Path) -> None:
    """Beside the campaign file, in the forms that mpirun takes; the names are what counts."""
    lines = "# two hosts\na slots=4\n\nb:4 # the other\na\n"
    (tmp_path / "hostfile").write_text(lines)
    found = settings(tmp_path, 'nprocs = 4\n[hosts]\nfile = "hostfile"\n')
    assert found == settings(tmp_path, f"nprocs = 4\n{TWO}")
    assert found.ranks.placement(2) == Placement(nodes=2, ppn=2)
    assert found.ranks.placement(1) == Placement(nodes=2, ppn=2, oversubscribed=True)
    with pytest.raises(UsageError, match=r"hosts: cannot read .*none: "):
        settings(tmp_path, '[hosts]\nfile = "none"\n')
    (tmp_path / "hostfile").write_text("a\n-bad\n")
    with pytest.raises(UsageError, match=r"hostfile: names: '-bad' is not a host name"):
        settings(tmp_path, '[hosts]\nfile = "hostfile"\n')


def test_fewer_nodes_are_the_first_hosts(tmp_path: Path) -> None:
    found = settings(tmp_path, f"nprocs = 4\nnodes = 1\n{TWO}")
    assert isinstance(found.ranks.hosts, Hosts)
    assert found.ranks.hosts.names == ["a"]
    assert found.ranks.placement(None) == Placement(nodes=1, ppn=4)


def test_layouts_of_a_file_are_the_first_hosts(tmp_path: Path) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text(f'layouts = ["1x4", "2x2"]\n{TWO}')
    one, two = (task.settings for task in tasks(file, {}, None))
    assert (one.ranks.placement(None), two.ranks.placement(None)) == (
        Placement(nodes=1, ppn=4),
        Placement(nodes=2, ppn=2),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"nprocs = 5\n{TWO}", "nodes must divide nprocs"),
        (f"nprocs = 6\nnodes = 3\n{TWO}", "3 nodes, but the table hosts names 2 of them"),
        ("nodes = 2\nnprocs = 4", "several nodes need a table"),
        (f'{TWO}[simulate]\nlibrary = "ompi"\n', "at most one of the tables"),
        ("[hosts]\n", "either `names` or `file`"),
        ('[hosts]\nnames = ["a"]\nfile = "b"\n', "either `names` or `file`"),
        ('[hosts]\nnames = ["a", "a"]\n', "name each host once"),
        ('[hosts]\nnames = ["a;reboot", "b"]\n', "'a;reboot' is not a host name"),
        ('[hosts]\nnames = ["-x", "b"]\n', "'-x' is not a host name"),
        (f'{TWO}interface = "eth0 -x"\n', "is neither an interface"),
        (f"{TWO}agent = []\n", "agent: a program"),
        (f'{TWO}folder = "here"\n', "must be the whole path"),
        (f'{TWO}fodler = "/here"\n', "unknown key `fodler`"),
        ('bind = "thread"', "Invalid enum value 'thread'"),
        ('[environment]\n"A B" = "1"\n', "environment: 'A B' is not the name of a variable"),
        ("[environment]\nA = 1\n", "Expected `str`, got `int`"),
        ('bind = "core"\n[simulate]\nlibrary = "ompi"\n', "a simulated machine binds no ranks"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        settings(tmp_path, text)


def test_what_is_fixed_is_part_of_the_identity(tmp_path: Path) -> None:
    plain = settings(tmp_path, "nprocs = 4")
    assert settings(tmp_path, "nprocs = 4\n[environment]\n") == plain
    one, other = (
        settings(tmp_path, f"nprocs = 4\n[environment]\n{lines}")
        for lines in ('B = "2"\nA = "1"\n', 'A = "1"\nB = "2"\n')
    )
    assert msgspec.json.encode(one) == msgspec.json.encode(other) != msgspec.json.encode(plain)
    assert one.fixed.environment == {"A": "1", "B": "2"} and plain.fixed.environment == {}


def test_a_host_stands_in_for_a_file_only_once() -> None:
    hosts = Hosts(names=["a"])
    assert named(hosts) is hosts


# --- what mpirun is told (that it takes it: tests/tuner/launch) ----------------------------------

LAYOUT = Placement(nodes=2, ppn=3)
REACH = Reach(names=["a", "b"], agent="ssh", interface="eth1", variables=["OMPI_MCA_x", "UCX_TLS"])


def test_open_mpi() -> None:
    words = OpenMpi().words(LAYOUT, REACH)
    assert words[:4] == ["-np", "6", "--host", "a:3,b:3"]
    assert words[4:] == [
        *("--mca", "plm_rsh_agent", "ssh"),
        *("--mca", "btl_tcp_if_include", "eth1", "--mca", "oob_tcp_if_include", "eth1"),
        *("-x", "UCX_TLS"),  # what begins with OMPI_ is carried there anyway
    ]


CROWDED = "--oversubscribe --bind-to core:overload-allowed"


@pytest.mark.parametrize(
    ("placement", "words"),
    [
        (Placement(nodes=1, ppn=4), []),
        (Placement(nodes=1, ppn=4, bind="plain"), []),
        (Placement(nodes=1, ppn=4, bind="plain", oversubscribed=True), "--oversubscribe"),
        (Placement(nodes=1, ppn=4, oversubscribed=True), CROWDED),
        (Placement(nodes=1, ppn=4, map_by="core").plain(), []),
        (Placement(nodes=1, ppn=4, bind="numa", map_by="socket"), "--map-by socket --bind-to numa"),
        (Placement(nodes=1, ppn=4, bind="core", oversubscribed=True), CROWDED),
        (
            Placement(nodes=1, ppn=4, bind="none", oversubscribed=True),
            "--oversubscribe --bind-to none",
        ),
    ],
)
def test_open_mpi_binds(placement: Placement, words: str | list[str]) -> None:
    wanted = words.split() if isinstance(words, str) else words
    assert OpenMpi().words(placement) == ["-np", "4", *wanted]


def test_hydra() -> None:
    assert hydra.words(Placement(nodes=1, ppn=2)) == ["-n", "2"]
    assert " ".join(hydra.words(LAYOUT, REACH)) == (
        "-n 6 -ppn 3 -hosts a,b -launcher ssh -launcher-exec ssh -iface eth1"
    )
    other = msgspec.structs.replace(REACH, agent="/opt/agent", interface="")
    by_node = msgspec.structs.replace(LAYOUT, map_by="node")
    assert " ".join(hydra.words(by_node, other, binding=["-bind-to", "core"])) == (
        "-n 6 -ppn 1 -hosts a,b -launcher rsh -launcher-exec /opt/agent -bind-to core"
    )


def test_hydra_of_mpich_binds() -> None:
    assert hydra.mpich_binding(LAYOUT) == hydra.mpich_binding(LAYOUT.plain()) == []
    crowded = msgspec.structs.replace(LAYOUT, oversubscribed=True)
    assert hydra.mpich_binding(crowded) == hydra.mpich_binding(crowded.plain()) == []
    bound = msgspec.structs.replace(LAYOUT, bind="socket", map_by="numa")
    assert hydra.mpich_binding(bound) == ["-bind-to", "socket", "-map-by", "numa"]
    loose = msgspec.structs.replace(LAYOUT, bind="none", map_by="numa")
    assert hydra.mpich_binding(loose) == ["-bind-to", "none"]
