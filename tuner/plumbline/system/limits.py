"""Limits of numbers that people write. Pure."""

LARGEST = 2**63 - 1
"""What a number of the probe and of the database holds."""

MOST = 10**6
"""Launches, repetitions, µs of a wait: more is a slip of the keyboard."""
