"""MPICH's tables of collective algorithms and of compositions (JSON, 4.x and 5.x), and MPIR_CVAR_*
of MPICH 4 and 5, and of MVAPICH 3 and 4, which is made from it. A file of tables takes the place of
the library's whole table; what the library does not understand ends every program."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

import msgspec

from plumbline_exporters import facts
from plumbline_exporters.families import Context
from plumbline_exporters.family.mpich import coll, selection
from plumbline_exporters.finding import Assignment, FileKind, Finding, LintTarget
from plumbline_exporters.lint import parameters
from plumbline_exporters.lint.json_reader import Node, NotJson, read

SUMMARY = "MPICH's table of algorithms or compositions (JSON)"
_LEAF = re.compile(r"(?:algorithm|composition)=(?P<name>\w+)\Z")
_NAME = re.compile(
    r"MPIR_(?P<function>[A-Z][a-z_]*?)_(?P<kind>intra|allcomm|inter)_(?P<algorithm>\w+)\Z"
)
_TESTS = re.compile(
    r"(?:collective=\w+|comm_type=(?:intra|inter)|is_\w+=(?:yes|no)|comm_hierarchy=\w+"
    r"|comm_size(?:<=?[0-9]+|=(?:pow2|node_comm_size))"
    r"|comm_avg_ppn<=?[0-9]+|(?:avg|total)_msg_size<=?[0-9]+"
    r"|count(?:<=[0-9]+|<pow2)|(?:\w+=)?any)\Z"  # whatever is called any fits everything
)
_BOUND = re.compile(r"(?P<what>[a-z_]+)(?P<than><=?)(?P<number>[0-9]{1,18})\Z")
_NUMBERED = re.compile(r"(?:comm_size|comm_avg_ppn|avg_msg_size|total_msg_size|count)\b")
_BLOCKING = (
    *("allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "alltoallw", "barrier"),
    *("bcast", "exscan", "gather", "gatherv", "reduce", "reduce_scatter", "reduce_scatter_block"),
    *("scan", "scatter", "scatterv"),
)
_OTHERS = tuple(f"i{collective}" for collective in _BLOCKING) + tuple(
    f"{i}neighbor_{collective}"
    for i in ("", "i")
    for collective in ("allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw")
)
_ALWAYS_RIGHT_IN_PLACE = ("pairwise_sendrecv_replace", "nb")

MARK = ("fails", "the library reads nothing of the file, and every program ends in MPI_Init")
Leaves = dict[str, frozenset[str]]
# Keys from the outside in, each with all keys of its object.
Path = tuple[tuple[str, frozenset[str]], ...]


def recognises(name: str, text: str) -> bool:
    del name
    bare = re.sub(r"\s|/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    return bare[:1] == "{" and re.search(r"[\"']collective=", bare) is not None


def findings(text: str, context: Context) -> Iterator[Finding]:
    try:
        root = read(text, relaxed=True)
    except NotJson as error:
        yield Finding(
            error.line, "fails", "not-json", f"{error}: every program ends in MPI_Init",
            "put this right; without the variable the library's own table holds",
        )  # fmt: skip
        return
    yield from _of_whole(root, text)
    yield from _of_node(root, (), _leaves(context))


def _leaves(context: Context) -> Leaves:
    """Return the parameters that each name of a leaf needs, in the versions that the file may
    meet; for versions that nothing is known of, nothing."""
    _, rows = parameters.rows(facts.folder() / "parameters" / "mpich-leaves.tsv")
    target = context.target("mpich")
    versions = list(rows)
    if target.named:
        version = target.versions[0]
        within = versions[0] <= version < (versions[-1][0] + 1, 0)
        versions = [max(minimum for minimum in rows if minimum <= version)] if within else []
    leaves: Leaves = {}
    for minimum in versions:
        for name, needed in rows[minimum].items():
            leaves[name] = frozenset(needed.split()) - {"-"}
    return leaves


def _of_whole(root: Node, text: str) -> Iterator[Finding]:
    names_there = {key.replace(" ", "").removeprefix("collective=") for key, _ in root.members}
    if "MPIDI_POSIX" in text:
        return  # what has no entry there is left to the other tables
    names_needed = _BLOCKING + (() if "composition=" in text else _OTHERS)
    missing = [key for key in names_needed if key not in names_there]
    if missing:
        named = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if missing[4:] else "")
        yield Finding(
            0, "fails", "missing-collectives",
            f"the file takes the place of the whole table, and says nothing of {named}: programs "
            "that call them end with \"Internal error\"",
            "start from the library's own table, and put branches into it",
        )  # fmt: skip


def _of_node(node: Node, path: Path, leaves: Leaves) -> Iterator[Finding]:
    leaf = next(((key, below) for key, below in node.members if _LEAF.match(_bare(key))), None)
    if leaf is not None:
        yield from _of_name(_bare(leaf[0]).partition("=")[2], leaf[1], leaves)
        yield from _of_leaf(_bare(leaf[0]), leaf[1], path)
        return
    yield from _of_keys(node)
    beside = frozenset(_bare(key) for key, _ in node.members)
    for key, below in node.members:
        if _TESTS.match(_bare(key)):
            if below.kind != "object" or not below.members:
                yield Finding(
                    below.line, "fails", "no-end",
                    f"{key} leads to no algorithm: every program ends in MPI_Init",
                    "let each branch end with algorithm=… or composition=…",
                )  # fmt: skip
            else:
                yield from _of_node(below, (*path, (_bare(key), beside)), leaves)


def _bare(key: str) -> str:
    return key.replace(" ", "")


def _of_keys(node: Node) -> Iterator[Finding]:
    line_of_key: dict[str, int] = {}
    keys = [(_bare(key), below.line) for key, below in node.members]
    for at, (key, line) in enumerate(keys):
        if not _TESTS.match(key):
            yield Finding(
                line, "fails", "unknown-test", f"the library knows no test {key!r}, and ends every "
                "program in MPI_Init", "tests are comm_size, avg_msg_size, is_commutative …",
            )  # fmt: skip
        if key in line_of_key:
            yield Finding(
                line, "misread", "key-twice",
                f"{key} stands here twice, and the second takes the place of the first",
                "keep one of them",
            )  # fmt: skip
        line_of_key[key] = line
        if _fits_all(key) and at + 1 < len(keys):
            yield Finding(
                line, "fails", "any-not-last",
                f"{key} fits everything and must be the last: the library ends every program",
                "put it behind the others",
            )  # fmt: skip
    if keys and _NUMBERED.match(keys[-1][0]) and not _fits_all(keys[-1][0]):
        what = re.split("[<=]", keys[-1][0])[0]
        yield Finding(
            keys[-1][1], "fails", "nothing-for-the-rest",
            f"nothing is said for what {keys[-1][0]} does not fit: the library ends every program",
            f"put {what}=any behind it",
        )  # fmt: skip
    yield from _of_bounds(keys)


def _fits_all(key: str) -> bool:
    return key == "any" or key.endswith("=any")


def _of_bounds(keys: list[tuple[str, int]]) -> Iterator[Finding]:
    largest: dict[str, int] = {}
    for key, line in keys:
        match = _BOUND.match(key)
        if match is None:
            continue
        last = int(match["number"]) - (match["than"] == "<")
        if last <= largest.get(match["what"], -1):
            yield Finding(
                line, "ignored", "unreached",
                f"nothing comes to {key}: what stands above it takes everything up to "
                f"{largest[match['what']]}", "put bounds in ascending order, each once",
            )  # fmt: skip
        largest[match["what"]] = max(last, largest.get(match["what"], -1))


def _of_name(name: str, below: Node, leaves: Leaves) -> Iterator[Finding]:
    """The name of an algorithm or a composition, and the parameters that nothing else gives it."""
    if leaves and name not in leaves:
        same = [
            leaf for leaf in leaves if leaf.lower().split("_")[:2] == name.lower().split("_")[:2]
        ]
        near = difflib.get_close_matches(name, same, n=1, cutoff=0.8)
        yield Finding(
            below.line, "fails", "no-such-algorithm",
            f"the library knows no {name}, and ends every program in MPI_Init",
            f"write {near[0]}" if near else "take a name of the library's own table",
        )  # fmt: skip
        return
    values = dict(_bare(key).partition("=")[::2] for key, _ in below.members)
    missing = sorted(leaves.get(name, frozenset()) - values.keys())
    if missing:
        yield Finding(
            below.line, "corrupts", "parameters-missing",
            f"{name} stands here without {', '.join(missing)}, which nothing else gives a value: "
            "calls hang or crash", f'write "{missing[0]}=…" inside its braces',
        )  # fmt: skip
    elif "k" in leaves.get(name, ()) and not re.fullmatch(
        r"\s*0*(?:[2-9]|[1-9][0-9]+).*", values["k"]
    ):
        yield Finding(
            below.line, "fails", "parameter-too-small",
            f"{name} with k={values['k']}: the first call ends the program", "write 2 or more",
        )  # fmt: skip
    if name.endswith("_ccl"):
        yield Finding(
            below.line, "fails", "of-some-builds",
            f"{name} is only in builds with CCL: in others the first call ends the program",
            "take another algorithm, or leave it where all builds have CCL",
        )  # fmt: skip


def _of_leaf(key: str, below: Node, path: Path) -> Iterator[Finding]:
    name = key.partition("=")[2]
    collective = next((test for test, _ in path if test.startswith("collective=")), "")
    match = _NAME.match(name)
    if match is None:
        return
    function = f"MPI_{match['function']}"
    if collective != f"collective={match['function'].lower()}":
        yield Finding(
            below.line, "fails", "of-another-function",
            f"{name} belongs to {function}, and stands under {collective}: a program that meets it "
            "ends", f"take an algorithm MPIR_{collective.partition('=')[2].capitalize()}_…",
        )  # fmt: skip
        return
    if function not in coll.COLLECTIVES or match["kind"] == "inter":
        return
    tests = [test for test, _ in path]
    for what, value in coll.guards(function, match["algorithm"]):
        if what == "is_sendbuf_inplace" and match["algorithm"] in _ALWAYS_RIGHT_IN_PLACE:
            continue
        if what == "count":
            if "count=any" in tests and _after(path, "count=any", "count<pow2"):
                continue
            what, value = "count", "any behind a branch count<pow2"
        elif f"{what}={value}" in tests:
            continue
        yield Finding(
            below.line, "corrupts", "unguarded",
            f"{function} {match['algorithm']} is not for every call, and the table does not look: "
            f"it stands outside {what}={value}",
            f"put it under {what}={value}, and another algorithm under the rest",
        )  # fmt: skip


def _after(path: Path, key: str, before: str) -> bool:
    """Return whether `before` stands in the same object as `key`."""
    return any(test == key and before in beside for test, beside in path)


FALLBACK = "MPIR_CVAR_COLLECTIVE_FALLBACK"
_TABLE = FileKind(("fails", "every program ends in MPI_Init"), ("mpich-json",))
TABLES = dict.fromkeys((selection.VARIABLE, selection.COMPOSITIONS_VARIABLE), _TABLE)
_ALGORITHM = re.compile(r"MPIR_CVAR_(?P<collective>[A-Z_]+)_INTRA_ALGORITHM\Z")
# Functions in which shared memory precedes the algorithms of a variable (docs/design/libraries.md).
_SHARED = ("ALLREDUCE", "BARRIER", "BCAST", "REDUCE")
_AUTOMATIC = "auto"
_OFF = ("0", "no", "false", "off")
ALIASES = ("MPICH_", "MVP_")
# Variables of MVAPICH2's MPI_T have the same prefix and are not meant.
PATTERN = rf"{coll.PREFIX}(?![A-Z]+_COLLECTIVE_ALGORITHM\Z)|{'|'.join(ALIASES)}"


def variable_findings(given: Sequence[Assignment], target: LintTarget) -> Iterator[Finding]:
    last = {_full(assignment.name): assignment for assignment in given}
    checked = [
        msgspec.structs.replace(assignment, name=name)
        for name, assignment in last.items()
        if name == assignment.name or target.parameters(name)
    ]
    yield from parameters.check(checked, target)
    fallback = last.get(FALLBACK)
    if fallback is not None and fallback.value == "error":
        yield Finding(
            fallback.line, "fails", "ends-programs",
            f"{FALLBACK}=error ends programs at the first call that a choice does not fit, where "
            "the library would take another algorithm", "set it while measuring alone",
        )  # fmt: skip
    for name, assignment in last.items():
        match = _ALGORITHM.match(name)
        if match is None or assignment.value in (None, _AUTOMATIC):
            continue
        if not parameters.takes(name, assignment.value or "", target):
            continue  # no program gets as far
        yield from _of_algorithm(match["collective"], assignment, last, target)


def _full(name: str) -> str:
    for alias in ALIASES:
        if name.startswith(alias):
            return coll.PREFIX + name.removeprefix(alias)
    return name


def _of_algorithm(
    collective: str, assignment: Assignment, last: dict[str, Assignment], target: LintTarget
) -> Iterator[Finding]:
    table = next((name for name in TABLES if name in last), None)
    if table is not None and f"MPI_{collective.capitalize()}" in coll.COLLECTIVES:
        yield Finding(
            assignment.line, "misread", "before-the-table",
            f"{assignment.name} comes before the table that {table} names: the table's choices "
            "for this "
            "function are not looked at", "leave one of them out",
        )  # fmt: skip
    device = f"{coll.PREFIX}{collective}_DEVICE_COLLECTIVE"
    off = last.get(device)
    whole = last.get(f"{coll.PREFIX}DEVICE_COLLECTIVES")
    if target.family != "mpich" or collective not in _SHARED:
        return
    given_up = off is not None and (off.value is None or off.value.lower() in _OFF)
    if (whole is None or whole.value != "none") and not given_up:
        yield Finding(
            assignment.line, "ignored", "shared-memory-above",
            f"{assignment.name} is heard in the first calls on a communicator; then the "
            "collectives of "
            "shared memory take over on a node", f"set {device}=0 beside it",
        )  # fmt: skip
    if assignment.value == "smp" and FALLBACK in last and last[FALLBACK].value == "error":
        yield Finding(
            assignment.line, "corrupts", "hangs",
            f"{assignment.name}=smp with {FALLBACK}=error: one rank gets an error in an inner "
            "call, the "
            "others wait for ever", "leave one of them out",
        )  # fmt: skip
