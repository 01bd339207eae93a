"""Plumbline keeps an MPI installation true to its performance guidelines."""

from plumbline.system.version import PLUMBLINE as __version__

__all__ = ["__version__"]
