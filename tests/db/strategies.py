"""Hypothesis strategies for records, made from their types."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, TypeVar

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from plumbline_db.probe_records import (
    Begin,
    CaseRecord,
    Check,
    ClockError,
    ClockModel,
    ClockSync,
    ConfigRecord,
    Footer,
    Header,
    HostLoad,
    Load,
    Nrep,
    Order,
    Overlap,
    OverlapLatency,
    OverlapTrace,
    PingPong,
    ProbeRecord,
    RankSamples,
    Refused,
    Samples,
    Transit,
)
from plumbline_db.records import OtherUse, Search, Signed, Trial, Tried, Verdict, Winner

R = TypeVar("R", bound=msgspec.Struct)
Strategy = st.SearchStrategy[Any]

# The examples of a test share its database.
in_one_database = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50
)
text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
counts = st.integers(0, 2**63 - 1)
small = st.integers(0, 2**31)
real = st.floats(allow_nan=False)
finite = st.floats(allow_nan=False, allow_infinity=False)
about_one = st.floats(0.1, 9)
_LARGE = ("bytes", "_ns", "seed", "least", "mean")


def whole(record: type[R], floats: Strategy = finite, **named: Strategy) -> st.SearchStrategy[R]:
    """Every field drawn by its type, also those with a default: one that is added to a record, and
    not stored, turns a test red. `floats`: what its numbers may be; `named`: of single fields."""
    every = {name: _field(name, kind, floats) for name, kind in _types(record).items()}
    return st.builds(record, **{**every, **named})


@cache
def _types(record: type[msgspec.Struct]) -> Mapping[str, Any]:
    return typing.get_type_hints(record, include_extras=True)


def _field(name: str, kind: Any, floats: Strategy) -> Strategy:
    if kind == Signed:
        return st.integers(-(2**63), 2**63 - 1)
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _field(name, inside[0], floats)
    if origin is Literal:
        return st.sampled_from(inside)
    if origin is list:
        return st.lists(_field(name, inside[0], floats), max_size=3)
    if origin is dict:
        return st.dictionaries(text, _field(name, inside[1], floats), max_size=3)
    if type(None) in inside:
        return st.none() | _field(name, inside[0], floats)
    if issubclass(kind, msgspec.Struct):
        return whole(kind, floats)
    whole_number = counts if any(word in name for word in _LARGE) else small
    return {int: whole_number, str: text, float: floats, bool: st.booleans()}[kind]


@st.composite
def overlaps(draw: st.DrawFn) -> Overlap:
    """As many times of each kind."""
    count, size = draw(st.integers(0, 3)), draw(st.integers(0, 99))
    times = st.lists(counts, min_size=count, max_size=count)
    kinds = ("communication_ns", "computation_ns", "both_ns")
    positive = dict.fromkeys(("halves", "requests"), st.integers(1, 9))
    sent = {"bytes": st.just(size), "sent": st.integers(size, 198)}
    return draw(whole(Overlap, **sent, **positive, **dict.fromkeys(kinds, times)))


@st.composite
def traces(draw: st.DrawFn) -> OverlapTrace:
    """As many names, peers and stamps."""
    count = draw(st.integers(0, 3))
    kinds = {name: kind for name, kind in _types(OverlapTrace).items() if str(kind)[:4] == "list"}
    each = {name: _field(name, typing.get_args(kind)[0], real) for name, kind in kinds.items()}
    each["peers"] = st.integers(-1, 9)
    lists = {name: st.lists(one, min_size=count, max_size=count) for name, one in each.items()}
    return draw(whole(OverlapTrace, **lists))


@st.composite
def _clocks(draw: st.DrawFn) -> list[ProbeRecord]:
    """The global clock of a launch, when it has one."""
    if not draw(st.booleans()):
        return []
    models = draw(st.lists(whole(ClockModel), max_size=3))
    error = draw(whole(ClockError, when=st.just("start")))
    return [draw(whole(ClockSync)), *models, error]


@st.composite
def _aftermath(draw: st.DrawFn, cases: list[int]) -> list[ProbeRecord]:
    """What follows the blocks: stopping rules, transits, refusals, round trips, clocks, load."""
    chosen = st.lists(st.sampled_from(cases), unique=True) if cases else st.just([])
    written: list[ProbeRecord] = []
    for kind, more in ((Nrep, {}), (Transit, {"blocks": st.integers(1, 9)}), (Refused, {})):
        for case in sorted(draw(chosen), key=cases.index):
            written.append(draw(whole(kind, case=st.just(case), **more)))
    written += draw(st.lists(whole(PingPong), max_size=3))
    if cells := draw(st.lists(overlaps() | traces(), max_size=4)):
        start, end = (draw(whole(OverlapLatency, when=st.just(when))) for when in ("start", "end"))
        written += [start, *cells, end]
    if draw(st.booleans()):
        written.append(draw(whole(ClockError, when=st.just("end"))))
    hosts = st.lists(whole(HostLoad), min_size=1, max_size=2)
    written.append(draw(whole(Load, hosts=hosts)))
    return written


@st.composite
def _samples(draw: st.DrawFn, case: int, blocks: int) -> Samples:
    def column(values: Strategy) -> Strategy:
        return st.lists(values, min_size=blocks, max_size=blocks)

    warmups, samples = (draw(column(st.integers(0, 3))) for _ in range(2))
    names = st.lists(st.sampled_from(["migrations", "PAPI_TOT_CYC"]), unique=True)
    record: Samples = draw(
        whole(
            Samples,
            case=st.just(case),
            blocks=st.just(list(range(blocks))),
            warmups=st.just(warmups),
            samples=st.just(samples),
            warmup_ns=st.lists(counts, min_size=sum(warmups), max_size=sum(warmups)),
            ns=st.lists(counts, min_size=sum(samples), max_size=sum(samples)),
            late=column(counts),
            overrun=column(counts),
            window_ns=column(counts),
            budget_spent=column(st.booleans()),
            settled=column(st.booleans()),
            counts=names.map(sorted).flatmap(
                lambda given: st.fixed_dictionaries({name: column(counts) for name in given})
            ),
        )
    )
    usual = {"late": 0, "overrun": 0, "window_ns": 0, "budget_spent": False, "settled": True}
    nothing = {
        name: []
        for name, value in usual.items()
        if all(one == value for one in getattr(record, name))
    }
    return msgspec.structs.replace(record, **nothing)  # as the probe leaves them out


@st.composite
def launches(draw: st.DrawFn) -> list[ProbeRecord]:
    """The records of a launch in the probe's order, stopped anywhere."""
    written: list[ProbeRecord] = [draw(whole(Header, schema=st.just(2)))]
    configs = draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True).map(sorted))
    written += [draw(whole(ConfigRecord, id=st.just(id))) for id in configs]
    cases = draw(st.lists(st.integers(0, 99), unique=True, max_size=4))
    some = {
        "function": st.sampled_from(["MPI_Bcast", "MPI_Reduce"]),
        "config": st.sampled_from(["default", *configs]),
        "by_rank": st.integers(0, 1),
    }
    written += [draw(whole(CaseRecord, case=st.just(case), **some)) for case in cases]
    for case in cases:
        written += [Begin(case), draw(whole(Check, case=st.just(case)))]
    written += draw(_clocks())
    ranks = st.lists(st.lists(counts, max_size=3), min_size=1, max_size=3)
    blocks = draw(st.integers(0, 2))
    for block in range(blocks):
        order = draw(st.permutations(cases))
        written.append(Order(block, list(order)))
        for case in order:
            if draw(st.booleans()):
                here = {"case": st.just(case), "block": st.just(block)}
                written.append(draw(whole(RankSamples, **here, ns=ranks)))
    written += [draw(_samples(case, blocks)) for case in cases]
    written += draw(_aftermath(cases))
    written.append(draw(whole(Footer)))
    return written[: draw(st.integers(1, len(written)))] if draw(st.booleans()) else written


def sized(record: type[R], sizes: st.SearchStrategy[int], **named: Any) -> st.SearchStrategy[R]:
    """Of records for sizes from `bytes_from` to `bytes_to`."""
    return st.tuples(sizes, sizes).flatmap(
        lambda ends: whole(
            record, bytes_from=st.just(min(ends)), bytes_to=st.just(max(ends)), **named
        )
    )


verdicts = whole(
    Verdict, real, stage=st.just("before"), uses=st.lists(whole(OtherUse, about_one), max_size=2)
)
searches = whole(
    Search, trials=st.lists(whole(Trial, real), max_size=3), bound_ratio=st.none() | about_one
)
winners = sized(
    Winner,
    counts,
    floats=real,
    tried=st.lists(whole(Tried, about_one), max_size=2),
    measured_from=st.just(0),
)
