"""Open MPI is found, described and understood: by scripts in its place, and the installed one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest

from plumbline import libraries, process
from plumbline.launch import Job, launcher_for
from plumbline.libraries import Installation
from plumbline.libraries.openmpi import OpenMpi
from plumbline.placement import Placement
from plumbline_db.errors import PlumblineError
from plumbline_exporters import env
from plumbline_exporters.registry import write
from tests.exporters.bundles import bundle, tuned, variant

INFO = """package:Open MPI root@host Distribution
ompi:version:full:4.1.4
ident:4.1.4
path:prefix:/opt/openmpi
config:user:somebody
config:timestamp:Thu May 26 2022
config:cli:--prefix=/opt/openmpi
mca:coll:tuned:version:"mca:2.1.0, api:2.4.0, component:4.1.4"
"""
ALL = """mca:coll:tuned:param:coll_tuned_gather_algorithm:value:ignore
mca:coll:tuned:param:coll_tuned_gather_algorithm:type:int
mca:coll:tuned:param:coll_tuned_gather_algorithm:status:writeable
mca:coll:tuned:param:coll_tuned_gather_algorithm:help:Which gather: 0 ignore, 1 basic linear
mca:coll:tuned:param:coll_tuned_gather_algorithm:enumerator:value:0:ignore
mca:coll:tuned:param:coll_tuned_gather_algorithm:enumerator:value:2:binomial
mca:coll:tuned:param:coll_tuned_priority:value:30
mca:coll:tuned:param:coll_tuned_priority:status:read-only
mca:btl:tcp:param:btl_tcp_links:value:a:b:c
mca:coll:tuned:version:x
option:something:else
"""


def script(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def installed(prefix: Path, info: str = INFO, more: str = ALL) -> Path:
    (prefix / "bin").mkdir(parents=True)
    (prefix / "info").write_text(info)
    (prefix / "all").write_text(more)
    script(prefix / "bin" / "mpirun", "exit 1")
    script(
        prefix / "bin" / "ompi_info",
        f'case "$*" in *--all*) cat {prefix}/all ;; *) cat {prefix}/info ;; esac',
    )
    return prefix


def test_an_installation_is_described(tmp_path: Path) -> None:
    family, found = libraries.find(installed(tmp_path))
    assert family.name == "openmpi"
    assert (found.library.id, found.library.version) == ("openmpi-4.1.4", "4.1.4")
    assert found.library.prefix == "/opt/openmpi"
    assert found.mpirun == tmp_path / "bin" / "mpirun"
    assert found.mpicc is None
    script(tmp_path / "bin" / "mpicc", "exit 1")
    assert libraries.find(tmp_path)[1].mpicc == tmp_path / "bin" / "mpicc"


def test_what_the_library_says_of_its_build_is_kept(tmp_path: Path) -> None:
    info = INFO + "compiler:c:familyname:GNU\ncompiler:c:version:12.2.0\noption:debug:no\n"
    info += 'build:timestamp:"Thu Mar 23 11:16:24 UTC 2023"\n'
    build = libraries.find(installed(tmp_path, info))[1].library.build
    assert build == {
        "package": "Open MPI root@host Distribution",
        "configure": "--prefix=/opt/openmpi",
        "compiler": "GNU 12.2.0",
        "debug": "no",
        "built": "Thu Mar 23 11:16:24 UTC 2023",
    }


def test_the_fingerprint_tells_builds_apart_not_builders(tmp_path: Path) -> None:
    def fingerprint(name: str, old: str, new: str) -> str:
        assert old in INFO
        prefix = installed(tmp_path / name, INFO.replace(old, new))
        return libraries.find(prefix)[1].library.fingerprint

    first = fingerprint("one", "4.1.4", "4.1.4")
    assert fingerprint("two", "somebody", "another") == first
    assert fingerprint("three", "May 26 2022", "May 27 2022") == first
    assert fingerprint("four", "--prefix=", "--enable-debug --prefix=") != first
    assert fingerprint("five", "component:4.1.4", "component:4.1.5") != first


def test_debian_s_own_name_comes_first(tmp_path: Path) -> None:
    """Where alternatives lead mpirun to another MPI, mpirun.openmpi is still Open MPI's."""
    installed(tmp_path)
    script(tmp_path / "bin" / "mpirun.openmpi", "exit 1")
    assert libraries.find(tmp_path)[1].mpirun.name == "mpirun.openmpi"


def test_knobs_are_what_the_library_reports(tmp_path: Path) -> None:
    family, found = libraries.find(installed(tmp_path))
    knobs = family.knobs(found)
    assert set(knobs) == {"coll_tuned_gather_algorithm", "coll_tuned_priority", "btl_tcp_links"}
    gather = knobs["coll_tuned_gather_algorithm"]
    assert (gather.value, gather.type, gather.writable) == ("ignore", "int", True)
    assert gather.choices == {"ignore": 0, "binomial": 2}
    assert not knobs["coll_tuned_priority"].writable
    assert knobs["btl_tcp_links"].value == "a:b:c"


def test_a_long_report_is_read_whole(tmp_path: Path) -> None:
    lines = [f"mca:btl:tcp:param:btl_tcp_{n}:help:{'x' * 90}" for n in range(10_000)]
    prefix = installed(tmp_path, more="\n".join(lines) + "\n")
    family, found = libraries.find(prefix)
    assert (prefix / "all").stat().st_size > 4 * process.OUTPUT_CAP_BYTES
    assert len(family.knobs(found)) == 10_000


def test_what_the_user_has_set_is_not_what_the_library_comes_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "OMPI_MCA_coll_tuned_priority"
    monkeypatch.setenv(name, "77")
    prefix = installed(tmp_path)
    line = f"mca:coll:tuned:param:coll_tuned_priority:value:${{{name}:-30}}"
    script(prefix / "bin" / "ompi_info", f'cat {prefix}/info; echo "{line}"')
    family, found = libraries.find(prefix)
    assert family.knobs(found)["coll_tuned_priority"].value == "30"


def test_no_library_is_an_error_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PlumblineError, match=r"no supported MPI library found on PATH .*Debian: o"):
        libraries.find()
    with pytest.raises(PlumblineError, match=rf"found under {tmp_path}/none .*--mpi PREFIX"):
        libraries.find(tmp_path / "none")
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "mpirun", "exit 0")  # another MPI: it has no ompi_info
    with pytest.raises(PlumblineError, match="no supported MPI library"):
        libraries.find(tmp_path)


def test_an_ompi_info_that_fails_is_named(tmp_path: Path) -> None:
    prefix = installed(tmp_path)
    script(prefix / "bin" / "ompi_info", "echo broken library >&2; exit 127")
    with pytest.raises(PlumblineError, match=r"ompi_info failed with status 127: broken library"):
        libraries.find(prefix)
    script(prefix / "bin" / "ompi_info", "echo nothing of interest")
    with pytest.raises(PlumblineError, match="reports no ompi:version:full; is this Open MPI"):
        libraries.find(prefix)


def test_names_are_registered_once() -> None:
    assert list(libraries.families()) == ["openmpi", "simgrid"]
    with pytest.raises(ValueError, match="openmpi is registered twice"):
        libraries.family("openmpi")(OpenMpi)


BARE = Installation(bundle().library, Path("/opt/bin/mpirun"), None)


def test_rank_launchers_need_leave_to_run_as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert OpenMpi().environment(BARE) == {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_ALLOW_RUN_AS_ROOT": "1",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert OpenMpi().environment(BARE) == {}


# --- what would change a measurement ------------------------------------------------------------


def test_settings_in_an_environment() -> None:
    changing = [
        "LD_PRELOAD",
        "OMPI_MCA_coll",
        "OMPI_MCA_coll_tuned_bcast_algorithm",
        "OMPI_MCA_coll_tuned_use_dynamic_rules",
        "OMPI_MCA_mca_base_env_list",
        "OMPI_MCA_mca_base_env_list_internal",
        "OMPI_MCA_mca_base_param_files",
        "PLUMBLINE_PROFILE",
    ]
    harmless = ["PATH", "HOME", "OMPI_MCA_btl", "OMPI_ALLOW_RUN_AS_ROOT", "PLUMBLINE_DB"]
    given = dict.fromkeys([*changing, *harmless], "x")
    assert set(OpenMpi().settings_in(given)) == set(changing)
    assert OpenMpi().settings_in(given) == sorted(OpenMpi().settings_in(given))


@pytest.mark.parametrize("version", ["4.1.4", "5.0.11"])
def test_a_sourced_export_is_recognised_as_such(tmp_path: Path, version: str) -> None:
    """Who has sourced the winners and starts another campaign measures the library, not them."""
    winners = (tuned("MPI_Gather", "binomial"), variant("MPI_Scan", "scan_as_x", 1, 9))
    write(bundle(*winners, version=version, directory=str(tmp_path)), ["env"])
    command = ["/bin/sh", "-c", f". {tmp_path}/{env.FILE_NAME}; exec env -0"]
    done = process.run(command, timeout_seconds=10, environment={"PATH": os.environ["PATH"]})
    assert done.status == 0, done.stderr
    found = dict(word.split("=", 1) for word in done.stdout.split("\0") if "=" in word)
    left = {name: found[name] for name in found.keys() - set(OpenMpi().settings_in(found))}
    left.pop("PLUMBLINE_ENV_LIST")  # the script's own note; no library reads it
    assert not any("plumbline" in value or "coll" in name for name, value in left.items())


# --- complaints ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "An invalid value was supplied for an enum variable.",
        "  The following MCA parameter has been listed as deprecated  ",
        "coll_tuned_foo is an unrecognized parameter",
        "coll_tuned was unable to open the rules file [/x]",
    ],
)
def test_a_complaint_is_the_line_that_says_it(line: str) -> None:
    noise = "----\nmpirun: some warning\n"
    assert OpenMpi().complaint(f"{noise}{line}\n{noise}") == line.strip()
    assert OpenMpi().complaint(noise) is None
    assert OpenMpi().complaint("") is None


# --- how ranks are started ----------------------------------------------------------------------


CROWDED = ["--oversubscribe", "--bind-to", "core:overload-allowed"]


@pytest.mark.parametrize(("crowded", "words"), [(True, CROWDED), (False, [])])
def test_the_local_launcher(crowded: bool, words: list[str], tmp_path: Path) -> None:
    placement = Placement(nodes=1, ppn=6, oversubscribed=crowded)
    assert OpenMpi().words(placement) == ["-np", "6", *words]
    echo = msgspec.structs.replace(BARE, mpirun=Path("/bin/echo"))
    job = Job(
        id="c/s-000",
        program=["probe", "--plan", "a b"],
        placement=placement,
        folder=tmp_path,
        environment=dict(os.environ),
        extra={},
        timeout_seconds=20,
    )
    done = launcher_for(None).run(OpenMpi(), echo, job)
    assert done.argv == ["/bin/echo", "-np", "6", *words, "probe", "--plan", "a b"]
    assert done.stdout.split() == " ".join(done.argv[1:]).split()


# --- the installed one --------------------------------------------------------------------------

INSTALLED = pytest.mark.skipif(shutil.which("ompi_info") is None, reason="no Open MPI on PATH")


@INSTALLED
def test_the_installed_library() -> None:
    family, found = libraries.find()
    version = process.run([found.mpirun, "--version"], timeout_seconds=20).stdout
    assert found.library.version in version.splitlines()[0]
    knobs = family.knobs(found)
    assert len(knobs) > 500
    gather = knobs["coll_tuned_gather_algorithm"]
    assert gather.choices["binomial"] == 2 and gather.choices["ignore"] == 0
    assert knobs["coll_tuned_use_dynamic_rules"].type == "bool"
    # Components come in the order of the alphabet: the report was read from its beginning.
    assert any(name.startswith("btl_") for name in knobs)
    assert any(name.startswith("mca_base_") for name in knobs)


@INSTALLED
@pytest.mark.mpi
def test_what_the_installed_library_says_to_a_bad_value() -> None:
    family, found = libraries.find()
    bad = {"OMPI_MCA_coll_tuned_bcast_algorithm": "no_such_algorithm"}
    bad |= {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1"}
    environment = os.environ | family.environment(found)
    words: list[str | Path] = [found.mpirun, "-np", "1"]
    words += [_program(), "system"]
    ranks = process.run(words, timeout_seconds=60, environment=environment | bad)
    assert family.complaint(ranks.stderr) is not None, ranks.stderr
    fine = process.run(words, timeout_seconds=60, environment=environment)
    assert fine.status == 0
    assert family.complaint(fine.stderr) is None, fine.stderr


def _program() -> str:
    """The probe: `system` starts MPI and measures nothing."""
    built = sorted((Path(__file__).resolve().parents[2] / "build").glob("openmpi-4*/probe"))
    if not built:
        pytest.skip("no probe is built: make build")
    return str(built[-1])
