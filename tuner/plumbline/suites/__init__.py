"""Suites of measurements: operations measured by one pattern over one axis (docs/suites.md)."""
