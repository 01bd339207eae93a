"""The profile parser: what it takes, and how it names what it does not."""

from __future__ import annotations

import subprocess

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
            f"memory={64 << 20} nearest=0",
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
    *("rule", "library", "\n", " ", "\t", "=", '"', "#", "-", "inf", "9" * 30, 'version="x"'),
    *("function=MPI_Bcast", "nprocs=1-4", "bytes=0-inf", "variant=gather_binomial"),
)
tokens = st.sampled_from(SHARDS)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.one_of(st.binary(max_size=60), st.lists(tokens, max_size=20).map(lambda t: "".join(t))))
def test_any_text_gets_an_answer(build: Build, text: str | bytes) -> None:
    data = HEAD.encode() + (text if isinstance(text, bytes) else text.encode())
    code, output = parse(build, data)
    assert output and code in (0, 1)
    assert output[0].startswith("library=") if code == 0 else output[0].split("|")[0].isdigit()
