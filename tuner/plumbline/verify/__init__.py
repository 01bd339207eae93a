"""Guideline verification: from per-launch medians to verdicts, tables and JSON.

Every guideline kind is one module that registers itself; importing it here is the line that adds
it. The order of the imports is the order of the kinds in tables.
"""

from plumbline.verify import monotony, split, pattern, rank, overlap  # noqa: F401, I001
