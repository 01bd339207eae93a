"""Every trap that the linter knows, in a file that has it: with the line, and nothing else said."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import plumbline_exporters
from plumbline.libraries import space_file
from plumbline_exporters.families import Context
from plumbline_exporters.family.mpich.lint_tables import _BLOCKING, _OTHERS
from plumbline_exporters.finding import EFFECTS, Finding
from plumbline_exporters.lint import formats, parameters

ROOT = Path(__file__).parents[3]
KNOWN = space_file.known_parameters(ROOT / "search-spaces")


def found(text: str, *, name: str = "file", library: str = "", format: str = "") -> list[Finding]:
    return formats.check(text, formats.choose(name, text, format), Context(library, KNOWN))


def traps(text: str, **options: str) -> list[tuple[int, str, str]]:
    return [(one.line, one.effect, one.trap) for one in found(text, **options)]


def classic(*rules: str, collective: int = 7, nprocs: int = 4, head: str = "") -> str:
    """A block for 4 ranks alone; its first rule stands in line 9."""
    lines = [f"1 {head}".strip(), str(collective), "3", "0", "1", "0 0 0 0"]
    lines += [str(nprocs), str(len(rules)), *rules, str(nprocs + 1), "1", "0 0 0 0"]
    return "\n".join(lines) + "\n"


def blocks(*of: str, collective: int = 7) -> str:
    return "\n".join(["1", str(collective), str(len(of)), *of]) + "\n"


# --- classic rules: text, library, line, effect, trap ------------------------------------------

GUARD, END = "0 1 0 0 0 0", "5 1 0 0 0 0"
CLASSIC = [
    (classic("0 6 0 0"), "", None),
    (classic("0 6 0 0", "1024 5 0 8192"), "", None),
    (classic("0 99 0 0"), "", (9, "fails", "no-such-algorithm")),
    (classic("0 7 0 0", collective=0), "openmpi-4.1.4", (9, "fails", "no-such-algorithm")),
    (classic("0 7 0 0", collective=0), "openmpi-5.0.11", None),
    (classic("0 5 0 0", collective=11), "", (9, "corrupts", "not-commutative")),
    (classic("0 4 0 0", collective=2), "", (9, "corrupts", "not-commutative")),
    (classic("0 3 0 0", collective=12), "", (9, "corrupts", "not-commutative")),
    (classic("0 2 0 0", "4096 1 0 0", collective=9), "", (10, "corrupts", "rooted-switch")),
    (classic("0 0 0 0", "4096 1 0 0", collective=15), "", (10, "corrupts", "rooted-switch")),
    (classic("0 3 0 0", "8 3 0 256", collective=9), "", (10, "corrupts", "rooted-switch")),
    (classic("0 2 0 0", collective=9), "", None),
    (classic("0 0 0 0", "1 4 0 0", collective=0), "", (10, "corrupts", "in-place-switch")),
    (classic("0 3 0 0", "1024 2 0 0", collective=3), "", None),  # in place: one for all
    (classic("0 0 0 0", "1 2 0 0", collective=3), "", None),
    (classic("0 1 0 0", "64 2 0 0", collective=14), "", (10, "misread", "size-of-an-element")),
    (classic("0 1 0 0", "64 2 0 0", collective=4), "", (10, "ignored", "no-size")),
    (classic("0 5 0 0", collective=3), "", (9, "fails", "two-processes")),
    (blocks(GUARD, "2 1 0 5 0 0", "3 1 0 0 0 0", collective=3), "", None),
    (blocks(GUARD, "2 1 0 5 0 0", END, collective=3), "", (5, "fails", "two-processes")),
    (classic("0 2 0 0"), "", (9, "misread", "no-fan-out")),
    (classic("0 2 4 0"), "", None),
    (classic("0 8 0 4096"), "", (9, "ignored", "unread-parameter")),
    (classic("0 0 0 4096"), "", (9, "ignored", "parameters-without-algorithm")),
    (classic("0 1 0 0", collective=10), "", (2, "ignored", "no-rules")),
    (blocks("8 1 0 6 0 0", "9 1 0 0 0 0"), "", (4, "reaches", "no-guard-below")),
    (blocks(GUARD, "8 1 0 6 0 0"), "", (5, "reaches", "no-guard-above")),
    (blocks(GUARD, "4 1 0 6 0 0", "2 1 0 0 0 0"), "",
     (6, "misread", "communicators-not-ascending")),
    (classic("0 0 0 0", "64 6 0 0", "32 1 0 0"), "", (11, "misread", "sizes-not-ascending")),
    (classic("0 0 0 0", "0100 6 0 0"), "", (10, "misread", "octal")),
    (classic("0 0 0 0", f"0{'7' * 5000} 6 0 0"), "", (10, "misread", "octal")),
    (classic("0 0 0 0", "64K 6 0 0"), "", (10, "misread", "not-a-number")),
    (classic("0 6 0 -1"), "", (9, "ignored", "dropped")),
    (classic("64 6 0 0"), "", (9, "ignored", "dropped")),
    ("23\n", "", (1, "ignored", "dropped")),
    (blocks(GUARD, "4\n3\n0 0 0 0\n64 6 0 0", END), "", (6, "misread", "wrong-count")),
    (classic("0 6 0 0 0"), "", (8, "ignored", "wrong-count")),
    (classic("0 6 0 0") + "7 1 4 1 0 1 0 0\n", "", (13, "ignored", "left-over")),
    (blocks(GUARD) + "7\n1\n0\n1\n0 0 0 0\n", "", (5, "ignored", "left-over")),
    ("2\n" + blocks(GUARD)[2:] * 2, "", (2, "ignored", "collective-twice")),
    ("# mine\nrule-file-version-2\n" + classic("0 6 0 0"), "", (2, "ignored", "late-header")),
    ("rule-file-version-2\n" + classic("0 6 0 0 0"), "openmpi-4.1.4",
     (1, "ignored", "header-too-new")),
    ("rule-file-version-2\n" + classic("0 6 0 0 0"), "openmpi-5.0.11", None),
    ("rule-file-version-3\n" + classic("0 6 0 0"), "openmpi-5.0.11",
     (1, "misread", "header-version")),
    (blocks(GUARD, END), "openmpi-6.0.0", (2, "misread", "another-meaning")),
]  # fmt: skip


@pytest.mark.parametrize("case", CLASSIC, ids=lambda case: f"{case[2] and case[2][2]} {case[1]}")
def test_classic_rules(case: tuple[str, str, tuple[int, str, str] | None]) -> None:
    text, library, expected = case
    seen = traps(text, library=library)
    if expected is None:
        assert seen == []
    elif expected[1] == "ignored" and expected[2] in ("late-header", "header-too-new"):
        assert expected in seen  # what is dropped says why besides
    else:
        assert expected in seen
        assert {one[2] for one in seen} <= {expected[2], "dropped", "wrong-count"}


def test_sizes_of_the_upstream_tuner() -> None:
    text = classic("0 0 0 0", "64 2 0 0", collective=3).replace(
        "\n3\n", "\n3 # Collective ID for alltoall\n", 1
    )
    (one,) = found(text)
    assert (one.line, one.trap) == (7, "sizes-of-one-rank")
    assert "4 times as much" in one.reason


# --- the others -----------------------------------------------------------------------------------


def six(**collectives: object) -> str:
    return json.dumps(
        {"rule_file_version": 3, "module": "tuned", "collectives": collectives}, indent=1
    )


def block(*rules: dict[str, object], **more: object) -> list[dict[str, object]]:
    return [{"comm_size_min": 4, "comm_size_max": 4, **more, "rules": list(rules)}]


JSON_OF_SIX = [
    (six(bcast=block({"alg": "binomial"})), None),
    (six(bcast=block({"alg": 6, "segsize": 4096})), ("ignored", "unknown-key")),
    (six(reducescatter=block({"alg": 1})), ("ignored", "dropped")),
    (six(gatherv=block({"alg": 1})), ("fails", "no-rules")),
    (six(gatherv=block()), ("ignored", "no-rules")),
    (six(bcast={"alg": 1}), ("ignored", "dropped")),
    (six(bcast=block({"alg": "binominal"})), ("ignored", "no-such-algorithm")),
    (six(bcast=block({"msg_size_min": 8})), ("misread", "no-algorithm")),
    (six(bcast=block({"alg": 6}, {"alg": 5})), ("ignored", "unreached")),
    (six(bcast=block({"alg": 6, "msg_size_min": "big"})), ("ignored", "dropped")),
    (six(bcast=block({"alg": 6}, comm_rank_distribution="one")),
     ("misread", "unknown-distribution")),
    (six(bcast=block({"alg": 6}) * 2), ("ignored", "unreached")),
    (six(reduce=block({"alg": "binomial"})), ("corrupts", "not-commutative")),
    (six(reduce=block({"alg": "knomial"})), ("corrupts", "not-commutative")),
    (six(gather=block({"alg": 2, "msg_size_max": 4095})), ("corrupts", "rooted-switch")),
    (six(gather=block({"alg": 2})), None),
    (six(allgather=block({"alg": "bruck-k-fanout"})), None),
    (six(allgather=block({"alg": "two_proc"})), ("fails", "two-processes")),
    (six(bcast=block({"alg": 6})).replace("6", "6,"), None),  # a comma before the brace
    (six(bcast=block({"alg": 6})).replace("6", "6;"), ("ignored", "dropped")),
    ('{"collectives": {"bcast": [], "bcast": []}}', ("ignored", "key-twice")),
    ('{"collectives": {}, "module": "tuned", "module": "b"}', ("ignored", "key-twice")),
    ('{"collectives": {}, "module": "han"}', ("misread", "other-module")),
    (six(bcast=block({"alg": 6}, comm_rank_distribution="single-node")
         + block({"alg": 5}, comm_rank_distribution="any")), None),
    (six(bcast=block({"alg": 6}, comm_rank_distribution="single-node") * 2),
     ("ignored", "unreached")),
    (six(bcast=block({"alg": 6}) + block({"alg": 5}, comm_rank_distribution="single-node")),
     ("ignored", "unreached")),
    (six(bcast=block({"alg": 6}, comm_rank_distribution="one-per-node")),
     ("ignored", "world-not-one-per-node")),
    (six(bcast=block({"alg": 6}, comm_rank_distribution=1)), ("ignored", "dropped")),
    (six(bcast=block({"alg": 6}, comm_size_max="inf")), ("misread", "wrapped-ranks")),
    (six(bcast=block({"alg": 6}, comm_size_max=2**31)), ("misread", "wrapped-ranks")),
    (six(bcast=block({"alg": 6, "msg_size_max": "inf"})), None),
    (six(bcast=block({"alg": 6}, comm_size_max=8) + block({"alg": 5}, comm_size_max=16)), None),
    (six(bcast=block({"alg": 6}, comm_size_max=8)
         + block({"alg": 5}, comm_size_min=8, comm_size_max=16)), ("ignored", "crossed")),
    (six(bcast=block({"alg": 6, "msg_size_max": 1024}, {"alg": 5, "msg_size_min": 1024})),
     ("ignored", "crossed")),
    (six(bcast=block({"alg": 6, "msg_size_max": 1023}, {"alg": 5, "msg_size_min": 1024})), None),
    (six(bcast=block({"alg": 6, "msg_size_min": 8, "msg_size_max": 64}, {"alg": 5})), None),
    ('{"rule_file_version": 3}', ("ignored", "dropped")),
    (six(bcast=block({"alg": 6}), reducescatter=block()), ("fails", "dropped")),
    (six(bcast=block({"alg": 6}) + block(comm_rank_distribution=1)), ("fails", "dropped")),
    (six(bcast=block({"alg": 6}), reduce=block({"msg_size_min": 1.5})), ("ignored", "dropped")),
    (six(bcast=block({"alg": 6, "reqs": "inf"})), None),
    (six(gatherv=block({"alg": 1}, comm_size_min="big")), ("ignored", "dropped")),
]  # fmt: skip


@pytest.mark.parametrize("case", JSON_OF_SIX, ids=lambda case: str(case[1] and case[1][1]))
def test_json_rules(case: tuple[str, tuple[str, str] | None]) -> None:
    text, expected = case
    assert [(one.effect, one.trap) for one in found(text)] == ([expected] if expected else [])


def test_json_says_in_which_line() -> None:
    text = six(bcast=block({"alg": 6, "segsize": 4096}))
    (one,) = found(text)
    assert '"segsize"' in text.splitlines()[one.line - 1] and "'seg_size'" in one.repair
    assert traps(text, library="openmpi-5.0.11") == [(0, "ignored", "json-too-new")]


HAN = "1\nbcast\n1\n2\n3\n1\n1\n0 han\n4\n2\n0 han\n64 {}\n5\n1\n0 han\n"
HAN_FILES = [
    (HAN.format("tuned"), None),
    (HAN.format("han @simple"), None),
    (HAN.format("3"), (12, "ignored", "dropped")),
    (HAN.format("tunde"), (12, "ignored", "dropped")),
    (HAN.format("tuned @simple"), (12, "misread", "algorithm-of-another")),
    (HAN.format("tuned") + "bcast 1\n", (16, "ignored", "left-over")),
    (HAN.format("tuned").replace("bcast", "alltoall"), (2, "ignored", "no-rules")),
    (HAN.format("tuned").replace("bcast", "MPI_Bcast"), (2, "ignored", "dropped")),
    (HAN.format("tuned").replace("3\n1\n1\n0 han\n4", "2\n4", 1), (6, "ignored", "dropped")),
    (HAN.format("tuned").replace("64", "0"), (12, "misread", "messages-not-ascending")),
    (HAN.format("tuned").replace("\n5\n", "\n3\n"), (13, "misread", "communicators-not-ascending")),
    (HAN.format("tuned").replace("1\n2\n3", "1\n0\n3", 1), (8, "misread", "han-within-han")),
]  # fmt: skip


@pytest.mark.parametrize("case", HAN_FILES, ids=lambda case: str(case[1] and case[1][2]))
def test_han_rules(case: tuple[str, tuple[int, str, str] | None]) -> None:
    text, expected = case
    seen = traps(text, name="han-rules.conf")
    assert seen[:1] == ([expected] if expected else [])
    assert {one[2] for one in seen} <= ({expected[2]} if expected else set())


def test_han_rules_in_4() -> None:
    seen = traps(HAN.format("tuned"), name="han", library="openmpi-4.1.8")
    assert seen == [(0, "ignored", "han-is-off")]


SWITCH = "coll_tuned_use_dynamic_rules = 1\n"
RULES = SWITCH + "coll_tuned_dynamic_rules_filename = /r\n"
PARAMETERS = [
    (SWITCH + "coll_tuned_bcast_algorithm = 6\n", "", None),
    ("coll_tuned_bcast_algorithm = 6\n", "", (1, "ignored", "no-switch")),
    ("coll_tuned_dynamic_rules_filename = /r\n", "", (1, "ignored", "no-switch")),
    ("coll_han_dynamic_rules_filename = /r\n", "openmpi-5.0.11", (1, "ignored", "no-switch")),
    (SWITCH + "coll_tuned_bcast_algorithm = 10\n", "", (2, "ignored", "no-such-algorithm")),
    (SWITCH + "coll_tuned_bcast_algorithm = binominal\n", "", (2, "ignored", "no-such-algorithm")),
    (SWITCH + "coll_tuned_bcast_algorithm = 010\n", "", (2, "misread", "octal")),
    (SWITCH + "coll_tuned_reduce_algorithm = binomial\n", "", (2, "corrupts", "not-commutative")),
    (SWITCH + "coll_tuned_alltoall_algorithm = 5\n", "", (2, "fails", "two-processes")),
    (SWITCH + "coll_tuned_bcast_algorithm_segmentsize = 4096\n", "",
     (2, "ignored", "parameters-without-algorithm")),
    (SWITCH + "coll_tuned_dynamic_rules_filename = /r\ncoll_tuned_bcast_algorithm = 6\n", "",
     (3, "ignored", "forced-and-rules")),
    (SWITCH + "coll_tuned_dynamic_rules_filename = rules\n", "", (2, "ignored", "relative-path")),
    ("coll_tuned_alltoall_small_msg = 100\n", "", (1, "ignored", "dead-parameter")),
    ("coll_tuned_priorty = 100\n", "", (1, "ignored", "unknown-name")),
    ("coll_hcoll_enable = 1\n", "", None),  # of a build that has it
    ("btl_vader_single_copy_mechanism = cma\n", "openmpi-5.0.11", (1, "ignored", "other-version")),
    ("btl_vader_eager_limit = 8k\n", "openmpi-4.1.4", None),
    ("btl_vader_eager_limit = much\n", "openmpi-4.1.4", (1, "misread", "no-such-value")),
    ("coll_han_reproducible = perhaps\n", "openmpi-4.1.4", (1, "ignored", "no-such-value")),
    (SWITCH + "coll_tuned_bcast_algorithm = 6 # more\n", "", (2, "ignored", "comment-in-value")),
    (SWITCH + "coll_tuned_dynamic_rules_filename = /r # more\n", "",
     (2, "misread", "comment-in-value")),
    ("OMPI_MCA_coll_tuned_priority = 40\n", "", (1, "ignored", "environment-name")),
    ("--mca coll_tuned_priority 40\n-x FOO=1\n", "", None),
    ("coll_tuned_priority = 40 # more\n", "", None),  # a number, and what follows it
    ("coll_tuned_dynamic_rules_filename = \"/r\"\n" + SWITCH, "", (1, "misread", "quoted-value")),
    (SWITCH + "coll_tuned_bcast_algorithm = 06\n", "", None),
    ("coll_tuned_priority\n", "", (1, "ignored", "not-a-parameter")),
    (RULES + "coll = ^tuned\n", "", (3, "ignored", "component-left-out")),
    (RULES + "coll = ^han,tuned\n", "", (3, "ignored", "component-left-out")),
    (RULES + "coll = basic,libnbc,self\n", "", (3, "ignored", "component-left-out")),
    (RULES + "coll = basic,tuned,libnbc,self\n", "", None),
    (RULES + "coll = ^han\n", "", None),
    ("coll = ^tuned\n", "", None),  # and nothing is wanted of it
    (SWITCH + "coll_tuned_bcast_algorithm = 6\ncoll = ^tuned\n", "",
     (3, "ignored", "component-left-out")),
    ("coll_han_use_dynamic_file_rules = 1\ncoll_han_dynamic_rules_filename = /r\ncoll = ^han\n",
     "openmpi-5.0.11", (3, "ignored", "component-left-out")),
]  # fmt: skip


@pytest.mark.parametrize("case", PARAMETERS, ids=lambda case: str(case[2] and case[2][2]))
def test_parameter_files(case: tuple[str, str, tuple[int, str, str] | None]) -> None:
    text, library, expected = case
    seen = traps(text, library=library, format="mca-params")
    assert expected in seen if expected else seen == []
    assert {one[2] for one in seen} - {expected and expected[2]} <= {"no-such-value"}


OURS = "export OMPI_MCA_"
SHELLS = [
    (f"{OURS}coll_tuned_use_dynamic_rules=1\n{OURS}coll_tuned_bcast_algorithm='6'\n", None),
    (f"{OURS}coll_tuned_bcast_algorithm=6\n", (1, "ignored", "no-switch")),
    ("setenv OMPI_MCA_coll_tuned_bcast_algorithm 6\n", (1, "ignored", "no-switch")),
    (f"{OURS}coll=^tuned\n{OURS}coll_tuned_use_dynamic_rules=1\n"
     f"{OURS}coll_tuned_bcast_algorithm=6\n", (1, "ignored", "component-left-out")),
    ('setenv("OMPI_MCA_coll_tuned_bcast_algorithm", "6")\n', (1, "ignored", "no-switch")),
    ("#!/bin/sh\nmpirun -n 4 \\\n  --mca coll_tuned_bcast_algorithm 6 app\n",
     (2, "ignored", "no-switch")),
    ("#!/bin/sh\nMV2_SHMEM_ALLREDUCE_MSG=1\n", (2, "ignored", "not-exported")),
    ("#!/bin/sh\nMV2_SHMEM_ALLREDUCE_MSG=1\nexport MV2_SHMEM_ALLREDUCE_MSG\n", None),
    ("MV2_SHMEM_ALLREDUCE_MSG=1\n", None),  # NAME=VALUE alone
    ("export I_MPI_ADJUST_BCAST = 2\n", (1, "ignored", "blank-at-equals")),
    ("export LD_PRELOAD=/opt/libmpiP.so\n", (1, "reaches", "preload-everywhere")),
    ("prepend-path LD_PRELOAD /opt/libmpiP.so\n", (1, "reaches", "preload-everywhere")),
    # Intel MPI
    ("export I_MPI_ADJUST_BCAST=2\n", None),
    ("export I_MPI_ADJUST_BCAST='0:0-4095;2:4096-8192;0:8193-2147483647'\n", None),
    ("export I_MPI_ADJUST_BCAST='2:4096-2147483647'\n", (1, "reaches", "gap-below")),
    ("export I_MPI_ADJUST_BCAST='2:0-4096'\n", (1, "reaches", "open-above")),
    ("export I_MPI_ADJUST_BCAST='2:0-8192;3:0-4096'\n", (1, "misread", "sizes-not-ascending")),
    ("export I_MPI_ADJUST_BCAST='2:0-64@4-4;3:65-2147483647@4-4'\n",
     (1, "misread", "sizes-and-ranks")),
    ("export I_MPI_ADJUST_ALLTOALLV='1:0-64;2:65-2147483647'\n", (1, "misread", "no-size")),
    ("export I_MPI_ADJUST_REDUCE_SCATTER_BLOCK=2\n", (1, "corrupts", "not-commutative")),
    ("export I_MPI_ADJUST_BCAST=99\n", (1, "ignored", "no-such-preset")),
    ("export I_MPI_ADJUST_BCAST=binomial\n", (1, "ignored", "not-a-preset")),
    ("export I_MPI_ADJUST_BCATS=2\n", (1, "ignored", "unknown-name")),
    ("export I_MPI_ADJUST_FAILURE_ON_MATCH_FALLBACK=1\n", (1, "fails", "ends-programs")),
    # MVAPICH2
    ("export MV2_INTER_BCAST_TUNING=2\n", None),
    ("export MV2_INTER_BCAST_TUNING=2:0-8192,5:8193-+\n", (1, "fails", "indexed-mode")),
    ("export MV2_USE_INDEXED_TUNING=0 MV2_USE_INDEXED_BCAST_TUNING=0\n"
     "export MV2_INTER_BCAST_TUNING=2:0-8192,5:8193-+\n", None),
    ("export MV2_INTER_RED_SCAT_TUNING=2:0-8192,3:9000-+\n", (1, "misread", "ranges")),
    ("export MV2_ALLTOALLV_TUNING=0:0-8192,1:8193-+\n", (1, "misread", "no-sizes")),
    ("export MV2_INTER_BCAST_TUNING=77\n", (1, "misread", "no-such-value")),
    ("export MV2_USE_INDEXED_TUNING=0\nexport MV2_INTER_ALLREDUCE_TUNING=9\n", None),
    ("export MV2_USE_INDEXED_TUNING=0 MV2_USE_INDEXED_ALLREDUCE_TUNING=0\n"
     "export MV2_INTER_ALLREDUCE_TUNING=9\n", (2, "misread", "only-indexed")),
    ("export MV2_USE_INDEXED_TUNING=0 MV2_USE_INDEXED_REDUCE_TUNING=0\n"
     "export MV2_INTER_REDUCE_TUNING=1:0-8191,8:8192-+\n", (2, "misread", "not-in-ranges")),
    ("export MV2_SMP_EAGERSIZE=65536 MV2_SMP_QUEUE_LENGTH=131072\n", (1, "fails", "short-queue")),
    ("export MV2_INTER_RED_SCAT_TUNING=1\n", (1, "fails", "reduce-wanted")),
    ("export MPIR_CVAR_BCAST_COLLECTIVE_ALGORITHM=1\nexport MV2_INTER_BCAST_TUNING=2\n",
     (1, "fails", "both-ways")),
    ("export MV2_REDUCE_SHORT_MSG=100\n", (1, "ignored", "dead-parameter")),
    # MPICH
    ("export MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomial MPIR_CVAR_BCAST_DEVICE_COLLECTIVE=0\n", None),
    ("export MPIR_CVAR_BCAST_INTRA_ALGORITHM=binomial\n", (1, "ignored", "shared-memory-above")),
    ("export MPIR_CVAR_GATHER_INTRA_ALGORITHM=binominal\n", (1, "fails", "no-such-value")),
    ("export MPIR_CVAR_GATHER_INTRA_ALGORITM=binomial\n", (1, "ignored", "unknown-name")),
    ("export MPIR_CVAR_COLLECTIVE_FALLBACK=error\n", (1, "fails", "ends-programs")),
    ("export MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE=/t\n"
     "export MPIR_CVAR_GATHER_INTRA_ALGORITHM=binomial\n",
     (2, "misread", "before-the-table")),
    ("export MPIR_CVAR_COLLECTIVE_FALLBACK=error MPIR_CVAR_DEVICE_COLLECTIVES=none "
     "MPIR_CVAR_BCAST_INTRA_ALGORITHM=smp\n", (1, "corrupts", "hangs")),
]  # fmt: skip


@pytest.mark.parametrize("case", SHELLS, ids=lambda case: case[0].split("=")[0][:50])
def test_environments(case: tuple[str, tuple[int, str, str] | None]) -> None:
    text, expected = case
    seen = traps(text, format="env")
    assert expected in seen if expected else seen == []
    beside = {"reduce-wanted": {"no-such-value"}, "hangs": {"ends-programs"}}
    allowed = beside.get(expected[2], set()) | {expected[2]} if expected else set()
    assert {one[2] for one in seen} <= allowed


ROWS = parameters.rows(ROOT / "search-spaces" / "parameters" / "mpich-leaves.tsv")[1]


def own_leaf(collective: str) -> dict[str, object]:
    """An algorithm of this function that needs no parameters."""
    kinds = ("allcomm", "intra", "inter")
    starts = tuple(f"MPIR_{collective.capitalize()}_{kind}" for kind in kinds)
    leaves = [name for name, needed in ROWS[5, 0].items() if needed == "-"]
    return {f"algorithm={next(name for name in leaves if name.startswith(starts))}": {}}


def table(bcast: object, **collectives: object) -> str:
    others = {f"collective={one}": own_leaf(one) for one in (*_BLOCKING, *_OTHERS)}
    others |= {f"collective={name}": tree for name, tree in collectives.items()}
    return json.dumps(others | {"collective=bcast": bcast}, indent=1)


BINOMIAL = {"algorithm=MPIR_Bcast_intra_binomial": {}}
RING = {"algorithm=MPIR_Allreduce_intra_ring": {}}
RIGHT = {"algorithm=MPIR_Allreduce_intra_recursive_doubling": {}}
TABLES = [
    (table({"avg_msg_size<=8": BINOMIAL, "avg_msg_size=any": BINOMIAL}), None),
    (table({"avg_msg_size<=8": BINOMIAL}), ("fails", "nothing-for-the-rest")),
    (table({"avg_msg_size=any": BINOMIAL, "avg_msg_size<=8": BINOMIAL}), ("fails", "any-not-last")),
    (table({"avg_msg_size<=8": BINOMIAL, "avg_msg_size<4": BINOMIAL, "avg_msg_size=any": BINOMIAL}),
     ("ignored", "unreached")),
    (table({"msg_size<=8": BINOMIAL}), ("fails", "unknown-test")),
    (table({"comm_size=any": {}}), ("fails", "no-end")),
    (table(RING), ("fails", "of-another-function")),
    (table(BINOMIAL, allreduce=RING), ("corrupts", "unguarded")),

        (table(BINOMIAL, allreduce={"is_commutative=yes": RING, "is_commutative=no": RIGHT}), None),
    (json.dumps({"collective=bcast": BINOMIAL}), ("fails", "missing-collectives")),
    (table(BINOMIAL).replace("bcast", "x bcast", 1).replace(": {}", ":", 1), ("fails", "not-json")),
    (table({"algorithm=MPIR_bcast_intra_binomial": {}}), ("fails", "no-such-algorithm")),
    (table({"algorithm=MPIR_Bcast_intra_tree": {"k=2": {}}}), ("corrupts", "parameters-missing")),
    (table({"algorithm=MPIR_Bcast_intra_tree": {"k=1": {}, "tree_type=kary": {}}}),
     ("fails", "parameter-too-small")),
    (table({"algorithm=MPIR_Bcast_intra_tree": {"k=2": {}, "tree_type=kary": {}}}), None),
    (table(BINOMIAL, allreduce={"algorithm=MPIR_Allreduce_intra_ccl": {"ccl=auto": {}}}),
     ("fails", "of-some-builds")),
    (chr(0xFEFF) + table(BINOMIAL), ("fails", "byte-order-mark")),
    ("/* ours */ " + table(BINOMIAL).replace("{}", "{},", 1).replace('"', "'"), None),
    (table(BINOMIAL)[:-1] + ', "collective=bcast": ' + json.dumps({"any": BINOMIAL}) + "}",
     ("misread", "key-twice")),
]  # fmt: skip


@pytest.mark.parametrize("case", TABLES, ids=lambda case: str(case[1] and case[1][1]))
def test_tables_of_mpich(case: tuple[str, tuple[str, str] | None]) -> None:
    text, expected = case
    seen = [(one.effect, one.trap) for one in found(text)]
    assert expected in seen if expected else seen == []


# --- as a whole ----------------------------------------------------------------------------------


def test_every_trap_is_tried() -> None:
    """A trap is a text beside the effect."""
    room = Path(plumbline_exporters.__file__).parent
    source = "".join(path.read_text() for path in room.rglob("*.py"))
    pattern = rf'"(?:{"|".join(EFFECTS)})",\s*"([a-z-]+)"'
    written = set(re.findall(pattern, source)) - {"no-such-file", "unchecked"}
    assert len(written) > 50
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    assert {trap for trap in written if f'"{trap}"' not in tests} == set()


def test_findings_are_sentences() -> None:
    """What a user reads: a reason, and what to do."""
    for text, library, _ in CLASSIC:
        for one in found(text, library=library):
            assert one.reason[-1] not in ".;" and one.repair and "None" not in one.reason
