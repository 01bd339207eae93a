"""Overlap of communication and computation."""
