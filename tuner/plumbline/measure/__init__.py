"""Launches that are kept, violation tables, factors and conditions, ping-pongs, repetitions."""
