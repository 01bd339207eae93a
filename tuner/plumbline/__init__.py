"""Plumbline keeps an MPI installation true to its performance guidelines."""

__version__ = "0.1.0"
