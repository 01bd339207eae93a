"""Rules files of coll/tuned in JSON (Open MPI 6), by the reader in its source; no release of it was
run."""

from __future__ import annotations

import difflib
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

import msgspec

from plumbline_db.records import UNBOUNDED_BYTES
from plumbline_exporters.families import Context
from plumbline_exporters.family.openmpi import tuned
from plumbline_exporters.family.openmpi.lint_tuned_rules import MOST_RANKS, Choice, Group, check
from plumbline_exporters.finding import Finding, LintTarget
from plumbline_exporters.lint.json_reader import Node, NotJson, read

SUMMARY = "JSON rules file of Open MPI's coll/tuned (from 6.0 on)"
_TOP = ("rule_file_version", "module", "collectives", "comm_rank_distribution", "$schema")
_HEAD = "plumbline"  # where an exported file says what it is
_OF_RANKS = ("comm_size_min", "comm_size_max", "comm_rank_distribution", "rules")
_OF_RULE = ("msg_size_min", "msg_size_max", "alg", "faninout", "seg_size", "reqs")
_NUMBERS_OF_RANKS = ("comm_size_min", "comm_size_max")
_PARAMETERS = ("faninout", "seg_size", "reqs")
_DISTRIBUTIONS = ("any", "one-per-node", "single-node")
_LIBRARY_DECIDES = ("ignore",)
_KEYS = {function.removeprefix("MPI_").lower(): function for function in tuned.COLLECTIVES}
_UNTUNED = {"alltoallw", "gatherv", "scatterv"} | {
    f"neighbor_{collective}"
    for collective in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
}


Ranges = list[tuple[int, int]]  # in order, none meets another
# Communicators that no entry so far serves, by how their ranks are spread: the first match wins.
_PLACES = ("single-node", "one-per-node", "several of each node")
Free = dict[str, Ranges]
Earlier = list[tuple[int, tuple[int, int]]]  # lines and bounds of what stands above
_COMPARED = 200  # ranges above one, as a file may have very many


def recognises(name: str, text: str) -> bool:
    del name
    named = '"collectives"' in text or '"rule_file_version"' in text
    return text.lstrip()[:1] == "{" and named and '"properties"' not in text  # a schema of it


def findings(text: str, context: Context) -> Iterator[Finding]:
    target = _of_six(context)
    if target is None:
        yield Finding(
            0, "ignored", "json-too-new",
            f"{context.library} reads no rules in JSON, and drops the file without a word",
            "write a classic rules file for it",
        )  # fmt: skip
        return
    try:
        root = read(text)
    except NotJson as error:
        yield _dropped(error.line, f"{error}: it is no JSON, is then read as a classic file")
        return
    yield from _of_members(root, (*_TOP, _HEAD), "the file")
    module = root.get("module")
    if module is not None and module.value != "tuned":
        yield Finding(
            module.line, "misread", "other-module",
            f"the library does not look at \"module\": {module.value!r} gets no rules, coll/tuned "
            "gets them", 'write "tuned", or take the file away',
        )  # fmt: skip
    collectives = root.get("collectives")
    if collectives is None or collectives.kind != "object":
        yield _dropped(root.line, 'an object of collectives is wanted under "collectives"')
        return
    yield from _stop(collectives)
    last = dict(collectives.members)
    for key, node in collectives.members:
        if last[key] is not node:
            yield Finding(
                node.line, "ignored", "key-twice",
                f"{key} comes again below, and the last one is taken", "put their entries together",
            )  # fmt: skip
        else:
            yield from _of_collective(key, node, target)


def _of_six(context: Context) -> LintTarget | None:
    """The named library where it reads such a file; the first that does where none is named."""
    target = context.target("openmpi")
    if context.library.startswith("openmpi-"):
        return target if target.every(lambda version: version >= tuned.JSON_SINCE) else None
    return msgspec.structs.replace(target, versions=(tuned.JSON_SINCE,))


def _dropped(line: int, reason: str) -> Finding:
    return Finding(
        line, "ignored", "dropped",
        f"{reason}: the library drops the whole file, and says so under coll_tuned_verbose 1 alone",
        "put this right; without the file the library decides",
    )  # fmt: skip


def _stop(collectives: Node) -> Iterator[Finding]:
    """The first mistake at which the library stops reading, if there is one. What it frees then,
    behind the first entry that it has read as a whole, it has freed before."""
    is_first = True
    for key, node in collectives.members:
        if key not in (*_KEYS, *_UNTUNED):
            near = difflib.get_close_matches(key.lower().removeprefix("mpi_"), _KEYS, n=1)
            hint = f"; write {near[0]!r}" if near else ""
            yield _ended(node.line, f"there is no collective {key!r}{hint}", is_first)
            return
        if node.kind != "array":
            yield _ended(node.line, f"{key}: a list of communicator sizes is wanted", is_first)
            return
        for entry in node.items:
            rules = entry.get("rules")
            if mistake := _mistake_of_entry(entry):
                yield _ended(*mistake, is_first)
                return
            if rules is None or rules.kind not in ("array", "object"):
                line, reason = (rules or entry).line, 'a list of rules is wanted under "rules"'
                yield _ended(line, reason, is_first or rules is not None)
                return
            for rule in rules.items:
                if mistake := _mistake(rule, ("msg_size_min", "msg_size_max", *_PARAMETERS)):
                    yield _dropped(*mistake)
                    return
                algorithm = rule.get("alg")
                if key in _UNTUNED and algorithm is not None and _is_algorithm(algorithm):
                    yield Finding(
                        algorithm.line, "fails", "no-rules",
                        f"coll/tuned has no algorithms for {key}: every program ends by SIGSEGV in "
                        "MPI_Init", "leave it out",
                    )  # fmt: skip
                    return
            is_first = False


def _mistake_of_entry(entry: Node) -> tuple[int, str] | None:
    """The line and the reason of a mistake before the rules of an entry."""
    mistake = _mistake(entry, _NUMBERS_OF_RANKS)
    where = entry.get("comm_rank_distribution")
    if mistake is None and where is not None and not isinstance(where.value, str):
        return where.line, "comm_rank_distribution is not a text"
    return mistake


def _mistake(node: Node, keys: Sequence[str]) -> tuple[int, str] | None:
    """The line of the first of these keys whose value is neither a number nor inf."""
    for key in keys:
        value = node.get(key)
        if value is not None and value.number is None and not _is_inf(value):
            return value.line, f'{key} is neither a whole number nor "inf"'
    return None


def _is_inf(node: Node) -> bool:
    return isinstance(node.value, str) and node.value[:3] in ("inf", "Inf", "INF")


def _is_algorithm(node: Node) -> bool:
    return isinstance(node.value, str) or node.number is not None


def _ended(line: int, reason: str, is_first: bool) -> Finding:
    if is_first:
        return _dropped(line, reason)
    return Finding(
        line, "fails", "dropped",
        f"{reason}: the library drops the whole file and frees memory twice, so that every program "
        "may end in MPI_Init", "put this right; without the file the library decides",
    )  # fmt: skip


def _of_members(node: Node, keys_known: tuple[str, ...], what: str) -> Iterator[Finding]:
    keys_seen: set[str] = set()
    for key, value in node.members:
        if key in keys_seen:
            yield Finding(
                value.line, "ignored", "key-twice", f"{what} says {key!r} twice", "keep one of them"
            )
        elif key not in keys_known:
            near = difflib.get_close_matches(key, keys_known, n=1, cutoff=0.6)
            yield Finding(
                value.line, "ignored", "unknown-key",
                f"{what} has no {key!r}, and the library passes over keys that it does not know",
                f"write {near[0]!r}" if near else f"there are {', '.join(keys_known)}",
            )  # fmt: skip
        keys_seen.add(key)


def _of_collective(key: str, node: Node, target: LintTarget) -> Iterator[Finding]:
    if key in _UNTUNED:
        if not any(rule.get("alg") for entry in node.items for rule in _rules_of(entry)):
            yield Finding(
                node.line, "ignored", "no-rules", f"coll/tuned has no algorithms for {key}",
                "leave it out",
            )  # fmt: skip
        return
    if key not in _KEYS:
        return
    free: Free = {place: [(2, MOST_RANKS)] for place in _PLACES}
    earlier: dict[str, Earlier] = {place: [] for place in _PLACES}
    for entry in node.items:
        yield from _of_entry(_KEYS[key], entry, free, earlier, target)


def _rules_of(entry: Node) -> list[Node]:
    rules = entry.get("rules")
    return rules.items if rules else []


def _of_entry(
    function: str,
    entry: Node,
    free: Free,
    earlier: dict[str, Earlier],
    target: LintTarget,
) -> Iterator[Finding]:
    """Return the findings of an entry. The communicators that it serves are taken from `free`, and
    its bounds are added to those of `earlier` entries."""
    yield from _of_members(entry, _OF_RANKS, "an entry of a collective")
    bounds = _bounds(entry, "comm_size_min", "comm_size_max", MOST_RANKS)
    rules = entry.get("rules")
    where = entry.get("comm_rank_distribution")
    text = where is None or isinstance(where.value, str)
    if isinstance(bounds, str) or rules is None or not text:  # _stop reports it
        return
    if wrapped := [key for key in _NUMBERS_OF_RANKS if _is_wrapped(entry.get(key))]:
        yield _wrapped(entry.line, wrapped)
        return
    if where is not None:
        yield from _of_distribution(where)
    places = [str(where.value)] if where and where.value in _PLACES else list(_PLACES)
    served = max((_common(free[place], bounds) for place in places), key=len)
    if not served:
        yield _unreached(entry.line, "no communicator")
        return
    yield from _crossed(entry.line, "ranks", earlier[places[-1]], bounds)
    entry_findings: list[Finding] = []
    choices = _choices(function, rules, entry_findings, target)
    yield from entry_findings
    for least, most in served[:2]:  # the first may be for 2 ranks alone; the others are like these
        yield from check(Group(function, entry.line, least, most, choices), target)
    for place in places:
        _take(free[place], bounds)
        earlier[place].append((entry.line, bounds))


_MOST_INT = 2**31 - 1


def _is_wrapped(node: Node | None) -> bool:
    """Return whether a number of ranks, which the library keeps in 32 bits, is cut there; inf is
    the largest number of 64 bits before."""
    if node is None:
        return False
    return node.number is None or not -_MOST_INT <= node.number <= _MOST_INT


def _wrapped(line: int, keys: Sequence[str]) -> Finding:
    return Finding(
        line, "misread", "wrapped-ranks",
        f"{' and '.join(keys)}: a number of ranks has 32 bits, so that \"inf\" becomes -1, and the "
        "entry serves other communicators than it says, or none",
        "leave the key out where there is no limit",
    )  # fmt: skip


def _of_distribution(where: Node) -> Iterator[Finding]:
    if where.value not in _DISTRIBUTIONS:
        yield Finding(
            where.line, "misread", "unknown-distribution",
            f'{where.value!r} is no distribution of ranks, and is taken for "any"',
            f"write one of {', '.join(_DISTRIBUTIONS)}",
        )  # fmt: skip
    elif where.value == "one-per-node":
        yield Finding(
            where.line, "ignored", "world-not-one-per-node",
            "MPI_COMM_WORLD never counts as one-per-node, however its ranks are spread: the entry "
            "serves only communicators that a program makes",
            'write "any" where the world is meant, with an entry for "single-node" above it',
        )  # fmt: skip


def _crossed(line: int, what: str, earlier: Earlier, bounds: tuple[int, int]) -> Iterator[Finding]:
    """A range that begins within one of the last _COMPARED above it, or ends there, and goes beyond
    it. One inside of the other is meant so."""
    low, high = bounds
    for above, (first, last) in earlier[-_COMPARED:]:
        if first < low <= last < high or low < first <= high < last:
            yield Finding(
                line, "ignored", "crossed",
                f"{what} from {max(low, first)} to {min(high, last)} come to line {above}, which "
                "stands above and fits too", "let the ranges meet without a common number",
            )  # fmt: skip
            return


def _choices(
    function: str, rules: Node, findings_so_far: list[Finding], target: LintTarget
) -> tuple[Choice, ...]:
    """Every size once, in order: by the first rule that fits, else by the library."""
    free: Ranges = [(0, UNBOUNDED_BYTES)]
    earlier: Earlier = []
    choices: list[Choice] = []
    for rule in rules.items:
        findings_so_far += _of_members(rule, _OF_RULE, "a rule")
        bounds = _bounds(rule, "msg_size_min", "msg_size_max", UNBOUNDED_BYTES)
        if isinstance(bounds, str):
            continue
        numbers = [_number(rule, key) for key in _PARAMETERS]
        number = _algorithm(function, rule, findings_so_far, target)
        if number is None:
            continue
        served = _common(free, bounds)
        if not served:
            findings_so_far.append(_unreached(rule.line, "no message size"))
        else:
            findings_so_far += _crossed(rule.line, "bytes", earlier, bounds)
        earlier.append((rule.line, bounds))
        name = tuned.name_in(function, number, target.versions)
        choices += [Choice(rule.line, low, high, number, name, *numbers) for low, high in served]
        _take(free, bounds)
    choices += [Choice(rules.line, low, high, 0, "") for low, high in free]
    return tuple(sorted(choices, key=lambda choice: choice.first))


def _algorithm(
    function: str, rule: Node, findings_so_far: list[Finding], target: LintTarget
) -> int | None:
    """Return its number; None where the rule does nothing."""
    node = rule.get("alg")
    if node is None:
        findings_so_far.append(
            Finding(
                rule.line,
                "misread",
                "no-algorithm",
                'a rule without "alg" leaves its sizes to the library',
                "name an algorithm",
            )
        )
        return 0
    names = tuned.COLLECTIVES[function].names(*target.versions)
    renamed = {new: old for old, new in tuned.COLLECTIVES[function].renamed_6}
    if renamed.get(str(node.value), node.value) in names:
        return names.index(renamed.get(str(node.value), str(node.value))) + 1
    if node.value in _LIBRARY_DECIDES:
        return 0
    if node.number is not None and 0 <= node.number <= len(names):
        return node.number
    near = difflib.get_close_matches(str(node.value), names, n=1)
    findings_so_far.append(
        Finding(
            node.line,
            "ignored",
            "no-such-algorithm",
            f"{function} has no algorithm {node.value!r}: the rule is switched off, and its sizes "
            "go on to those below",
            f"write {near[0]!r}" if near else f"take {', '.join(names)}",
        )
    )
    return None


def _number(rule: Node, key: str) -> int:
    node = rule.get(key)
    return 0 if node is None or node.number is None else node.number


def _unreached(line: int, what: str) -> Finding:
    return Finding(
        line, "ignored", "unreached",
        f"{what} comes to this: what stands above it, or bounds the wrong way round, take them all",
        "the first that fits wins: put what is narrower first",
    )  # fmt: skip


def _met(free: Ranges, low: int, high: int) -> slice:
    """Return those that have a number from `low` to `high`."""
    if low > high:
        return slice(0, 0)
    begin = bisect_left(free, low, key=itemgetter(1))
    return slice(begin, bisect_right(free, high, lo=begin, key=itemgetter(0)))


def _common(free: Ranges, bounds: tuple[int, int]) -> Ranges:
    low, high = bounds
    return [(max(low, first), min(high, last)) for first, last in free[_met(free, low, high)]]


def _take(free: Ranges, bounds: tuple[int, int]) -> None:
    """Leaves in `free` what is outside."""
    low, high = bounds
    met = _met(free, low, high)
    parts = [
        part
        for first, last in free[met]
        for part in ((first, min(last, low - 1)), (max(first, high + 1), last))
    ]
    free[met] = [(first, last) for first, last in parts if first <= last]


def _bounds(node: Node, low: str, high: str, most: int) -> tuple[int, int] | str:
    """Both ends, or the key whose value is neither a number nor inf."""
    ends = []
    for key, default in ((low, 0), (high, most)):
        value = node.get(key)
        if value is None:
            ends.append(default)
        elif value.number is not None:
            ends.append(min(value.number, most))
        elif _is_inf(value):
            ends.append(most)
        else:
            return key
    return ends[0], ends[1]
