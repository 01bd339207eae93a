"""Overlap as a guideline on the real library, from the command line: a site that is configured
badly (no single copy within a node) loses the overlap of senders; it is found, tuned, exported,
confirmed, and applications get it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from plumbline import libraries
from plumbline.system import paths
from plumbline_db.errors import PlumblineError
from plumbline_db.probe_records import PingPong
from tests.exporters import mpi
from tests.probes.launch import Probe
from tests.tuner import started
from tests.tuner.cli.command import plumbline

MECHANISM = "btl_vader_single_copy_mechanism"
WORDS = ["overlap", "tune", "--benches", "sender", "--sizes", "65536,131072", "--limit", "0.5"]
WORDS += ["--launches", "8", "--set", "launches_max=8", "--triples", "15"]


def tune(site: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """In the home of somebody whose parameter file is the site's."""
    done = started.plumbline(
        *words, "--db", site / "plumbline.db", seconds=300, beneath=(), HOME=str(site)
    )
    assert done.returncode in (0, 3), done.stderr
    return done


def single_copies_gain() -> float:
    """Of round trips of the sizes that are tuned, by the library alone: without over with."""
    _, installation = libraries.find()
    binary = paths.layout().probe(paths.build_id(installation.library))
    with TemporaryDirectory() as room:
        probe = Probe(binary, Path(room), Path())
        took = []
        for value in ("none", "cma"):
            lines = "set blocks=1\npingpong bytes=65536 reps=60\npingpong bytes=131072 reps=60\n"
            launch = probe.run(lines, 2, {f"OMPI_MCA_{MECHANISM}": value})
            took.append([median(one.round_trip_ns) for one in launch.of(PingPong)])
    return max(without / with_it for without, with_it in zip(*took, strict=True))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        family, installation = libraries.find()
    except PlumblineError as error:
        pytest.skip(str(error))
    if family.name != "openmpi" or family.knobs(installation).get(MECHANISM) is None:
        pytest.skip("the mpirun on PATH is not that of Open MPI 4")
    if "cma" not in family.knobs(installation)[MECHANISM].value:
        pytest.skip("single copies are not what this library does by itself")
    folder = tmp_path_factory.mktemp("site")
    (folder / ".openmpi").mkdir()
    (folder / ".openmpi" / "mca-params.conf").write_text(f"{MECHANISM} = none\n")
    return folder


@pytest.mark.mpi
@pytest.mark.alone
@pytest.mark.timeout(900)
def test_a_badly_configured_site_is_cured(site: Path) -> None:
    """Others use the cores too: three tries, each with another seed."""
    for seed in (1, 2, 3):
        words = [*WORDS, "--set", f"settings={MECHANISM}", "--seed", seed]
        found = json.loads(tune(site, *words, "--json").stdout)
        if found["winners"]:
            break
    if not found["winners"] and (gain := single_copies_gain()) < 1.2:
        pytest.skip(f"on this processor single copies are not faster: by {gain:.2f}")
    before, after = (
        {one["bytes"]: one[stage] for one in found["cells"] if one["guideline"] == "OV1"}
        for stage in ("before", "after")
    )
    assert any(one["verdict"] == "violated" for one in before.values())
    (winner,) = found["winners"]
    assert winner["function"] == "*" and winner["configuration"][MECHANISM] == "cma"
    assert winner["speedup_low"] > 1
    assert not any(one["verdict"] == "violated" for one in after.values())
    (search,) = found["searches"]
    assert search["opened_by"] and search["outcome"] == "winner"
    assert any(one["kind"] == "in force" for one in found["events"])
    files = {Path(one["path"]).name: Path(one["path"]) for one in found["exports"]}
    assert f"export OMPI_MCA_{MECHANISM}=cma\n" in files["plumbline.sh"].read_text()
    again = json.loads(tune(site, *words, "--json").stdout)
    assert again == found
    readers(site, found)


def readers(site: Path, found: dict[str, Any]) -> None:
    """What other commands say of it, by its name."""
    of_campaign = ("--campaign", found["campaign"])
    assert f"{MECHANISM}=cma" in tune(site, "results", *of_campaign).stdout
    assert "o overlap (OV1)" in tune(site, "results", "--all", *of_campaign).stdout
    into = site / "elsewhere"
    tune(site, "export", "env", "--campaign", found["campaign"], "--output", into)
    assert f"OMPI_MCA_{MECHANISM}=cma" in (into / "plumbline.sh").read_text()
    script = f"echo $OMPI_MCA_{MECHANISM}"
    words = ["run", "--db", site / "plumbline.db", "--campaign", found["campaign"]]
    words += ["--", "mpirun", "-np", "2", "sh", "-c", script]
    done = started.plumbline(*words, HOME=str(site), **mpi.ROOT_IS_ALLOWED)
    assert done.stdout.split() == ["cma", "cma"], done.stderr


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--benches", "load"], "no work beside a message"),
        (["--benches", "sideways"], "no benchmark sideways"),
        (["--benches", "sender,ring"], "the probe refuses this"),
        (["--limit", "2"], "--limit"),
        (["--sizes", "x"], "--sizes takes whole numbers"),
        (["--set", "settings=pml_no_such"], "not in the search space"),
        (["--launches", "2"], "launches must be at least 6"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: list[str], said: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(site))
    done = plumbline("overlap", "tune", *words, "--db", site / "plumbline.db")
    assert done.status == 2 and said in done.err


@pytest.mark.mpi
def test_a_thread_without_a_core_is_refused(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(site))
    words = ["overlap", "tune", "-n", 1 + (os.cpu_count() or 1), "--db", site / "plumbline.db"]
    done = plumbline(*words, "--set", "settings=btl_tcp_progress_thread")
    assert done.status == 2 and "needs a core of its own" in done.err
