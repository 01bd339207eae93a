"""Readers of a database for people: reports, comparisons, sides, savings, doctor."""
