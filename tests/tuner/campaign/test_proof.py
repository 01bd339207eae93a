"""Canaries, and what a sourced file sets."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.campaign import proof
from plumbline.core.plan import Plan, PlanCase
from plumbline.libraries import DeliberateError
from plumbline.libraries.openmpi import RULES as RULES_FILE
from plumbline.libraries.openmpi import OpenMpi, rules_canary
from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Failure, Winner
from plumbline_exporters import plumbline_sh, profile
from plumbline_exporters.family.openmpi import mca_params as ompi_rules
from plumbline_exporters.family.openmpi.tuned import COLLECTIVES
from plumbline_exporters.registry import write
from tests.exporters import rules_reader
from tests.exporters.bundles import bundle, everywhere, tuned, variant

BCAST = tuned("MPI_Bcast", "chain", 1024, 65536, segmentsize=8192, chain_fanout=4)
GATHER = tuned("MPI_Gather", "binomial")
SCAN = variant("MPI_Scan", "scan_as_exscan_plus_reduce_local", 64, 4096)
SIZES = {"MPI_Bcast": [64, 4096, 65536], "MPI_Gather": [64, 4096], "MPI_Scan": [4, 64, 1024]}
PLAN = Plan("", 1, ())


# --- the corrupted copies -----------------------------------------------------------------------

RULES = st.lists(
    st.tuples(
        st.sampled_from(sorted(COLLECTIVES)),
        st.integers(1, 2),
        st.integers(0, 9),
        st.integers(1, 9),
    ),
    min_size=1,
    unique_by=lambda one: one[0],
)


@given(RULES)
def test_a_rules_canary_differs_in_the_algorithms_alone(
    wanted: list[tuple[str, int, int, int]],
) -> None:
    winners = []
    for function, algorithm, start, length in wanted:
        collective = COLLECTIVES[function]
        sizes = () if collective.one_for_all_sizes else (4096 * start, 4096 * (start + length))
        if collective.name_of(algorithm) not in collective.commutative_only:
            winners.append(tuned(function, str(algorithm), *sizes))
    if not winners:
        return
    (text,) = ompi_rules.rules_files(bundle(*winners)).values()
    before, after = rules_reader.read(text), rules_reader.read(rules_canary(text))
    assert before.version == after.version
    flat, corrupted = (
        [
            (number, nprocs, *rule)
            for number, blocks in one.collectives.items()
            for nprocs, block in blocks.items()
            for rule in block
        ]
        for one in (before, after)
    )
    assert len(flat) == len(corrupted)
    for own, canary in zip(flat, corrupted, strict=True):
        assert own[:3] == canary[:3] and own[4:] == canary[4:]
        assert canary[3] == (99 if own[3] else 0)
    assert any(canary[3] == 99 for canary in corrupted)


def test_a_version_2_rules_file_keeps_its_header() -> None:
    reduce = tuned("MPI_Reduce", "in-order_binary", 1024, 4096, max_requests=4)
    (text,) = ompi_rules.rules_files(bundle(reduce, version="5.0.11")).values()
    corrupted = rules_canary(text)
    assert corrupted.startswith("rule-file-version-2\n")
    found = rules_reader.read(corrupted).decision(COLLECTIVES["MPI_Reduce"].rule_id, 4, 2048)
    assert found[0] == 99 and found[3] == 4


def test_a_profile_canary_names_the_refusing_variant_in_every_rule() -> None:
    other = variant("MPI_Gather", "gather_binomial", 0, 100)
    (text,) = profile.files(bundle(SCAN, other)).values()
    before, after = text.splitlines(), proof.profile_canary(text).splitlines()
    assert len(before) == len(after)
    rules = 0
    for own, canary in zip(before, after, strict=True):
        if own.startswith("rule "):
            rules += 1
            kept = [word for word in own.split() if not word.startswith("variant=")]
            assert canary.split() == [*kept, "variant=canary"]
        else:
            assert own == canary
    assert rules == 2


# --- what sourcing a file sets, by the real sh --------------------------------------------------


def sourced(folder: Path, text: str, **environment: str) -> dict[str, str]:
    script = folder / "with space's.sh"
    script.write_text(text)
    return proof.environment_of(script, {"PATH": os.environ["PATH"], **environment})


def test_what_is_added_and_changed(tmp_path: Path) -> None:
    text = 'export A=\'x = "y"\' B="two\nlines" KEPT=same CHANGED=new\nlocal_only=1\nunset GONE\n'
    found = sourced(tmp_path, text, KEPT="same", CHANGED="old", GONE="was here")
    assert found == {"A": 'x = "y"', "B": "two\nlines", "CHANGED": "new"}


def test_a_file_that_cannot_be_sourced_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlumblineError, match=r"sourcing .*space's\.sh failed with status 7: oops"):
        sourced(tmp_path, "echo oops >&2; exit 7\n")
    with pytest.raises(PlumblineError, match=r"sourcing .* failed with status"):
        proof.environment_of(tmp_path / "none.sh", {"PATH": os.environ["PATH"]})


@pytest.mark.parametrize("version", ["4.1.4", "5.0.11"])
def test_the_exported_file_leads_to_both_files(tmp_path: Path, version: str) -> None:
    folder = tmp_path / "out"
    write(bundle(BCAST, SCAN, version=version, directory=str(folder)), ["env"])
    found = proof.environment_of(folder / plumbline_sh.FILE_NAME, {"PATH": os.environ["PATH"]})
    assert proof._value(found, RULES_FILE) == str(folder / ompi_rules.RULES_FILE_NAME)
    assert proof._value(found, proof.PROFILE) == str(folder / profile.FILE_NAME)
    again = proof.environment_of(
        folder / plumbline_sh.FILE_NAME, {"PATH": os.environ["PATH"], **found}
    )
    assert again == {}


# --- the proof ----------------------------------------------------------------------------------


class Ranks:
    """Ranks that read the files of their environment (or, deaf, do not)."""

    def __init__(self, *, deaf: str = "", answer: str = "error") -> None:
        self.deaf, self.answer = deaf, answer
        self.tried: list[tuple[str, Plan, dict[str, str]]] = []

    def __call__(
        self, name: str, number: int, plan: Plan, environment: Mapping[str, str]
    ) -> proof.Outcomes | proof.Failed:
        assert number == 0
        self.tried.append((name, plan, dict(environment)))
        variable = {"library-0": RULES_FILE, "profile": proof.PROFILE}[name]
        path = proof._value(environment, variable)
        assert path is not None
        corrupted = {"library-0": "99", "profile": "variant=canary"}[name]
        text = Path(path).read_text()
        assert corrupted in text
        reached = self.answer if name != self.deaf else "ok"
        return {(one.function, one.bytes): reached for one in plan.cases}


@pytest.fixture
def in_force(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "out"
    write(bundle(BCAST, GATHER, SCAN, directory=str(folder)), ["env"])
    return proof.environment_of(folder / plumbline_sh.FILE_NAME, {"PATH": os.environ["PATH"]})


def prove(ranks: Ranks, environment: Mapping[str, str], *winners: Winner) -> proof.Proof:
    return proof.prove(OpenMpi(), ranks, PLAN, environment, winners or (BCAST, GATHER, SCAN), SIZES)


def test_one_cell_of_every_winner_is_tried(in_force: dict[str, str]) -> None:
    ranks = Ranks()
    found = prove(ranks, in_force)
    assert found.problems == []
    assert len(found.statements) == 2  # one for each file
    assert found.statements[1].startswith("plumbline.profile decides")
    assert found.statements[1].endswith("MPI_Scan at 64 B")
    (rules, first, _), (by_profile, second, _) = ranks.tried
    assert (rules, by_profile) == ("library-0", "profile")
    assert first.cases == (PlanCase("MPI_Bcast", 4096), PlanCase("MPI_Gather", 64))
    assert second.cases == (PlanCase("MPI_Scan", 64),)
    assert (first.blocks, first.reps, first.warmup) == (1, 1, 0)


def test_the_rules_are_tried_without_the_preload_library(in_force: dict[str, str]) -> None:
    ranks = Ranks()
    prove(ranks, in_force)
    first, second = (environment for _, _, environment in ranks.tried)
    for variable in ("LD_PRELOAD", proof.PROFILE):
        assert proof._value(first, variable) is None
        assert proof._value(second, variable) is not None
    original = in_force[RULES_FILE]
    assert first[RULES_FILE] != original
    assert second[RULES_FILE] == original
    assert not Path(first[RULES_FILE]).exists()  # the copy is gone
    assert "99" not in Path(original).read_text().split()


@pytest.mark.parametrize(
    ("deaf", "file"), [("library-0", "ompi-rules"), ("profile", "plumbline.prof")]
)
def test_a_file_that_is_not_read_is_found_out(
    in_force: dict[str, str], deaf: str, file: str
) -> None:
    found = prove(Ranks(deaf=deaf), in_force)
    assert found.problems and found.statements
    for problem in found.problems:
        assert file in problem and "does not decide (its canary goes unnoticed)" in problem


@pytest.mark.parametrize("answer", ["wrong", "unsupported", "not_in_force"])
def test_only_an_error_is_a_refusal(in_force: dict[str, str], answer: str) -> None:
    assert len(prove(Ranks(answer=answer), in_force).problems) == 3


def test_launches_that_fail_prove_nothing(in_force: dict[str, str]) -> None:
    """Three of them, besides those that an earlier run of the campaign has left."""
    numbers: list[int] = []

    def failing(name: str, number: int, *_: object) -> proof.Failed:
        del name
        numbers.append(number)
        return proof.Failed(EXIT, stored=number < 2)

    found = proof.prove(OpenMpi(), failing, PLAN, in_force, [BCAST], SIZES)
    assert found.statements == []
    assert found.problems == ["the canary launch failed: exit status 1"]
    assert (found.missed, found.tried) == ([], [])
    assert numbers == [0, 1, 2, 3, 4]


def test_a_launch_that_fails_once_is_made_again(in_force: dict[str, str]) -> None:
    def flaky(name: str, number: int, plan: Plan, _: object) -> proof.Outcomes | proof.Failed:
        del name
        cells = {(one.function, one.bytes): "error" for one in plan.cases}
        return cells if number else proof.Failed(EXIT)

    assert proof.prove(OpenMpi(), flaky, PLAN, in_force, [BCAST], SIZES).problems == []


def test_a_variable_that_is_not_set_is_named() -> None:
    found = proof.prove(OpenMpi(), Ranks(), PLAN, {}, [BCAST, SCAN], SIZES)
    assert found.problems == [
        "the exported files set no parameter of the library",
        f"{proof.PROFILE} is not set by the exported files",
    ]


# --- canaries under which the launch fails --------------------------------------------------------


class Loud(OpenMpi):
    """A variable a function; the error in it ends the launch."""

    says = "no such algorithm"

    def canaries(self, environment: Mapping[str, str], folder: Path) -> list[DeliberateError]:
        del folder
        return [
            DeliberateError(
                name,
                {**environment, "LOUD": "1", name: "99"},
                functions=(f"MPI_{name.capitalize()}",),
                fails="launch",
                says=self.says,
                control={**environment, "LOUD": "1"},
            )
            for name in ("BCAST", "GATHER")
            if name in environment
        ]


class Silent(Loud):
    """It says nothing of the error."""

    says = ""


EXIT = Failure("ended", "exit status 1")
NOTICED = proof.Failed(EXIT, "rank 0: no such algorithm\n")
ELSE = proof.Failed(Failure("ended", "exit status 255"), "OFI endpoint open failed\n")
SET = {"BCAST": "0", "GATHER": "0"}


class Launches:
    """Ranks that end where they meet an error; `before` are the ends of the first launches of a
    name, whatever they meet. A function in `broken` ends every launch that calls it."""

    def __init__(self, *before: proof.Failed, name: str = "", broken: str = "") -> None:
        self.before, self.name, self.broken = before, name, broken
        self.made: list[str] = []

    def __call__(
        self, name: str, number: int, plan: Plan, environment: Mapping[str, str]
    ) -> proof.Outcomes | proof.Failed:
        self.made.append(f"{name} {number}")
        assert environment["LOUD"] == "1"
        if name == self.name and number < len(self.before):
            return self.before[number]
        for index, one in enumerate(plan.cases):
            if one.function == self.broken:
                return proof.Failed(Failure("ended", "exit status 6", index))
            if environment[one.function.removeprefix("MPI_").upper()] == "99":
                return NOTICED
        return {(one.function, one.bytes): "ok" for one in plan.cases}


def proved(family: OpenMpi, launches: Launches) -> proof.Proof:
    return proof.prove(family, launches, PLAN, SET, (BCAST, GATHER), SIZES)


def test_what_fails_must_work_without_the_error() -> None:
    launches = Launches()
    found = proved(Loud(), launches)
    assert (found.problems, len(found.statements)) == ([], 2)
    assert launches.made == ["control-0 0", "library-0 0", "library-1 0"]
    found = proved(Loud(), Launches(broken="MPI_Gather"))
    assert found.problems == [
        "MPI_Gather at 64 B: launches fail without a canary too: exit status 6 (case 1)"
    ]
    assert found.missed == [PlanCase("MPI_Gather", 64)]
    assert [text.rpartition(": ")[2] for text in found.statements] == ["MPI_Bcast at 4096 B"]


def test_without_the_error_nothing_works() -> None:
    found = proved(Loud(), Launches(ELSE, ELSE, ELSE, name="control-0"))
    assert found.problems == ["launches fail without a canary too: exit status 255"]
    assert (found.statements, found.missed, found.tried) == ([], [], [])


@pytest.mark.parametrize("family", [Loud(), Silent()])
def test_a_launch_that_fails_by_chance_is_not_the_error_noticed(family: Loud) -> None:
    """What is deaf to its variable works when it is tried again."""
    launches = Launches(ELSE, name="library-0")
    deaf = {"BCAST": "0", "GATHER": "0"}

    def try_out(
        name: str, number: int, plan: Plan, environment: Mapping[str, str]
    ) -> proof.Outcomes | proof.Failed:
        return launches(name, number, plan, {**environment, **deaf})

    found = proof.prove(family, try_out, PLAN, SET, (BCAST, GATHER), SIZES)
    assert found.statements == []
    assert [one.function for one in found.missed] == ["MPI_Bcast", "MPI_Gather"]
    assert launches.made == ["control-0 0", "library-0 0", "library-0 1", "library-1 0"]


def test_the_library_must_name_the_error_where_it_can() -> None:
    launches = Launches(ELSE, ELSE, ELSE, name="library-0")
    found = proved(Loud(), launches)
    assert found.problems == ["the canary launch failed for another reason: exit status 255"]
    assert [text.rpartition(": ")[2] for text in found.statements] == ["MPI_Gather at 64 B"]


def test_where_it_cannot_two_launches_must_fail_alike() -> None:
    launches = Launches(ELSE, name="library-0")
    assert proved(Silent(), launches).problems == []
    assert launches.made[1:] == [
        *(f"library-0 {n}" for n in range(3)),
        "library-1 0",
        "library-1 1",
    ]
    late = proof.Failed(Failure("hung", "no end after 60 s"))
    found = proved(Silent(), Launches(late, late, late, name="library-0"))
    assert found.problems == ["the canary launch failed for another reason: no end after 60 s"]


def test_a_winner_that_no_canary_concerns_is_not_in_force() -> None:
    found = proof.prove(Loud(), Launches(), PLAN, {"BCAST": "0"}, [BCAST, GATHER], SIZES)
    assert found.problems == ["MPI_Gather at 64 B: no exported setting decides it"]
    assert found.missed == [PlanCase("MPI_Gather", 64)]
    assert [one.function for one in found.tried] == ["MPI_Gather", "MPI_Bcast"]
    assert len(found.statements) == 1


def test_no_winners_nothing_to_prove() -> None:
    ranks = Ranks()
    found = proof.prove(OpenMpi(), ranks, PLAN, {}, [], SIZES)
    assert (found.statements, found.problems, ranks.tried) == ([], [], [])


# --- canaries of one range of sizes --------------------------------------------------------------


class Refusing(OpenMpi):
    """One value with an algorithm for each range of sizes."""

    def canaries(self, environment: Mapping[str, str], folder: Path) -> list[DeliberateError]:
        del folder
        ends = ((0, 512), (513, 8192), (8193, UNBOUNDED_BYTES))
        return [
            DeliberateError(
                f"from {first}",
                {**environment, "REFUSES": str(first)},
                functions=("MPI_Bcast",),
                bytes_from=first,
                bytes_to=last,
                one_of=True,
            )
            for first, last in ends
        ]


@pytest.mark.parametrize(("deaf", "missed"), [("", []), ("513", [PlanCase("MPI_Bcast", 1024)])])
@pytest.mark.parametrize("answer", ["error", "wrong"])
def test_each_range_of_a_value_must_be_noticed_at_one_of_its_sizes(
    deaf: str, missed: list[PlanCase], answer: str
) -> None:
    """At 1024 B the library takes another algorithm, for it knows better; that is no harm. A Reduce
    of MVAPICH2 swallows the error of its algorithm, so that the result is wrong."""
    asked: list[list[int]] = []

    def try_out(_: str, __: int, plan: Plan, environment: Mapping[str, str]) -> proof.Outcomes:
        asked.append([one.bytes for one in plan.cases])
        heard = environment["REFUSES"] != deaf
        return {
            (one.function, one.bytes): answer if heard and one.bytes != 1024 else "ok"
            for one in plan.cases
        }

    whole = everywhere("MPI_Bcast", TUNING="1:0-512,2:513-8192,3:8193-+")
    sizes = {"MPI_Bcast": [1024, 4096, 16384]}
    found = proof.prove(Refusing(), try_out, PLAN, {"TUNING": "1"}, [whole], sizes)
    assert asked == [[1024, 4096], [16384]]
    assert found.unproven == [("", "from 0: no measured size is in its range")]
    assert set(found.missed) == set(missed) and len(found.statements) == 2 - len(missed)
