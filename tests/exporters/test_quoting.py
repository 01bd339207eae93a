"""Whatever a text is, an exported file says that text, and nothing of it is carried out: asked of
the real shell of every format."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from plumbline.applied.files import block_of
from plumbline_db.errors import PlumblineError
from plumbline_exporters import modulefile, quoting
from plumbline_exporters.bundle import heading
from plumbline_exporters.family.openmpi import mca_params
from plumbline_exporters.registry import texts, write
from tests.exporters import mpi
from tests.exporters.bundles import bundle, everywhere, tuned
from tests.exporters.hostile import (
    CARRIED_OUT,
    INEXACT,
    READERS,
    SHELLS,
    anything,
    heard,
    knobs,
    made,
    visible,
    written,
)

few = settings(
    max_examples=8,
    derandomize=True,  # make fuzz looks further
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a shell takes too long for shrinking
    suppress_health_check=list(HealthCheck),
)
WORST = "h\n\rtouch carried-out\nexec touch carried-out\n#\x85\u2028touch carried-out\n\\"


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(reader is None, reason=f"no {name}"))
        for name, reader in READERS.items()
    ],
)
@few
@example(WORST, ["a'b"], "it's")
@given(anything, st.lists(visible, min_size=1, max_size=30), visible)
def test_shells_hear_values_and_carry_nothing_out(
    name: str, text: str, values: list[str], folder: str
) -> None:
    reader = READERS[name]
    assert reader is not None
    wanted = {f"t_{number}": value for number, value in enumerate(values)}
    with tempfile.TemporaryDirectory() as at:
        inside = Path(at, "inside")
        inside.mkdir()
        named = Path("/x" + folder.replace("/", "").replace(";", ""))
        place = Path(at, "out")
        written(made(named, text, wanted), place)
        found = heard(reader, place, inside)
        said = {f"OMPI_MCA_{one}": value for one, value in wanted.items()}
        assert found == said or name == INEXACT
        # What a library says of itself comes from outside too. Another version sets nothing.
        assert heard(reader, place, inside, text) in ({}, found)
        assert not (inside / CARRIED_OUT).exists()


@few
@given(anything, visible)
def test_only_comments_change_with_what_people_read(text: str, path: str) -> None:
    """Rules files and parameter files have lines, and nothing else: a text for people adds none."""
    place = Path("/x" + path.replace("/", "").replace(";", ""))

    def lines(said: str) -> list[str]:
        given = made(place, said, {"t_0": "1"})
        given = msgspec.structs.replace(given, library=bundle().library)
        return [
            line
            for _, name, whole in texts(given, ["mca-params", "ompi-rules", "profile", "env"])
            for line in whole.split("\n")
            if not line.startswith(("#", "--"))
        ]

    assert lines(text) == lines("tame")


@pytest.mark.parametrize("character", ["\n", "\r", "\0", "\x1b", "\x85", "\u2028", "\udcff"])
def test_what_no_file_may_put_in_force_is_refused(tmp_path: Path, character: str) -> None:
    winner = knobs({"pml_ucx_tls": f"a{character}b"})
    for name in (*SHELLS, "mca-params"):
        with pytest.raises(PlumblineError, match="no file may put in force"):
            write(bundle(winner, directory=tmp_path / "out"), [name])
    folder = tmp_path / f"out{character}"
    for name in (*SHELLS, "mca-params", "profile", "json"):
        with pytest.raises(PlumblineError, match="choose another folder"):
            write(bundle(tuned("MPI_Bcast", "1"), directory=folder), [name])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a b", "a;touch x", "a\n", "a-b", "a$(x)", "é"])
def test_names_are_names(name: str) -> None:
    for files in (*SHELLS, "mca-params"):
        with pytest.raises(PlumblineError, match="not the name of a variable"):
            texts(bundle(knobs({name: "1"})), [files])
    for family, version in (("mvapich2", "2.3.7"), ("intelmpi", "2021.17.2")):
        given = bundle(everywhere("MPI_Bcast", **{name: "1"}), version=version, family=family)
        with pytest.raises(PlumblineError, match="not the name of a variable"):
            texts(given, [{"mvapich2": "mvapich2-env", "intelmpi": "impi-env"}[family]])


def test_words_of_a_simulator_are_words() -> None:
    knob = {"smpi/bcast": "x --cfg=other"}
    given = bundle(everywhere("MPI_Bcast", **knob), version="3.32", family="simgrid")
    with pytest.raises(PlumblineError, match="a file without quotes"):
        texts(given, ["simgrid-env"])


def test_heads_are_lines_of_comments() -> None:
    for line in heading(made(Path("/out"), WORST, {}), WORST):
        assert line.startswith("# ") and line.isprintable() and not line.endswith("\\")


def test_an_applied_modulefile_keeps_its_lines() -> None:
    """What Unicode takes for the end of a line ends none of ours."""
    text = modulefile.files(made(Path("/out"), WORST, {"t_0": "1"}))[modulefile.FILE_NAME]
    assert text.splitlines() == text.rstrip("\n").split("\n")
    assert block_of("name", 1, text.split("\n")).count("\n") == text.count("\n") + 3


def test_words() -> None:
    assert quoting.tcl('a"$[b]\\{') == '"a\\"\\$\\[b\\]\\\\\\{"'
    assert quoting.lua('a"\\b\t') == '"a\\"\\\\b\t"'
    assert quoting.csh("a'b!") == "'a'\\''b\\!'"
    assert quoting.fish("a'b\\") == "'a\\'b\\\\'"
    assert quoting.comment("a\r\nb\\") == "# a\\r\\nb\\ ."


@pytest.mark.mpi
def test_open_mpi_hears_what_a_parameter_file_says(tmp_path: Path) -> None:
    """The library's own reader of parameter files."""
    if shutil.which("ompi_info") is None:
        pytest.skip("no ompi_info on PATH")
    values = {
        "btl_tcp_if_include": 'a\'b $HOME `id` "c" ; * {x} [y] \\z !w',
        "btl_tcp_if_exclude": "#not a comment",
        "mca_base_env_list": 'x="1" # y',
        "coll_tuned_dynamic_rules_filename": "/a b/é",
    }
    path = tmp_path / "params.conf"
    path.write_text("".join(mca_params.line(name, value) + "\n" for name, value in values.items()))
    done = mpi.shell(
        "ompi_info --parsable --all --level 9",
        mpi.environment(OMPI_MCA_mca_base_param_files=str(path)),
    )
    found = [line.split(":", 6) for line in done.stdout.splitlines()]
    heard = {words[4]: words[6] for words in found if words[3:6:2] == ["param", "value"]}
    assert {name: heard[name] for name in values} == values
    assert mca_params.FILE_NAME.endswith(".conf")
