"""Lines for an `openmpi-mca-params.conf`: what holds for every process that reads it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from plumbline_db.errors import PlumblineError
from plumbline_db.records import UNBOUNDED_BYTES, Library, Winner
from plumbline_exporters import quoting
from plumbline_exporters.bundle import (
    Bundle,
    FileDecision,
    MpiCall,
    evidence,
    groups_by_ranks,
    heading,
    last_volume,
    sizes,
    span,
)
from plumbline_exporters.family.openmpi import han, rules_reader, site, tuned
from plumbline_exporters.family.openmpi.site import SiteRule
from plumbline_exporters.family.openmpi.tuned import global_knobs, is_rule, rule_knobs
from plumbline_exporters.finding import Assignment
from plumbline_exporters.registry import exporter

_JSON_FILE_NAME = "ompi-rules.json"
_VERSION = 3


ONE_NODE, ANYWHERE = "single-node", "any"
_Table = Mapping[str, Mapping[int, Sequence[SiteRule]]]


def _text(bundle: Bundle) -> str:
    """The rules of Open MPI 6, which can name that all ranks are on one node."""
    one_node, anywhere = _by_placement(bundle)
    what = "Dynamic rules for coll/tuned of Open MPI, written by Plumbline."
    last_of = {
        (winner.function, winner.nprocs): span(winner, "nprocs")[1]
        for winner in bundle.winners
        if is_rule(winner)
    }
    document = {
        "rule_file_version": _VERSION,
        "module": "tuned",
        "plumbline": [line.removeprefix("# ") for line in heading(bundle, what)],
        "collectives": {
            function.removeprefix("MPI_").lower(): [
                {
                    "comm_size_min": nprocs,
                    "comm_size_max": last_of.get((function, nprocs), nprocs),
                    "comm_rank_distribution": distribution,
                    "rules": _ranges(block),
                }
                for nprocs, distribution, block in _entries(
                    one_node.get(function, {}),
                    anywhere.get(function, {}),
                    guarded=not bundle.site_rules,
                )
            ]
            for function in sorted({*one_node, *anywhere})
        },
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _by_placement(bundle: Bundle) -> tuple[_Table, _Table]:
    """The rules of winners on one node, and of those on several: function -> communicator size ->
    rules, from 0 and ascending. Over the rules of a site all of them are for any placement."""
    if bundle.site_rules:
        return {}, _rules(bundle)
    alone = [winner for winner in bundle.winners if winner.ppn >= winner.nprocs]
    spread = [winner for winner in bundle.winners if winner.ppn < winner.nprocs]
    return (
        _rules(msgspec.structs.replace(bundle, winners=alone)),
        _rules(msgspec.structs.replace(bundle, winners=spread)),
    )


def _entries(
    one_node: Mapping[int, Sequence[SiteRule]],
    anywhere: Mapping[int, Sequence[SiteRule]],
    *,
    guarded: bool,
) -> Iterator[tuple[int, str, Sequence[SiteRule]]]:
    """The entries of a function: number of ranks, distribution, rules. The first that fits is
    taken. So an entry for one node stands before one for any placement; `guarded`: also where it
    leaves all to the library. The name `one-per-node` is of no use, as MPI_COMM_WORLD never counts
    as that (docs/lint.md)."""
    for nprocs in sorted({*one_node, *anywhere}):
        alone, spread = one_node.get(nprocs, ()), anywhere.get(nprocs, ())
        on_one_node = any(rule.algorithm for rule in alone)
        elsewhere = any(rule.algorithm for rule in spread)
        if on_one_node or (elsewhere and guarded):
            yield nprocs, ONE_NODE, alone
        if elsewhere:
            yield nprocs, ANYWHERE, spread


def _ranges(block: Sequence[SiteRule]) -> list[dict[str, int | str]]:
    """Algorithms by number: a name may change from one version to the next."""
    last = SiteRule(UNBOUNDED_BYTES)
    return [
        {
            "msg_size_min": rule.size,
            "msg_size_max": "inf" if following is last else following.size - 1,
            "alg": rule.algorithm,
            "faninout": rule.fanout,
            "seg_size": rule.segment_bytes,
            "reqs": rule.max_requests,
        }
        for rule, following in pairwise([*block, last])
        if rule.algorithm
    ]


RULES_FILE_NAME = "ompi-rules.conf"
RULES_FILE_NAMES = (RULES_FILE_NAME, _JSON_FILE_NAME)
_DEFAULT_FANOUT = 4  # what the library uses with a forced algorithm and no fan-out knob


def obstacle(winner: Winner, library: Library, *, unsafe: bool = False) -> str | None:
    """Return why a rules file of this library cannot, or must not, say this; None when it can."""
    collective = tuned.COLLECTIVES.get(winner.function)
    if collective is None:
        return "coll/tuned has no rules for this function"
    knobs = rule_knobs(winner)
    if "" not in knobs:
        return "parameters of an algorithm without the algorithm"
    number = _number(collective, knobs[""], library)
    if number is None:
        return f"{library.id} has no algorithm {knobs['']}"
    for suffix, value in knobs.items():
        if suffix and not re.fullmatch(r"[0-9]{1,18}", value):
            return f"{tuned.parameter_prefix(winner.function)}{suffix}={value} is not a number"
    name = collective.name_of(number) if number else site.OWN_DECISION
    if name == "two_proc" and winner.nprocs != 2:
        return "two_proc fails on communicators that do not have 2 ranks"
    if not unsafe and (name in collective.commutative_only or "commutative" in winner.restrictions):
        return f"{name} is wrong for operations that do not commute"
    if collective.size == "none" and winner.function != "MPI_Barrier" and not _everything(winner):
        return f"one algorithm must serve all sizes, this one is for {sizes(winner)}"
    if collective.in_place_differs and not unsafe and not _everything(winner):
        return (
            f"one algorithm must serve all sizes, this one is for {sizes(winner)}: with "
            "MPI_IN_PLACE ranks may look up different sizes, and hang"
        )
    fanouts = {knobs[suffix] for suffix in ("_chain_fanout", "_tree_fanout") if suffix in knobs}
    if len(fanouts) > 1:
        return "a rule has one fan-out for chains and trees"
    if int(knobs.get("_max_requests", "0")) and not tuned.reads_version_2(library):
        return f"{library.id} reads no rules file with a limit of requests"
    return None


def _everything(winner: Winner) -> bool:
    return winner.bytes_from == 0 and winner.bytes_to == UNBOUNDED_BYTES


def _rules(bundle: Bundle) -> dict[str, dict[int, list[SiteRule]]]:
    """Function -> communicator size -> rules, with all guards. Empty when no winner is a rule."""
    table: dict[str, dict[int, list[SiteRule]]] = {}
    after: dict[str, set[int]] = {}
    rules = [winner for winner in bundle.winners if is_rule(winner)]
    for (function, nprocs, last), group in groups_by_ranks(rules).items():
        for winner in group:
            reason = obstacle(winner, bundle.library, unsafe=bundle.unsafe)
            if reason is not None:
                raise PlumblineError(
                    f"{function}, {nprocs} ranks, {sizes(winner)}: not exported as a rule: {reason}"
                )
        table.setdefault(function, {})[nprocs] = _block(function, nprocs, group, bundle.library)
        after.setdefault(function, set()).add(last + 1)
    for function, blocks in table.items():
        for nprocs in {0, *after[function]}:
            blocks.setdefault(nprocs, [SiteRule(0)])
    if bundle.site_rules and table:
        return site.joined(table, bundle.site_rules, bundle.library, unsafe=bundle.unsafe)
    return {function: dict(sorted(table[function].items())) for function in sorted(table)}


def _number(collective: tuned.Collective, name: str, library: Library) -> int | None:
    return 0 if name == site.OWN_DECISION else collective.id_of(name, library)


def _block(function: str, nprocs: int, group: list[Winner], library: Library) -> list[SiteRule]:
    """The rules of one communicator size: from 0, ascending, closed by the library's decision."""
    collective = tuned.COLLECTIVES[function]
    if collective.size == "none":
        return [_rule(0, group[0], library)]
    block = [SiteRule(0)]
    firsts = [_first(collective, winner, nprocs) for winner in group]
    for winner, first, following in zip(group, firsts, [*firsts[1:], None], strict=True):
        last = _last(collective.size, winner)
        if following is not None:
            last = min(last, following - 1)
        if last < first:
            raise PlumblineError(
                f"{function}, {nprocs} ranks, {sizes(winner)}: the library cannot tell calls of "
                "these sizes from their neighbours"
            )
        _append(block, _rule(first, winner, library))
        if last < UNBOUNDED_BYTES:
            _append(block, SiteRule(last + 1))
    return block


def _append(block: list[SiteRule], rule: SiteRule) -> None:
    """A rule replaces one for the same size, and is left out when it changes nothing."""
    if block[-1].size == rule.size:
        block.pop()
    if not block or msgspec.structs.replace(block[-1], size=rule.size) != rule:
        block.append(rule)


def _rule(size: int, winner: Winner, library: Library) -> SiteRule:
    knobs = rule_knobs(winner)
    number = _number(tuned.COLLECTIVES[winner.function], knobs[""], library)
    fanout = knobs.get("_chain_fanout", knobs.get("_tree_fanout", _DEFAULT_FANOUT))
    return SiteRule(
        size,
        number or 0,
        int(fanout),
        int(knobs.get("_segmentsize", "0")),
        int(knobs.get("_max_requests", "0")),
        ours=True,
    )


def _first(collective: tuned.Collective, winner: Winner, nprocs: int) -> int:
    """The smallest size, as the library counts, that this winner is for. Calls in place that are
    looked up under size 0 may be of any size, so a winner that is not for all of them leaves 0 to
    the library."""
    first = winner.bytes_from // nprocs if collective.size == "average" else winner.bytes_from
    if first == 0 and collective.in_place_is_zero and not _everything(winner):
        return 1
    return first


def _last(size: str, winner: Winner) -> int:
    """The largest size, as the library counts, that this winner is for."""
    if winner.bytes_to == UNBOUNDED_BYTES or size == "volume":
        return winner.bytes_to
    most = span(winner, "nprocs")[1]
    return winner.bytes_to // most if size == "average" else last_volume(winner)


def file_name(library: Library) -> str:
    """Return what the file is called that this library reads."""
    newer = tuned.version(library) >= tuned.JSON_SINCE
    return _JSON_FILE_NAME if newer else RULES_FILE_NAME


# What exported rules files decide for a call, read as the library reads them: the classic one of
# Open MPI 4 and 5, and the JSON one of Open MPI 6.

_SUFFIXES = ("", "_tree_fanout", "_segmentsize", "_max_requests")
_End = int | Literal["inf"]


class _Range(msgspec.Struct, frozen=True):
    msg_size_min: int
    msg_size_max: _End
    alg: int
    faninout: int
    seg_size: int
    reqs: int


class _Block(msgspec.Struct, frozen=True):
    comm_size_min: int
    comm_size_max: _End
    comm_rank_distribution: str
    rules: list[_Range]

    def is_for(self, call: MpiCall) -> bool:
        one_node = self.comm_rank_distribution == ONE_NODE
        return (call.nodes == 1 or not one_node) and self.comm_size_min <= call.nprocs <= _end(
            self.comm_size_max
        )


class _File(msgspec.Struct, frozen=True):
    collectives: dict[str, list[_Block]]


def decision(files: Mapping[str, str], call: MpiCall, library: Library) -> FileDecision | None:
    """The algorithm that a rules file among `files` (texts by name) decides on; None where it
    leaves the call to the library, or has no rules for its function."""
    name = file_name(library)
    collective = tuned.COLLECTIVES.get(call.function)
    if name not in files or collective is None:
        return None
    size = _looked_up(collective, call)
    numbers = (
        _of_json(files[name], call, size)
        if tuned.version(library) >= tuned.JSON_SINCE
        else rules_reader.read(files[name]).decision(collective.rule_id, call.nprocs, size)
    )
    if not numbers[0]:
        return None
    values = [tuned.name_in(call.function, numbers[0], [tuned.version(library)])]
    values += [str(number) if number else "" for number in numbers[1:]]
    prefix = tuned.parameter_prefix(call.function)
    chosen = {
        prefix + suffix: value for suffix, value in zip(_SUFFIXES, values, strict=True) if value
    }
    return FileDecision(name, configuration=chosen)


def _looked_up(collective: tuned.Collective, call: MpiCall) -> int:
    """The size under which the library looks up a call."""
    if collective.size == "none":
        return 0
    if collective.size == "average":
        return call.bytes // call.nprocs
    if collective.size == "blocks":
        return -(-call.bytes // call.nprocs) * call.nprocs
    return call.bytes


def _of_json(text: str, call: MpiCall, size: int) -> list[int]:
    file = msgspec.json.decode(text, type=_File)
    blocks = file.collectives.get(call.function.removeprefix("MPI_").lower(), [])
    block = next((block for block in blocks if block.is_for(call)), None)
    for rule in block.rules if block else ():
        if rule.msg_size_min <= size <= _end(rule.msg_size_max):
            return [rule.alg, rule.faninout, rule.seg_size, rule.reqs]
    return [0, 0, 0, 0]


def _end(value: _End) -> int:
    return value if isinstance(value, int) else UNBOUNDED_BYTES


@exporter(
    "ompi-rules",
    "Open MPI dynamic rules file, by communicator and message size; JSON from 6.0",
    family="openmpi",
)
def rules_files(bundle: Bundle) -> dict[str, str]:
    if not any(is_rule(winner) for winner in bundle.winners):
        return {}
    if tuned.version(bundle.library) >= tuned.JSON_SINCE:
        return {_JSON_FILE_NAME: _text(bundle)}
    table = _rules(bundle)
    every = [rule for blocks in table.values() for block in blocks.values() for rule in block]
    second = any(rule.max_requests for rule in every)
    lines = ["rule-file-version-2"] if second else []
    lines += heading(bundle, "Dynamic rules for coll/tuned of Open MPI, written by Plumbline.")
    if bundle.site_rules:
        lines += [
            "# It takes the place of the site's own; what no winner decides is as it is there.",
            f"# Winners are marked: {site.MARK}.",
        ]
    lines += [
        "# In force with coll_tuned_use_dynamic_rules=1 and coll_tuned_dynamic_rules_filename.",
        "# A rule: message size, algorithm (0: the library decides), fan-out, segment size"
        + (", requests." if second else "."),
        f"{len(table)} # collectives",
    ]
    evidence_of = {
        (winner.function, winner.nprocs): evidence(winner)
        for winner in bundle.winners
        if is_rule(winner)
    }
    for function, blocks in table.items():
        lines.append(f"{tuned.COLLECTIVES[function].rule_id} # {function}")
        lines.append(f"{len(blocks)} # communicator sizes")
        for nprocs, block in blocks.items():
            shown = evidence_of.get((function, nprocs), "")
            lines.append(f"{nprocs} # ranks and more{_guard(block)}{shown and f': {shown}'}")
            lines.append(f"{len(block)} # rules")
            lines += [_line(rule, second, mark=bool(bundle.site_rules)) for rule in block]
    return {RULES_FILE_NAME: "\n".join(lines) + "\n"}


def _guard(block: list[SiteRule]) -> str:
    return ": the library decides" if block == [SiteRule(0)] else ""


def _line(rule: SiteRule, second: bool, *, mark: bool) -> str:
    text = f"{rule.size} {rule.algorithm} {rule.fanout} {rule.segment_bytes}"
    text += f" {rule.max_requests}" if second else ""
    return f"{text} # {site.MARK}" if mark and rule.ours else text


# Open MPI 6's dynamic rules file (coll/tuned, JSON).
# A block names the communicators and sizes that it is for, ends included, and the first that fits
# is taken; what fits none is the library's own decision, so that no guards are needed. What the
# reader does not know it does not look at: there the head stands. A value that it cannot read makes
# it drop the whole file without a word.

# Open MPI's dynamic rules file: the classic one of coll/tuned 4.1 and 5.0. (6.0 reads JSON, which
# rules_json.py writes from the same rules.)
# A block for a communicator size serves every larger communicator up to the next block, and the
# first block serves smaller ones too; a rule for a message size serves every larger size up to the
# next. So each tuned range is closed on both sides by algorithm 0, the library's own decision.

FILE_NAME = "mca-params.conf"
PREFIX = "OMPI_MCA_"  # of the same parameters as variables
ELSEWHERE = f"{PREFIX}mca_base_param_files"
SWITCH = "coll_tuned_use_dynamic_rules"
RULES = "coll_tuned_dynamic_rules_filename"
HAN_SWITCH = "coll_han_use_dynamic_file_rules"
HAN_RULES = "coll_han_dynamic_rules_filename"
_PARAMETER = re.compile(r"(?P<name>\w+)\s*=(?P<value>.*)\Z")
# A file for mpirun --tune: options, several in a line.
_OPTION = re.compile(
    r"--?(?:[go]|go)?mca\s+(?P<name>\w+)\s+(?P<value>\"[^\"]*\"|'[^']*'|\S+)\s*"
    r"|--?x\s+(?P<variable>\w+)(?:=(?P<set>\"[^\"]*\"|'[^']*'|\S*))?\s*"
)
_ANY_OPTION = re.sub(r"\?P<\w+>", "?:", _OPTION.pattern)
COMPONENTS = "coll"
# What reads the parameters of winners.
_READERS = {"tuned": rf"{RULES}|coll_tuned_\w+_algorithm", "han": HAN_RULES}
_FORCED = re.compile(r"coll_tuned_[a-z_]+_algorithm\Z")


def parameters(bundle: Bundle) -> dict[str, str]:
    """MCA parameters that put the rules files and the global knobs in force."""
    tuned.version(bundle.library)
    values: dict[str, str] = {}
    if any(is_rule(winner) for winner in bundle.winners):
        values[SWITCH] = "1"
        values[RULES] = str(bundle.directory / file_name(bundle.library))
    if any(han.is_past_han(winner) for winner in bundle.winners):
        values[HAN_SWITCH] = "1"
        values[HAN_RULES] = str(bundle.directory / han.FILE_NAME)
    return values | global_knobs(bundle)


def line(parameter: str, value: str) -> str:
    """A value goes on to the end of its line."""
    if value != value.strip():
        raise PlumblineError(f"{parameter}: the value {value!r} cannot stand in an MCA file")
    return f"{quoting.name(parameter)} = {quoting.held(value)}"


def read(text: str) -> tuple[list[Assignment], list[int]]:
    """Return what a file sets: `name = value`, or options of mpirun; and the lines that are
    neither. What follows a value in its line is part of it, a comment too (as ompi_info shows)."""
    assignments: list[Assignment] = []
    strange: list[int] = []
    for number, written in enumerate(text.split("\n"), 1):
        bare = written.strip()
        if not bare or bare[0] == "#":
            continue
        match = _PARAMETER.match(bare)
        if match is not None:
            assignments.append(Assignment(number, match["name"], match["value"].strip()))
        elif re.fullmatch(f"(?:{_ANY_OPTION})+", bare):
            assignments += _of_options(number, bare)
        else:
            strange.append(number)
    return assignments, strange


def _of_options(line: int, text: str) -> Iterator[Assignment]:
    """A variable that -x sets counts as the parameter that it is."""
    for match in _OPTION.finditer(text):
        if match["name"]:
            yield Assignment(line, match["name"], match["value"].strip("\"'"))
        elif match["variable"].startswith(PREFIX) and match["set"] is not None:
            name = match["variable"].removeprefix(PREFIX)
            yield Assignment(line, name, match["set"].strip("\"'"))


def silences(
    foreign: Assignment, own_parameters: Mapping[str, str], library: Library | None
) -> str:
    """Return why ours are not heard beside `foreign`, or nothing: from 5 on a forced algorithm
    silences rules, and a list of components may leave the one out that reads them."""
    value = foreign.value or ""
    where = f"line {foreign.line} forces" if foreign.line else "in force is"
    if foreign.name == COMPONENTS:
        missing = [part for part, names in _READERS.items() if leaves_out(value, part)
                   and any(re.fullmatch(names, name) for name in own_parameters)]  # fmt: skip
        if not missing:
            return ""
        return f"{where} {foreign.name} = {value}: coll/{missing[0]} answers nothing then"
    first = library is None or tuned.version(library) >= (5, 0, 0)
    forced = _FORCED.match(foreign.name) and value not in ("0", "ignore", "")
    if not (RULES in own_parameters and first and forced):
        return ""
    return (
        f"{where} {foreign.name} = {value}: this library does not look at rules for that function "
        "then"
    )


def leaves_out(listed: str, component: str) -> bool:
    """Return whether a list of components, or of those that are not wanted (`^a,b`), is without
    this one. An empty list takes all."""
    excluded = listed.startswith("^")
    return bool(listed) and (component in listed.removeprefix("^").split(",")) == excluded


@exporter(
    "mca-params",
    "parameter file for Open MPI (name = value)",
    needs=("ompi-rules", "ompi-han-rules"),
    family="openmpi",
)
def files(bundle: Bundle) -> dict[str, str]:
    lines = heading(bundle, "MCA parameters for Open MPI, written by Plumbline.")
    lines.append("# In force in a file that OMPI_MCA_mca_base_param_files names, or in one of")
    lines.append("# $HOME/.openmpi/mca-params.conf and PREFIX/etc/openmpi-mca-params.conf.")
    if bundle.variants:
        lines.append("# Variants need the preload library, which this file cannot start: use env.")
    lines += [line(name, value) for name, value in parameters(bundle).items()]
    return {FILE_NAME: "\n".join(lines) + "\n"}
