"""A simulated machine as text and settings, and its platform file by SimGrid's own parser."""

from __future__ import annotations

import tomllib
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from plumbline.launch import simulation
from plumbline.launch.simulated import Simulated
from plumbline.launch.simulation import Simulation
from plumbline.libraries import Installation
from plumbline.libraries.simgrid import SELECTORS, SimGrid, options_in
from plumbline.measure.comparison import claim_of
from plumbline.settings.campaign_file import load
from plumbline.settings.identity import settings_of, text_of
from plumbline.system.placement import Placement
from plumbline_db.errors import PlumblineError, UsageError
from plumbline_db.records import Library
from plumbline_exporters.family.simgrid import OPTIONS
from tests.tuner.simulated import ROOT

SLOW = Simulation(library="ompi", latency_seconds=5e-5, bandwidth_bytes_per_second=1.25e8)


def flat(nodes: int) -> Placement:
    return Placement(nodes=nodes, ppn=1)


def installed(folder: Path) -> Installation:
    library = Library("simgrid-3.32-ompi", "simgrid", "3.32", "", "/usr", "f", {"selector": "ompi"})
    return Installation(library, folder / "smpirun", None)


# --- settings -----------------------------------------------------------------------------------


def test_defaults() -> None:
    found = load(None, {"simulate": "mvapich2"})
    assert found.ranks.simulate == Simulation(library="mvapich2")
    assert (found.ranks.nprocs, found.ranks.node_count, found.ranks.ppn) == (32, 32, 1)
    assert (found.sampling.launches, found.sampling.launches_max) == (1, 1)
    assert claim_of(found).design.launches == (1,)
    assert load(None, {"simulate": "ompi", "nprocs": 5}).ranks.node_count == 5


def test_a_campaign_of_this_machine() -> None:
    found = load(None, {"nprocs": 4})
    assert (found.ranks.simulate, found.ranks.node_count, found.ranks.ppn) == (None, 1, 4)
    assert '"simulate"' not in text_of(found)  # by which readers tell a simulated one


def test_a_campaign_file(tmp_path: Path) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text('nprocs = 8\n[simulate]\nlibrary = "mpich"\nlatency_seconds = 1e-6\n')
    found = load(path, {})
    assert found.ranks.simulate == Simulation(library="mpich", latency_seconds=1e-6)
    assert found.ranks.nprocs == 8
    other = load(path, {"simulate": "impi"})
    assert other.ranks.simulate == Simulation(library="impi", latency_seconds=1e-6)
    assert settings_of(text_of(other)) == other


def test_the_example_in_the_documentation_names_every_key_and_its_default(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "simulated.md").read_text()
    (text,) = [one for one in page.split("```toml\n")[1:] if "[simulate]" in one]
    text = text.partition("```")[0]
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    assert load(path, {}) == load(None, {"simulate": "mvapich2"})
    assert set(tomllib.loads(text)["simulate"]) == set(Simulation.__struct_fields__)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[simulate]\n", "simulate: key `library` is missing"),
        ('[simulate]\nlibrary = "lam"\n', "Invalid enum value 'lam'"),
        ('[simulate]\nlibrary = "ompi"\nlatency = 1\n', "unknown key `latency`"),
        (
            '[simulate]\nlibrary = "ompi"\nlatency_seconds = 5.0\n',
            "latency_seconds = 5.0: it must be",
        ),
        (
            '[simulate]\nlibrary = "ompi"\nbandwidth_bytes_per_second = 0.0\n',
            "second = 0.0: it must",
        ),
        ('[simulate]\nlibrary = "ompi"\nsend_seconds = -1.0\n', "send_seconds = -1.0: it must be"),
        ('[simulate]\nlibrary = "ompi"\ntopology = "ring"\n', "Invalid enum value 'ring'"),
        ('[simulate]\nlibrary = "ompi"\nshape = [2]\n', "cluster"),
        (
            'nprocs = 6\nnodes = 6\n[simulate]\nlibrary = "ompi"\n'
            'topology = "torus"\nshape = [2, 2]\n',
            "has 4 nodes, and the ranks are spread over 6",
        ),
        (
            'nprocs = 6\n[simulate]\nlibrary = "ompi"\ntopology = "torus"\nshape = [2, 2]\n',
            "a multiple of the 4 nodes",
        ),
        ('simulate = "ompi"\n', "Expected `object`"),
        ('launches = 9\n[simulate]\nlibrary = "ompi"\n', "a simulated machine repeats itself"),
        ('launches_max = 2\n[simulate]\nlibrary = "ompi"\n', "a simulated machine repeats itself"),
        ('nprocs = 1\n[simulate]\nlibrary = "ompi"\n', "nprocs must be at least 2"),
    ],
)
def test_campaign_files_that_are_wrong(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        load(path, {})


def test_a_library_that_is_not_known() -> None:
    with pytest.raises(UsageError, match="choose one of ompi, mpich, mvapich2, impi"):
        load(None, {"simulate": "openmpi"})


def test_variants_that_may_be_tried() -> None:
    known = {"MPI_Gather": ["a", "b"], "MPI_Scan": ["c"]}
    assert load(None, {"nprocs": 4}).search.tried(known) == known
    some = load(None, {"nprocs": 4, "variants": ["b"]})
    assert some.search.tried(known) == {"MPI_Gather": ["b"], "MPI_Scan": []}
    assert load(None, {"nprocs": 4, "variants": []}).search.tried(known)["MPI_Gather"] == []


# --- platform and machine -----------------------------------------------------------------------


def test_the_platform_is_xml_that_says_what_was_asked_for() -> None:
    (cluster,) = ElementTree.fromstring(simulation.platform(SLOW, flat(12)))
    assert cluster.attrib["radical"] == "0-11"
    assert float(cluster.attrib["lat"].removesuffix("s")) == 5e-5
    assert float(cluster.attrib["bw"].removesuffix("Bps")) == 1.25e8
    assert cluster.attrib["bb_sharing_policy"] == "FATPIPE"
    hosts = simulation.hostfile(SLOW, flat(12)).split()
    assert len(set(hosts)) == 12 and hosts[0] == "node-0" and hosts[-1] == "node-11"


def test_a_machine_is_what_messages_cost_too() -> None:
    plain, costly = Simulation(library="ompi"), Simulation(library="ompi", send_seconds=1e-3)
    assert simulation.machine(plain, flat(32)).id != simulation.machine(costly, flat(32)).id


def test_a_machine_is_its_platform() -> None:
    """Not the library that is re-created on it, and not the machine that simulates."""
    machines = {simulation.machine(Simulation(library=one), flat(32)) for one in SELECTORS}  # type: ignore[arg-type]
    assert len(machines) == 1
    (machine,) = machines
    assert simulation.machine(SLOW, flat(32)).id != machine.id
    assert simulation.machine(Simulation(library="ompi"), flat(31)).id != machine.id
    assert "simulated" in machine.host


def test_ranks_fill_the_nodes_of_the_shape(tmp_path: Path) -> None:
    path = tmp_path / "campaign.toml"
    path.write_text(
        'nprocs = 16\n[simulate]\nlibrary = "ompi"\ntopology = "torus"\nshape = [2, 2]\n'
    )
    found = load(path, {})
    assert (found.ranks.node_count, found.ranks.ppn) == (4, 4)
    assert found.ranks.simulate is not None
    hosts = simulation.hostfile(found.ranks.simulate, found.ranks.placement(None)).split()
    assert hosts == [f"node-{node}" for node in range(4) for _ in range(4)]


def test_a_platform_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.xml"
    path.write_text(
        '<platform version="4.1"><zone id="all" routing="Full"><host id="b" speed="1Gf"/>'
        '<cluster id="c" prefix="a-" suffix=".x" radical="0-1,5" speed="1Gf"/></zone></platform>'
    )
    mine = Simulation(library="ompi", platform=str(path))
    assert simulation.platform(mine, flat(2)) == path.read_text()
    assert simulation.hostfile(mine, flat(4)).split() == ["a-0.x", "a-1.x", "a-5.x", "b"]
    with pytest.raises(UsageError, match=r"5 nodes are asked for .*, and it has 4"):
        simulation.hostfile(mine, flat(5))
    with pytest.raises(UsageError, match=r"missing\.xml"):
        simulation.platform(Simulation(library="ompi", platform="missing.xml"), flat(2))


def test_a_platform_file_lies_beside_the_campaign_file(tmp_path: Path) -> None:
    file = tmp_path / "campaign.toml"
    file.write_text('[simulate]\nlibrary = "ompi"\nplatform = "mine.xml"\n')
    found = load(file, {}).ranks.simulate
    assert found is not None and found.platform == str(tmp_path / "mine.xml")


# --- how ranks are started ----------------------------------------------------------------------


def test_the_command(tmp_path: Path) -> None:
    program = ["/opt/probe", "--plan", "/tmp/plan"]
    words = Simulated(SLOW, tmp_path).command(
        installed(Path("/opt/bin")), program, flat(3), tmp_path
    )
    assert words[:4] == ["/opt/bin/smpirun", "-quiet", "-np", "3"]
    assert words[-3:] == program
    assert "--cfg=smpi/coll-selector:ompi" in words
    assert "--cfg=smpi/simulate-computation:no" in words
    assert Path(words[words.index("-platform") + 1]).read_text() == simulation.platform(
        SLOW, flat(3)
    )
    assert Path(words[words.index("-hostfile") + 1]).read_text() == simulation.hostfile(
        SLOW, flat(3)
    )


def test_knobs_and_overheads_are_words_of_the_command(tmp_path: Path) -> None:
    """What the environment of a launch asks for stands after what the machine is."""
    costly = Simulation(library="ompi", send_seconds=2e-6, receive_seconds=1e-6)
    knobs = SimGrid().in_environment({"smpi/gather": "ompi_binomial", "smpi/bcast": "NTSL"})
    words = Simulated(costly, tmp_path).command(
        installed(Path("/opt/bin")), ["/opt/probe"], flat(3), tmp_path, options_in(knobs)
    )
    assert words[-6:-1] == [
        "--cfg=smpi/os:0:2e-06:0",
        "--cfg=smpi/ois:0:2e-06:0",
        "--cfg=smpi/or:0:1e-06:0",
        "--cfg=smpi/bcast:NTSL",
        "--cfg=smpi/gather:ompi_binomial",
    ]


@pytest.mark.parametrize("value", ["$HOME", "a;b", "*"])
def test_a_value_that_smpirun_would_expand(tmp_path: Path, value: str) -> None:
    words = options_in(SimGrid().in_environment({"smpi/gather": value}))
    with pytest.raises(PlumblineError, match="smpirun cannot use"):
        Simulated(SLOW, tmp_path).command(
            installed(Path("/opt/bin")), ["/opt/probe"], 3, tmp_path, words
        )


def test_the_variable_holds_options_of_smpi_alone() -> None:
    assert options_in({}) == [] and SimGrid().in_environment({}) == {}
    with pytest.raises(PlumblineError, match="has '-hostfile' in it: unset it"):
        options_in({OPTIONS: "--cfg=smpi/gather:ompi -hostfile other"})
    assert SimGrid().settings_in({OPTIONS: "", "PATH": "/bin"}) == [OPTIONS]


def test_a_canary_is_an_algorithm_that_does_not_exist(tmp_path: Path) -> None:
    """One for each collective; the selector is no choice of ours."""
    environment = {
        "PLUMBLINE_PROFILE": "/x",
        OPTIONS: "--cfg=smpi/coll-selector:ompi --cfg=smpi/reduce_scatter:mpich_rdb "
        "--cfg=smpi/gather:mpich",
    }
    found = SimGrid().canaries(environment, tmp_path)
    assert [one.functions for one in found] == [("MPI_Reduce_scatter",), ("MPI_Gather",)]
    assert {one.fails for one in found} == {"launch"}
    assert found[0].environment == environment | {
        OPTIONS: "--cfg=smpi/coll-selector:ompi --cfg=smpi/reduce_scatter:no_such_algorithm "
        "--cfg=smpi/gather:mpich"
    }
    assert SimGrid().canaries({OPTIONS: "--cfg=smpi/coll-selector:ompi"}, tmp_path) == []


@pytest.mark.parametrize("path", ["/tmp/a b/plan", "/tmp/*/plan", "/tmp/$HOME/plan"])
def test_words_that_smpirun_would_split_or_expand(tmp_path: Path, path: str) -> None:
    program = ["/opt/probe", "--plan", path]
    with pytest.raises(PlumblineError, match=r"smpirun cannot use .* \(TMPDIR"):
        Simulated(SLOW, tmp_path).command(installed(Path("/opt/bin")), program, flat(3), tmp_path)
