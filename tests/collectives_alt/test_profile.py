"""The profile parser: what it takes, and how it names what it does not."""

from __future__ import annotations

import resource
import subprocess
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.collectives_alt.programs import Build

HEAD = "plumbline-profile 1\n"
RULE = "rule function=MPI_Bcast nprocs=2-4 bytes=0-99 variant=bcast_as_scatter_plus_allgather"


def parse(build: Build, text: str | bytes, *version: str) -> tuple[int, list[str]]:
    data = text if isinstance(text, bytes) else text.encode()
    done = subprocess.run(
        [build.program("profiles"), *version], input=data, capture_output=True, timeout=20
    )
    assert done.stderr == b""
    return done.returncode, done.stdout.decode(errors="replace").splitlines()


def test_a_whole_profile(build: Build) -> None:
    text = (
        f'{HEAD}# a comment\n\nlibrary version="Open MPI v4.1.4"\n{RULE}\n'
        "\trule\tvariant=reduce_ring  bytes=65536-inf nprocs=5-inf function=MPI_Reduce"
    )
    assert parse(build, text) == (
        0,
        [
            "library=Open MPI v4.1.4",
            f"memory={64 << 20} communicators=128 nearest=0",
            "5 MPI_Bcast 2-4 0-99 bcast_as_scatter_plus_allgather",
            f"6 MPI_Reduce 5-{2**31 - 1} 65536-{2**63 - 1} reduce_ring",
        ],
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [("nprocs=5-9 bytes=0-99", None), ("nprocs=2-4 bytes=100-inf", None), ("nprocs=1-1", "0-99")],
)
def test_rules_that_touch_do_not_overlap(build: Build, first: str, second: str | None) -> None:
    ranges = first if second is None else f"{first} bytes={second}"
    other = f"rule function=MPI_Bcast {ranges} variant=bcast_as_scatter_plus_allgather"
    assert parse(build, f"{HEAD}{RULE}\n{other}\n")[0] == 0


REDUCE = "rule function=MPI_Reduce nprocs=2-4 bytes=0-99 variant=reduce_ring"
SCATTER = "rule function=MPI_Reduce_scatter nprocs=2-4 bytes=0-99 variant=reduce_scatter_ring"
ALL = "nprocs=1-inf bytes=0-inf"


def test_everything_a_rule_can_say(build: Build) -> None:
    text = (
        f"{HEAD}memory bytes=1000\nnearest nprocs factor=3\ncommunicators most=7\n"
        f"rule function=MPI_Allreduce {ALL} nodes=2-4 ppn=8-inf op=sum,min type=floating "
        "variant=allreduce_segmented_ring:segment_bytes=512\n"
        f"rule function=MPI_Gatherv {ALL} ppn=4-4 variant=gatherv_linear\n"
        f"rule function=MPI_Alltoallv {ALL} variant=canary\n"
        f"rule function=MPI_Allgatherv {ALL} counts=equal variant=canary\n"
        f"rule function=MPI_Reduce_scatter {ALL} counts=any variant=canary\n"
    )
    most, huge = 2**31 - 1, 2**63 - 1
    assert parse(build, text) == (
        0,
        [
            "library=",
            "memory=1000 communicators=7 nearest=3",
            f"5 MPI_Allreduce 1-{most} 0-{huge} allreduce_segmented_ring 512 "
            f"nodes 2-4 ppn 8-{most} op 5 type 2",
            f"6 MPI_Gatherv 1-{most} 0-{huge} gatherv_linear nodes 1-{most} ppn 4-4",
            f"7 MPI_Alltoallv 1-{most} 0-{huge} canary",
            f"8 MPI_Allgatherv 1-{most} 0-{huge} canary equal counts",
            f"9 MPI_Reduce_scatter 1-{most} 0-{huge} canary",
        ],
    )


@pytest.mark.parametrize(
    ("first", "second", "overlap"),
    [
        ("nodes=1-1", "nodes=2-2", False),
        ("nodes=1-1", "ppn=2-2", True),
        ("ppn=1-4", "ppn=4-8", True),
        ("op=sum", "op=minmax", False),
        ("op=sum,max", "op=minmax", True),
        ("op=user", "op=predefined", False),
        ("op=user", "op=commutative", True),
        ("type=floating", "type=integer,byte", False),
        ("type=any", "type=byte", True),
        ("type=byte op=bitwise", "type=byte op=logical", False),
        ("", "type=derived", True),
    ],
)
def test_rules_overlap_in_all_they_say(
    build: Build, first: str, second: str, overlap: bool
) -> None:
    code, output = parse(build, f"{HEAD}{REDUCE} {first}\n{REDUCE} {second}\n")
    assert code == overlap
    assert not overlap or "overlaps with the rule on line 2" in output[0]


OPS = {"sum": {1}, "min,max": {2, 3}, "minmax": {2, 3}, "sum,max": {1, 3}, "any": {1, 2, 3, 4}}
ranges = st.tuples(st.integers(1, 6), st.integers(0, 3)).map(lambda pair: (pair[0], sum(pair)))
Range = tuple[int, int]
Said = tuple[Range, Range, Range, Range, str]
said = st.tuples(ranges, ranges, ranges, ranges, st.sampled_from(sorted(OPS)))


def both(one: Said, other: Said) -> bool:
    """Whether a call can match both."""
    meets = [a[0] <= b[1] and b[0] <= a[1] for a, b in zip(one[:4], other[:4], strict=True)]
    return all(meets) and bool(OPS[one[4]] & OPS[other[4]])


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(said, min_size=2, max_size=12))
def test_the_first_overlap_is_found(build: Build, rules: list[Said]) -> None:
    keys = ("nprocs", "nodes", "ppn", "bytes")
    lines = [
        " ".join(
            [
                "rule function=MPI_Reduce variant=reduce_ring",
                *(f"{key}={a}-{b}" for key, (a, b) in zip(keys, rule[:4], strict=True)),
                f"op={rule[4]}",
            ]
        )
        for rule in rules
    ]
    pairs = [
        (j, i)
        for (i, one), (j, other) in combinations(enumerate(rules, start=2), 2)
        if both(one, other)
    ]
    code, output = parse(build, HEAD + "\n".join(lines))
    assert code == bool(pairs)
    if pairs:
        later, earlier = min(pairs)
        assert output == [f"{later}||overlaps with the rule on line {earlier}"]


@pytest.mark.parametrize("ranges", ["nprocs={i}-{i} bytes=0-9", "nprocs=4-4 bytes={i}-{i}"])
def test_many_rules_take_no_time(build: Build, ranges: str) -> None:
    """100 000 rules: 5 000 000 000 pairs, more than a processor compares in 10 seconds."""
    rule = f"rule function=MPI_Bcast {ranges} variant=bcast_binomial\n"
    text = HEAD + "".join(rule.format(i=i) for i in range(100_000, 0, -1))
    done = subprocess.run(
        [build.program("profiles")],
        input=text.encode(),
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (10, 10)),
    )
    assert done.returncode == 0


def changed(old: str, new: str) -> str:
    assert old in RULE
    return HEAD + RULE.replace(old, new)


@pytest.mark.parametrize(
    ("text", "line", "token", "what"),
    [
        ("", 1, "", "first line must be"),
        ("plumbline-profile 2\n", 1, "plumbline-profile 2", "first line must be"),
        ("# x\n" + HEAD, 1, "# x", "first line must be"),
        (HEAD + "rules", 2, "rules", "not `rule`"),
        (HEAD + "rule", 2, "", "no function="),
        (changed("MPI_Bcast", "MPI_Bcost"), 2, "function=MPI_Bcost", "unknown function"),
        (changed("variant=bcast", "variant=boast"), 2, "variant=boast_as", "no such variant"),
        (changed("MPI_Bcast", "MPI_Reduce"), 2, "bcast_as", "of MPI_Bcast, not of MPI_Reduce"),
        (changed("nprocs=2-4", "nprocs=4-2"), 2, "nprocs=4-2", "not a range"),
        (changed("nprocs=2-4", "nprocs=0-2"), 2, "nprocs=0-2", "not a range"),
        (changed("nprocs=2-4", "nprocs=4"), 2, "nprocs=4", "not a range"),
        (changed("nprocs=2-4", "nprocs=2-4294967298"), 2, "nprocs=2-4294967298", "not a range"),
        (changed("bytes=0-99", "bytes=-1-9"), 2, "bytes=-1-9", "not a range"),
        (changed("bytes=0-99", "bytes=0-9k"), 2, "bytes=0-9k", "not a range"),
        (changed("bytes=0-99", "bytes=0-+9"), 2, "bytes=0-+9", "not a range"),
        (changed("bytes=0-99", "bytes=inf-inf"), 2, "bytes=inf-inf", "not a range"),
        (changed("bytes=0-99", "bytes=0-9223372036854775808"), 2, "bytes=0-922", "not a range"),
        (changed("bytes=0-99 ", ""), 2, "", "no bytes="),
        (changed("bytes=", "size="), 2, "size=0-99", "not one of function="),
        (changed("bytes=", "bytes"), 2, "bytes0-99", "not one of function="),
        (changed("bytes=0-99", "bytes=0-99 bytes=0-99"), 2, "bytes=0-99", "stands twice"),
        (f"{HEAD}{RULE}\n\n{RULE}\n", 4, "", "overlaps with the rule on line 2"),
        (f"{HEAD}{RULE}\n" + RULE.replace("2-4", "4-8"), 3, "", "overlaps with"),
        (f"{HEAD}{RULE}\r\n", 2, "", "control character (code 13)"),
        (f"{HEAD}{RULE}\0\n", 2, "", "zero byte"),
        (f"{HEAD}{RULE} op=sum", 2, "op=", "for reductions; ranks of MPI_Bcast"),
        (f"{HEAD}{RULE} type=byte", 2, "type=", "for reductions"),
        (f"{HEAD}{RULE} counts=equal", 2, "counts=", "is for MPI_Allgatherv"),
        (f"{HEAD}{SCATTER} counts=last", 2, "counts=last", "not counts=equal or counts=any"),
        (f"{HEAD}{SCATTER} counts=equal\n{SCATTER}", 3, "", "overlaps"),
        (f"{HEAD}{REDUCE} op=summ", 2, "op=summ", "not a class of operations"),
        (f"{HEAD}{REDUCE} op=sum,", 2, "op=sum,", "not a class of operations"),
        (f"{HEAD}{REDUCE} type=", 2, "type=", "not a class of datatypes"),
        (f"{HEAD}{REDUCE} nodes=0-1", 2, "nodes=0-1", "not a range"),
        (f"{HEAD}{REDUCE} ppn=2", 2, "ppn=2", "not a range"),
        (f"{HEAD}{REDUCE}:pieces=2", 2, "variant=reduce_ring:pieces=2", "reduce_ring has none"),
        (f"{HEAD}rule function=MPI_Reduce_local {ALL} variant=canary", 2, "function=", "never"),
        (
            f"{HEAD}rule function=MPI_Gatherv nprocs=1-4 bytes=0-9 variant=gatherv_linear",
            *(2, "bytes=", "must be 0-inf: not all ranks know the volume of MPI_Gatherv"),
        ),
        (HEAD + "memory bytes=", 2, "bytes=", "not bytes= and a number from 0"),
        (HEAD + "memory bytes=1k", 2, "bytes=1k", "not bytes="),
        (HEAD + "memory bytes=1\nmemory bytes=1", 3, "bytes=1", "second memory"),
        (HEAD + "communicators most=-1", 2, "most=-1", "not most="),
        (HEAD + "communicators 4", 2, "4", "not most="),
        (HEAD + 2 * "communicators most=0\n", 3, "most=0", "second communicators"),
        (HEAD + "nearest nprocs factor=1", 2, "factor=1", "from 2 to"),
        (HEAD + "nearest factor=2", 2, "factor=2", "not nearest nprocs factor=N"),
        (HEAD + "nearest nprocs", 2, "", "not factor="),
        (HEAD + "nearest nprocs factor=2 x", 2, "factor=2 x", "not factor="),
        (HEAD + 2 * "nearest nprocs factor=2\n", *(3, "nprocs factor=2", "second nearest")),
        (HEAD + "library version=4.1", 2, "version=4.1", "not version="),
        (HEAD + 'library version=""', 2, 'version="', "1 to 255"),
        (HEAD + 'library version="a" b', 2, " b", "behind the closing quote"),
        (HEAD + 'library version="a"\nlibrary version="b"', 3, 'version="b"', "second library"),
    ],
)
def test_errors_name_line_and_token(
    build: Build, text: str, line: int, token: str, what: str
) -> None:
    code, output = parse(build, text)
    got_line, got_token, got_what = output[0].split("|", 2)
    assert code == 1
    assert what in got_what
    assert got_token.startswith(token) and (token or not got_token)
    if "zero byte" not in what:
        assert int(got_line) == line


@pytest.mark.parametrize(
    ("wanted", "version", "fits"),
    [
        ("Open MPI v4.1.4", "Open MPI v4.1.4, package: x", 1),
        ("Open MPI v4.1", "Open MPI v4.1.4, package: x", 1),
        ("Open MPI v4.1.1", "Open MPI v4.1.12, package: x", 0),
        ("Open MPI v4.1.4", "Open MPI v4.1.5, package: x", 0),
        ("MPICH Version:", "Open MPI v5.0.0, package: x", 0),
    ],
)
def test_library(build: Build, wanted: str, version: str, fits: int) -> None:
    code, output = parse(build, f'{HEAD}library version="{wanted}"', version)
    assert (code, output[-1]) == (0, f"fits={fits}")


SHARDS = (
    *("rule", "library", "memory", "nearest", "communicators", "most=3", "nprocs", "factor=2"),
    *("op=sum", "nodes=1-1", "\n", " ", "\t", "=", '"', "#", "-", "inf", "9" * 30),
    *("function=MPI_Bcast", "nprocs=1-4", "bytes=0-inf", "variant=gather_binomial"),
    'version="x"',
)
tokens = st.sampled_from(SHARDS)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=60), st.lists(tokens, max_size=20).map(lambda t: "".join(t))))
def test_any_text_gets_an_answer(build: Build, text: str | bytes) -> None:
    data = HEAD.encode() + (text if isinstance(text, bytes) else text.encode())
    code, output = parse(build, data)
    assert output and code in (0, 1)
    assert output[0].startswith("library=") if code == 0 else output[0].split("|")[0].isdigit()
