"""guidelines.toml: complete, consistent with the catalogue, and strict about mistakes."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from plumbline.core.guidelines import DEFAULT_PATH, MESSAGE_PATTERNS, check_against, load
from plumbline.core.plan import blocking, is_form
from plumbline_db.errors import PlumblineError, UsageError
from tests.probes.launch import functions_of_the_probe, listed
from tests.verify.simulated import PAPER

CATALOGUE = Path(__file__).parents[2] / "collectives-alt" / "catalogue.def"
EVERY = load()


GL4 = '{ id = "GL4", name = "MPI_Gather ⪯ MPI_Reduce"'


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_those_of_the_literature_are_verified_by_default() -> None:
    """GL1 to GL17 are the paper's, the next ten PGMPITuneLib's."""
    ids = [entry.id for entry in EVERY.selected(()).entries()]
    assert [one for one in ids if one.startswith("GL")] == [f"GL{n}" for n in range(1, 28)]
    others = {one.id for one in EVERY.entries()} - set(ids)
    assert others and all(one.startswith("PL") for one in others)
    assert EVERY.split.tolerance == 0.05
    assert EVERY.name_of("GL12") == "MPI_Allreduce ⪯ MPI_Reduce + MPI_Bcast"


def test_what_is_asked_for_is_selected() -> None:
    assert EVERY.rank is not None and EVERY.selected(()).rank is None
    found = EVERY.selected(["GL3", EVERY.rank.id])
    assert [one.id for one in found.patterns] == ["GL3"] and found.rank == EVERY.rank
    assert found.split == EVERY.split and found.monotony == EVERY.monotony


def test_names_say_what_is_compared() -> None:
    for pattern in EVERY.patterns:
        if is_form(pattern.lhs) or pattern.lhs in MESSAGE_PATTERNS:
            continue
        sides = pattern.name.split(" ⪯ ")
        variants = [pattern.lhs_variant, pattern.variant]
        if pattern.lhs_variant != "default":  # read from right to left
            sides, variants = sides[::-1], variants[::-1]
        assert sides[0] == pattern.lhs and variants[0] == "default"
        parts = sides[1].replace("MPI_", "").lower().replace(" + ", "_plus_")
        assert variants[1] == f"{pattern.lhs.removeprefix('MPI_').lower()}_as_{parts}"
        right = pattern.uses if pattern.lhs_variant == "default" else [pattern.lhs]
        assert pattern.name.endswith(" ⪯ " + " + ".join(right))


def test_blocking_and_non_blocking_are_compared_both_ways() -> None:
    forward = {p.lhs for p in EVERY.patterns if p.variant.endswith("_plus_wait")}
    begun = [p for p in EVERY.patterns if p.lhs.startswith("MPI_I")]
    assert forward == {p.uses[0] for p in begun} and len(forward) == len(begun) == 16
    for pattern in begun:
        function, variant = blocking(pattern.lhs), pattern.variant
        assert pattern.name == f"{pattern.lhs} + MPI_Wait ⪯ {function}"
        assert variant == f"{pattern.lhs[4:].lower()}_as_{function[4:].lower()}"
        assert (pattern.uses, pattern.lhs_variant) == ([function], "default")


def test_persistent_forms_are_compared_with_the_blocking_ones() -> None:
    started = [p for p in EVERY.patterns if p.lhs.endswith("_init")]
    assert len(started) == 11 and not any(p.default for p in started)
    for pattern in started:
        assert pattern.name == f"{pattern.lhs} + MPI_Start + MPI_Wait ⪯ {pattern.uses[0]}"
        assert pattern.variant == f"{pattern.lhs[4:].lower()}_as_{pattern.uses[0][4:].lower()}"


def test_forms_are_verified_where_they_are_named_and_there() -> None:
    found = EVERY.selected((), ["MPI_Ibcast", "MPI_Bcast", "MPI_Scan_init"])
    more = [each.id for each in found.patterns if each not in EVERY.selected(()).patterns]
    assert more == ["PL31", "PL55"]
    lacking = EVERY.known_to({"MPI_Bcast", "MPI_Ibcast"})
    assert {each.lhs for each in lacking.patterns if is_form(each.lhs)} == {"MPI_Ibcast"}
    assert "MPI_Gather" in lacking.lhs_functions()


def test_left_hand_functions() -> None:
    paper = ["MPI_Gather", "MPI_Allgather", "MPI_Scatter", "MPI_Reduce", "MPI_Reduce_scatter"]
    paper += ["MPI_Bcast", "MPI_Allreduce", "MPI_Reduce_scatter_block", "MPI_Scan"]
    assert PAPER.lhs_functions() == paper
    assert EVERY.selected(()).lhs_functions() == [*paper, "MPI_Alltoall", "MPI_Barrier"]
    known = functions_of_the_probe()
    every = [name for name in EVERY.lhs_functions() if name not in MESSAGE_PATTERNS]
    functions = [name for name in every if not is_form(name)]
    assert set(functions) == set(known) - {"MPI_Reduce_local"}
    assert {blocking(name) for name in every} == set(functions)


def test_sides_are_in_the_catalogue() -> None:
    lines = re.findall(r"PL_VARIANT\((\w+)\)(?:\s*/\* (GL\d+))?", CATALOGUE.read_text())
    numbered = {name: number for name, number in lines if number and number != "GL2"}
    assert numbered.items() >= {one.variant: one.id for one in PAPER.patterns}.items()
    assert {name for name, number in lines if number == "GL2"} == {
        EVERY.split.variant(one, 2).partition(":")[0] for one in EVERY.split.functions
    }
    forms = [each.variant for each in EVERY.patterns if is_form(each.lhs)]
    operations = listed("pattern/operations.def")
    check_against(EVERY, [*(name for name, _ in lines), *forms, *operations])


def test_every_mockup_is_a_side_of_a_guideline() -> None:
    names = re.findall(r"PL_VARIANT\((\w+_as_\w+)\)", CATALOGUE.read_text())
    of_calls = [one for one in EVERY.patterns if one.lhs not in MESSAGE_PATTERNS]
    used = {one.variant for one in of_calls if not is_form(one.lhs)}
    used |= {EVERY.split.variant(one, 2).partition(":")[0] for one in EVERY.split.functions}
    assert set(names) == used - {"default"}


def test_pieces_have_a_least_size() -> None:
    split, least = msgspec.structs.replace(EVERY.split, pieces=[2, 4]), EVERY.split.least_bytes
    two, four = (split.variant("MPI_Bcast", k) for k in (2, 4))
    assert (two, four) == ("bcast_as_split:pieces=2", "bcast_as_split:pieces=4")
    assert split.variants("MPI_Bcast", 2 * least - 1, 1) == []
    assert split.variants("MPI_Bcast", 2 * least, 1) == [two]
    assert split.variants("MPI_Bcast", 4 * least, 1) == [two, four]
    assert split.variants("MPI_Bcast", 4 * least, 2 * least) == [two]  # long elements
    assert split.variants("MPI_Alltoallv", 4 * least, 1) == []


def test_sides_of_messages_are_operations_of_their_pattern() -> None:
    sources = "".join(
        file.read_text() for file in (CATALOGUE.parents[1] / "probes" / "pattern").glob("*.c")
    )
    of_messages = [pattern for pattern in EVERY.patterns if pattern.lhs in MESSAGE_PATTERNS]
    assert {pattern.lhs for pattern in of_messages} == set(MESSAGE_PATTERNS)
    operations = set(listed("pattern/operations.def"))
    for pattern in of_messages:
        assert f'.name = "{pattern.lhs}"' in sources
        assert {pattern.lhs_variant, pattern.variant} <= {*operations, "default"}
        assert pattern not in EVERY.selected(()).patterns


def test_ranks_of_the_left_side() -> None:
    assert EVERY.rank is not None
    assert [EVERY.rank.ranks(n) for n in (2, 3, 4, 5, 8)] == [0, 0, 2, 2, 4]


def test_functions_are_known_to_the_probe() -> None:
    known = set(functions_of_the_probe())
    used = {function for pattern in PAPER.patterns for function in pattern.uses}
    assert {*PAPER.lhs_functions(), *used} <= known


def test_unknown_variant_is_named() -> None:
    known = [pattern.variant for pattern in PAPER.patterns if pattern.id != "GL12"]
    known += [f"{one[4:].lower()}_as_split" for one in PAPER.split.functions]
    with pytest.raises(PlumblineError, match=r"GL12.*'allreduce_as_reduce_plus_bcast'"):
        check_against(PAPER, known)


def test_a_guideline_is_one_entry(tmp_path: Path) -> None:
    row = '    { id = "X1", name = "MPI_Gather ⪯ MPI_Ghost"'
    text = DEFAULT_PATH.read_text(encoding="utf-8")
    path = write(tmp_path, text.replace("\n]\n", f"\n{row} }},\n]\n", 1))
    pattern = load(path).patterns[-1]
    assert (pattern.lhs, pattern.variant, pattern.uses) == (
        "MPI_Gather", "gather_as_ghost", ["MPI_Ghost"],
    )  # fmt: skip
    path = write(tmp_path, path.read_text().replace(row, f'{row}, variant = "gather_linear"'))
    assert load(path).patterns[-1] == msgspec.structs.replace(pattern, variant="gather_linear")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "GL4"', 'id = "GL3"', "'GL3': the id is used twice"),
        ('id = "GL4"', 'id = "GL 4"', "'GL 4': the id must be a word"),
        ("MPI_Gather ⪯ MPI_Reduce", "Gather", r"`lhs` is missing .*entry 2, id GL4"),
        ("MPI_Gather ⪯ MPI_Reduce", "MPI_Gather ⪯ Reduce", "'GL4': 'Reduce' is not the name"),
        (GL4, f'{GL4}, lhs = "MPI_Scan"', "'GL4': the name must start with 'MPI_Scan ⪯ '"),
        (GL4, f'{GL4}, variant = "scan_as_x"', "'GL4': 'scan_as_x' is not a"),
        (
            GL4,
            f'{GL4}, variant = "gather_as_allgather"',
            "'GL4': variant 'gather_as_allgather' is already in GL3",
        ),
        (GL4, f"{GL4}, uses = []", "'GL4': uses is empty"),
        (GL4, f"{GL4}, uses = 3", r"pattern\[1\].uses.*entry 2, id GL4"),
        (GL4, f"{GL4}, speed = 3", r"(?s)speed.*entry 2, id GL4"),
        ("tolerance = 0.05", "tolerance = -1.0", "'GL2': tolerance = -1.0"),
        ("tolerance = 0.05", "tolerance = nan", "nan is not a valid number"),
        ("tolerance = 0.05", 'tolerance = "5 %"', "split.tolerance"),
        ("pieces = [2]", "pieces = []", "'GL2': pieces must name"),
        ("pieces = [2]", "pieces = [1, 2]", "'GL2': pieces must name"),
        ("least_bytes = 256", "least_bytes = 0", "'GL2': least_bytes"),
        ("divisor = 2", "divisor = 1", "'PL1': divisor"),
        (GL4, f'{GL4}, variant = "default"', "'GL4': the name must end with ' ⪯ MPI_Gather'"),
        (GL4, f'{GL4}, lhs_variant = "scan_as_x"', "'scan_as_x' is not a variant of MPI_Gather"),
        ("[monotony]", "[monotone]", "monoton"),
        ("[split]", "[split", "not a TOML file"),
    ],
)
def test_mistakes_name_file_and_entry(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = DEFAULT_PATH.read_text(encoding="utf-8")
    assert old in text
    with pytest.raises(UsageError, match=message) as caught:
        load(write(tmp_path, text.replace(old, new, 1)))
    assert "mine.toml" in str(caught.value)


def test_missing_and_undecodable_files_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot read .*nowhere.toml: "):
        load(tmp_path / "nowhere.toml")
    path = tmp_path / "latin1.toml"
    path.write_bytes(b"# \xe4\n")
    with pytest.raises(UsageError, match="not a TOML file"):
        load(path)


def test_a_file_needs_patterns_only(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    pattern = 'pattern = [{ id = "A", name = "MPI_Gather ⪯ MPI_Allgather" }]\n'
    file.write_text(pattern)
    own = load(file)
    assert (own.monotony, own.split) == (load().monotony, load().split)
    assert own.rank is None and own.left_out == []
    file.write_text(f'left_out = ["GL2"]\n{pattern}')
    assert load(file).verifies(own.monotony) and not load(file).verifies(own.split)
    file.write_text(f'left_out = ["A"]\n{pattern}')
    with pytest.raises(UsageError, match="'A' is not the id of monotony or split-robustness"):
        load(file)


def test_ids_that_are_left_out() -> None:
    """Beside the usual set, beside all, and beside some."""
    usual = {pattern.id for pattern in load().selected(()).patterns}
    rest = load().selected(["-GL3", "-gl1"])
    assert {pattern.id for pattern in rest.patterns} == usual - {"GL3"}
    assert rest.left_out == ["GL1"]
    every = load().selected(["all", "-PL1"])
    assert every.rank is None and every.patterns == load().patterns
    assert [pattern.id for pattern in load().selected(["GL3", "GL4", "-GL4"]).patterns] == ["GL3"]
