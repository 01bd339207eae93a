"""Usual amounts of a check."""

PAIRS = 12  # of launches: so many that a correction over dozens of suspects leaves something
ITERATIONS = 100  # of each loop
