"""Our lines among those of others: put in, found again, taken out, and never anybody else's; values
that are there already."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.applied.files import block_of, find_block, put_block, without_block
from plumbline_db.errors import PlumblineError

OURS = block_of("openmpi", 3, ["a = 1", "b = 2"])


def test_what_a_block_looks_like() -> None:
    assert OURS.splitlines() == [
        "# >>> plumbline openmpi 3 >>> "
        "written by plumbline apply, removed by plumbline apply --undo",
        "a = 1",
        "b = 2",
        "# <<< plumbline openmpi <<<",
    ]


def test_it_takes_the_place_of_the_one_before() -> None:
    text = put_block("first\nsecond\n", "openmpi", OURS) + "third\n"
    new = put_block(text, "openmpi", block_of("openmpi", 4, ["c = 3"]))
    assert new.splitlines()[:2] == ["first", "second"] and new.endswith("third\n")
    found = find_block(new, "openmpi")
    assert found is not None and found.number == 4
    assert without_block(new, "openmpi") == "first\nsecond\nthird\n"


def test_blocks_of_others_stay() -> None:
    text = put_block(OURS, "intelmpi", block_of("intelmpi", 1, ["x"]))
    assert without_block(text, "openmpi") == block_of("intelmpi", 1, ["x"])
    assert find_block(text, "open") is None and find_block(text, "openmpi 3") is None


@pytest.mark.parametrize(
    "text",
    [
        OURS + OURS,
        OURS.splitlines()[0],
        OURS.splitlines()[-1],
        "\n".join(reversed(OURS.splitlines())),
        OURS + OURS.splitlines()[-1],
    ],
)
def test_damaged_marks_are_refused(text: str) -> None:
    for work in (find_block, without_block, lambda text, name: put_block(text, name, OURS)):
        with pytest.raises(PlumblineError, match=r"marks of plumbline openmpi are damaged \(line"):
            work(text, "openmpi")


LINES = st.lists(st.text(st.characters(exclude_characters="\n"), max_size=20), max_size=6)


@given(lines=LINES, ended=st.booleans(), following=LINES)
def test_what_others_write_is_theirs(lines: list[str], ended: bool, following: list[str]) -> None:
    """Whatever it is, up to the line break that a last line has to get."""
    text = "\n".join(lines) + ("\n" if ended else "")
    whole = put_block(text, "openmpi", OURS)
    grown = text if not text or text.endswith("\n") else text + "\n"
    assert without_block(whole, "openmpi") == grown
    after = "".join(f"{line}\n" for line in following)
    assert without_block(whole + after, "openmpi") == grown + after
    assert put_block(whole, "openmpi", OURS) == whole
