"""Families of MPI libraries, a folder each (families.py)."""
