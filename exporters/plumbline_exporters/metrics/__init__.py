"""The metrics of `plumbline serve`, read from the database at every scrape by collectors.

Sizes are not labels: the table of a campaign is on the page and in the database. Nothing is added
up here that grows with the number of launches or verdicts: the database keeps it (cost, coverage).
"""

import importlib
import pkgutil

from plumbline_exporters.metrics.scrape import MOST_SERIES, DatabaseCollector, Scrape, collector

__all__ = ["MOST_SERIES", "DatabaseCollector", "Scrape", "collector"]

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
