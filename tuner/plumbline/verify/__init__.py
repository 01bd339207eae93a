"""Guideline verification: from per-launch medians to verdicts, tables and JSON."""
