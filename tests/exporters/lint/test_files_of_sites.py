"""Files as sites publish them (tests/cases/tuning, with names made up): what is right of each was
seen on the library, or read in its source. The texts here are others of the same kinds."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from plumbline.libraries import space_file
from plumbline_db.errors import UsageError
from plumbline_exporters.families import Context
from plumbline_exporters.lint import formats

ROOT = Path(__file__).parents[3]
CASES = ROOT / "tests" / "cases" / "tuning"
KNOWN = space_file.known_parameters(ROOT / "search-spaces")

Traps = set[tuple[int, str, str]]


def traps(path: Path, library: str = "") -> Traps:
    """Return the findings about the file itself, without those about files that it names."""
    first = formats.lint(path, Context(library, KNOWN))[0]
    return {(one.line, one.effect, one.trap) for one in first.findings}


ABOVE, BELOW = "no-guard-above", "no-guard-below"
NO_ALGORITHM, UNKNOWN_NAME = "no-such-algorithm", "unknown-name"
NO_VALUE = (1, "fails", "no-such-value")
RIGHT: dict[str, Traps] = {
    "c1-coll-lists.conf": {(1, "fails", "component-needed")},
    "e01-names-without-component.sh": {(2, "ignored", UNKNOWN_NAME)},
    "e05b-mpich-alias.sh": {NO_VALUE, (3, "fails", "no-such-value")},
    "e09-pals-env.sh": {(2, "ignored", "shared-memory-above")},
    "e09b-genv-equals.sh": {(line, "fails", "no-such-value") for line in (2, 3, 4)},
    "e17-Dockerfile": {(3, "corrupts", "not-commutative"), (5, "ignored", NO_ALGORITHM)},
    "e22-srun-export.sh": {(2, "ignored", UNKNOWN_NAME)},
    "e29-coll-alone.sh": {(2, "fails", "component-needed")},
    "e34-prte-options.sh": {
        (2, "ignored", NO_ALGORITHM), (3, "ignored", NO_ALGORITHM), (3, "ignored", "no-switch"),
        (4, "unchecked", "path-not-known"), (5, "unchecked", "path-not-known"),
    },
    "e35-tune-file.conf": {(1, "ignored", NO_ALGORITHM), (2, "corrupts", "not-commutative")},
    "e37-job-with-variable-path.sh": {(4, "unchecked", "path-not-known")},
    "e47-hcoll-in-six.sh": {(2, "ignored", UNKNOWN_NAME)},
    "h3-han-unknown-algorithm.conf": {(8, "ignored", "dropped")},
    "j1-trailing-comma.json": set(),
    "m1-leaf-lower-case.json": {(0, "fails", "missing-collectives"), (2, "fails", NO_ALGORITHM)},
    "m2-leaf-without-parameters.json": {
        (0, "fails", "missing-collectives"), (2, "corrupts", "parameters-missing"),
    },
    "n2-oob-and-other-builds.conf": set(),
    "r1-words.conf": {
        (2, "misread", "not-a-number"), (3, "misread", "not-a-number"), (3, "ignored", "dropped"),
    },
    "s1-branches.sh": set(),
    "s2-two-commands.sh": {(2, "ignored", NO_ALGORITHM), (3, "ignored", "no-switch")},
    "s3-tcl-braces.tcl": set(),
    "s4-prefix-of-a-command.sh": set(),
    "v1-mpich-values.sh": {(line, "fails", "no-such-value") for line in (1, 4, 5)},
    "v2-ompi-values.conf": set(),
    "v3-impi-preset-and-text.sh": {
        (1, "corrupts", "not-commutative"), (1, "misread", "text-behind-preset"),
    },
    "v4-max-requests.conf": set(),
    "v6-exclusion-lists.conf": set(),
    "v7-read-by-the-own-decision.conf": {(3, "ignored", "parameters-without-algorithm")},
    "passing/e03-fanout-without-tree.sh": {(3, "ignored", UNKNOWN_NAME)},
    "passing/e28-libnbc-iallreduce.sh": set(),
    "passing/e33-two-libraries.csh": {(6, "corrupts", "not-commutative")},
    "passing/e36-no-such-collective-parameters.sh": {(2, "ignored", UNKNOWN_NAME)},
    "passing/e38-coll-enable.sh": {(3, "ignored", UNKNOWN_NAME)},
    "passing/e39-cray.sh": set(),
    "passing/e40-mv2-site.csh": set(),
    "passing/e45-loop-values.sh": set(),
    "passing/h1-han-two-configs.conf": set(),
    "passing/h2-tuned-distribution-suffix.conf": {
        (4, "reaches", ABOVE), (6, "misread", "not-a-number"),
    },
    "passing/h4-han-5.0-names.conf": set(),
    "passing/r2-not-ascending-comm.conf": {
        (4, "reaches", BELOW), (7, "misread", "communicators-not-ascending"), (7, "reaches", ABOVE),
    },
    "passing/r3-scatter-threshold.conf": {
        (4, "reaches", ABOVE), (4, "reaches", BELOW), (7, "corrupts", "rooted-switch"),
    },
    "passing/r4-fifth-column-no-header.conf": {
        (5, "misread", "wrong-count"), (8, "ignored", "left-over"),
    },
    "passing/r4b-fifth-column-header.conf": {
        (1, "ignored", "header-too-new"), (6, "reaches", ABOVE), (6, "reaches", BELOW),
    },
    "passing/r5-bad-ids-old-release.conf": {(4, "reaches", ABOVE)},
    "passing/r6-crlf.conf": {(4, "reaches", ABOVE), (4, "reaches", BELOW)},
    "passing/r8-suffix-k.conf": {
        (4, "reaches", ABOVE), (4, "reaches", BELOW), (7, "misread", "not-a-number"),
    },
}  # fmt: skip
# Those of others: what `apply` says of one, what an allocation is, and what nobody reads.
ELSEWHERE = {"a1-apply-home-mca-params.conf", "l1-lsf-launch-node.txt", "e42-pod.yaml"}


@pytest.mark.parametrize("name", RIGHT)
def test_a_file_of_a_site(name: str) -> None:
    assert traps(CASES / name) == RIGHT[name]


def test_every_case_has_its_answer() -> None:
    names = {str(path.relative_to(CASES)) for path in CASES.rglob("*") if path.is_file()}
    assert names == RIGHT.keys() | ELSEWHERE


@pytest.mark.parametrize("format", ["", "env", "mca-params"])
def test_what_is_not_read_is_refused(format: str) -> None:
    with pytest.raises(UsageError, match="YAML, which lint does not read"):
        formats.lint(CASES / "e42-pod.yaml", Context("", KNOWN), format)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("job.xml", "<job>\n</job>\n", "XML"),
        ("conf", "<?xml version='1.0'?>\n", "XML"),
        ("mpi.service", "[Service]\nEnvironment=OMPI_MCA_coll=tuned\n", "sections"),
        ("conf", "# ours\n[mpi]\ncoll = tuned\n", "sections"),
        ("run", "#!/usr/bin/env python3\nimport os\n", "Python"),
        ("run.py", "x = 1\n", "Python"),
        ("conf", "import os\nos.environ['OMPI_MCA_coll'] = 'tuned'\n", "Python"),
        ("conf", "---\nenv:\n  OMPI_MCA_coll: tuned\n", "YAML"),
        ("conf", "env:\n  - name: OMPI_MCA_coll\n    value: tuned\n", "YAML"),
    ],
)
def test_other_kinds(tmp_path: Path, name: str, text: str, kind: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    for format in ("", "env"):
        with pytest.raises(UsageError, match=f"{kind}.*, which lint does not read"):
            formats.lint(path, Context("", KNOWN), format)


@pytest.mark.parametrize("format", ["", "env", "ompi-rules"])
@pytest.mark.parametrize("pack", [gzip.compress, lambda text: text.decode().encode("utf-16")])
def test_what_is_no_utf_8_is_refused(
    tmp_path: Path, pack: Callable[[bytes], bytes], format: str
) -> None:
    path = tmp_path / "job.sh"
    path.write_bytes(pack(b"export OMPI_MCA_coll=tuned\n"))
    with pytest.raises(UsageError, match="is no text in UTF-8"):
        formats.lint(path, Context("", KNOWN), format)


SWITCH = "OMPI_MCA_coll_tuned_use_dynamic_rules"
BCAST = "OMPI_MCA_coll_tuned_bcast_algorithm"
WRONG = (NO_ALGORITHM, "ignored")
# name, text, lines with a finding each (by trap)
SCRIPTS: list[tuple[str, str, list[tuple[int, str]]]] = [
    ("Dockerfile", f"FROM debian\nENV {SWITCH}=1 {BCAST}=77\nRUN make\n", [(2, NO_ALGORITHM)]),
    ("Dockerfile", f"FROM debian\n# a\nENV {SWITCH} 1\nENV {BCAST} 6\n", []),
    ("Dockerfile", f"FROM debian\nRUN export {BCAST}=77 && make\n", []),  # gone with its shell
    ("Dockerfile", f"FROM debian\nENV {SWITCH}=1 \\\n    {BCAST}=77\n", [(2, NO_ALGORITHM)]),
    ("job", f"#!/bin/sh\n{SWITCH}=1 {BCAST}=77 ctest -R mpi\n", [(2, NO_ALGORITHM)]),
    ("job", f"#!/bin/sh\nenv {SWITCH}=1 {BCAST}=77 aprun ./a\n", [(2, NO_ALGORITHM)]),
    ("job", f"#!/bin/sh\n{BCAST}=6\nmpirun -x {BCAST} -mca coll_tuned_use_dynamic_rules 1 a\n", []),
    ("job", f"#!/bin/sh\n{BCAST}=6\n./a\n", [(2, "not-exported")]),
    ("job", f"#!/bin/sh\n{BCAST}=6\necho ${BCAST}\n", []),
    ("job", f"#!/bin/sh\nset -a\n{SWITCH}=1\n{BCAST}=6\n", []),
    ("job", f"#!/bin/sh\nset -o allexport\n{SWITCH}=1\n{BCAST}=6\n", []),
    ("job", "#!/bin/csh\nset o = \"--mca coll_tuned_bcast_algorithm 6\"\nmpirun $o ./a\n",
     [(2, "no-switch")]),
    ("job", f"#!/bin/sh\nexport {BCAST}=77\nunset {BCAST}\nsrun ./a\n", []),
    ("job", f"#!/bin/sh\nsrun --export=ALL,{SWITCH}=1,{BCAST}=77 ./a\n", [(2, NO_ALGORITHM)]),
    ("job", f"#!/bin/sh\n#SBATCH --export=ALL,{BCAST}=6\nsrun ./a\n", [(2, "no-switch")]),
    ("job", f"#!/bin/sh\n#PBS -v {SWITCH}=1,{BCAST}=77\nmpirun ./a\n", [(2, NO_ALGORITHM)]),
    ("job", f"#!/bin/sh\njsrun -n 2 -E {SWITCH}=1 -E {BCAST}=77 ./a\n", [(2, NO_ALGORITHM)]),
    ("job", f"#!/bin/sh\nflux run --env={BCAST}=6 ./a\n", [(2, "no-switch")]),
    ("job", f"#!/bin/sh\ndocker run -e {BCAST}=6 image\n", [(2, "no-switch")]),
    ("job", f"#!/bin/sh\napptainer exec --env {SWITCH}=1,{BCAST}=77 i a\n", [(2, NO_ALGORITHM)]),
    ("job", f"#!/bin/sh\nexport APPTAINERENV_{BCAST}=6\nmpirun apptainer exec i a\n",
     [(2, "no-switch")]),
    ("job", "#!/bin/sh\nmpirun_rsh -np 2 MV2_INTER_BCAST_TUNING=77 ./a\n", [(2, "no-such-value")]),
    ("job", "#!/bin/sh\nmpiexec --genv=I_MPI_ADJUST_BCAST=99 ./a\n", [(2, "no-such-preset")]),
    ("job", "#!/bin/sh\nO=\"--mca coll_tuned_bcast_algorithm 6\"\nmpirun $O ./a\n",
     [(2, "no-switch")]),
    ("job", "#!/bin/sh\nO=\"--mca coll_tuned_bcast_algorithm 6\"\n"
     "O+=\" --mca coll_tuned_use_dynamic_rules 1\"\nmpirun ${O} ./a\n", []),
    ("job", f"#!/bin/sh\n. ./settings\nexport {BCAST}=6\n", []),  # which may have the switch
    ("job", f"#!/bin/sh\n. ./settings\nexport {BCAST}=77\n", [(3, NO_ALGORITHM)]),
    ("job", f"#!/bin/sh\nf() {{\n  local n=$1; let n=1<<2\n  export {BCAST}=77\n}}\n{SWITCH}=1 f\n",
     [(4, NO_ALGORITHM)]),
    ("job", f"#!/bin/sh\nbsub -env 'all, {SWITCH}=1, {BCAST}=77' job\n", [(2, NO_ALGORITHM)]),
    ("job", f"#!/bin/sh\ncat <<EOF > other\nexport {BCAST}=77\nEOF\nmpirun ./a\n", []),
    ("job", f"#!/bin/sh\nif test -n \"$X\"; then export {BCAST}=6; fi\n"
     f"if test -n \"$X\"; then export {SWITCH}=1; fi\nmpirun ./a\n", []),
    ("job", f"#!/bin/sh\ncase $1 in\na) export {SWITCH}=1 {BCAST}=77 ;;\n*) export {SWITCH}=0 ;;\n"
     "esac\nmpirun ./a\n", [(3, NO_ALGORITHM)]),
    ("job", f"#!/bin/sh\n(export {BCAST}=77; make)\nmpirun ./a\n", []),
    ("job.csh", f"#!/bin/csh\nif ( $?X ) setenv {SWITCH} 1\nif ( $?X ) setenv {BCAST} 6\n", []),
    ("job.csh", f"#!/bin/csh\nswitch ($1)\ncase a:\n setenv {BCAST} 6\n breaksw\ndefault:\n"
     f" setenv {SWITCH} 1\nendsw\n", [(4, "no-switch")]),
    ("a.fish", f"set -gx {SWITCH} 1\nset -gx {BCAST} 77\n", [(2, NO_ALGORITHM)]),
    ("m", f"#%Module1.0\nif {{[info exists env(X)]}} {{\n  setenv {BCAST} 77\n}} else {{\n"
     f"  setenv {SWITCH} 0\n}}\n", [(3, NO_ALGORITHM), (3, "no-switch")]),
    ("m", f"#%Module1.0\nset v 77\nsetenv {SWITCH} 1\nsetenv {BCAST} $v\n", []),
    ("m", "#%Module1.0\nsetenv I_MPI_ADJUST_BCAST {0:0-4095;2:4096-8192;0:8193-2147483647}\n", []),
    ("m.lua", f"local v = 6\nsetenv(\"{SWITCH}\", 1)\nsetenv('{BCAST}', [[77]])\n",
     [(3, NO_ALGORITHM)]),
    ("m.lua", f"if mode() == \"load\" then\n  setenv(\"{SWITCH}\", \"1\")\nend\n"
     f"setenv(\"{BCAST}\", \"6\" .. v)\n", []),
    ("env", "PATH=/bin\nHOME=/root\nI_MPI_ADJUST_BCAST=0:0-4095;2:4096-8192;0:8193-2147483647\n"
     "A=b c\n", []),
    ("env", f"{SWITCH}=1\r\n{BCAST}=6\r\n", [(1, "carriage-return")]),
    ("job", "#!/bin/sh\nexport MPIR_CVAR_GATHER_INTRA_ALGORITHM=binomial\r\n",
     [(2, "carriage-return")]),
    ("mca-params.conf", "coll_tuned_priority = 40\r\ncoll_basic_priority = 4\r\n", []),
    ("mca-params.conf", "coll_tuned_use_dynamic_rules = 1\r\n", [(1, "carriage-return")]),
    ("mca-params.conf", chr(0xFEFF) + "coll_tuned_priority = 40\n", []),
    ("mca-params.conf", "coll = ^libnbc\n", [(1, "component-needed")]),
    ("mca-params.conf", "coll = basic,libnbc,ucc\n", []),
    ("mca-params.conf", "bcast_algorithm_segmentsize = 4096\n", [(1, UNKNOWN_NAME)]),
    ("mca-params.conf", "tuned_use_dynamic_rules = 1\n", [(1, UNKNOWN_NAME)]),
    ("mca-params.conf", "prte_x = 1\nplm_rsh_agent = ssh\nmpi_no_such_thing = 1\nras = ^tm\n", []),
    ("mca-params.conf", "-x UCX_TLS=sm -mca coll_tuned_priority 41 -mca coll_tuned_priorty 4\n",
     [(1, UNKNOWN_NAME)]),
    ("job", f"#!/bin/sh\nexport {SWITCH}=1 {BCAST}=0x6 OMPI_MCA_coll_tuned_scan_algorithm=+01\n"
     "export OMPI_MCA_coll_tuned_reduce_algorithm=0x5 OMPI_MCA_coll_tuned_gather_algorithm=0x77\n",
     [(3, NO_ALGORITHM), (3, "not-commutative")]),
    ("mca-params.conf", "mpi_leave_pinned = AUTO\ncoll_han_reproducible = enabled\n", []),
    ("mca-params.conf", "coll_han_reproducible = Enabled\n", [(1, "no-such-value")]),
    ("job", "#!/bin/sh\nexport I_MPI_TUNING_BIN=/nowhere/t.dat\n", [(2, "no-such-file")]),
    ("job", "#!/bin/sh\nexport I_MPI_COLL_INTRANODE=pt2pt I_MPI_SHM_CELL_FWD_NUM=4\n"
     "export I_MPI_ADJUST_ALLREDUCE_NODE_KARY_RADIX=4 I_MPI_ADJUST_SCAN_NODE=1\n"
     "export I_MPI_ADJUST_ALREDUCE=1\n", [(4, UNKNOWN_NAME)]),
    ("job", "#!/bin/sh\nexport I_MPI_ADJUST_ALLREDUCE='2:0-1k'\n", [(2, "text-behind-preset")]),
    ("job", "#!/bin/sh\nexport MPICH_GATHER_INTRA_ALGORITHM=binomial MPICH_ENV_DISPLAY=1\n", []),
    ("Dockerfile", f"FROM a AS b\nENV {SWITCH}=1\nFROM c\nENV {BCAST}=6\n", [(4, "no-switch")]),
    ("Dockerfile", f"FROM a AS b\nENV {SWITCH}=1\nFROM B as c\nENV {BCAST}=6\n", []),
    ("Dockerfile", f"FROM a\nENV {SWITCH}=1\nCMD mpirun --mca coll_tuned_bcast_algorithm 77 a\n",
     [(3, NO_ALGORITHM)]),
    ("Dockerfile", f"FROM a\nENV {SWITCH}=1\nENTRYPOINT [\"mpirun\", \"-x\", \"{BCAST}=77\"]\n",
     [(3, NO_ALGORITHM)]),
    ("Dockerfile", f"# escape=`\nFROM a\nENV {SWITCH}=1 `\n\n  {BCAST}=77\n", [(3, NO_ALGORITHM)]),
    ("a.def", f"Bootstrap: docker\nFrom: debian\n\n%post\n  export {BCAST}=77\n%environment\n"
     f"  export {SWITCH}=1\n  export {BCAST}=78\n%runscript\n  mpirun ./a\n", [(8, NO_ALGORITHM)]),
    ("m", f"#%Module\nif {{$v}} then {{\n  setenv {SWITCH} 1\n}} else {{\n  setenv {BCAST} 6\n}}\n",
     [(5, "no-switch")]),
    ("m", f"#%Module\nswitch -- $v {{\n  a {{ setenv {SWITCH} 1 }}\n"
     f"  b {{ setenv {BCAST} 6 }}\n}}\n", [(4, "no-switch")]),
    ("m", f"#%Module\nswitch $v a {{ setenv {SWITCH} 1 }} \\\n b {{ setenv {BCAST} 6 }}\n",
     [(3, "no-switch")]),
    ("m", f"#%Module\nsetenv {SWITCH} 1\nsetenv {BCAST}\\\n 77\n", [(3, NO_ALGORITHM)]),
    ("m.lua", f"pushenv(\"{SWITCH}\", \"1\")\n--[==[\nsetenv(\"{BCAST}\", \"78\")\n]==]\n"
     f"pushenv (\"{BCAST}\", [=[77]=])\n", [(5, NO_ALGORITHM)]),
    ("job", f"#!/bin/sh\njsrun -E{SWITCH}=1 -E{BCAST}=77 ./a\n", [(2, NO_ALGORITHM)]),
    ("job", "#!/bin/sh\njsrun --smpiargs=\"-mca coll_tuned_bcast_algorithm 6\" ./a\n"
     "jsrun -M '-mca coll_tuned_gather_algorithm 3' ./a\njsrun -M -gpu ./a\n",
     [(2, "no-switch"), (3, "no-switch")]),
    ("job", f"#!/bin/sh\nexport {BCAST}=77\nenv -u {BCAST} mpirun ./a\nenv -i mpirun ./a\n"
     f"unset {BCAST}\n", []),
    ("job", f"#!/bin/sh\nexport {BCAST}=77\nexport -n {BCAST}\nmpirun ./a\n", []),
    ("job", f"#!/bin/sh\nexport {SWITCH}=1\nsrun --export=PATH,{BCAST}=6 ./a\n",
     [(3, "no-switch")]),
    ("job", f"#!/bin/sh\nexport {SWITCH}=1\nsrun --export={SWITCH},{BCAST}=6 ./a\n"
     f"srun --export {BCAST}=6,ALL ./a\n", []),
    ("job", "#!/bin/sh\nsrun --export=MPIR_CVAR_GATHER_INTRA_ALGORITHM=binomial,ALL ./a\n", []),
    ("job", "#!/bin/sh\nsrun --export=ALL,OMPI_MCA_coll=\"'basic,libnbc'\" ./a\n", []),
    ("env", "PATH=/bin\nHOME=/root\nSHLVL=1\nBASH_FUNC_module%%=() {  eval `modulecmd $*`\n}\n"
     f"I_MPI_ADJUST_BCAST=0:0-4095;2:4096-8192;0:8193-2147483647\n{SWITCH}=1\n{BCAST}=77\n",
     [(8, NO_ALGORITHM)]),
    ("mca-params.conf", "coll_tuned_use_dynamic_rules = 1\rcoll_tuned_priority = 40\r",
     [(1, "carriage-return"), (1, "no-such-value")]),
]  # fmt: skip


@pytest.mark.parametrize("case", SCRIPTS, ids=lambda case: f"{case[0]} {case[1][:60]!r}")
def test_settings_that_reach_a_program(
    tmp_path: Path, case: tuple[str, str, list[tuple[int, str]]]
) -> None:
    name, text, expected = case
    path = tmp_path / name
    path.write_bytes(text.encode())
    assert sorted((line, trap) for line, _, trap in traps(path)) == sorted(expected)


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        ("openmpi-3.1.6", {(2, "ignored", NO_ALGORITHM)}),
        ("openmpi-4.0.5", set()),
        ("openmpi-5.0.11", set()),
        ("openmpi-6.0.0", {(3, "ignored", "other-version")}),
        ("openmpi-2.1.0", {(0, "unchecked", "version-not-known")}),
        ("openmpi-7.1.0", {(0, "unchecked", "version-not-known")}),
        ("mpich-3.2", {(0, "unchecked", "version-not-known")}),
    ],
)
def test_versions(tmp_path: Path, library: str, expected: Traps) -> None:
    path = tmp_path / "a.env"
    path.write_text(
        f"{SWITCH}=1\nOMPI_MCA_coll_tuned_allreduce_algorithm=6\nOMPI_MCA_coll_hcoll_enable=0\n"
    )
    assert traps(path, library) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-x A=1 -x B=2\n--mca btl tcp --mca pml ob1\npriority=4\n# -mca a b\n\n", []),
        ("-x A=1\ncoll_tuned_priority = 40\n-mca btl tcp\n", [(2, "tune-line"), (3, "tune-line")]),
        ("--mca btl tcp\nbtl=tcp\n", []),
        ("--mca btl tcp\nbtl=self\n", [(2, "tune-twice")]),
        ("btl = tcp\nbtl = self\n", []),  # no file for --tune: the last line wins
    ],
)
def test_files_for_tune_of_open_mpi_5(
    tmp_path: Path, text: str, expected: list[tuple[int, str]]
) -> None:
    path = tmp_path / "mca-params.conf"
    path.write_text(text)
    assert [(line, trap) for line, _, trap in sorted(traps(path, "openmpi-5.0.11"))] == expected
    assert traps(path, "openmpi-4.1.8") == set()


def test_open_mpi_6_wants_no_guards() -> None:
    seen = traps(CASES / "passing" / "r2-not-ascending-comm.conf", "openmpi-6.0.0")
    assert seen == {(2, "misread", "another-meaning")}


def test_files_that_a_script_names(tmp_path: Path) -> None:
    """Each as what the variable or the option says that it is."""
    (tmp_path / "tune").write_text("--mca coll_tuned_use_dynamic_rules 1 --mca coll ^basic\n")
    (tmp_path / "rules").write_text("bcast 4 0 1024 6 0 0 0\n")
    script = tmp_path / "job.sh"
    script.write_text(
        f"export {SWITCH}=1 OMPI_MCA_coll_tuned_dynamic_rules_filename={tmp_path}/rules\n"
        "mpirun --tune tune ./a\n"
    )
    linted = formats.lint(script, Context("", KNOWN))
    assert [(one.format, one.named_in.rpartition(":")[2]) for one in linted[1:]] == [
        ("ompi-rules", "1"),
        ("mca-params", "2"),
    ]
    assert all(one.wrong for one in linted[1:])
