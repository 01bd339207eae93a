"""Hypothesis strategies for records, made from their types."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from hypothesis import strategies as st

from plumbline_db.probe_records import (
    Begin,
    Cache,
    CaseRecord,
    Check,
    Clock,
    ClockError,
    ClockModel,
    ClockSync,
    ConfigRecord,
    Criterion,
    Factor,
    Footer,
    Header,
    HostLoad,
    KnobReading,
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
from plumbline_db.records import OtherUse, Search, Trial, Tried, Verdict, Winner

R = TypeVar("R", bound=msgspec.Struct)

text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
counts = st.integers(0, 2**63 - 1)
small = st.integers(0, 2**31)
real = st.floats(allow_nan=False)
maybe_real = st.none() | real
finite = st.floats(allow_nan=False, allow_infinity=False)
signed = st.integers(-(2**63), 2**63 - 1)
knobs = st.dictionaries(text, text, max_size=3)
texts = st.lists(text, max_size=3)


def whole(
    record: type[R], *fields: st.SearchStrategy[Any], **named: st.SearchStrategy[Any]
) -> st.SearchStrategy[R]:
    """A strategy for every field, also those with a default: one that is added to a record, and not
    stored, turns a test red."""
    known = record.__struct_fields__
    strategies = dict(zip(known, fields, strict=False)) | named
    assert set(strategies) == set(known), (record, set(known) ^ set(strategies))
    return st.builds(record, **strategies)


clocks = whole(Clock, text, counts, counts, st.booleans())
caches = whole(Cache, st.sampled_from(["warm", "cycle", "overwrite"]), counts)
headers = whole(
    Header,
    schema=st.just(1),
    run=text,
    probe=text,
    library=text,
    mpi=text,
    nprocs=small,
    nodes=small,
    ppn=small,
    hosts=texts,
    processing_units=small,
    oversubscribed=st.booleans(),
    binding=texts,
    sync=text,
    clock=clocks,
    seed=counts,
    blocks=small,
    warmup=small,
    rewarm=small,
    environment=knobs,
    runtime=st.sampled_from(["local", "global"]),
    cache=caches,
    factors=st.lists(whole(Factor, text, texts, text), max_size=3),
)
host_loads = whole(HostLoad, text, *[st.none() | finite] * 5)
criteria = whole(Criterion, text, finite, st.none() | finite)
ping_pongs = whole(
    PingPong,
    small,
    small,
    st.sampled_from(["same_core", "same_socket", "other_socket", "other_node"]),
    counts,
    st.lists(counts, max_size=5),
)


@st.composite
def overlaps(draw: st.DrawFn) -> Overlap:
    """As many times of each kind."""
    triples = st.lists(st.tuples(counts, counts, counts), max_size=3)
    times = draw(triples)
    communication, computation, both = ([one[i] for one in times] for i in range(3))
    size = draw(st.integers(0, 99))
    fields = (size, size + draw(st.integers(0, 99)), draw(text), *draw(st.tuples(*[counts] * 3)))
    return Overlap(  # type: ignore[call-arg]
        draw(small),
        draw(text),
        *fields,
        draw(small),
        draw(st.integers(1, 9)),
        draw(small),
        draw(text),
        draw(st.integers(1, 9)),
        draw(small),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.booleans()),
        communication,
        computation,
        both,
    )


@st.composite
def traces(draw: st.DrawFn) -> OverlapTrace:
    """As many names, peers and stamps."""
    event = st.tuples(text, st.integers(-1, 9), small, signed, signed)
    events = draw(st.lists(event, max_size=3))
    names, peers, numbers, begin, end = ([one[i] for one in events] for i in range(5))
    part = draw(st.sampled_from(["communication", "computation", "both"]))
    fields = draw(st.tuples(small, small, small))
    return OverlapTrace(*fields, part, names, peers, numbers, begin, end)


errors = st.lists(counts, max_size=3)


@st.composite
def _clocks(draw: st.DrawFn) -> list[ProbeRecord]:
    """The global clock of a launch, when it has one."""
    if not draw(st.booleans()):
        return []
    models = whole(ClockModel, small, text, small, signed, signed, finite)
    return [
        draw(whole(ClockSync, text, small, finite)),
        *draw(st.lists(models, max_size=3)),
        draw(whole(ClockError, st.just("start"), counts, errors, errors)),
    ]


@st.composite
def _aftermath(draw: st.DrawFn, cases: list[int]) -> list[ProbeRecord]:
    """What follows the blocks: stopping rules, transits, refusals, round trips, clocks, load."""
    chosen = st.lists(st.sampled_from(cases), unique=True) if cases else st.just([])
    written: list[ProbeRecord] = []
    for case in sorted(draw(chosen), key=cases.index):
        ends = st.sampled_from(["criteria", "maximum", "budget"])
        rule = whole(Nrep, st.just(case), small, ends, st.lists(criteria, max_size=2))
        written.append(draw(rule))
    changed = sorted(draw(chosen), key=cases.index)
    written += [draw(whole(Transit, st.just(case), st.integers(1, 9))) for case in changed]
    refused = sorted(draw(chosen), key=cases.index)
    written += [draw(whole(Refused, st.just(case), text)) for case in refused]
    written += draw(st.lists(ping_pongs, max_size=3))
    if cells := draw(st.lists(overlaps() | traces(), max_size=4)):
        latency = st.lists(counts, max_size=3)
        start, end = (draw(latency) for _ in range(2))
        written += [OverlapLatency("start", start), *cells, OverlapLatency("end", end)]
    if draw(st.booleans()):
        written.append(draw(whole(ClockError, st.just("end"), counts, errors, errors)))
    written.append(draw(whole(Load, st.lists(host_loads, min_size=1, max_size=2))))
    return written


@st.composite
def launches(draw: st.DrawFn) -> list[ProbeRecord]:
    """The records of a launch in the probe's order, stopped anywhere."""
    written: list[ProbeRecord] = [draw(headers)]
    configs = draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True).map(sorted))
    readings = st.dictionaries(text, whole(KnobReading, text, text), max_size=2)
    written += [
        draw(whole(ConfigRecord, st.just(id), st.booleans(), text, readings)) for id in configs
    ]
    cases = draw(st.lists(st.integers(0, 99), unique=True, max_size=4))
    for case in cases:
        config = draw(st.sampled_from(["default", *configs]))
        name = st.sampled_from(["MPI_Bcast", "MPI_Reduce"])
        built = whole(
            CaseRecord,
            case=st.just(case),
            function=name,
            variant=text,
            config=st.just(config),
            bytes=counts,
            bytes_moved=counts,
            type=text,
            op=text,
            root=small,
            reps=small,
            delay_ns=counts,
            ranks=small,
            use=text,
            calls=small,
            least=counts,
            mean=counts,
            by_rank=st.integers(0, 1),
        )
        written.append(draw(built))
    outcomes = ["ok", "wrong", "unsupported", "error", "not_in_force"]
    for case in cases:
        check = whole(Check, st.just(case), st.sampled_from(outcomes), text)
        written += [Begin(case), draw(check)]
    written += draw(_clocks())
    for block in range(draw(st.integers(0, 2))):
        order = draw(st.permutations(cases))
        written.append(Order(block, list(order)))
        times = st.lists(counts, max_size=5)
        events = st.dictionaries(text, counts, max_size=2)
        fields = (times, times, small, small, events, counts, *[st.booleans()] * 2)
        ranks = st.lists(st.lists(counts, max_size=3), min_size=1, max_size=3)
        for case in order:
            written.append(draw(whole(Samples, st.just(case), st.just(block), *fields)))
            if draw(st.booleans()):
                written.append(draw(whole(RankSamples, st.just(case), st.just(block), ranks)))
    written += draw(_aftermath(cases))
    written.append(draw(whole(Footer, small, *[counts] * 5)))
    return written[: draw(st.integers(1, len(written)))] if draw(st.booleans()) else written


other_uses = st.builds(
    OtherUse,
    use=text,
    verdict=st.sampled_from(["holds", "violated", "undecided"]),
    ratio=st.none() | st.floats(0.1, 9),
    ratio_low=st.none() | st.floats(0.1, 9),
    ratio_high=st.none() | st.floats(0.1, 9),
)
verdicts = st.builds(
    Verdict,
    stage=st.just("before"),
    guideline=text,
    kind=st.sampled_from(["monotony", "split", "pattern", "rank", "overlap", "nonblocking"]),
    lhs=text,
    ranks=small,
    function=text,
    rhs=text,
    nprocs=small,
    ppn=small,
    bytes=counts,
    other_bytes=counts,
    factor=small,
    verdict=st.sampled_from(["holds", "violated", "undecided"]),
    ratio=maybe_real,
    ratio_low=maybe_real,
    ratio_high=maybe_real,
    p=maybe_real,
    p_adjusted=maybe_real,
    launches=small,
    reason=text,
    suites=texts,
    uses=st.lists(other_uses, max_size=2),
)
trials = st.builds(
    Trial,
    variant=text,
    knobs=knobs,
    state=st.sampled_from(["measured", "wrong", "failed", "not_in_force", "not_exportable"]),
    ratio=maybe_real,
    ratio_low=maybe_real,
    ratio_high=maybe_real,
    launches=small,
    detail=text,
)
searches = st.builds(
    Search,
    round=small,
    function=text,
    nprocs=small,
    ppn=small,
    bytes=counts,
    opened_by=texts,
    outcome=st.sampled_from(["winner", "nothing better"]),
    reason=text,
    trials=st.lists(trials, max_size=3),
    suites=texts,
)
winners = st.builds(
    lambda sizes, **rest: Winner(bytes_from=sizes[0], bytes_to=sizes[1], **rest),
    st.tuples(counts, counts).map(sorted),
    function=text,
    nprocs=small,
    ppn=small,
    variant=text,
    configuration=knobs,
    search_speedup=real,
    speedup=real,
    speedup_low=real,
    speedup_high=real,
    removes=texts,
    restrictions=texts,
    tried=st.lists(
        st.builds(
            Tried,
            use=text,
            type=text,
            op=text,
            binding=text,
            cells=small,
            speedup=st.floats(0.1, 9),
            speedup_low=st.floats(0.1, 9),
            worst_low=st.floats(0.1, 9),
        ),
        max_size=2,
    ),
)
