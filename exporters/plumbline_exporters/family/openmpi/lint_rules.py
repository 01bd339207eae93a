"""Classic rules files of coll/tuned (Open MPI 4.1 and 5.0; 6 gives them another meaning)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from plumbline_db.records import UNBOUNDED_BYTES
from plumbline_exporters.families import Context
from plumbline_exporters.family.openmpi import tuned
from plumbline_exporters.family.openmpi.lint_tuned_rules import MOST_RANKS, Choice, Group, check
from plumbline_exporters.family.openmpi.rules_reader import (
    HEADER,
    Block,
    Rule,
    RulesFile,
    Section,
    looking_up,
    read,
)
from plumbline_exporters.finding import Finding, LintTarget

SUMMARY = "classic rules file of Open MPI's coll/tuned"
_FUNCTIONS = {collective.rule_id: name for name, collective in tuned.COLLECTIVES.items()}
UNTUNED_IDS = {5: "MPI_Alltoallw", 10: "MPI_Gatherv", 16: "MPI_Scatterv"}  # 17 to 21: neighbours
# The upstream tuner's comments; it writes the sizes of OSU's benchmarks, which are sizes of a rank.
_UPSTREAM = re.compile(r"# Collective ID for \w+$", re.MULTILINE)
_COUNT = "write how many rules follow; each has 4 numbers, or 5 after rule-file-version-2"
_LETTERS = re.compile(r"^[ \t]*(?:\{|\[|export\b|setenv\b|[A-Za-z_]\w*[ \t]*=)", re.MULTILINE)

# Rules with the names of collectives in place of numbers, as people write them.
_NAMES = "|".join(function.removeprefix("MPI_").lower() for function in tuned.COLLECTIVES)
_WITH_NAMES = re.compile(
    rf"(?:\s*(?:MPI_)?(?:{_NAMES})(?:[ \t]+[0-9]+){{3,}}[ \t]*(?:\n|\Z))+\s*\Z", re.I
)


def function_of(collective: int) -> str | None:
    """Return by the id of its rules; None where coll/tuned has none."""
    return _FUNCTIONS.get(collective)


def recognises(name: str, text: str) -> bool:
    """Numbers and comments, and nothing that looks like another format."""
    del name
    if HEADER.search(text):
        return True
    bare = re.sub(r"#.*", "", text)
    if _WITH_NAMES.match(bare):
        return True
    return not _LETTERS.search(bare) and bool(re.match(r"\s*[0-9]+\b", bare))


def findings(text: str, context: Context) -> Iterator[Finding]:
    target = context.target("openmpi")
    second = target.some(tuned.version_reads_second)
    file = read(text, second=second)
    yield from _of_header(text, file, target)
    yield from _of_words(file)
    if file.error:
        yield _dropped(file)
        return
    yield from _of_rest(file)
    if _crooked(file) is not None:
        return
    upstream = bool(_UPSTREAM.search(text))
    section_by_id: dict[int, Section] = {}
    for section in file.sections:
        if section.collective in section_by_id:
            yield Finding(
                section_by_id[section.collective].line, "ignored", "collective-twice",
                f"collective {section.collective} comes again in line {section.line}, and that one "
                "stands", "keep one of them",
            )  # fmt: skip
        section_by_id[section.collective] = section
    for section in section_by_id.values():
        yield from _of_section(section, target, upstream)


def _of_header(text: str, file: RulesFile, target: LintTarget) -> Iterator[Finding]:
    header = HEADER.search(re.sub(r"#.*", lambda comment: " " * len(comment[0]), text))
    if header is None:
        return
    line = 1 + text.count("\n", 0, header.start())
    if header.start() > 0:
        yield Finding(
            line, "ignored", "late-header",
            f"{header[0]} counts as the very first characters of the file alone; here it is taken "
            "for a negative number, and the whole file is dropped",
            "move it up to line 1; blanks and comments come after it",
        )  # fmt: skip
    elif not target.every(tuned.version_reads_second):
        yield Finding(
            line, "ignored", "header-too-new",
            "Open MPI before 4.1.8, and 5.0 before 5.0.7, knows no header and drops the whole file",
            "leave the header and the fifth column out, or name the library (--library)",
        )  # fmt: skip
    elif header[0] != "rule-file-version-2":
        yield Finding(
            line, "misread", "header-version",
            f"{header[0]}: there are versions 1 (no header) and 2 of this format; this is read as "
            f"{2 if file.version > 1 else 1}", "write rule-file-version-2",
        )  # fmt: skip


def _of_words(file: RulesFile) -> Iterator[Finding]:
    for strange in file.strange:
        yield Finding(
            strange.line, "misread", "not-a-number",
            f"{strange.text!r} is passed over character by character: what stands before and after "
            "it are numbers of their own", "write plain numbers of bytes; comments begin with #",
        )  # fmt: skip
    for number in file.numbers:
        digits = number.text.lstrip("+-")
        if digits[0] == "0" and digits[1:2] not in ("x", "X") and int(digits) != abs(number.value):
            yield Finding(
                number.line, "misread", "octal",
                f"{number.text} starts with 0 and is octal: {number.value}",
                f"write {int(digits)} without the 0 in front, or {number.value}",
            )  # fmt: skip
        elif digits == "0" and number.ends:
            yield Finding(
                number.line, "misread", "octal",
                "a number that starts with 0 is octal and has no 8 or 9: it ends before them, and "
                "they are a number of their own", "write it without the 0 in front",
            )  # fmt: skip


def _dropped(file: RulesFile) -> Finding:
    where = _crooked(file)
    if where is None:
        return Finding(
            file.error_line, "ignored", "dropped",
            f"{file.error}: the library drops the whole file, without a word",
            "put this right; without the file the library decides",
        )  # fmt: skip
    block, rule = where
    return Finding(
        block.count_line, "ignored", "wrong-count",
        f"the count of rules does not fit the lines that follow: at line {rule.line} numbers that "
        "belong to different lines are taken for one rule, and so on until line "
        f"{file.error_line}, where {file.error}; the library drops the whole file, without a word",
        _COUNT,
    )  # fmt: skip


def _crooked(file: RulesFile) -> tuple[Block, Rule] | None:
    """The first rule that lines speak against: its numbers stand in several, or a line of its own
    holds one more than it takes, or others of its block have lines to themselves. A file that goes
    without lines has none."""
    held: dict[int, list[int]] = {}
    for number in file.numbers:
        held.setdefault(number.line, []).append(number.value)
    for section in file.sections:
        for block in section.blocks:
            alone = [len(rule.lines) == 1 and _fills(rule, held[rule.line]) for rule in block.rules]
            some = any(alone)
            for rule, has in zip(block.rules, alone, strict=True):
                if len(rule.lines) > 1 or (some and not has):
                    return block, rule
                if len(held[rule.line]) == 5 and _begins(rule, held[rule.line]) and not has:
                    return block, rule
    return None


def _begins(rule: Rule, line: list[int]) -> bool:
    return line[:4] == [rule.size, rule.algorithm, rule.fanout, rule.segment_bytes]


def _fills(rule: Rule, line: list[int]) -> bool:
    return _begins(rule, line) and len(line) == 4 + (rule.max_requests is not None)


def _of_rest(file: RulesFile) -> Iterator[Finding]:
    where = _crooked(file)
    if where is not None:
        block, rule = where
        yield Finding(
            block.count_line, "misread", "wrong-count",
            f"the count of rules does not fit the lines that follow: at line {rule.line} numbers "
            "that belong to different lines are taken for one rule, and what comes after it for "
            "something else", _COUNT,
        )  # fmt: skip
    if file.rest is not None:
        yield Finding(
            file.rest.line, "ignored", "left-over",
            "nothing is read from here on: the counts before are too small",
            "write how many collectives, communicator sizes and rules there are",
        )  # fmt: skip


def _of_section(section: Section, target: LintTarget, upstream: bool) -> Iterator[Finding]:
    function = _FUNCTIONS.get(section.collective)
    if function is None:
        name = UNTUNED_IDS.get(section.collective, "a collective of neighbours")
        yield Finding(
            section.line, "ignored", "no-rules",
            f"{section.collective} is {name}, which coll/tuned has no algorithms for",
            "leave it out",
        )  # fmt: skip
        return
    if not section.blocks:
        return
    if len(section.blocks) > 1 and target.some(lambda version: (6, 0, 0) <= version < (7, 0, 0)):
        yield Finding(
            section.line, "misread", "another-meaning",
            f"{function}: Open MPI 6 lets each block hold for the communicators below its size, up "
            "to the one before, where 4.1 and 5.0 let it hold for those from its size on",
            "for Open MPI 6 write its JSON rules",
        )  # fmt: skip
    if target.every(lambda version: version >= (6, 0, 0)):
        return
    yield from _of_order(section)
    yield from _of_guards(section, function)
    if upstream and tuned.COLLECTIVES[function].of_one_rank:
        yield from _of_upstream(section, function)
    for block, least, most in served(section.blocks):
        yield from check(_group(function, block, least, most, target), target)


def _of_order(section: Section) -> Iterator[Finding]:
    """A look-up takes the last size that is not above the call's, and ends at the first that is."""
    largest = -1
    for block in section.blocks:
        if block.nprocs <= largest:
            yield Finding(
                block.line, "misread", "communicators-not-ascending",
                f"communicator size {block.nprocs} comes after {largest}: it holds for {largest} "
                "ranks and more in place of that block, and for no smaller communicators",
                "put communicator sizes in ascending order, each once",
            )  # fmt: skip
        largest = max(largest, block.nprocs)
        size = -1
        for rule in block.rules:
            if rule.size <= size:
                yield Finding(
                    rule.line, "misread", "sizes-not-ascending",
                    f"message size {rule.size} comes after {size}: it holds for {size} bytes and "
                    "more in place of that rule, and for no smaller messages",
                    "put message sizes in ascending order, each once",
                )  # fmt: skip
            size = max(size, rule.size)


def _of_guards(section: Section, function: str) -> Iterator[Finding]:
    first, last = section.blocks[0], section.blocks[-1]
    if first.nprocs > 2 and _decides(first):
        yield Finding(
            first.line, "reaches", "no-guard-below",
            f"{function}: the first block, for {first.nprocs} ranks, holds for all smaller "
            "communicators too",
            "put a block in front of it: communicator size 0, one rule, 0 0 0 0",
        )  # fmt: skip
    if _decides(last):
        yield Finding(
            last.line, "reaches", "no-guard-above",
            f"{function}: the last block, for {last.nprocs} ranks, holds for all larger "
            "communicators too",
            f"put a block behind it: communicator size {last.nprocs + 1}, one rule, 0 0 0 0",
        )  # fmt: skip


def _decides(block: Block) -> bool:
    return any(rule.algorithm for rule in block.rules)


def _of_upstream(section: Section, function: str) -> Iterator[Finding]:
    for block in section.blocks:
        sizes = [rule.size for rule in block.rules if rule.size]
        if sizes and block.nprocs > 1:
            yield Finding(
                block.line, "misread", "sizes-of-one-rank",
                f"{function}: these are sizes of one rank's block, as the benchmarks of the tuner "
                f"that wrote them count; the library compares {block.nprocs} times as much",
                f"multiply the message sizes of this block by {block.nprocs}",
            )  # fmt: skip


def served(blocks: list[Block]) -> Iterator[tuple[Block, int, int]]:
    """Blocks with the communicators that get them, from 2 ranks on."""
    for at, least, most in _ranges([block.nprocs for block in blocks], 2, MOST_RANKS):
        yield blocks[at], least, most


def _ranges(sizes: list[int], least: int, most: int) -> Iterator[tuple[int, int, int]]:
    """(which of `sizes` is taken, from, to), from `least` to `most`."""
    starts = sorted({least, *(size for size in sizes if size > least)})
    look_up = looking_up(sizes)
    first = least
    for start, following in zip(starts, [*starts[1:], most + 1], strict=True):
        taken = look_up(start)
        if following > most or look_up(following) != taken:
            yield taken, first, following - 1
            first = following


def _group(function: str, block: Block, least: int, most: int, target: LintTarget) -> Group:
    sizes = [rule.size for rule in block.rules]
    choices = []
    for at, first, last in _ranges(sizes, 0, UNBOUNDED_BYTES) if sizes else ():
        rule = block.rules[at]
        name = tuned.name_in(function, rule.algorithm, target.versions)
        choices.append(
            Choice(
                rule.line,
                first,
                last,
                rule.algorithm,
                name,
                rule.fanout,
                rule.segment_bytes,
                rule.max_requests or 0,
            )
        )
    return Group(function, block.line, least, most, tuple(choices))
