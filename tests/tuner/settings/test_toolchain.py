"""What a command needs to measure is asked for, and what is missing is named with its remedy; who
is asked, and versions that are compared as numbers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from plumbline.settings import toolchain as module
from plumbline.settings.toolchain import VariantParameter, find_toolchain, list_of
from plumbline_db.errors import PlumblineError, UsageError
from tests.tuner import simulated
from tests.tuner.families.installations import script, write
from tests.tuner.families.recorded.openmpi import FILES

LIST = (
    '{"probe":"0.1.0","functions":[{"name":"MPI_Bcast"}],"variants":[{"name":"bcast_a",'
    '"function":"MPI_Bcast","kind":"mockup","restrictions":[],"summary":"s"}],"types":["MPI_BYTE"],'
    '"ops":["MPI_BOR"],"syncs":["barrier"],"clocks":["monotonic_raw"]}'
)


def test_the_probe_says_what_it_knows(tmp_path: Path) -> None:
    script(tmp_path / "probe", f"test \"$*\" = --list && echo '{LIST}'")
    found = list_of(tmp_path / "probe")
    assert found.variants_of() == {"MPI_Bcast": ["bcast_a"]}
    assert found.ops == ["MPI_BOR"]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("echo '{}'", "missing required field"),
        ("echo hello", "malformed|invalid"),
        (f"echo '{LIST}' | sed s/ops/opts/", "missing required field `ops`"),
    ],
)
def test_a_probe_that_does_not_fit(tmp_path: Path, body: str, what: str) -> None:
    script(tmp_path / "probe", body)
    with pytest.raises(
        PlumblineError, match=rf"(?s)probe --list does not answer.*({what}).*make b"
    ):
        list_of(tmp_path / "probe")


def test_a_probe_that_does_not_start_says_why(tmp_path: Path) -> None:
    """All of it: what SimGrid objects to stands ahead of the steps that led there."""
    said = "no such zone" + 40 * "\\n  -> in a function of a library"
    script(tmp_path / "probe", f"printf '{said}' >&2; exit 3")
    with pytest.raises(PlumblineError, match=r"(?s)status 3 and said: no such zone.*make build"):
        list_of(tmp_path / "probe")


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed Plumbline, and Open MPI 4.1.4 beside it as scripts."""
    write(tmp_path / "mpi", FILES)
    share = tmp_path / "share" / "plumbline" / "search-spaces"
    shutil.copytree(simulated.ROOT / "search-spaces", share)
    programs = tmp_path / "libexec" / "plumbline" / "openmpi-4.1.4"
    programs.mkdir(parents=True)
    rules = module.guideline_file.load()
    named = [(v, one.lhs) for one in rules.patterns for v in (one.variant, one.lhs_variant)]
    named += [(rules.split.variant(f, 2).partition(":")[0], f) for f in rules.split.functions]
    variants = ",".join(
        f'{{"name":"{name}","function":"{function}","kind":"mockup","restrictions":[],"summary":""}}'
        for name, function in named
    )
    begin, end = LIST.split('{"name":"bcast_a"')[0], LIST.split('"summary":"s"}')[1]
    script(programs / "probe", f"echo '{begin}{variants}{end}'")
    (programs / "libplumbline.so").touch()
    monkeypatch.setenv("PLUMBLINE_PREFIX", str(tmp_path))
    return tmp_path


def test_all_of_it_is_found(prefix: Path) -> None:
    found = find_toolchain(prefix / "mpi")
    assert found.installation.library.id == "openmpi-4.1.4"
    assert found.probe == prefix / "libexec" / "plumbline" / "openmpi-4.1.4" / "probe"
    assert found.preload.name == "libplumbline.so"
    assert found.space == simulated.SPACE
    assert found.guidelines == module.guideline_file.load().known_to(found.catalogue.names)
    assert "coll_tuned_priority" in found.knobs


def test_every_part_that_is_missing_is_named(prefix: Path) -> None:
    programs = prefix / "libexec" / "plumbline" / "openmpi-4.1.4"
    (programs / "libplumbline.so").unlink()
    with pytest.raises(PlumblineError, match=r"libplumbline\.so is missing: build"):
        find_toolchain(prefix / "mpi")
    script(programs / "probe", f"echo '{LIST}'")
    with pytest.raises(UsageError, match="the probe has no variant"):
        find_toolchain(prefix / "mpi")
    (programs / "probe").unlink()
    with pytest.raises(
        PlumblineError, match=r"probe is missing: build the probes for openmpi-4\.1"
    ):
        find_toolchain(prefix / "mpi")


@pytest.mark.parametrize(
    ("nprocs", "tried"), [(2, [2]), (4, [2, 4]), (15, [2, 4, 8, 16]), (64, [2, 4, 8, 16])]
)
def test_a_window_may_hold_all_messages(nprocs: int, tried: list[int]) -> None:
    """So does SMPI's own Reduce, which is the fastest on 15 ranks of a torus."""
    window = VariantParameter("window", 1, 16, 2, [2, 4, 8, 16], "")
    assert window.choices(1024, nprocs) == tried
