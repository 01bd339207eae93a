"""Plans and the options of the probe: what PGMPI and ReproMPI emit, lose or ignore."""

from __future__ import annotations

import itertools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from plumbline.core import guidelines
from plumbline.verify.kinds import all_kinds
from plumbline_db.probe_records import Header
from tests.collectives_alt.programs import make
from tests.probes.launch import ROOT, Launch, Probe

FIRST = "plumbline-plan 1\n"
CASE = "case id=0 function=MPI_Bcast bytes=8\n"
LISTED = {
    **{"sync": "syncs", "clock": "clocks", "clock_sync": "clock_syncs", "type": "types"},
    **{"cache": "caches", "plain": "plain"},
}


def checked(probe: Probe, lines: str) -> Launch:
    return probe.start([str(probe.binary), "--check-plan", str(probe.write(lines))])


def accepted(probe: Probe, lines: str) -> bool:
    launch = checked(probe, lines)
    assert launch.code in (0, 2), launch.stderr
    return launch.code == 0


# --- 0: the parts of the family do not fit together ---------------------------------------------


def test_one_tool_checks_all_three_kinds(probe: Probe) -> None:
    """0 [run]: no maintained tool checks monotony, split-robustness and patterns; ours does, and
    its probe has the right side of every pattern."""
    assert {kind.name for kind in all_kinds()} >= {"monotony", "split", "pattern"}
    listed = probe.known()
    known = {variant["name"] for variant in listed["variants"]}
    known |= {form["blocking"] for form in listed["forms"]}
    known |= {each["name"] for pattern in listed["patterns"] for each in pattern["operations"]}
    guidelines.check_against(guidelines.load(), known)


# --- 2a: no time budget, one repetition ---------------------------------------------------------


@pytest.mark.mpi
@pytest.mark.parametrize("sync", ["barrier", "dissemination", "window", "roundtime", "none"])
def test_without_a_budget_all_repetitions_are_made(probe: Probe, sync: str) -> None:
    """2a [run]: as above; ours makes every repetition that was asked for, under every scheme, and
    counts those that the scheme found invalid."""
    launch = probe.good(f"set sync={sync} blocks=2\n{CASE.strip()} reps=30\n")
    assert len(launch.samples) == 2
    for record in launch.samples:
        invalid = 0 if sync == "roundtime" else record.late
        assert len(record.ns) + invalid == 30
        assert not record.budget_spent


# --- 2b: names as documented --------------------------------------------------------------------


def documented() -> Iterator[tuple[str, str]]:
    """Every key=value of docs/plan-and-records.md whose value is a name, or names with | in it."""
    text = (ROOT / "docs" / "plan-and-records.md").read_text()
    keys = "sync|clock|clock_sync|runtime|cache|nrep|plain|function|variant|type|op"
    for key, values in re.findall(rf"\b({keys})=([A-Za-z0-9_|:./,]*[A-Za-z0-9_])", text):
        if not values.startswith(("criterion:", "replay:")):  # stand for names
            yield from ((key, value) for value in values.split("|"))


def keys_of(probe: Probe, word: str) -> set[str]:
    """The keys of a line, as the probe lists them when it meets one that it does not know."""
    _, _, listed = checked(probe, f"{word} frobnicate=1\n").stderr.partition("it has: ")
    return set(listed.split())


def line_with(key: str, value: str, probe: Probe) -> str:
    """A plan in which the token may stand."""
    variants = {one["name"]: one["function"] for one in probe.known()["variants"]}
    case = {"id": "0", "function": "MPI_Allreduce", "bytes": "8"}
    if key == "op":
        case |= {"type": "MPI_INT"}
    if key == "type":
        case |= {"function": "MPI_Bcast"}
    if key in ("function", "variant", "type", "op"):
        case[key] = value
        case["function"] = variants.get(value, case["function"])
        return "case " + " ".join(f"{one}={what}" for one, what in case.items()) + "\n"
    needs = " runtime=global" if key == "clock_sync" else ""
    return f"set {key}={value}{needs}\n{CASE}"


def test_every_documented_name_is_accepted(probe: Probe) -> None:
    """2b [run]: names in the README (SKAMPI, TOPO2, NONE) are rejected; every name in our page of
    plans is taken as it stands there."""
    names = set(documented())
    assert {("sync", "barrier"), ("variant", "default")} <= names
    refused = [name for name in names if not accepted(probe, line_with(*name, probe))]
    assert refused == []


def test_every_listed_name_is_accepted(probe: Probe) -> None:
    """2b [run]: as above, for the names that `probe --list` gives."""
    known = probe.known()
    for key, names in LISTED.items():
        for name in known[names]:
            assert accepted(probe, line_with(key, name, probe)), (key, name)
            for other in {name.upper(), name.lower(), name + "s"} - {name}:
                assert not accepted(probe, line_with(key, other, probe)), (key, other)


# --- 2c: order ----------------------------------------------------------------------------------


def test_every_key_and_name_is_documented(probe: Probe) -> None:
    """2b [run]: as above, the other way round: no key and no name is for those alone who read the
    source."""
    page = (ROOT / "docs" / "plan-and-records.md").read_text()
    known = probe.known()
    names = {name for kind in LISTED.values() for name in known[kind] if kind != "types"}
    names |= {*known["criteria"], *keys_of(probe, "set"), *keys_of(probe, "case")}
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", page)) == []


SET = (
    *("run=r", "seed=9", "blocks=1", "warmup=1", "rewarm=2", "sync=roundtime", "runtime=global"),
    *("clock=monotonic", "clock_sync=skampi", "cache=overwrite", "budget_ms=900"),
)


def stable(header: Header) -> Header:
    """What two launches of one plan share."""
    clock = msgspec.structs.replace(header.clock, resolution_ns=0, cost_ns=0)
    return msgspec.structs.replace(header, clock=clock, environment={}, factors=[])


@pytest.mark.mpi
def test_the_order_of_keys_means_nothing_to_a_launch(probe: Probe) -> None:
    """2c: `--runtime-type=global --summary` silently becomes local, for it must stand last; ours
    gives one header for keys turned round (all orders: tests/probes/unit/test_plan_order.c)."""
    headers = []
    for keys in (SET, SET[::-1], (*SET[7:], *SET[:7])):
        launch = probe.good(f"set {' '.join(keys)}\n{CASE.strip()} reps=2\n")
        headers.append(stable(launch.header))
    assert headers[0] == headers[1] == headers[2]
    assert (headers[0].runtime, headers[0].sync, headers[0].cache.mode) == (
        *("global", "roundtime"),
        "overwrite",
    )


@pytest.mark.mpi
def test_the_order_of_options_means_nothing_to_the_probe(probe: Probe) -> None:
    """2c: as above; ours takes its options in either order, `=` or a blank between."""
    plan, out = probe.write(f"set blocks=0\n{CASE}"), probe.folder / "o"
    for words in (["--plan", plan, "--out", out], [f"--out={out}", f"--plan={plan}"]):
        out.unlink(missing_ok=True)
        launch = probe.start([*probe.command(1, {}), str(probe.binary), *map(str, words)], out)
        assert launch.code == 0, launch.stderr
        assert launch.header.blocks == 0


# --- 2c: what is unknown or misspelt ------------------------------------------------------------

EVERY_KEY = (
    "set run=r seed=9 blocks=1 warmup=1 rewarm=2 sync=window runtime=local clock=monotonic "
    "clock_sync=skampi clock_multiple=3 window_us=9 cache=overwrite budget_ms=900\n"
    "config id=c knob=1\n"
    "case id=0 function=MPI_Reduce variant=reduce_ring config=c bytes=8 type=MPI_INT op=MPI_SUM "
    "root=0 reps=2\n"
    "pingpong bytes=8 reps=3\n"
)


def misspelt(word: str) -> set[str]:
    """The last letter lost, one twice, two exchanged, another case, a hyphen."""
    swapped = word[0] + word[2:3] + word[1:2] + word[3:]
    return {word[:-1], word + word[-1], swapped, word.upper(), word.replace("_", "-")} - {word, ""}


def test_every_misspelt_word_and_key_is_refused(probe: Probe) -> None:
    """2c [run]: `--proc-synk=window --dattype=MPI_INT` runs with defaults; ours refuses each
    misspelling of each word and key, and names it."""
    assert accepted(probe, EVERY_KEY)
    tried = 0
    for place in re.finditer(r"^\w+|(?<= )\w+(?==)", EVERY_KEY, re.MULTILINE):
        if place[0] == "knob":
            continue
        for wrong in misspelt(place[0]):
            launch = checked(probe, EVERY_KEY[: place.start()] + wrong + EVERY_KEY[place.end() :])
            assert launch.code == 2, wrong
            assert f"token '{wrong}" in launch.stderr
            tried += 1
    assert tried > 80


@pytest.mark.parametrize(
    "token",
    [
        *("sync=windows", "sync=Barrier", "clock=rdtsc", "clock_sync=HCA3", "clock_sync=topo2"),
        *("runtime=globl", "cache=hot", "blocks=ten", "seed=-1", "warmup=1.5", "rewarm=", "reps=5"),
        *("nrep=rsee:0.1", "nrep=rse", "nrep=rse:0", "nrep_max=5", "window_us=1e3"),
    ],
)
def test_every_misspelt_value_is_refused(probe: Probe, token: str) -> None:
    """2c [run]: as above, for values."""
    assert not accepted(probe, f"set {token}\n{CASE}")


@pytest.mark.parametrize(
    "words",
    [
        *(["--plna", "x", "--out", "y"], ["--pla", "x", "--out", "y"], ["-p", "x"]),
        *(
            ["--list", "--frobnicate"],
            ["--frobnicate", "--list"],
            ["--lis"],
            ["--list", "--plan=x"],
        ),
        *(["--plan", "a", "--plan", "b", "--out", "c"], ["--version", "now"], ["--list=all"]),
    ],
)
def test_every_misspelt_option_of_the_probe_is_refused(probe: Probe, words: list[str]) -> None:
    """2c [run]: as above, for options: unknown, cut short, twice, behind one that ends the work."""
    launch = probe.start([str(probe.binary), *words])
    assert (launch.code, launch.stdout) == (2, "")
    assert launch.stderr.startswith(("probe: ", str(probe.binary)))


PROFILE_KEYS = (
    *("function=MPI_Bcast", "nprocs=2-4", "bytes=0-99"),
    "variant=bcast_as_scatter_plus_allgather",
)


@pytest.fixture(scope="module")
def profiles() -> Path:
    """The parser of profiles as a program."""
    return make("profiles").program("profiles")


def parsed(program: Path, rule: str) -> tuple[int, str]:
    text = f"plumbline-profile 1\n{rule}\n"
    done = subprocess.run([program], input=text, capture_output=True, text=True, timeout=20)
    return done.returncode, done.stdout


def test_a_profile_is_as_strict(profiles: Path) -> None:
    """2c [run]: as above, for profiles: all orders of keys are one rule, misspellings are none."""
    rules = {parsed(profiles, f"rule {' '.join(k)}") for k in itertools.permutations(PROFILE_KEYS)}
    assert len(rules) == 1 and rules.pop()[0] == 0
    for number, token in enumerate(PROFILE_KEYS):
        key, _, value = token.partition("=")
        wrong = [f"{one}={value}" for one in misspelt(key)] + [f"{key}={value}x", key]
        for other in wrong:
            keys = [*PROFILE_KEYS[:number], other, *PROFILE_KEYS[number + 1 :]]
            code, said = parsed(profiles, f"rule {' '.join(keys)}")
            assert code == 1 and said.startswith("2|"), other


# --- 2c: shuffling ------------------------------------------------------------------------------


@pytest.mark.mpi
def test_launches_of_one_second_have_orders_of_their_own(probe: Probe) -> None:
    """2c [run]: the seed is the second of the wall clock, cannot be set and is not printed, so
    three launches in a row share one order; ours is set, recorded, and decides alone."""
    cases = "".join(f"case id={i} function=MPI_Barrier bytes=0 reps=1\n" for i in range(20))
    orders = {}
    for seed in (1, 2, 3, 1):
        launch = probe.good(f"set seed={seed} blocks=3 warmup=0 rewarm=0\n{cases}")
        assert launch.header.seed == seed
        assert orders.setdefault(seed, launch.orders) == launch.orders
    every_block = [tuple(order) for blocks in orders.values() for order in blocks]
    assert len(set(every_block)) == 9


# --- 3c: missing input --------------------------------------------------------------------------


@pytest.mark.mpi
@pytest.mark.parametrize("what", ["missing", "folder", "empty"])
def test_no_rank_waits_for_a_plan_that_is_not_there(probe: Probe, what: str) -> None:
    """3c-6: missing input ends rank 0 alone, and the others wait for ever; all of ours end, with
    one message and exit status 2."""
    plan, out = probe.folder / what, probe.folder / "o"
    if what == "folder":
        plan.mkdir()
    if what == "empty":
        plan.touch()
    words = ["--plan", str(plan), "--out", str(out)]
    launch = probe.start([*probe.command(4, {}), str(probe.binary), *words], out)
    assert launch.code == 2
    assert launch.stderr.count(str(plan)) == 1
    assert list(probe.folder.glob("o*")) == []
