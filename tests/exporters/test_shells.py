"""plumbline.csh, plumbline.fish, the modulefiles and plumbline-run, by the real csh, fish, module
commands and mpirun; and what each of them says to another version of the library."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from plumbline import libraries
from plumbline_db.records import Library, Winner
from plumbline_exporters import families, modulefile, plumbline_sh, run_script, shells
from plumbline_exporters.bundle import Bundle
from plumbline_exporters.family import openmpi
from plumbline_exporters.registry import exporters, write
from tests.exporters import mpi
from tests.exporters.bundles import bundle, everywhere, knob, library, tuned, variant
from tests.exporters.hostile import LMOD, READERS

ALLREDUCE = tuned("MPI_Allreduce", "basic_linear", 8192, 65536)
GATHER = variant("MPI_Gather", "gather_binomial", 0, 262144)
NASTY = 'a\'b $HOME `id` "c" ; * {x} [y] \\z !w'
BUILD = Path(__file__).parents[2] / "build"
RULES = "OMPI_MCA_coll_tuned_dynamic_rules_filename"

needs_csh = pytest.mark.skipif(shutil.which("tcsh") is None, reason="no tcsh (Debian: tcsh)")
needs_fish = pytest.mark.skipif(shutil.which("fish") is None, reason="no fish (Debian: fish)")


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Path]:
    """A folder to be put on PATH, with an ompi_info of version 4.1.4 and an mpirun beside it."""
    folder = tmp_path / "opt" / "bin"
    folder.mkdir(parents=True)
    says(folder, "Open MPI v4.1.4")
    (folder / "mpirun").write_text('#!/bin/sh\nexec env "$@"\n')
    (folder / "mpirun").chmod(0o755)
    yield folder


def says(folder: Path, line: str) -> None:
    (folder / "ompi_info").write_text(f"#!/bin/sh\necho '{line}'\necho more\n")
    (folder / "ompi_info").chmod(0o755)


def exported(folder: Path, *winners: Winner, **changes: object) -> Bundle:
    given = bundle(*winners, directory=folder, **changes)
    write(given, ["csh", "fish", "modulefile", "modulefile-lua"])
    return given


def sourced(script: Path, tools: Path, **extra: str) -> tuple[dict[str, str], str]:
    """What tcsh or fish has after sourcing, by name, and standard error."""
    reader = READERS["fish" if script.suffix == ".fish" else "tcsh"]
    assert reader is not None
    done = subprocess.run(
        reader(script.parent),
        env={"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(tools)} | extra,
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pairs = dict(pair.split("=", 1) for pair in done.stdout.split("\0") if "=" in pair)
    return {name: value for name, value in pairs.items() if name.startswith("OMPI_")}, done.stderr


# --- csh ----------------------------------------------------------------------------------------


both = pytest.mark.parametrize(
    "file",
    [
        pytest.param(shells.CSH_FILE_NAME, marks=needs_csh),
        pytest.param(shells.FISH_FILE_NAME, marks=needs_fish),
    ],
)


@both
def test_csh_and_fish_set_what_sh_sets(tmp_path: Path, tools: Path, file: str) -> None:
    folder = tmp_path / "a folder's"
    given = exported(folder, ALLREDUCE, knob("pml_ucx_tls", NASTY))
    found, errors = sourced(folder / file, tools)
    assert found == shells.variables(given)
    assert found["OMPI_MCA_pml_ucx_tls"] == NASTY
    assert errors == ""


@both
@pytest.mark.parametrize("version", ["5.0.11", "4.1.40", "4.1.4.1"])
def test_csh_and_fish_set_nothing_for_another_version(
    tmp_path: Path, tools: Path, file: str, version: str
) -> None:
    exported(tmp_path / "out", ALLREDUCE)
    says(tools, f"Open MPI v{version}")
    found, errors = sourced(tmp_path / "out" / file, tools)
    assert found == {}
    assert f"made for openmpi-4.1.4, and ompi_info on PATH says: Open MPI v{version};" in errors
    found, errors = sourced(tmp_path / "out" / file, tools, PLUMBLINE_CHECKED="1")
    assert RULES in found and errors == ""


@both
def test_csh_and_fish_without_the_library_on_path(tmp_path: Path, file: str) -> None:
    exported(tmp_path / "out", ALLREDUCE)
    bare = tmp_path / "bin"
    bare.mkdir()
    for name in ("fish" if file == shells.FISH_FILE_NAME else "tcsh", "env", "head"):
        (bare / name).symlink_to(str(shutil.which(name)))
    found, errors = sourced(tmp_path / "out" / file, bare, PATH=str(bare))
    assert RULES in found and errors == ""


# --- sh -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", [s for s in ("dash", "bash") if shutil.which(s)])
@pytest.mark.parametrize(
    ("line", "sets"),
    [
        ("Open MPI v4.1.4", True),
        ("Open MPI v4.1.40", False),
        ("Open MPI v5.0.11", False),
        ("", True),  # nobody knows
    ],
)
def test_sh_asks_the_library(
    tmp_path: Path, tools: Path, shell: str, line: str, sets: bool
) -> None:
    script = tmp_path / "plumbline.sh"
    script.write_text(openmpi.files(bundle(ALLREDUCE))["plumbline.sh"])
    says(tools, line)
    done = subprocess.run(
        [shell, "-euc", f". {script}; echo ${{{RULES}-none}}"],
        env={"PATH": f"{tools}:/usr/bin:/bin"},
        capture_output=True, text=True, timeout=30, check=True,
    )  # fmt: skip
    assert done.stdout == ("/out/ompi-rules.conf\n" if sets else "none\n")
    assert bool(done.stderr) is not sets
    if not sets:
        assert f"made for openmpi-4.1.4, and ompi_info on PATH says: {line};" in done.stderr


@pytest.mark.parametrize(
    ("given", "tool", "answer"),
    [
        (library("5.0.11"), "ompi_info", "Open MPI v5.0.11"),
        (
            library("5.0.2", "mpich", version_string="MPICH Version:      5.0.2"),
            "mpichversion",
            "MPICH Version:      5.0.2",
        ),
        (
            library(
                "2021.17.2",
                "intelmpi",
                build={"released": "2021.17", "built": "20251215", "revision": "2ac2f63"},
            ),
            "mpiexec.hydra",
            "Version 2021.17 Build 20251215 (id: 2ac2f63)",
        ),
        (
            library("2.3.7", "mvapich2", build={"package": "MVAPICH2 2.3.7"}),
            "mpiname",
            "MVAPICH2 2.3.7",
        ),
    ],
)
def test_who_is_asked(given: Library, tool: str, answer: str) -> None:
    asked = families.question(given)
    assert asked is not None
    assert (asked.tool, asked.answer) == (tool, answer)


MPIS = Path(os.environ.get("PLUMBLINE_MPIS") or BUILD / "mpis")


@pytest.mark.parametrize(
    "name", ["openmpi-5.0", "openmpi-4.1", "mpich-5.0", "mpich-4.3", "impi-2021"]
)
def test_installed_libraries_answer(tmp_path: Path, name: str) -> None:
    """The real tools, asked by the file that a shell sources: that of their own library sets its
    variables, that of another version sets none."""
    if not (MPIS / name / "bin").is_dir():
        pytest.skip(f"no {name} (make setup-mpis)")
    _, found = libraries.find(MPIS / name)
    given = found.library
    winner = {
        "openmpi": knob("pml", "ob1"),
        "mpich": everywhere("MPI_Bcast", MPIR_CVAR_BCAST_MIN_PROCS="9"),
        "intelmpi": everywhere("MPI_Bcast", I_MPI_ADJUST_BCAST="1"),
    }[given.family]
    tools = {"PATH": f"{MPIS / name}/bin:/usr/bin:/bin", "HOME": str(tmp_path)}
    other = msgspec.structs.replace(
        given,
        version="4.1.3",
        version_string="MPICH Version:      4.1.3",
        build=given.build | {"revision": "0000000"},
    )
    for one, sets in ((given, True), (other, False)):
        made = bundle(winner, library=one)
        (text,) = (
            format.files(made)["plumbline.sh"]
            for format in exporters(given.family).values()
            if format.name.endswith("env")
        )
        script = tmp_path / "plumbline.sh"
        script.write_text(text)
        done = mpi.shell(f". {script}; env", tools)
        variable = next(iter(shells.variables(made)))
        assert (f"{variable}=" in done.stdout) is sets, done.stderr
        assert bool(done.stderr) is not sets


def test_a_simulated_library_is_not_asked() -> None:
    assert families.question(library("3.32", "simgrid")) is None


# --- modulefiles --------------------------------------------------------------------------------


class Modules:
    """A module command: what loading does to an environment."""

    def __init__(self, command: str, folder: Path, tools: Path) -> None:
        self.command = command
        self.environment = {
            "PATH": f"{tools}:/usr/bin:/bin",
            "MODULEPATH": str(folder),
            "HOME": str(folder.parent),
            "LMOD_SYSTEM_DEFAULT_MODULES": "",
        }

    def run(self, code: str, **extra: str) -> subprocess.CompletedProcess[str]:
        function = f'module() {{ eval "$({self.command} sh "$@")"; }}\n'
        return subprocess.run(
            ["bash", "-c", function + code],
            env=self.environment | extra,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip


@pytest.fixture(params=["tcl", "lmod", "lmod-tcl"])
def modules(request: pytest.FixtureRequest, tmp_path: Path, tools: Path) -> Modules:
    """The Tcl file by environment-modules, the Lua one by Lmod, and the Tcl one by Lmod."""
    lmod = request.param.startswith("lmod")
    if lmod and LMOD is None:
        pytest.skip("no Lmod (make build/lmod)")
    if not lmod and shutil.which("modulecmd") is None:
        pytest.skip("no modulecmd (Debian: environment-modules)")
    folder = tmp_path / "out"
    exported(folder, ALLREDUCE, GATHER, knob("pml_ucx_tls", NASTY))
    if request.param == "lmod-tcl":
        (folder / "plumbline.lua").unlink()
    return Modules(LMOD if lmod and LMOD else "modulecmd", folder, tools)


SHOW = 'env -0 | grep -z "^OMPI_" | sort -z | tr "\\0" "\\n"'


def test_a_module_sets_what_sh_sets_and_takes_it_back(modules: Modules) -> None:
    done = modules.run(
        "module load plumbline && command -v plumbline-run && " + SHOW
        + " && module unload plumbline && echo unloaded && " + SHOW
    )  # fmt: skip
    folder = Path(modules.environment["MODULEPATH"])
    assert done.stdout.splitlines() == [
        str(folder / "plumbline-run"),
        f"{RULES}={folder}/ompi-rules.conf",
        "OMPI_MCA_coll_tuned_use_dynamic_rules=1",
        f"OMPI_MCA_pml_ucx_tls={NASTY}",
        "unloaded",
    ], done.stderr


def test_a_module_preloads_nothing(modules: Modules) -> None:
    done = modules.run("module load plumbline; env | grep -c -e LD_PRELOAD -e env_list")
    assert done.stdout.strip() == "0", done.stderr


def test_a_module_is_refused_beside_another_version(modules: Modules, tools: Path) -> None:
    says(tools, "Open MPI v5.0.11")
    done = modules.run("module load plumbline; " + SHOW)
    assert done.stdout == ""
    assert "made for openmpi-4.1.4" in done.stderr
    assert "ompi_info on PATH says: Open MPI v5.0.11" in done.stderr


def test_a_module_overwrites_no_value_of_the_user(modules: Modules) -> None:
    done = modules.run(f"module load plumbline; {SHOW}", **{RULES: "/mine"})
    assert done.stdout == f"{RULES}=/mine\n"
    assert f"{RULES} is set already: unset it first" in done.stderr


def test_a_module_says_what_it_is(modules: Modules) -> None:
    done = modules.run("module whatis plumbline 2>&1; module help plumbline 2>&1")
    said = done.stdout + done.stderr
    assert "Collectives of openmpi-4.1.4, tuned by Plumbline (c-20250301-a)" in said
    assert "Variants are in force for what plumbline-run starts" in said


# --- plumbline-run ------------------------------------------------------------------------------


def started(folder: Path, tools: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [folder / "plumbline-run", *words],
        env={"PATH": f"{tools}:/usr/bin:/bin", "PLUMBLINE_X": "kept"},
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip


def test_the_wrapper_starts_with_everything_in_force(tmp_path: Path, tools: Path) -> None:
    folder = tmp_path / "the out"
    exported(folder, ALLREDUCE, GATHER)
    done = started(folder, tools, "mpirun", "-u", "A B")
    assert done.returncode == 0, done.stderr
    assert f"{RULES}={folder}/ompi-rules.conf\n" in done.stdout
    assert "LD_PRELOAD=/opt/plumbline/libplumbline.so;" in done.stdout
    assert "PLUMBLINE_CHECKED" not in done.stdout and "PLUMBLINE_X=kept" in done.stdout
    assert os.access(folder / "plumbline-run", os.X_OK)


def test_the_wrapper_asks_the_library_of_the_mpirun_it_starts(tmp_path: Path, tools: Path) -> None:
    exported(tmp_path / "out", ALLREDUCE)
    other = tmp_path / "other"
    shutil.copytree(tools, other)
    says(other, "Open MPI v5.0.11")
    done = started(tmp_path / "out", tools, str(other / "mpirun"))
    assert done.returncode == 1 and done.stdout == ""
    assert f"made for openmpi-4.1.4, and {other}/ompi_info says: Open MPI v5.0.11" in done.stderr
    assert started(tmp_path / "out", other, str(tools / "mpirun")).returncode == 0


def test_the_wrapper_without_a_program(tmp_path: Path, tools: Path) -> None:
    exported(tmp_path / "out", ALLREDUCE)
    done = started(tmp_path / "out", tools)
    assert done.returncode == 2 and "usage: plumbline-run" in done.stderr
    done = started(tmp_path / "out", tools, "sh", "-c", "exit 7")
    assert done.returncode == 7


@pytest.mark.mpi
def test_the_wrapper_under_the_real_mpirun(
    tmp_path: Path, open_mpi: str, canary_program: Path
) -> None:
    folder = tmp_path / "out"
    given = bundle(ALLREDUCE, version=open_mpi, directory=folder)
    write(given, [run_script.FILE_NAME, "csh"])
    rules = folder / "ompi-rules.conf"
    rules.write_text(mpi.canary(rules.read_text()))
    start = ["mpirun", "-n", "4", "--oversubscribe", str(canary_program)]
    calls = [("MPI_Allreduce", 16384), ("MPI_Allreduce", 4096)]
    wrapped = [str(folder / "plumbline-run"), *start]
    found = mpi.answers_of(wrapped, calls, mpi.environment())
    assert list(found.values()) == ["refused", "ok"]
    if shutil.which("tcsh"):
        line = f"source {folder}/plumbline.csh\n{' '.join(start)} MPI_Allreduce:16384"
        done = subprocess.run(
            ["tcsh", "-f", "-c", line],
            env=mpi.environment(), capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        assert done.stdout == "MPI_Allreduce 16384 refused\n"


# --- what all of them share ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "version", "winner"),
    [
        ("intelmpi", "2021.17.2", everywhere("MPI_Allreduce", I_MPI_ADJUST_ALLREDUCE="3")),
        ("mvapich2", "2.3.7", everywhere("MPI_Allreduce", MV2_INTER_ALLREDUCE_TUNING="2")),
        ("mvapich", "4.1", everywhere("MPI_Bcast", MPIR_CVAR_BCAST_INTRA_ALGORITHM="osu_knomial")),
    ],
)
def test_every_family_says_it_in_every_language(
    tmp_path: Path, family: str, version: str, winner: Winner
) -> None:
    given = exported(tmp_path, winner, version=version, family=family)
    (variable,) = winner.configuration
    assert variable in shells.variables(given)
    for name in (
        shells.CSH_FILE_NAME,
        shells.FISH_FILE_NAME,
        modulefile.FILE_NAME,
        modulefile.LUA_FILE_NAME,
        plumbline_sh.FILE_NAME,
    ):
        assert variable in (tmp_path / name).read_text(), name
