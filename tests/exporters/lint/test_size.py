"""Large files: what is linted is looked at a number of times that does not grow with the file. The
limit is far above what each takes, and far below what it took."""

from __future__ import annotations

import pytest

from plumbline_exporters.families import Context
from plumbline_exporters.finding import Known, Parameter
from plumbline_exporters.lint import formats

MANY = 30_000
pytestmark = pytest.mark.timeout(40)


def json_rules() -> str:
    rules = ",\n".join(
        f'{{"msg_size_min": {2 * one}, "msg_size_max": {2 * one}, "alg": 1}}' for one in range(MANY)
    )
    return f'{{"rule_file_version": 3, "collectives": {{"bcast": [{{"rules": [\n{rules}\n]}}]}}}}'


def many_entries() -> str:
    """Each leaves a hole, and the last serves all holes."""
    entries = [
        f'{{"comm_size_min": {one}, "comm_size_max": {one}, "rules": [{{"alg": 1}}]}}'
        for one in range(2, 2 * MANY // 10, 2)
    ]
    rules = ",".join(
        f'{{"msg_size_min": {one}, "msg_size_max": {one}, "alg": 1}}' for one in range(MANY // 20)
    )
    whole = ",\n".join([*entries, f'{{"rules": [{rules}]}}'])
    return f'{{"rule_file_version": 3, "collectives": {{"bcast": [{whole}]}}}}'


def classic_rules() -> str:
    """Numbers of rules that stand in two lines each, so that none has a line to itself."""
    return f"1\n7\n1\n4\n{MANY}\n" + "".join(f"{one} 1\n0 0\n" for one in range(MANY))


def classic_communicators() -> str:
    return f"1\n7\n{MANY}\n" + "".join(f"{one}\n1\n0 1 0 0\n" for one in range(MANY))


def mpich_table() -> str:
    leaf = '"count=any": {"algorithm=MPIR_Allreduce_intra_reduce_scatter_allgather": {}}'
    inside = ",\n".join([leaf] * (MANY // 10))
    return f'{{"collective=allreduce": {{"comm_type=intra": {{{inside}}}}}}}'


TEXTS = {
    "ompi-json": (json_rules(), many_entries()),
    "ompi-rules": (classic_rules(), classic_communicators()),
    "mpich-json": (mpich_table(),),
    "ompi-han-rules": ("\n" * 10 * MANY + "x", "1 " + "[" * 5 * MANY),
    "mca-params": (
        "coll_tuned_bcast_algorithm = x" + " " * 5 * MANY + "y",
        "".join(f"coll_tuned_x{one} = 1\n" for one in range(MANY // 10)),
    ),
    "env": ("export A=1 \\\n" * MANY, "\n" * 2 * MANY + '"x'),
}


@pytest.mark.parametrize("name", TEXTS)
def test_large_files(name: str) -> None:
    parameters = {f"coll_tuned_{one}_algorithm": Parameter() for one in range(1000)}
    known = Known("openmpi", (4, 1), (5,), ("coll_tuned_",), parameters)
    for text in TEXTS[name]:
        formats.formats()[name].recognises("rules", text)
        formats.check(text, formats.formats()[name], Context("", (known,)))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("env", f"export I_MPI_ADJUST_BCAST=1:0-{'9' * 5000}"),
        ("env", f"export MV2_INTER_BCAST_TUNING={'9' * 5000}:0-+"),
        ("env", f"export MV2_USE_INDEXED_TUNING=0 MV2_INTER_ALLREDUCE_TUNING={'9' * 5000}"),
        ("env", f"# library   openmpi-{'9' * 5000}, fingerprint x\nexport OMPI_MCA_x=1"),
        ("mca-params", f"coll_tuned_bcast_algorithm = {'9' * 5000}k"),
        ("ompi-han-rules", f"1\n{'9' * 5000}\n"),
        ("ompi-han-rules", f"1\nbcast\n1\n2\n1\n1\n1\n0 {'9' * 5000}\n"),
        ("mpich-json", f'{{"collective=bcast": {{"comm_size<={"9" * 5000}": {{}}}}}}'),
        ("ompi-rules", "9" * 5000),
        ("ompi-json", f'{{"collectives": {{"bcast": [{{"comm_size_min": {"9" * 5000}}}]}}}}'),
        ("ompi-json", '{"collectives": {"\\ud800": []}}'),
    ],
)
def test_numbers_without_end(name: str, text: str) -> None:
    formats.check(text, formats.formats()[name], Context())
