"""Hypothesis strategies for records, made from their types."""

from __future__ import annotations

from hypothesis import strategies as st

from plumbline_db.records import (
    Begin,
    CaseRecord,
    Check,
    Clock,
    ConfigRecord,
    Footer,
    Header,
    KnobReading,
    Order,
    ProbeRecord,
    Samples,
    Search,
    Trial,
    Verdict,
    Winner,
)

text = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
counts = st.integers(0, 2**63 - 1)
small = st.integers(0, 2**31)
real = st.floats(allow_nan=False)
maybe_real = st.none() | real
knobs = st.dictionaries(text, text, max_size=3)
texts = st.lists(text, max_size=3)

st.register_type_strategy(Clock, st.builds(Clock, text, counts, counts))
headers = st.builds(
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
    seed=counts,
    blocks=small,
    warmup=small,
    rewarm=small,
    environment=knobs,
)


@st.composite
def launches(draw: st.DrawFn) -> list[ProbeRecord]:
    """The records of a launch in the probe's order, stopped anywhere."""
    written: list[ProbeRecord] = [draw(headers)]
    configs = draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True).map(sorted))
    readings = st.dictionaries(text, st.builds(KnobReading, text, text), max_size=2)
    written += [
        draw(st.builds(ConfigRecord, st.just(id), st.booleans(), text, readings)) for id in configs
    ]
    cases = draw(st.lists(st.integers(0, 99), unique=True, max_size=4))
    for case in cases:
        config = draw(st.sampled_from(["default", *configs]))
        name = st.sampled_from(["MPI_Bcast", "MPI_Reduce"])
        built = st.builds(
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
        )
        written.append(draw(built))
    outcomes = ["ok", "wrong", "unsupported", "error", "not_in_force"]
    for case in cases:
        check = st.builds(Check, st.just(case), st.sampled_from(outcomes), text)
        written += [Begin(case), draw(check)]
    for block in range(draw(st.integers(0, 2))):
        order = draw(st.permutations(cases))
        written.append(Order(block, list(order)))
        times = st.lists(counts, max_size=5)
        written += [Samples(case, block, draw(times), draw(times)) for case in order]
    written.append(draw(st.builds(Footer, small, counts, counts)))
    return written[: draw(st.integers(1, len(written)))] if draw(st.booleans()) else written


verdicts = st.builds(
    Verdict,
    stage=st.just("before"),
    guideline=text,
    kind=st.sampled_from(["monotony", "split", "pattern"]),
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
)
