"""Acceptance of a campaign's winners by programs that are not the campaign's own probe: `loops`,
OSU Micro-Benchmarks, Intel MPI Benchmarks (docs/uses.md). judge.py says what their times
mean, acceptance.py runs all of it."""

PAIRS = 12  # of launches: so many that a correction over dozens of suspects leaves something
ITERATIONS = 100  # of each loop
